"""Which datasets are never fields, and why: references, structs, sparse matrices, weights, odd numbers. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from loader_service.catalog.hdf5.tree import ElementKind
from loader_service.catalog.inner_paths import basename_of, join, parent_of, upwards
from loader_service.catalog.videos.readings import Reading, TwoReadingsError, fields_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.episodes import Found
    from loader_service.schema import Schema

#: The three arrays of a sparse matrix, and its sides; none means anything alone.
_SPARSE = ("data", "indices", "indptr", "shape")

#: The letters of all texts of a column, where each text begins, and which there are, as Arrow and vaex keep them.
_TEXTS = ("data", "indices", "null_bitmap")

#: How Keras and PyTorch name weights: by number in a group ``vars``, with ``:0`` behind, or by layer and parameter,
#: which may be a group and what is in it; how pandas names the list of a table's columns; and where PyTables keeps what
#: is sorted, to find rows of a table faster.
_WRITTEN_BY_PROGRAMS = re.compile(
    r"(?P<weights>^(model|optimizer)_weights/|(^|/)vars/[0-9]+$|[A-Za-z](_?[0-9]+)?:0$|"
    r"\.(weight|bias|running_mean|running_var|num_batches_tracked)$)|(?P<layer>(^|/)(weight|bias)$)|"
    r"(?P<columns>(^|/)(axis0|block[0-9]+_items)$)|(^|/)_i_[^/]+/"
)

#: What Keras writes of the group of a layer, whatever its weights are called.
_LAYER = "weight_names"

#: Where Imaris keeps pixels, and, behind larger numbers, copies of fewer of them.
_LEVEL = re.compile(r"DataSet/ResolutionLevel ([0-9]{1,9})/")

#: Groups that programs keep for themselves, with why they are no fields: what MATLAB's cells and structs refer to; and
#: where an attribute of the file says so, the schema that NWB keeps of itself, and hickle's names of Python's types.
REFERRED, _SCHEMA, _TYPES = "#refs#", "specifications", "hickle_types_table"
_SAYS = {".specloc": _SCHEMA, "HICKLE_VERSION": _TYPES}
_OWN = {
    REFERRED: "found what MATLAB's cells and structs refer to, in a file",
    _SCHEMA: "found the schema that NWB keeps of itself, in a file",
    _TYPES: "found the types that hickle keeps of what it wrote, in a file",
}

SPARSE = "found an array of a sparse matrix (data, indices, indptr), which is not served"
WEIGHTS = "found weights of a model, and no data"
COLUMNS = "found the names of columns, as pandas keeps them beside the rows of 'block0_values' and alike"
INDEX = "found an index of a table of PyTables"


def set_aside(tree: Tree) -> dict[str, str]:
    """Return why datasets of a file are no fields, by path; ``#refs#``, say, stands for all that lies in it."""
    own = _own_groups(tree)
    sparse = {join(info.parent, name) for info in tree.datasets.values() if _is_sparse(tree, info) for name in _SPARSE}
    places = {path for path in tree.datasets if path[-7:] == "indices"}
    texts = {join(parent_of(path), name) for path in places if _is_of_texts(tree, path) for name in _TEXTS}
    coarser = _coarser(tree)
    layers = {path for path, names in tree.attributed.items() if _LAYER in names}
    aside = {}
    for path, info in tree.datasets.items():
        if (top := path.split("/", 1)[0]) in own:
            aside[top] = _OWN[top]
        elif path in tree.unwritten:
            aside[path] = f"found a dataset of which nothing was ever written {info.shape}, in a file"
        elif path in sparse:
            aside[path] = f"{SPARSE}, in a file"
        elif path in texts:
            aside[path] = "found a part of texts as Arrow keeps them (data, indices); write them as texts, in a file"
        elif layers and not layers.isdisjoint(upwards(path)):
            aside[path] = f"{WEIGHTS}, in a file"
        elif path in coarser:
            aside[path] = "found a coarser copy of another resolution level of Imaris, in a file"
        elif (named := _WRITTEN_BY_PROGRAMS.search(path)) and _is_written(tree, info, named):
            kinds = {"weights": WEIGHTS, "layer": WEIGHTS, "columns": COLUMNS}
            aside[path] = f"{kinds.get(named.lastgroup or '', INDEX)}, in a file"
        elif info.kind in _KINDS and info.dtype != "S":
            aside[path] = f"found {_KINDS[info.kind]} {info.shape}, in a file"
        elif not info.dtype and info.kind in {ElementKind.FLOAT, ElementKind.INTEGER} and 0 not in info.shape:
            aside[path] = f"found numbers of another size than 1, 2, 4 or 8 bytes {info.shape}, in a file"
    return aside


