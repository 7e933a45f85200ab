"""Encoded pictures beside those that ``--frames`` names: they are no numbers, and each has a line. Asks all layouts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from loader_service.catalog.layouts.layout import claimed_by
from loader_service.catalog.layouts.search import find_frames
from loader_service.catalog.line_folding import folded
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import Tree
    from loader_service.catalog.layouts.layout import FoundVideo


def without_unnamed(
    hdf5: HDF5File, tree: Tree, named: Sequence[FoundVideo], pattern: str
) -> tuple[Tree, dict[str, str]]:
    """Return a file without the encoded pictures that a pattern does not name, and why they are in no field.

    Parameters
    ----------
    hdf5, tree
        The file.
    named
        The sequences that the pattern names.
    pattern
        As `--frames` gives it.
    """
    used = claimed_by(named)
    rest = {path: info for path, info in tree.datasets.items() if path not in used}
    try:
        others = claimed_by(find_frames(hdf5, replace(tree, datasets=rest), None))
    except CatalogError:  # nothing that could be served
        return tree, {}
    reason = f"encoded pictures, or what belongs to such, which --frames {pattern!r} does not name, in a file"
    lines = folded({path: reason for path in rest if path in others})
    return tree.without(others), lines
