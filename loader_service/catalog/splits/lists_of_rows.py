"""Lists of the numbers of rows, or videos, that say a split, as ``train_idx``: which they are, and what they take.

They count from 0, or from 1 where they cover 1 to the number of all, or where MATLAB wrote them. Knows no addresses.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.hdf5.tree import ElementKind
from loader_service.catalog.inner_paths import grouped
from loader_service.catalog.split_words import (
    SPLIT_WORDS,
    Said,
    are_opposites,
    said_beside,
    said_by,
    stands_apart,
    training_first,
)
from loader_service.catalog.splits.attribute_lists import read_list
from loader_service.catalog.splits.found_splits import Division, Kept
from loader_service.catalog.splits.split_masks import is_inside, split_masks
from loader_service.catalog.videos.aside.noted_kinds import MATLAB_CLASS
from loader_service.catalog.videos.beside.entries_by_name import are_counted
from loader_service.errors import CatalogError
from loader_service.record_class import record
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.episodes import Found

#: What lists of the places of rows, or videos, are called, and lists of other numbers of them, too.
_PLACE_WORDS = "idx|idxs|ind|inds|index|indexes|indices|row|rows"
_LIST_WORDS = f"{_PLACE_WORDS}|loc|locs|id|ids|key|keys|list|order"

#: What is left of the name of a list when the split's word is taken out.
_NUMBERS = re.compile(rf"(?:^|_)(?:{_LIST_WORDS})$")

#: Of those, what is left in an attribute that lists rows or videos, and no numbers by which others call them.
_PLACES = re.compile(rf"(?:^|_)(?:{_PLACE_WORDS})$")

#: The same at the end of a name: what is before it tells lists of one split apart, as in ``test_seen_loc``.
_SUFFIX = re.compile(rf"[\W_]*(?:{_LIST_WORDS})$", re.IGNORECASE)

_DIGITS = re.compile(r"[0-9]{1,18}")

_Named = tuple["DatasetInfo", Said]


@record(frozen=True)
class _Count:
    """How the numbers of lists count: the first of them, why it is so where that is no 0, and what is not told."""

    first: int = 0
    note: str = ""


def by_lists(hdf5: HDF5File, tree: Tree, found: Found, by_rows: bool) -> Division | None:
    """Return the splits that lists of numbers, or masks, say; by their paths where several groups have one: folds.

    Raises
    ------
    CatalogError
        When a list names a row, or video, that is not there, or nothing says which are meant.
    """
    named = _named(tree)
    if not named:
        return None
    count = found.episodes[0].frame_count if by_rows else len(found.episodes)
    names = [episode.name for episode in found.episodes]
    unit = "row" if by_rows else "video"
    masks = split_masks(hdf5, [each for each in named if len(each[0].shape) == 1], count)
    numbers = {info.path: _numbers(hdf5, info) for info, said in named if info.path not in masks and _lists(info, said)}
    lists = {path: values for path, values in numbers.items() if values is not None}
    counting = _counting(tree, lists, count, unit)
    plain = by_rows or _is_order_plain(found)
    kept: dict[str, Kept] = {}
    words: dict[str, str] = {}
    paths: dict[str, list[str]] = {}
    times = Counter(info.basename for info, _ in named)
    own = _words_of_subsets([each for each in named if each[0].path in lists])
    for info, said in named:
        if info.path in masks:
            mask, clear = masks[info.path], plain or _count_from(names, 0) or are_counted(names)
        elif info.path in lists:
            listed = _listed(info, said, lists[info.path], count, counting, f"{unit}s")
            if listed is None:
                continue
            mask, clear = listed, plain or _count_from(names, counting.first)
        else:
            continue
        if not clear:
            raise _unclear(info, names)
        word = info.path if times[info.basename] > 1 else own.get(info.path, said.word)
        meaning = said.meaning if word == said.word else word
        kept[meaning] = kept[meaning] | mask if meaning in kept else mask
        words.setdefault(meaning, word)
        paths.setdefault(meaning, []).append(info.path)
    if not kept:
        return None
    kept = training_first(kept)
    first, rest = [paths[meaning][0] for meaning in kept], [path for each in paths.values() for path in each[1:]]
    note = counting.note if any(path in lists for path in (*first, *rest)) else ""
    return Division(kept, words, (*first, *rest), by_rows, note=note)


def lists_of_two_axes(tree: Tree) -> Mapping[str, DatasetInfo]:
    """Return what MATLAB writes of lists, as ``train_loc`` (1, 12): two or more that say splits, which are no data."""
    lists = {info.path: info for info, said in _named(tree) if len(info.shape) > 1 and _lists(info, said)}
    return lists if len(lists) > 1 else {}


def _named(tree: Tree) -> list[_Named]:
    """Return lists whose names say a split, alone or beside others of the same group: ``tr_idx`` and ``te_idx``."""
    if not SPLIT_WORDS.search("\n".join(tree.datasets)):
        return []
    found = [(info, each) for info in tree.datasets.values() if _is_vector(info) and (each := _said(info.basename))]
    alike = grouped(found, lambda each: (each[0].parent, each[1].rest))
    return [
        (info, said)
        for info, said in found
        if said_by(info.basename)
        or any(
            said_by(other.basename) or are_opposites(said.meaning, each.meaning)
            for other, each in alike[info.parent, said.rest]
            if other is not info
        )
    ]


def _said(name: str) -> Said | None:
    return said_by(name) or said_beside(name)


def _is_vector(info: DatasetInfo) -> bool:
    """Tell whether a dataset has one axis, or one of two that is longer than 1."""
    return len(info.shape) == 1 or (len(info.shape) == 2 and 1 in info.shape and math.prod(info.shape) > 1)


def _lists(info: DatasetInfo, said: Said) -> bool:
    """Tell whether what says a split is called as a list of numbers; of two axes, or floats, none but by its name."""
    is_named = bool(_NUMBERS.search(said.rest))
    if info.kind is ElementKind.INTEGER and len(info.shape) == 1:
        return is_named or not said.rest
    inside = len(info.shape) > 1 and is_inside(info, said)
    return info.kind in {ElementKind.INTEGER, ElementKind.FLOAT} and (is_named or inside)


def _numbers(hdf5: HDF5File, info: DatasetInfo) -> NDArray[np.int64] | None:
    """Return the numbers of a list; None where they are not whole."""
    values: NDArray[Any] = np.ravel(read_list(hdf5, info.path))
    if values.dtype.kind == "f" and not (np.isfinite(values).all() and np.array_equal(values, np.floor(values))):
        return None
    return values.astype(np.int64)


def _counting(tree: Tree, lists: Mapping[str, NDArray[np.int64]], count: int, unit: str) -> _Count:
    """Return from which number lists count, of which one that has a 0 counts from it, as all do.

    Raises
    ------
    CatalogError
        When they may be MATLAB's, by their form alone, and nothing says so.
    """
    values = np.unique(np.concatenate([np.zeros(0, np.int64), *lists.values()]))
    if not len(values) or values[0] <= 0:
        return _Count()
    if len(values) == count and values[-1] == count:
        return _Count(1, f"their numbers count from 1, since together they are 1 to {count}")
    if any(MATLAB_CLASS in tree.attributed.get(path, ()) for path in lists):
        return _Count(1, "their numbers count from 1, since MATLAB wrote them")
    as_matlab = [
        path for path in lists if len(tree.datasets[path].shape) > 1 and tree.datasets[path].kind is ElementKind.FLOAT
    ]
    if as_matlab and values[-1] <= count:
        raise CatalogError(
            f"{as_matlab[0]!r} and others have the form of MATLAB's lists of {unit}s, which count from 1, and nothing "
            f"says from where: neither 0 is among their numbers, nor are all from 1 to {count}; write whole numbers of "
            "one axis from 0 on in their place, or serve all by --split all"
        )
    if values[-1] >= count:
        return _Count()
    return _Count(0, f"their numbers are read from 0 on, and neither 0 nor {count} is among them, which would say so")


def _listed(
    info: DatasetInfo, said: Said, numbers: NDArray[np.int64], count: int, counting: _Count, unit: str
) -> Kept | None:
    """Return which rows, or videos, a list names; None if it is no list: a ``trainId`` that counts other things.

    Raises
    ------
    CatalogError
        When it names one that is not there, and is surely a list: its name has the split's word as a part of its own.
    """
    places = _PLACES if info.basename.startswith("@") else _NUMBERS
    sure = is_inside(info, said) or bool(places.search(said.rest) and stands_apart(info.basename))
    sure = sure and not (info.kind is ElementKind.FLOAT and numbers.max(initial=0) > count)  # a place of another kind
    rows = numbers - counting.first
    bad = np.flatnonzero((rows < 0) | (rows >= count))
    if len(bad):
        if not sure:
            return None
        raise CatalogError(
            f"{info.path!r}, entry {bad[0]}: expected a number of one of {count} {unit}, from {counting.first}, found "
            f"{numbers[bad[0]]}; correct the list, or name the fields with --schema FILE, which serves all {unit}, as "
            "--split all does"
        )
    mask = np.zeros(count, bool)
    mask[rows] = True
    return mask if sure or mask.sum() == len(rows) else None


def _words_of_subsets(lists: Sequence[_Named]) -> dict[str, str]:
    """Return what lists of one split are called by all that they say, by path, where none of them is all of it."""
    words = {}
    for alike in grouped(lists, lambda each: (each[0].parent, each[1].meaning)).values():
        stems = {info.path: _SUFFIX.sub("", info.basename.removeprefix("@")) for info, _ in alike}
        rests = {_NUMBERS.sub("", said.rest) for _, said in alike}
        if len(rests) > 1 and "" not in rests:
            words.update(stems)
    return words


def _unclear(info: DatasetInfo, names: Sequence[str]) -> CatalogError:
    return CatalogError(
        f"{info.path!r} has numbers of {counted(len(names), 'video')} whose names do not count from 0, such as "
        f"{names[0]!r} and {names[-1]!r}, and nothing says which is whose; write these names in place of numbers, or "
        "serve all videos by --split all"
    )


def _is_order_plain(found: Found) -> bool:
    """Tell whether the numbers of videos mean one thing: the order of their names is the same, sorted in any way."""
    names = [episode.name for episode in found.episodes]
    return lie_in_order(found) or (found.layout != "spans" and names == sorted(names))


def lie_in_order(found: Found) -> bool:
    """Tell whether videos are rows of one dataset, or parts of its rows, in the order of their names."""
    if found.layout != "spans":
        return found.layout in {"vlen", "padded"}
    firsts = [part.first for episode in found.filled for part in list(episode.timed.values())[:1]]
    return firsts == sorted(firsts)


def _count_from(names: Sequence[str], first: int) -> bool:
    """Tell whether only numbers tell the names of videos apart, from the first on and without gaps: places in order."""
    numbers = [int(digits[-1]) for name in names if (digits := _DIGITS.findall(name))]
    return are_counted(names) and numbers == list(range(first, first + len(names)))
