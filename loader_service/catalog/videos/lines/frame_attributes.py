"""Attributes of numbered datasets, of which few were looked at: how many have them, and whether as frames. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import unnumbered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.hdf5.tree import Tree
    from loader_service.catalog.videos.episodes import Found

#: What helps where each frame has an attribute: a schema names that of one frame alone.
OF_FRAMES = "; to serve it of each frame, write a dataset beside the frames with an entry for each,"


def count_bearers(tree: Tree, keys: Sequence[str], place: tuple[str, str]) -> int:
    """Return how many nodes have an attribute, where only their numbers tell them apart; else how many keys there are.

    Parameters
    ----------
    tree
        Where the attributes are.
    keys
        Those of one line.
    place
        The path of the first of these, and its name.
    """
    path, name = place
    form = unnumbered(path)
    if len(keys) == 1 or form == path or len({unnumbered(key) for key in keys}) > 1:
        return len(keys)
    return sum(name in names and unnumbered(each) == form for each, names in tree.attributed.items())


def are_of_frames(tree: Tree, found: Found, keys: Sequence[str], path: str) -> bool:
    """Tell whether the bearers of attributes of one line are frames: datasets that only numbers tell apart.

    Parameters
    ----------
    tree, keys
        As of `count_bearers`.
    found
        The videos, to which frames belong, and are no fields of their own.
    path
        Of the first bearer.
    """
    return len(keys) > 1 and path in tree.datasets and unnumbered(path) != path and path in found.helpers