def _own_groups(tree: Tree) -> frozenset[str]:
    """Return the groups that programs keep for themselves."""
    return frozenset([REFERRED, *(_SAYS[name] for name in tree.attributed.get("", ()) if name in _SAYS)])


def _coarser(tree: Tree) -> frozenset[str]:
    """Return the datasets of Imaris that are copies of fewer pixels."""
    levels = {path: int(level[1]) for path in tree.datasets if (level := _LEVEL.match(path))}
    finest = min(levels.values(), default=0)
    return frozenset(path for path, level in levels.items() if level > finest)


def without_copies(tree: Tree, schema: Schema) -> Tree:
    """Return a tree without Imaris' copies of fewer pixels, and what programs keep of files, unless it is named."""
    patterns = [pattern for field in schema.fields for pattern in field.dataset]
    dropped = frozenset[str]() if any("ResolutionLevel" in pattern for pattern in patterns) else _coarser(tree)
    own = _own_groups(tree) - {REFERRED, *(pattern.partition("/")[0] for pattern in patterns)}
    dropped |= {path for path in tree.datasets if path.partition("/")[0] in own}
    if not dropped:
        return tree
    return tree.without(dropped)


_KINDS: Mapping[ElementKind, str] = {
    ElementKind.REFERENCE: "references, such as MATLAB's cells (docs/coming-from.md, 'Compound tables'),",
    ElementKind.COMPOUND: "compound elements (a table of pandas, or structs; docs/coming-from.md, 'Compound tables')",
    ElementKind.COMPLEX: "complex numbers; write real and imaginary parts as a last axis of two floats:",
    ElementKind.BITS: "bits in a foreign byte order, which HDF5 converts to no numbers; write them as uint8:",
    ElementKind.PICKLED: "objects that Python has pickled, such as texts of pandas; write them as texts:",
    ElementKind.CHARACTERS: "lines of characters, as MATLAB keeps them, in numbers of UTF-16, or Octave,",
}


def lines_of_links(tree: Tree) -> dict[str, str]:
    """Return a line for each soft link that leads nowhere, or in a circle."""
    if not tree.links:
        return {}
    there = {"", *tree.datasets, *tree.empty_groups}
    for path in tree.datasets:
        while (path := parent_of(path)) not in there:
            there.add(path)
    links = dict(tree.links)
    return {
        path: f"found a soft link to {target!r}, where nothing is, in a file"
        for path, target in tree.links
        if _leads_nowhere(target, links, there, set(tree.external_links))
    }


def _leads_nowhere(target: str, links: Mapping[str, str], there: set[str], elsewhere: set[str]) -> bool:
    for _ in range(_MOST_LINKS):
        parts = [part for part in target.split("/") if part not in {"", "."}]
        above = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
        if not parts or above[-1] in there or not elsewhere.isdisjoint(above):
            return False
        link = next((each for each in above if each in links), None)
        if link is None:
            return True
        target = join(links[link], "/".join(parts[link.count("/") + 1 :]))
    return True


#: Links that are followed one after the other, as many as HDF5 follows.
_MOST_LINKS = 16


