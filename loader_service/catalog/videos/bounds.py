"""Where videos that lie end to end begin, from starts, ends, lengths or episode numbers beside them.

`find_bounds` is pure: it looks at names, shapes and numbers. What is named as such and does not fit is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.dtypes import is_floating, is_whole
from loader_service.catalog.videos.end_flags import flagged_rows
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from loader_service.catalog.columns import Int64s
    from loader_service.catalog.hdf5.tree import DatasetInfo

#: Reads a small dataset of whole numbers.
Read = Callable[[str], Any]

_UNIT = r"((episode|ep|traj|trajectory|trajectorie|demo|video|vid|clip|seq|sequence|rollout|recording)s?)"
_ROW = r"(_?(idxs?|index|indices))?"
_ENDS = re.compile(rf"(^|_){_UNIT}?_?(ends?|stops?|to){_ROW}$|^indptr$|(^|_)ptr$", re.IGNORECASE)
_STARTS = re.compile(rf"(^|_){_UNIT}?_?(starts?|offsets?|begins?|from|bounds|boundaries|splits){_ROW}$", re.IGNORECASE)
_OTHERS = r"(?!.*(class|categor|label|split|shard|chunk))"
_LENGTHS = re.compile(
    rf"^{_OTHERS}(.*_)?{_UNIT}?_?(lens?|lengths?|sizes?|counts?)$|^(num|n)_?(frames|steps)$", re.IGNORECASE
)
_NUMBERS = re.compile(r"(^|_)(episode|ep|traj|trajectory|rollout|demo)_?(index|idx|id|number|num)?$", re.IGNORECASE)
_PAIRS = re.compile(r"(^|_)(pos|range|ranges|bounds|span|spans|slices|segments|boundaries|indices)(_|$)", re.IGNORECASE)
_OF_UNIT = re.compile(rf"(^|_){_UNIT}_|^(num|n)_?(frames|steps)$", re.IGNORECASE)
#: What is called so of no unit, and may be of something else than the rows: its numbers tell.
_BARE = re.compile(r"^(starts?|begins?|ends?|stops?|lengths?|lens?)$", re.IGNORECASE)
#: Sides behind the first of a list of numbers.
_COLUMN = frozenset({(), (1,)})
TIMES = re.compile(r"(^|_)(ts|stamps?|time|times|timestamps?|secs?|seconds?|ms|us|ns)(_|$)", re.IGNORECASE)
_INDEXES = re.compile(r"(^|_)(idx|idxs|index|indexes|indices)$", re.IGNORECASE)
_INDEX = re.compile(r"(index|idx|id|number|num)$", re.IGNORECASE)


@dataclass(frozen=True)
class Bounds:
    """Where videos lie in their datasets: ``(videos,)`` each; and the datasets that said so."""

    starts: Int64s
    ends: Int64s
    paths: frozenset[str]


def says_bounds(name: str) -> bool:
    """Tell whether something is called as ends, starts or lengths of sequences are."""
    return bool(_ENDS.search(name) or _STARTS.search(name) or _LENGTHS.search(name))


def find_bounds(
    datasets: Sequence[DatasetInfo], frame_count: int, read: Read, *, alone: bool = True, declared: bool = False
) -> Bounds | None:
    """Return where the videos in some rows begin and end, or None where nothing says that there is more than one.

    Parameters
    ----------
    datasets
        All that lie with them.
    frame_count
        How many rows there are.
    read
        Gives the numbers of a dataset.
    alone
        Whether they are all of a file; else a single number is a value of its video, and says no ends.
    declared
        Whether a schema says that there are videos, so that numbers called an index are their first rows.

    Raises
    ------
    CatalogError
        When a dataset that is named as ends, starts, lengths or numbers of episodes does not fit the rows.
    """
    short = _short(datasets, frame_count, read, alone=alone)
    whole = [info for info in datasets if is_whole(info.dtype) and info.shape]
    floats = [info for info in datasets if info.shape[1:] in _COLUMN and is_floating(info.dtype)]
    named = [*whole, *(info for info in floats if _INDEX.search(info.basename))]
    rows = {(frame_count,), (frame_count, 1)}
    columns = [info for info in named if info.shape in rows and _NUMBERS.search(info.basename)]
    bounds = (
        _from_starts_and_lengths(short, frame_count, read)
        or _from_starts_and_ends(short, frame_count, read)
        or _from_ends(short, frame_count, read)
        or _from_pairs([info for info in whole if info.shape[1:] == (2,)], frame_count, read)
        or _from_lengths(short, frame_count, read)
        or _from_numbers(columns, read)
        or (from_flags(datasets, frame_count, read, any_end=declared) if alone else None)
        or (find_first_rows(datasets, frame_count, read) if declared else None)
    )
    if bounds is None:
        _refuse_odd(short, frame_count, read)
        return None
    _refuse_other_lengths(bounds, _from_lengths(short, frame_count, read), frame_count)
    agreeing = {info.path for info in columns if _is_constant_in(read(info.path), bounds)}
    return replace(bounds, paths=bounds.paths | agreeing)


def _short(datasets: Sequence[DatasetInfo], frame_count: int, read: Read, *, alone: bool) -> list[DatasetInfo]:
    """Return the lists of whole numbers that are shorter than the rows, in one axis or two; those of times aside."""
    least = 0 if alone else 1
    most = frame_count if frame_count > 1 else 2
    short = [
        info
        for info in datasets
        if (info.shape[1:] in _COLUMN and info.shape and least < info.shape[0] < most and info.shape != (1, 1))
        or (info.shape[:1] == (1,) and info.shape[2:] == () and (1,) < info.shape[1:] < (most,))
    ]
    plain = [info for info in short if not TIMES.search(info.basename)]
    whole = [info for info in plain if is_whole(info.dtype)]
    floats = [info for info in plain if is_floating(info.dtype) and _are_whole(info, read)]
    for first, other in _beside_starts(floats, _ENDS):
        if 2 * np.sum(_numbers(read, other) - _numbers(read, first)) < frame_count:
            return whole + [info for info in floats if info.shape != first.shape]  # seconds, whole by chance
    return whole + floats


def is_index(info: DatasetInfo) -> bool:
    """Tell whether a dataset is a list of whole numbers that is called an index."""
    numbers = is_whole(info.dtype) or is_floating(info.dtype)
    return numbers and len(info.shape) == 1 and bool(_INDEXES.search(info.basename))


def find_first_rows(datasets: Sequence[DatasetInfo], frame_count: int, read: Read) -> Bounds | None:
    """Return the videos of which numbers called an index can be the first rows, or the last: two rows apart at least.

    Raises
    ------
    CatalogError
        When there are several such.
    """
    found: list[Bounds] = []
    for info in _short(datasets, frame_count, read, alone=True):
        first = _numbers(read, info) if is_index(info) and info.shape[0] > 1 else np.zeros(0, np.int64)
        if (
            len(first) and first[0] > 0 and first[-1] in {frame_count - 1, frame_count}
        ):  # the last row, or the one behind
            first = np.append(0, first[:-1] + frame_count - first[-1])
        if len(first) and first[0] == 0 and (np.diff(first) > 1).all() and first[-1] < frame_count - 1:
            found.append(Bounds(first, np.append(first[1:], frame_count), frozenset({info.path})))
    if len(found) > 1:
        names = " and ".join(repr(path) for bounds in found[:2] for path in bounds.paths)
        raise CatalogError(
            f"{names} can both be the first, or last, rows of videos in {frame_count} rows; choose with --split if "
            "they are of several splits, or write those that are meant as 'episode_starts'"
        )
    return found[0] if found else None


def from_flags(
    datasets: Sequence[DatasetInfo], frame_count: int, read: Read, *, any_end: bool = False
) -> Bounds | None:
    """Return the videos that flags of rows begin or end, if these are more than one; `any_end` as `flagged_rows`."""
    rows = flagged_rows(datasets, frame_count, read, any_end=any_end)
    return None if rows is None else Bounds(rows, np.append(rows[1:], frame_count), frozenset())


def _are_whole(info: DatasetInfo, read: Read) -> bool:
    """Tell whether floats are named as places or lengths, and are whole numbers, as MATLAB keeps these.

    Raises
    ------
    CatalogError
        When the name says that they are those of episodes, and they are no whole numbers.
    """
    if not says_bounds(info.basename):
        return False
    if _OF_UNIT.search(info.basename):
        _numbers(read, info)
    return _odd_entry(np.ravel(read(info.path))) is None


def _odd_entry(values: Any) -> int | None:
    """Return the number of the first entry that is no whole number."""
    if values.dtype.kind != "f":
        return None
    odd = np.flatnonzero(~np.isfinite(values) | (values != np.floor(values)))
    return int(odd[0]) if len(odd) else None


def _numbers(read: Read, info: DatasetInfo) -> Int64s:
    values = np.ravel(read(info.path))
    odd = _odd_entry(values)
    if odd is not None:
        raise CatalogError(f"{info.path!r}, entry {odd}: expected a whole number, found {values[odd]!s}")
    return values.astype(np.int64)


def _beside_starts(short: Sequence[DatasetInfo], name: re.Pattern[str]) -> Iterator[tuple[DatasetInfo, DatasetInfo]]:
    """Yield each dataset that is called as starts are, with each other of its shape that has such a name."""
    for first in (info for info in short if _STARTS.search(info.basename)):
        for other in short:
            if other.shape == first.shape and other.path != first.path and name.search(other.basename):
                yield first, other


def _from_starts_and_lengths(short: Sequence[DatasetInfo], frame_count: int, read: Read) -> Bounds | None:
    for first, other in _beside_starts(short, _LENGTHS):
        starts, lengths = _numbers(read, first), _numbers(read, other)
        if starts[0] == 1 and starts[-1] + lengths[-1] == frame_count + 1:
            starts = starts - 1  # rows that are counted from 1
        _check(starts, starts + lengths, frame_count, f"{first.path!r} and {other.path!r}")
        return Bounds(starts, starts + lengths, frozenset({first.path, other.path}))
    return None


def _from_starts_and_ends(short: Sequence[DatasetInfo], frame_count: int, read: Read) -> Bounds | None:
    """Return what two datasets of one length say; an end is the row behind the last, or, where all fit so, the last."""
    for first, other in _beside_starts(short, _ENDS):
        starts, ends = _numbers(read, first), _numbers(read, other)
        paths = f"{first.path!r} and {other.path!r}"
        behind = bool((starts[1:] == ends[:-1] + 1).all())  # as if each end were the last row of its sequence
        if behind and starts[0] in {0, 1} and ends[-1] == frame_count - 1 + starts[0]:
            starts, ends = starts - starts[0], ends + 1 - starts[0]
        elif (behind and len(starts) > 1) or ends[-1] == frame_count - 1:
            raise CatalogError(
                f"{paths}: expected each end to be the row behind the last one, or all to be the last row, from 0 "
                f"or from 1 on, found sequences from {starts[0]} to {ends[0]}, …, {starts[-1]} to {ends[-1]} of "
                f"{frame_count} rows"
            )
        _check(starts, ends, frame_count, paths)
        return Bounds(starts, ends, frozenset({first.path, other.path}))
    return None


def _check(starts: Int64s, ends: Int64s, frame_count: int, paths: str) -> None:
    """Refuse sequences that overlap, run backwards or leave the rows."""
    if (ends < starts).any() or starts.min() < 0 or ends.max() > frame_count:
        bad = int(np.flatnonzero((ends < starts) | (starts < 0) | (ends > frame_count))[0])
        raise CatalogError(
            f"{paths}: expected sequences within {frame_count} rows, found entry {bad} from {starts[bad]} to "
            f"{ends[bad]}"
        )
    if (starts[1:] < ends[:-1]).any():
        bad = int(np.flatnonzero(starts[1:] < ends[:-1])[0])
        raise CatalogError(
            f"{paths}: expected sequences one after the other, found entries {bad} and {bad + 1} that overlap: to "
            f"{ends[bad]}, and from {starts[bad + 1]}"
        )


def _from_ends(short: Sequence[DatasetInfo], frame_count: int, read: Read) -> Bounds | None:
    for info in (each for each in short if _ENDS.search(each.basename) or _STARTS.search(each.basename)):
        ends = _numbers(read, info)
        if (np.diff(ends) < 0).any() or ends[0] < 0:
            continue
        if ends[0] == 0 and len(ends) > 1 and ends[-1] == frame_count:
            return Bounds(ends[:-1], ends[1:], frozenset({info.path}))
        if ends[-1] == frame_count:
            return Bounds(np.concatenate([[0], ends[:-1]]), ends, frozenset({info.path}))
        rising = _OF_UNIT.search(info.basename) or (np.diff(ends) > 0).all()  # else a place in space, (0, 0, 0)
        if rising and ends[0] == 0 and ends[-1] < frame_count and _STARTS.search(info.basename):
            return Bounds(ends, np.concatenate([ends[1:], [frame_count]]), frozenset({info.path}))
    return None


def _refuse_other_lengths(bounds: Bounds, others: Bounds | None, frame_count: int) -> None:
    """Refuse lengths that fit the rows as what divides them does, and divide them otherwise."""
    if others is not None and not np.array_equal(bounds.ends, others.ends):
        ends, lengths = (" and ".join(map(repr, sorted(each.paths))) for each in (bounds, others))
        raise CatalogError(
            f"{ends} and {lengths} both divide the {frame_count} rows, and differ: into {len(bounds.ends)}, the first "
            f"with {bounds.ends[0]} rows, and {len(others.ends)}, the first with {others.ends[0]}; take out one"
        )


def _from_pairs(pairs: Sequence[DatasetInfo], frame_count: int, read: Read) -> Bounds | None:
    for info in (each for each in pairs if each.shape[0] < frame_count or _PAIRS.search(each.basename)):
        found = _numbers(read, info).reshape(info.shape)
        for inclusive in (0, 1):
            first = found[0, 0] if len(found) and found[-1, 1] + inclusive - found[0, 0] == frame_count else 0
            starts, ends = found[:, 0] - first, found[:, 1] + inclusive - first
            joined = len(found) and starts[0] == 0 and ends[-1] == frame_count and (starts[1:] == ends[:-1]).all()
            if joined and (ends >= starts).all():
                return Bounds(starts, ends, frozenset({info.path}))
        starts, ends = found[:, 0], found[:, 0] + found[:, 1]  # a first row and a length each
        joined = len(found) > 1 and starts[0] == 0 and ends[-1] == frame_count and (starts[1:] == ends[:-1]).all()
        if joined and (ends > starts).all():
            return Bounds(starts, ends, frozenset({info.path}))
    return None


def _from_lengths(short: Sequence[DatasetInfo], frame_count: int, read: Read) -> Bounds | None:
    for info in (each for each in short if _LENGTHS.search(each.basename)):
        lengths = _numbers(read, info)
        if (lengths >= 0).all() and lengths.sum() == frame_count:
            ends = np.cumsum(lengths)
            return Bounds(ends - lengths, ends, frozenset({info.path}))
    return None


def _from_numbers(columns: Sequence[DatasetInfo], read: Read) -> Bounds | None:
    for info in columns:
        numbers = _numbers(read, info)
        changes = np.flatnonzero(np.diff(numbers)) + 1
        starts = np.concatenate([[0], changes])
        if len(starts) < 2:
            return None
        found, counts = np.unique(numbers[starts], return_counts=True)
        if len(found) < len(starts):
            raise CatalogError(
                f"{info.path!r}: expected the rows of each episode together, found episode {found[counts > 1][0]} in "
                "more than one place"
            )
        return Bounds(starts, np.concatenate([changes, [len(numbers)]]), frozenset({info.path}))
    return None


def _is_constant_in(values: Any, bounds: Bounds) -> bool:
    column, spans = np.asarray(values), np.column_stack([bounds.starts, bounds.ends]).tolist()
    return all((column[start:end] == column[start]).all() for start, end in spans if end > start)


def _refuse_odd(short: Sequence[DatasetInfo], frame_count: int, read: Read) -> None:
    """Refuse what is named as the ends, starts or lengths of episodes, or of these rows, and does not fit."""
    for info in short:
        if not says_bounds(info.basename):
            continue
        values = _numbers(read, info)
        one_less = bool(_LENGTHS.search(info.basename)) and 1 < len(values) == frame_count - values.sum()
        of_rows = bool(_BARE.search(info.basename)) and _are_of_rows(info, values, frame_count)
        if one_less or of_rows or _OF_UNIT.search(info.basename):
            raise CatalogError(
                f"{info.path!r}: expected ends that never fall and reach {frame_count}, the number of rows, or lengths "
                f"that sum to it; found {values[0]} to {values[-1]}, at most {values.max()}, in sum {values.sum()}"
                f"{', one less for each of them, as of actions between frames' if one_less else ''}"
            )


def _are_of_rows(info: DatasetInfo, values: Int64s, frame_count: int) -> bool:
    """Tell whether numbers seem to be ends, or lengths, of most of some rows: a few short ones are something else's."""
    total = values.sum() if _LENGTHS.search(info.basename) else values[-1]
    return len(values) > 1 and bool((values >= 0).all()) and 2 * int(total) > frame_count
