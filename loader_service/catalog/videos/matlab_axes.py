"""What MATLAB, and programs with its reversed axes, note of arrays: how axes lie, what is empty, what is text."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from loader_service.catalog.hdf5.attributes import attribute_names, read_attribute
from loader_service.catalog.hdf5.tree import ElementKind

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree

#: What programs write beside each variable whose axes they reverse.
_CLASS = "MATLAB_class"
_OF_DATASETS = {_CLASS: "MATLAB", "rhdf5-NA.OK": "R"}
_OF_GROUPS = {"OCTAVE_NEW_FORMAT": "Octave"}

#: What Julia's JLD2 writes before the file proper.
_JULIA = b"HDF5-based Julia Data Format"

#: MATLAB writes the sides of an empty array, so many at most, in its place.
_EMPTY = "MATLAB_empty"
_MOST_SIDES = 32


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
    lines = {}
    for key, info in members.items():
        noted = info.path in attributed or info.parent in attributed
        writer = "Julia" if julia else _writer(hdf5, info, attributed) if noted else ""
        if writer and sum(side > 1 for side in info.shape) > 1:
            size = " ".join(map(str, reversed(info.shape)))
            lines[f"{key} (axes)"] = (
                f"served as HDF5 has it, {info.shape} with the first axis as rows or time: {writer}, which wrote it, "
                f"reverses axes, so size(…) is [{size}] there, in a file"
            )
    return lines


def _writer(hdf5: HDF5File, info: DatasetInfo, attributed: Collection[str]) -> str:
    for path, marks in ((info.path, _OF_DATASETS), (info.parent, _OF_GROUPS)):
        names = attribute_names(hdf5.file, path) if path and path in attributed else []
        for name in names:
            if name in marks:
                return marks[name]
    return ""


def empty_arrays(tree: Tree) -> dict[str, str]:
    """Return which datasets stand for an empty array of MATLAB, whose sides are their numbers, with the reason."""
    return {
        info.path: f"found an empty array of MATLAB, of which only the sides are written {info.shape}, in a file"
        for info in [tree.datasets[path] for path in tree.attributed if path in tree.datasets]
        if info.dtype == "uint64" and len(info.shape) == 1 and info.shape[0] <= _MOST_SIDES
        if _EMPTY in tree.attributed[info.path]
    }


def with_texts(hdf5: HDF5File, tree: Tree) -> Tree:
    """Return a tree in which MATLAB's characters are of that kind; those of one line, ``(n, 1)``, are a text ``()``.

    What ``#refs#`` holds stays as it is.
    """
    found = {}
    for path, names in tree.attributed.items():
        if path not in tree.datasets or tree.datasets[path].dtype != "uint16" or path.startswith("#refs#/"):
            continue
        info = tree.datasets[path]
        if _CLASS in names and read_attribute(hdf5.file, path, _CLASS) in {b"char", "char"}:
            one = max(info.shape, default=1) == math.prod(info.shape)
            text = info._replace(shape=(), dtype="S", address=None) if one else info
            found[path] = text._replace(kind=ElementKind.CHARACTERS)
    return replace(tree, datasets={**tree.datasets, **found}) if found else tree
