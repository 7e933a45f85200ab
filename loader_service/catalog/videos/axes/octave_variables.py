"""What Octave notes of its variables: each is a group with its value, and a text that says what the value is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from loader_service.catalog.hdf5.tree import ElementKind
from loader_service.catalog.inner_paths import join, parent_of, unnumbered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree

#: What Octave writes beside the group of a variable, and the datasets in it; the sides of a cell lie among its members.
OCTAVE = "OCTAVE_NEW_FORMAT"
_TYPE, _VALUE, _SIDES = "type", "value", "dims"


def with_octave(hdf5: HDF5File, tree: Tree) -> Tree:
    """Return a tree without what only Octave needs, in which its texts are characters; any other tree as it is."""
    variables = [path for path, names in tree.attributed.items() if OCTAVE in names]
    if not variables:
        return tree
    kept = dict(tree.datasets)
    for path in variables:
        value, kind = kept.get(join(path, _VALUE)), kept.pop(join(path, _TYPE), None)
        kept.pop(join(path, f"{_VALUE}/{_SIDES}"), None)
        if value is not None and kind is not None and b"string" in hdf5.node(kind.path)[()]:
            kept[value.path] = value._replace(kind=ElementKind.CHARACTERS)
    return replace(tree, datasets=kept)


def without_variables(tree: Tree, arrays: Sequence[DatasetInfo]) -> Sequence[DatasetInfo]:
    """Return arrays without those that are a variable of Octave with a name of its own: its group is no video."""
    return [
        info
        for info in arrays
        if info.basename != _VALUE
        or parent_of(info.parent)
        or unnumbered(info.parent) != info.parent
        or OCTAVE not in tree.attributed.get(info.parent, ())
    ]
