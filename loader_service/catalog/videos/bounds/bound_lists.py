"""Which datasets are lists of starts, ends or lengths, by their names and numbers; and what an index says. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.dtypes import is_floating, is_whole
from loader_service.catalog.inner_paths import basename_of
from loader_service.catalog.sides import is_list
from loader_service.catalog.split_words import single_meaning
from loader_service.catalog.vocabulary import RECORDINGS
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from loader_service.catalog.columns import Int64s
    from loader_service.catalog.hdf5.tree import DatasetInfo


#: Reads a small dataset of whole numbers.
Read = Callable[[str], Any]

_UNIT = rf"(({RECORDINGS})s?)"
_ROW = r"(_?(idxs?|index|indices))?"
#: Where a word begins; in ``rowSize``, too.
_WORD = r"(^|_|(?-i:(?<=[a-z])(?=[A-Z])))"
ENDS = re.compile(rf"{_WORD}{_UNIT}?_?(ends?|stops?|to){_ROW}$|^indptr$|(^|_)ptr$", re.IGNORECASE)
STARTS = re.compile(rf"{_WORD}{_UNIT}?_?(starts?|offsets?|begins?|from|bounds|boundaries|splits){_ROW}$", re.IGNORECASE)
_OTHERS = r"(?!.*(class|categor|label|split|shard|chunk))"
LENGTHS = re.compile(
    rf"^{_OTHERS}(.*{_WORD})?{_UNIT}?_?(lens?|lengths?|sizes?|counts?)$|^(num|n)_?(frames|steps)$", re.IGNORECASE
)
OF_UNIT = re.compile(rf"{_WORD}{_UNIT}(_|(?-i:(?=[A-Z])))|^(num|n)_?(frames|steps)$", re.IGNORECASE)
#: What is called so of no unit, and may be of something else than the rows: its numbers tell.
BARE = re.compile(r"^(starts?|begins?|ends?|stops?|lengths?|lens?)$", re.IGNORECASE)
PAIRS = re.compile(r"(^|_)(pos|range|ranges|bounds|span|spans|slices|segments|boundaries|indices)(_|$)", re.IGNORECASE)
TIMES = re.compile(r"(^|_)(ts|stamps?|time|times|timestamps?|secs?|seconds?|ms|us|ns)(_|$)", re.IGNORECASE)
_OF_VIDEOS = re.compile(rf"(^|_)({RECORDINGS})s?_?(idx|idxs|index|indexes|indices)$", re.IGNORECASE)
_INDEXES = re.compile(r"(^|_)(idx|idxs|index|indexes|indices)$", re.IGNORECASE)


@dataclass(frozen=True)
class Bounds:
    """Where videos lie in their datasets, ``(videos,)`` each; the datasets that said so; and their names, if any."""

    starts: Int64s
    ends: Int64s
    paths: frozenset[str]
    names: tuple[str, ...] = ()

    @classmethod
    def of_starts(cls, starts: Int64s, frame_count: int, *paths: str) -> Bounds:
        """Return where videos lie of which each ends where the next one begins, and the last with the rows."""
        return cls(starts, np.append(starts[1:], frame_count), frozenset(paths))

    @classmethod
    def of_lengths(cls, lengths: Int64s, *paths: str, names: tuple[str, ...] = ()) -> Bounds:
        """Return where videos of some lengths lie, one after the other from the first row on."""
        ends = np.cumsum(lengths)
        return cls(ends - lengths, ends, frozenset(paths), names)


class LastRowsError(CatalogError):
    """Ends do not fit as the rows behind the last ones of videos, and do as the last ones themselves."""


def says_bounds(name: str) -> bool:
    """Tell whether something is called as ends, starts or lengths of sequences are."""
    return bool(ENDS.search(name) or STARTS.search(name) or LENGTHS.search(name))


def without_bounds(arrays: Sequence[DatasetInfo]) -> list[DatasetInfo]:
    """Return arrays without the list of ends, starts or lengths of videos among them, which counts no rows of a table.

    It stays where nothing is longer, and where something else has as many entries: columns of events, as several lists
    may be, unless all are of two axes.
    """
    bounds = [info for info in arrays if is_list(info.shape) and _bounds_videos(info.basename)]
    if not bounds or (len(bounds) > 1 and any(len(info.shape) == 1 for info in bounds)):
        return list(arrays)
    rest = [info for info in arrays if info not in bounds]
    counts = {info.shape[0] for info in rest}
    entries = {max(info.shape) for info in bounds}
    return rest if counts.isdisjoint(entries) and max(counts, default=0) > max(entries) else list(arrays)


def _bounds_videos(name: str) -> bool:
    return bool(BARE.search(name)) or (says_bounds(name) and bool(OF_UNIT.search(name)))


def short_lists(datasets: Sequence[DatasetInfo], frame_count: int, read: Read, *, alone: bool) -> list[DatasetInfo]:
    """Return the lists of whole numbers that are shorter than the rows, in one axis or two; those of times aside.

    So is one that is as long by chance, and runs from 0 to the row behind the last.
    """
    least = 0 if alone else 1
    most = frame_count if frame_count > 1 else 2
    short = [
        info
        for info in datasets
        if is_list(info.shape) and least < math.prod(info.shape) < most and info.shape != (1, 1)
    ]
    short += [info for info in datasets if _runs_through(info, frame_count, read)]
    plain = [info for info in short if not TIMES.search(info.basename)]
    whole = [info for info in plain if is_whole(info.dtype)]
    floats = [info for info in plain if is_floating(info.dtype) and _are_whole(info, read)]
    for first, other in beside_starts(floats, ENDS):
        if 2 * np.sum(whole_numbers(read, other) - whole_numbers(read, first)) < frame_count:
            return whole + [info for info in floats if info.shape != first.shape]  # seconds, whole by chance
    return whole + floats


def _runs_through(info: DatasetInfo, frame_count: int, read: Read) -> bool:
    """Tell whether a list that is called as starts or ends has an entry for each row by chance: none is its own row."""
    if info.shape not in {(frame_count,), (frame_count, 1)} or frame_count < _FEWEST_ROWS or not is_whole(info.dtype):
        return False
    if not (STARTS.search(info.basename) or ENDS.search(info.basename)):
        return False
    numbers = whole_numbers(read, info)
    return bool(numbers[0] == 0 and numbers[-1] == frame_count and (np.diff(numbers) >= 0).all())


#: Two videos, of which one has two rows, as a list of starts with the end of all.
_FEWEST_ROWS = 3


def is_index(info: DatasetInfo) -> bool:
    """Tell whether a dataset is a list of whole numbers that is called an index, or lies in a group that is."""
    numbers = is_whole(info.dtype) or is_floating(info.dtype)
    return numbers and len(info.shape) == 1 and (bool(_INDEXES.search(info.basename)) or is_index_of_split(info))


def is_index_of_split(info: DatasetInfo) -> bool:
    """Tell whether a dataset is called as a split, in a group called as indexes of videos: ``video_indexes/train``."""
    return bool(_OF_VIDEOS.search(basename_of(info.parent))) and single_meaning(info.basename) is not None


def find_first_rows(datasets: Sequence[DatasetInfo], frame_count: int, read: Read) -> Bounds | None:
    """Return the videos of which numbers called an index can be the first rows, or the last: two rows apart at least.

    Raises
    ------
    CatalogError
        When there are several such.
    """
    found: list[Bounds] = []
    for info in short_lists(datasets, frame_count, read, alone=True):
        first = whole_numbers(read, info) if is_index(info) and info.shape[0] > 1 else np.zeros(0, np.int64)
        if (
            len(first) and first[0] > 0 and first[-1] in {frame_count - 1, frame_count}
        ):  # the last row, or the one behind
            first = np.append(0, first[:-1] + frame_count - first[-1])
        if len(first) and first[-1] == frame_count:
            first = first[:-1]  # the end of all, which is no row
        if len(first) > 1 and first[0] == 0 and (np.diff(first) > 1).all() and first[-1] < frame_count - 1:
            found.append(Bounds.of_starts(first, frame_count, info.path))
    if len(found) > 1:
        names = " and ".join(repr(path) for bounds in found[:2] for path in bounds.paths)
        raise CatalogError(
            f"{names} can both be the first, or last, rows of videos in {frame_count} rows; choose with --split if "
            "they are of several splits, or write those that are meant as 'episode_starts'"
        )
    return found[0] if found else None


def _are_whole(info: DatasetInfo, read: Read) -> bool:
    """Tell whether floats are named as places or lengths, and are whole numbers, as MATLAB keeps these.

    Raises
    ------
    CatalogError
        When the name says that they are those of episodes, and they are no whole numbers.
    """
    if not says_bounds(info.basename):
        return False
    if OF_UNIT.search(info.basename):
        whole_numbers(read, info)
    return _odd_entry(np.ravel(read(info.path))) is None


def _odd_entry(values: Any) -> int | None:
    """Return the number of the first entry that is no whole number."""
    if values.dtype.kind != "f":
        return None
    odd = np.flatnonzero(~np.isfinite(values) | (values != np.floor(values)))
    return int(odd[0]) if len(odd) else None


def whole_numbers(read: Read, info: DatasetInfo) -> Int64s:
    """Return the numbers of a list; CatalogError where one is not whole."""
    values = np.ravel(read(info.path))
    odd = _odd_entry(values)
    if odd is not None:
        raise CatalogError(f"{info.path!r}, entry {odd}: expected a whole number, found {values[odd]!s}")
    return values.astype(np.int64)


def check_spans(starts: Int64s, ends: Int64s, frame_count: int, paths: str) -> None:
    """Refuse sequences that overlap, run backwards or leave the rows."""
    if (ends < starts).any() or starts.min() < 0 or ends.max() > frame_count:
        bad = int(np.flatnonzero((ends < starts) | (starts < 0) | (ends > frame_count))[0])
        raise CatalogError(
            f"{paths}: expected sequences within {frame_count} rows, found entry {bad} from {starts[bad]} to "
            f"{ends[bad]}"
        )
    if (starts[1:] < ends[:-1]).any():
        bad = int(np.flatnonzero(starts[1:] < ends[:-1])[0])
        how = "that overlap" if ends[bad + 1] > starts[bad] else "in another order than their rows"
        raise CatalogError(
            f"{paths}: expected sequences one after the other, found entries {bad} and {bad + 1} {how}: to "
            f"{ends[bad]}, and from {starts[bad + 1]}"
        )


def covers(starts: Int64s, ends: Int64s, frame_count: int) -> bool:
    """Tell whether each row lies in one sequence, in whatever order these come, and some sequence has not one row."""
    order = np.lexsort((ends, starts))
    joined = np.array_equal(starts[order][1:], ends[order][:-1])
    return joined and starts.min() == 0 and ends.max() == frame_count and bool((ends - starts != 1).any())


def beside_starts(short: Sequence[DatasetInfo], name: re.Pattern[str]) -> Iterator[tuple[DatasetInfo, DatasetInfo]]:
    """Yield each dataset that is called as starts are, with each other of its shape that has such a name."""
    for first in (info for info in short if STARTS.search(info.basename)):
        for other in short:
            if other.shape == first.shape and other.path != first.path and name.search(other.basename):
                yield first, other


def find_last_rows(datasets: Sequence[DatasetInfo], frame_count: int, read: Read) -> Bounds | None:
    """Return the videos of which ends that rise to the last row can be the last rows, and not the rows behind."""
    for info in short_lists(datasets, frame_count, read, alone=True):
        last = whole_numbers(read, info) if ENDS.search(info.basename) else np.zeros(0, np.int64)
        if len(last) and last[0] >= 0 and (np.diff(last) > 0).all() and last[-1] == frame_count - 1:
            return Bounds(np.append(0, last[:-1] + 1), last + 1, frozenset({info.path}))
    return None


#: What lengths of sequences are called, as RETURNN does; sizes or counts may be of something else.
_LENGTHS_IN_COLUMNS = re.compile(rf"(^|_)({RECORDINGS}|utterance)s?_?len(gth)?s?$", re.IGNORECASE)

#: Columns of lengths: of inputs, and of the targets that belong to them.
_MOST_COLUMNS = 8


def are_length_columns(info: DatasetInfo) -> bool:
    """Tell whether a dataset is called as lengths of sequences, and has one or a few for each of them."""
    few = len(info.shape) == 2 and 0 < info.shape[1] <= _MOST_COLUMNS
    return few and is_whole(info.dtype) and bool(_LENGTHS_IN_COLUMNS.search(info.basename))


def lengths_in_columns(
    datasets: Sequence[DatasetInfo], frame_count: int, read: Callable[[str], Any]
) -> tuple[Int64s, str] | None:
    """Return the lengths of sequences that end to end are so many rows, and the path of their dataset; None without.

    Raises
    ------
    CatalogError
        When no column sums to the rows.
    """
    several = [info for info in datasets if are_length_columns(info) and info.shape[1] > 1]
    for info in (each for each in several if 0 < each.shape[0] < frame_count):
        columns = np.asarray(read(info.path)).astype(np.int64).T
        for column in columns:
            if (column >= 0).all() and column.sum() == frame_count:
                return column, info.path
        raise CatalogError(
            f"{info.path!r}: expected a column of lengths that sum to {frame_count}, the number of rows; found sums of "
            f"{', '.join(map(str, columns.sum(axis=1).tolist()))}"
        )
    return None
