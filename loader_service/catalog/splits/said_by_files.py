"""The split that a file says of all of its videos, or a group of those in it: by an attribute, or by a single text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.hdf5.attributes import read_attribute
from loader_service.catalog.hdf5.tree import ElementKind
from loader_service.catalog.inner_paths import join, lies_in, upwards
from loader_service.catalog.split_words import says_split, single_meaning
from loader_service.catalog.splits.words_as_splits import COLUMNS, is_of_splits, of_words, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import Tree
    from loader_service.catalog.splits.found_splits import Division
    from loader_service.catalog.videos.episodes import Found


def by_holders(hdf5: HDF5File, tree: Tree, found: Found) -> Division | None:
    """Return the splits that groups say of the videos in them, the root of all; None where not all are in one."""
    called = [path for path, names in tree.attributed.items() if any(each.lower() in COLUMNS for each in names)]
    called += [path for path, info in tree.datasets.items() if info.basename.lower() in COLUMNS]
    if not found.episodes or not called:
        return None
    places = [each.dataset_path if each.root is None else each.root for each in found.episodes]
    said = dict(_said(hdf5, tree, frozenset(places)))
    closest = [next((group for group in upwards(place) if group in said), None) for place in places]
    if None in closest:
        return None
    path = said[closest[0] or ""][0]
    return of_words([said[group or ""][1] for group in closest], path, by_rows=False, called=is_of_splits(path))


def _said(hdf5: HDF5File, tree: Tree, places: frozenset[str]) -> Iterable[tuple[str, tuple[str, str]]]:
    """Yield groups, what says their split, and its word; a group without videos says that of the group it lies in."""
    holders = {group for place in places for group in upwards(place)}
    for path, names in tree.attributed.items():
        name = next((each for each in names if each.lower() in COLUMNS), None)
        group = path if path in holders else path.rpartition("/")[0]
        if name is not None and path not in tree.datasets and group in holders:
            word = hdf5.ask(_attribute, path, name)
            if _is_split(name, word):
                yield group, (join(path, f"@{name}"), word)
    for info in tree.datasets.values():
        if info.kind is ElementKind.TEXT and info.shape in {(), (1,)} and info.basename.lower() in COLUMNS:
            group = info.parent if info.parent in holders else info.parent.rpartition("/")[0]
            word = hdf5.ask(_text, info.path) if group in holders and not lies_in(info.parent, places) else ""
            if _is_split(info.path, word):
                yield group, (info.path, word)


def _is_split(path: str, word: str) -> bool:
    """Tell whether a text is a split: a word of one alone, or ``test_seen`` in what can be nothing else."""
    return single_meaning(word) is not None or (is_of_splits(path) and says_split(word))


def _attribute(hdf5: HDF5File, path: str, name: str) -> str:
    return text_of(read_attribute(hdf5, path, name))


def _text(hdf5: HDF5File, path: str) -> str:
    return text_of(hdf5.node(path)[()])
