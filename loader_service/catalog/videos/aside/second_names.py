"""What has several names in a file, by links: which of them is served, and which are one and the same. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of, key_in, parent_of, upwards
from loader_service.catalog.line_folding import folded
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.split_words import said_by
from loader_service.catalog.videos.episodes import owner_of
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from loader_service.catalog.hdf5.tree import Tree
    from loader_service.catalog.videos.episodes import Found


def without_second_names(tree: Tree) -> tuple[Tree, dict[str, str]]:
    """Return a tree in which no dataset is twice in a group, and a line for each name that this leaves out.

    A second name of labels is none: it is what they are called.
    """
    lines = {
        path: f"found another name of {first!r}, a hard link to the same dataset, in a file"
        for path, first in tree.second_names.items()
        if parent_of(path) == parent_of(first)
        if not {basename_of(path), basename_of(first)} & {*LABEL_NAMES}
    }
    if not lines:
        return tree, lines
    return tree.without(lines), lines


def _of_links(tree: Tree) -> dict[str, str]:
    """Return a line for each link to what is there under its own name; links of a split say what is in it."""
    there = {*tree.datasets, *(above for group in tree.groups for above in upwards(group) if above)}
    named = {path: target for path, target in tree.links if target in there and said_by(path.partition("/")[0]) is None}
    return folded({path: f"found another name of {target!r}, a link, in a file" for path, target in named.items()})


def _of_frames(second: Mapping[str, str], found: Found) -> dict[str, str]:
    """Return a line for each video of which frames, in datasets of their own, are frames of another one, too."""
    owners = {path: number for number, each in enumerate(found.episodes) for path in each.helpers}
    twice: dict[int, list[str]] = {}
    for path, first in second.items():
        if owners.get(path, -1) != owners.get(first, -1) and path in owners and first in owners:
            twice.setdefault(owners[path], []).append(path)
    names = [episode.name for episode in found.episodes]
    return {
        f"{names[number]} (link)": f"{counted(len(paths), 'dataset')} of it, such as {paths[0]!r}, "
        f"{'are' if len(paths) > 1 else 'is'} of {names[owners[second[paths[0]]]]!r} too, by hard links; leave one of "
        "these out by videos=[…] of the stream, in a file"
        for number, paths in twice.items()
    }


def lines_of_second_names(tree: Tree, found: Found) -> dict[str, str]:
    """Return a line for each field, or video, that is served twice, since its dataset has a name in another group, too.

    What several videos share, as the matrix of a camera, is a field of each.
    """
    second = {path: first for path, first in tree.second_names.items() if parent_of(path) != parent_of(first)}
    lines = _of_links(tree) if tree.links else {}
    if not second:
        return lines
    served = {part.path: number for number, each in enumerate(found.episodes) for part in each.parts.values()}
    roots = found.by_root
    main = {episode.dataset_path for episode in found.episodes}
    lines |= _of_frames(second, found)
    for path, first in second.items():
        if path not in served or first not in served:
            continue
        if served[path] == served[first]:
            owner = owner_of(roots, path)
            key = path if owner is None else key_in(owner.root, path)
            lines.setdefault(
                f"{key} (link)",
                f"{path!r} and {first!r} are one and the same, by a hard link, and both are served; name the fields "
                "that are meant in a --schema, as --toml prints one, in a file",
            )
        elif path in main and first in main:
            lines.setdefault(
                f"{path} (link)",
                f"{path!r} and {first!r} are one and the same, by a hard link, and each is a video; leave one out by "
                "videos=[…] of the stream, in a file",
            )
    return lines
