"""What MATLAB, and programs with its reversed axes, note of arrays: how axes lie, what is empty, what is text."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_whole, native_name
from loader_service.catalog.hdf5.attributes import attribute_names
from loader_service.catalog.inner_paths import join, parent_of
from loader_service.catalog.videos.aside.noted_kinds import MATLAB_CLASS, OCTAVE
from loader_service.catalog.videos.aside.set_aside import REFERRED
from loader_service.catalog.videos.readings import Reading, TwoReadingsError, fields_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.episodes import Found

#: What programs write beside each variable whose axes they reverse.
_OF_DATASETS = {MATLAB_CLASS: "MATLAB", "rhdf5-NA.OK": "R"}
_OF_GROUPS = {OCTAVE: "Octave"}

#: What Julia's JLD2 writes before the file proper.
_JULIA = b"HDF5-based Julia Data Format"

#: MATLAB writes the sides of an empty array, so many at most, in its place.
_EMPTY = "MATLAB_empty"
_MOST_SIDES = 32

#: What MATLAB writes beside the numbers of an object, and beside the group of a sparse matrix.
_OBJECT, _SPARSE = "MATLAB_object_decode", "MATLAB_sparse"


def lines_of_axes(hdf5: HDF5File, members: Mapping[str, DatasetInfo], attributed: Collection[str]) -> dict[str, str]:
    """Return how the axes of fields lie that MATLAB, Octave, R or Julia wrote, as lines of what is no field.

    Parameters
    ----------
    hdf5
        The file.
    members
        The datasets of a video's fields, by key.
    attributed
        The paths of all that has attributes.
    """
    julia = not hdf5.direct and _JULIA in hdf5.read_at(0, min(512, hdf5.size_bytes))
    lines: dict[str, str] = {}
    for key, info in members.items() if julia or attributed else ():
        noted = info.path in attributed or info.parent in attributed
        writer = "Julia" if julia else _writer(hdf5, info, attributed) if noted else ""
        if writer and sum(side > 1 for side in info.shape) > 1:
            size = " ".join(map(str, reversed(info.shape)))
            lines[f"{key} (axes)"] = (
                f"served as HDF5 has it, {info.shape} with the first axis as rows or time: {writer}, which wrote it, "
                f"reverses axes, so size(…) is [{size}] there, in a file"
            )
    return lines


def hint_of_axes(hdf5: HDF5File, tree: Tree) -> str:
    """Return who reversed the axes of a file, for a question about its arrays; empty where nobody did."""
    attributed = set(tree.attributed)
    deep = [info for info in tree.datasets.values() if sum(side > 1 for side in info.shape) > 1] if attributed else []
    for info in deep[:_LOOKED_AT]:
        if writer := _writer(hdf5, info, attributed):
            size = " ".join(map(str, reversed(info.shape)))
            return f" ({writer}, which wrote it, reverses axes: size({info.path!r}) is [{size}] there)"
    return ""


#: Arrays that are asked for who wrote them, at most.
_LOOKED_AT = 8


def _writer(hdf5: HDF5File, info: DatasetInfo, attributed: Collection[str]) -> str:
    for path, marks in ((info.path, _OF_DATASETS), (info.parent, _OF_GROUPS)):
        names = attribute_names(hdf5, path) if path and path in attributed else []
        for name in names:
            if name in marks:
                return marks[name]
    return ""


def refuse_reversed(hdf5: HDF5File, tree: Tree, found: Found) -> None:
    """Refuse a table whose last axis counts what another dataset has too, in a file with reversed axes: samples.

    So ``(samples, x, y, times)`` beside ``(samples, x, y)`` lie in a file of MATLAB, or ``(features, samples)`` beside
    as many labels in one of R, or ``(2, samples)`` beside several ``(1, samples)``, columns of one table there. Where
    there are as many labels as rows, the rows are samples, as ``(N, 3, H, W)`` beside their mean are.

    Raises
    ------
    TwoReadingsError
        With the schemas for rows, and for one sample.
    """
    if not tree.attributed:
        return
    (table,) = found.episodes
    timed = {info.path for info in table.rows}
    main = max(table.rows, key=lambda info: info.size_bytes)
    last, attributed = main.shape[-1], set(tree.attributed)
    others = [
        info
        for info in tree.datasets.values()
        if info.path not in timed and info.dtype and _has(info, last)
        if not info.path.startswith(f"{REFERRED}/")
    ]
    columns = last > table.frame_count and sum(info.shape == (1, last) for info in others) > 1
    others = [info for info in others if columns or _counts(info)]
    labels = [info for info in tree.datasets.values() if _LABELS.search(info.basename)]
    labelled = any(_has(info, table.frame_count) for info in labels) and not any(_has(info, last) for info in labels)
    if len(main.shape) < 2 or last == table.frame_count or not others or (labelled and not columns):
        return
    writer = next((each for info in (main, *others) if (each := _writer(hdf5, info, attributed))), "")
    if writer:
        raise TwoReadingsError(
            f"{main.describe()} and {others[0].describe()} have {last} entries along their last axis, and {writer}, "
            "which wrote them, reverses axes: that axis counts samples, it seems, and samples come first here; write "
            "them so, as by np.moveaxis(array, -1, 0), or serve them by --source package.module:Name; as they lie, "
            "there are",
            [
                Reading.of_table(f"{table.frame_count} rows", fields_of(_deep(table.rows))),
                Reading.of_file("one sample a file", fields_of([main], whole=True)),
            ],
        )


def _deep(rows: Sequence[DatasetInfo]) -> list[DatasetInfo]:
    """Return what has more than a number a row."""
    return [info for info in rows if len(info.shape) > 1 and math.prod(info.shape[1:]) > 1]


def _has(info: DatasetInfo, count: int) -> bool:
    """Tell whether a dataset has so many entries: along its last axis, or, a row or column of MATLAB, in all."""
    return info.shape[-1:] == (count,) or math.prod(info.shape) == count == max(info.shape, default=0)


def _counts(info: DatasetInfo) -> bool:
    """Tell whether a dataset may say how many samples there are: by two axes of its own, or as labels."""
    return sum(side > 1 for side in info.shape) > 1 or bool(_LABELS.search(info.basename))


#: What labels of samples are called.
_LABELS = re.compile(r"^(y|labels?|targets?|class(es)?|outcomes?|ground_?truth|gt)$", re.IGNORECASE)


def no_arrays(tree: Tree) -> dict[str, str]:
    """Return which datasets of MATLAB are no arrays, with the reason: numbers that stand for something else.

    So it is with the sides of an empty array, the numbers of an object, and the parts of a sparse matrix.
    """
    reasons = {}
    sparse = {path: "MATLAB (data, ir, jc)" for path, names in tree.attributed.items() if _SPARSE in names}
    sparse |= {
        join(path, "value"): "Octave (data, ridx, cidx)"
        for path, names in tree.attributed.items()
        if OCTAVE in names and join(path, "value/ridx") in tree.datasets
    }
    for path in tree.datasets if sparse else ():
        if writer := sparse.get(parent_of(path)):
            reasons[path] = f"found an array of a sparse matrix of {writer}, which is not served, in a file"
    for path, names in tree.attributed.items():
        info = tree.datasets.get(path)
        if info is None or path.startswith(f"{REFERRED}/"):
            continue
        sides = is_whole(info.dtype) and native_name(info.dtype) == "uint64" and len(info.shape) == 1
        if _EMPTY in names and sides and info.shape[0] <= _MOST_SIDES:
            reasons[path] = f"found an empty array of MATLAB, of which only sides are written {info.shape}, in a file"
        elif _OBJECT in names:
            reasons[path] = (
                "found an object of MATLAB, such as a string, table, categorical or datetime, of which only numbers "
                "are written here; save it as char, or as numbers, in a file"
            )
    return reasons
