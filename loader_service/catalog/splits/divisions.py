"""Which rows, or videos, of a file are in which split: by lists of numbers, by masks, or by a ``split`` of each.

A list is ``train_idx`` or ``splits/train``, a mask ``train_mask`` or ``is_train``; a ``split`` is a dataset with a word
for each, or an attribute or value of each video. Knows no addresses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.hdf5.enum_names import enum_names, names_in_attributes
from loader_service.catalog.hdf5.tree import ElementKind
from loader_service.catalog.inner_paths import upwards
from loader_service.catalog.split_words import WORDS, said_by, training_first
from loader_service.catalog.splits.found_splits import Division, Kept
from loader_service.catalog.splits.lists_of_rows import by_lists, lie_in_order
from loader_service.catalog.splits.said_by_files import by_holders
from loader_service.catalog.splits.said_by_videos import by_attributes, by_values
from loader_service.catalog.splits.words_as_splits import COLUMNS, is_told, is_word, of_whole_numbers, of_words
from loader_service.catalog.videos.beside.entries_by_name import are_counted, rows_of_names, without_order
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.episodes import Found


def division_of(hdf5: HDF5File, tree: Tree, with_lists: Tree, found: Found) -> Division | None:
    """Return the splits of a file's rows, or videos; None where nothing says them; `with_lists`: also in attributes.

    Raises
    ------
    CatalogError
        When a list names a row that is not there.
    """
    by_rows = found.layout == "table" or (len(found.episodes) == 1 and found.layout != "vlen")
    count = found.episodes[0].frame_count if by_rows and found.episodes else len(found.episodes)
    if not count:
        return None
    said = by_values(hdf5, found) or by_attributes(hdf5, tree, found)
    column = None if said else _by_column(hdf5, tree, count, by_rows)
    if column is not None and not by_rows and not lie_in_order(found):
        column = _of_names(hdf5, tree, column, [episode.name for episode in found.episodes])
    said = said or column or by_lists(hdf5, with_lists, found, by_rows) or (None if by_rows else _by_links(tree, found))
    return said or by_holders(hdf5, tree, found)


def _of_names(hdf5: HDF5File, tree: Tree, said: Division, names: Sequence[str]) -> Division:
    """Return the splits that a dataset says, in the order of the videos' names.

    Raises
    ------
    CatalogError
        When names do not count, and no texts beside it say whose its entries are.
    """
    info = tree.datasets[said.paths[0]]
    rows = rows_of_names(hdf5.file, tree, info, names)
    if rows is None and not are_counted(names):
        raise CatalogError(
            f"{without_order(info, names)}; write texts beside it that name the video of each, or serve all videos by "
            "--split all"
        )
    return said if rows is None else replace(said, kept={word: kept[rows] for word, kept in said.kept.items()})


def _by_column(hdf5: HDF5File, tree: Tree, count: int, by_rows: bool) -> Division | None:
    """Return the splits that a dataset with a word, or a number, for each row or video says, as `by_values` does."""
    shapes = {(count,), (count, 1), (1, count)}
    infos = [info for info in tree.datasets.values() if info.shape in shapes] if count > 1 else []
    called = [info for info in infos if info.basename.lower() in COLUMNS]
    texts = [info for info in infos if info.kind is ElementKind.TEXT and info not in called]
    for info in [*called, *texts]:
        if info.kind is ElementKind.TEXT:
            begins = info in called or hdf5.ask(_begins_with_word, info.path)
            words = np.ravel(hdf5.entries(info.path)).tolist() if begins else []
            said = of_words(words, info.path, by_rows=by_rows, called=info in called) if begins else None
        else:
            node = hdf5.node(info.path)
            said = _of_numbers(node, info, by_rows=by_rows) if info.dtype and node.dtype.kind in "biuf" else None
        if said is not None and (info in called or is_told(said)):
            return said
    return None


def _begins_with_word(hdf5: HDF5File, path: str) -> bool:
    return is_word(np.ravel(hdf5.node(path)[:1])[0])


def _of_numbers(node: Any, info: DatasetInfo, *, by_rows: bool) -> Division | None:
    """Return the splits that numbers stand for: by their names, where the file has them, else as they are."""
    values = np.ravel(node[()])
    if values.dtype.kind == "f" and not np.array_equal(values, np.floor(values)):
        return None
    values = values.astype({"b": np.uint8, "f": np.int64}.get(values.dtype.kind, values.dtype))
    names = enum_names(node.dtype) or names_in_attributes(node.attrs, lambda name: name.lower() in WORDS)
    numbers = np.unique(values).tolist()
    if all(number in names for number in numbers):
        return of_words([names[number] for number in values.tolist()], info.path, by_rows=by_rows)
    return of_whole_numbers(values, info.path, by_rows=by_rows)


def _by_links(tree: Tree, found: Found) -> Division | None:
    """Return the splits that further names of videos, or of what holds them, say: ``train/7`` of ``data/7``."""
    numbers: dict[str, list[int]] = {}
    for number, episode in enumerate(found.episodes) if tree.links else ():
        for path in filter(None, upwards(episode.dataset_path if episode.root is None else episode.root)):
            numbers.setdefault(path, []).append(number)
    kept: dict[str, Kept] = {}
    words: dict[str, str] = {}
    for path, target in tree.links:
        said = said_by(path.partition("/")[0])
        if said is not None and not said.rest and target in numbers:
            meaning = said.meaning
            kept.setdefault(meaning, np.zeros(len(found.episodes), bool))[numbers[target]] = True
            words.setdefault(meaning, said.word)
    return Division(training_first(kept), words, (), by_rows=False) if kept else None