def refuse_sparse_rows(tree: Tree, found: Found) -> None:
    """Refuse a file whose rows are a sparse matrix with columns beside it: those alone are not what it holds.

    Raises
    ------
    TwoReadingsError
        With the schema that serves the columns.
    """
    if len(found.episodes) != 1 or found.episodes[0].root not in {None, ""}:
        return
    episode = found.episodes[0]
    rows = {info.parent: info.shape[0] - 1 for info in tree.datasets.values() if _is_sparse(tree, info)}
    matrix = next((group for group, count in rows.items() if count == episode.frame_count), None)
    if matrix is None or any(part.shape or part.frames for part in episode.timed.values()):
        return
    raise TwoReadingsError(
        f"{matrix or '/'!r} is a sparse matrix of {episode.frame_count} rows ({', '.join(_SPARSE[:3])}), which only a "
        "--source package.module:Name serves; without it there are",
        [Reading.of_table("the columns beside it alone", fields_of(episode.rows))],
    )


def refuse_without_complex(tree: Tree, found: Found) -> None:
    """Refuse a file whose largest dataset is complex, and what is left counts something else: a mask of its columns.

    Raises
    ------
    TwoReadingsError
        With the schema that serves what is left.
    """
    main = max(tree.datasets.values(), key=lambda info: info.size_bytes, default=None)
    if main is None or main.kind is not ElementKind.COMPLEX or len(found.episodes) != 1:
        return
    (episode,) = found.episodes
    deep = any(part.shape for part in episode.timed.values() if part.info)
    if not episode.rows or deep or episode.frame_count == main.shape[0]:
        return
    raise TwoReadingsError(
        f"most of it is {main.describe()}, and complex numbers are not served; write real and imaginary parts as a "
        "last axis of two floats, or serve them by --source package.module:Name; without them there is",
        [Reading.of_table("what lies beside them alone", fields_of(episode.rows))],
    )


def refuse_without_links(tree: Tree, found: Found) -> None:
    """Refuse rows of a file that has a group of nothing but external links, which were left out: its data, it seems.

    Raises
    ------
    TwoReadingsError
        With the schema that serves what is left.
    """
    link = next((path for path in tree.external_links if parent_of(path) not in {"", *tree.groups}), None)
    if link is None or found.layout != "table" or len(found.episodes) != 1:
        return
    raise TwoReadingsError(
        f"{parent_of(link)!r} has nothing but external links such as {link!r}, which are not followed, so its data lie "
        "in other files, it seems: give these; without them there is",
        [Reading.of_table("a table of what lies beside them", fields_of(found.episodes[0].rows))],
    )


def _is_sparse(tree: Tree, info: DatasetInfo) -> bool:
    return (
        info.basename == _SPARSE[2]
        and bool(info.shape)
        and all(join(info.parent, name) in tree.datasets for name in _SPARSE[:3])
    )


def _is_of_texts(tree: Tree, path: str) -> bool:
    """Tell whether a dataset says where texts begin in the letters beside it."""
    letters = tree.datasets.get(join(parent_of(path), _TEXTS[0]))
    return basename_of(path) == "indices" and letters is not None and letters.dtype == "S1" and len(letters.shape) == 1


def _is_written(tree: Tree, info: DatasetInfo, named: re.Match[str]) -> bool:
    """Tell whether what lies beside a dataset fits what it is called."""
    if named["columns"]:
        return join(info.parent, "block0_values") in tree.datasets
    return not named["layer"] or _is_of_layer(tree, info)


def _is_of_layer(tree: Tree, info: DatasetInfo) -> bool:
    """Tell whether a weight ``(outputs, …)`` has a bias ``(outputs,)`` beside it."""
    weight, bias = (tree.datasets.get(join(info.parent, name)) for name in ("weight", "bias"))
    return weight is not None and bias is not None and len(weight.shape) > 1 and bias.shape == weight.shape[:1]


def is_aside(aside: Mapping[str, str], info: DatasetInfo) -> bool:
    """Tell whether a dataset is set aside."""
    return bool(aside) and (info.path in aside or info.path.split("/", 1)[0] in aside)
