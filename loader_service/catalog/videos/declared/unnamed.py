"""Says what a file holds that no field of a schema names, in a line, so that none is missing without a word. Pure."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from loader_service.catalog.hdf5.tree import ElementKind
from loader_service.catalog.inner_paths import join, key_in, unnumbered, upwards
from loader_service.catalog.line_folding import folded_keys
from loader_service.catalog.names import LABEL_NAMES, own_attributes
from loader_service.catalog.patterns import matches
from loader_service.catalog.videos.beside.file_labels import label_bearers
from loader_service.catalog.videos.episodes import owner_of
from loader_service.catalog.videos.lines.unused import paths_of
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Collection

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.episodes import Found

#: Names that a line shows.
_SHOWN = 5

#: What is said of complex numbers, which no schema serves.
_COMPLEX = (
    "; {!r} is complex numbers, of which `loader-service flatten` writes real and imaginary parts as a last axis of "
    "two floats"
)


def lines_of_unnamed(tree: Tree, found: Found, label: str | None) -> dict[str, str]:
    """Return a line of the datasets that are in no field and no label, and one of the attributes.

    Parameters
    ----------
    tree
        What is in the file, or in the part of it that is a split.
    found
        The videos that a schema declares.
    label
        Pattern of the datasets that are labels of videos, or ``@name`` of the attributes; empty for those that are
        called so; None where no label is read beside the schema.
    """
    if tree.is_packed:  # the format of `pack` needs no explaining
        return {}
    names = {name for episode in found.episodes for name in episode.parts}
    datasets, attributes = _unnamed_datasets(tree, found, label), _unnamed_attributes(tree, found, label)
    unserved = next((key for key, kind in datasets.items() if kind is ElementKind.COMPLEX), None)
    behind = "" if unserved is None else _COMPLEX.format(unserved)
    return _line(datasets, "dataset", names, behind) | _line(attributes, "attribute", names)


def _line(keys: Collection[str], what: str, names: Collection[str], behind: str = "") -> dict[str, str]:
    """Return the line of some keys, by the first that is no field's name, which would take it for one of that field."""
    alike = folded_keys(keys) if keys else {}
    first, *others = sorted(alike, key=names.__contains__) or [""]
    shown = ", nor ".join(map(repr, others[: _SHOWN - 1]))
    more = sum(len(alike[each]) for each in others[_SHOWN - 1 :])
    rest = f", nor {shown}" * bool(others) + f", nor {counted(more, what)} more" * bool(more)
    return {first: f"the schema does not name it{rest}{behind}, in a file"} if alike else {}


def _unnamed_datasets(tree: Tree, found: Found, label: str | None) -> dict[str, ElementKind]:
    """Return what the datasets in no field are, by key."""
    parts = [part for episode in found.episodes for part in episode.parts.values()]
    used = paths_of(found) | {part.bounds.path for part in parts if part.bounds}
    numbered = {unnumbered(part.path) for part in parts if part.digits >= 0}
    roots = found.by_root
    counts = {len(found.episodes), *Counter(episode.holder for episode in found.episodes).values()}
    keys: dict[str, ElementKind] = {}
    for info in tree.datasets.values():
        if info.path in used or (numbered and unnumbered(info.path) in numbered) or _is_said(info.path, found):
            continue
        owner = owner_of(roots, info.path)
        if label is None or not _is_label(info, label, {1} if owner else counts):
            keys.setdefault(info.path if owner is None else key_in(owner.root, info.path), info.kind)
    return keys


def _is_said(path: str, found: Found) -> bool:
    """Tell whether a line says already why a group, in which something lies, is no video."""
    return bool(found.left_out) and any(group in found.left_out for group in upwards(path) if group)


def _is_label(info: DatasetInfo, label: str, counts: Collection[int]) -> bool:
    """Tell whether a dataset is read as the label of a video, or as those of so many."""
    if label:
        return not label.startswith("@") and matches(label, info.path)
    return info.basename in LABEL_NAMES and math.prod(info.shape) in counts


def _unnamed_attributes(tree: Tree, found: Found, label: str | None) -> dict[str, None]:
    used = {part.place for each in found.episodes for part in each.parts.values() if part.attribute}
    name = None if label is None else label[1:] if label.startswith("@") else LABEL_NAMES[0]
    bearers = set[str | None]() if name is None else set(label_bearers(tree, found.episodes, name))
    roots = {episode.root for episode in found.episodes if episode.root}
    keys: dict[str, None] = {}
    for path, names in tree.attributed.items():
        if _is_said(path, found):
            continue
        owner = next((group for group in upwards(path) if group in roots), None)
        inside = path if owner is None else key_in(owner, path)
        for each in own_attributes(names, dataset=path in tree.datasets):
            if f"{path}@{each}" not in used and (each != name or path not in bearers):
                keys.setdefault(join(inside, f"@{each}"))
    return keys
