"""Videos that lie end to end in the same datasets: where each begins, from starts, ends, lengths or episode numbers.

`find_bounds` is pure: it looks at names, shapes and numbers. What is named as such and does not fit is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.inner_paths import join
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.videos.episodes import Episode, Found, VideoField, key_in
from loader_service.catalog.videos.fields_beside import MOST_VALUE_BYTES
from loader_service.catalog.videos.readings import Reading, TwoReadingsError
from loader_service.errors import CatalogError
from loader_service.schema import VIDEO, Schema, SchemaField

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.columns import Int64s
    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree

#: Reads a small dataset of whole numbers.
Read = Callable[[str], Any]

_UNIT = r"((episode|ep|traj|trajectory|trajectorie|demo|video|vid|clip|seq|sequence|rollout|recording)s?)"
_ENDS = re.compile(rf"(^|_){_UNIT}?_?(ends?|stops?|to)$|^indptr$|(^|_)ptr$", re.IGNORECASE)
_STARTS = re.compile(rf"(^|_){_UNIT}?_?(starts?|offsets?|begins?|from|bounds|boundaries|splits)$", re.IGNORECASE)
_LENGTHS = re.compile(rf"(^|_){_UNIT}?_?(lens?|lengths?|sizes?|counts?)$|^(num|n)_?(frames|steps)$", re.IGNORECASE)
_NUMBERS = re.compile(r"(^|_)(episode|ep|traj|trajectory|rollout|demo)_?(index|idx|id|number|num)?$", re.IGNORECASE)
_PAIRS = re.compile(r"(^|_)(pos|range|ranges|bounds|span|spans|slices|segments|boundaries|indices)(_|$)", re.IGNORECASE)
_OF_UNIT = re.compile(rf"(^|_){_UNIT}_|^(num|n)_?(frames|steps)$", re.IGNORECASE)
_INDEX = re.compile(r"(index|idx|id|number|num)$", re.IGNORECASE)


@dataclass(frozen=True)
class Bounds:
    """Where videos lie in their datasets: ``(videos,)`` each; and the datasets that said so."""

    starts: Int64s
    ends: Int64s
    paths: frozenset[str]


def find_bounds(datasets: Sequence[DatasetInfo], frame_count: int, read: Read, *, alone: bool = True) -> Bounds | None:
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

    Raises
    ------
    CatalogError
        When a dataset that is named as ends, starts, lengths or numbers of episodes does not fit the rows.
    """
    whole = [info for info in datasets if info.dtype.lstrip("<>").startswith(("int", "uint", "i", "u")) and info.shape]
    floats = [info for info in datasets if info.dtype.lstrip("<>").startswith("f") and len(info.shape) == 1]
    least = 0 if alone else 1
    short = [info for info in whole + floats if len(info.shape) == 1 and least < info.shape[0] < max(2, frame_count)]
    short = [info for info in short if info in whole or _are_whole(info, read)]
    columns = [info for info in whole if info.shape == (frame_count,) and _NUMBERS.search(info.basename)]
    columns += [
        info
        for info in floats
        if info.shape == (frame_count,) and _NUMBERS.search(info.basename) and _INDEX.search(info.basename)
    ]
    bounds = (
        _from_starts_and_lengths(short, frame_count, read)
        or _from_starts_and_ends(short, frame_count, read)
        or _from_ends(short, frame_count, read)
        or _from_pairs([info for info in whole if info.shape[1:] == (2,)], frame_count, read)
        or _from_lengths(short, frame_count, read)
        or _from_numbers(columns, read)
    )
    if bounds is None:
        _refuse_odd(short, frame_count, read)
        return None
    agreeing = {info.path for info in columns if _is_constant_in(read(info.path), bounds)}
    return replace(bounds, paths=bounds.paths | agreeing)


def _are_whole(info: DatasetInfo, read: Read) -> bool:
    """Tell whether floats are named as places or lengths, and are whole numbers, as MATLAB keeps these.

    Raises
    ------
    CatalogError
        When the name says that they are those of episodes, and they are no whole numbers.
    """
    if not any(pattern.search(info.basename) for pattern in (_ENDS, _STARTS, _LENGTHS)):
        return False
    if _OF_UNIT.search(info.basename):
        _numbers(read, info)
    return _odd_entry(np.asarray(read(info.path))) is None


def _odd_entry(values: Any) -> int | None:
    """Return the number of the first entry that is no whole number."""
    if values.dtype.kind != "f":
        return None
    odd = np.flatnonzero(~np.isfinite(values) | (values != np.floor(values)))
    return int(odd[0]) if len(odd) else None


def _numbers(read: Read, info: DatasetInfo) -> Int64s:
    values = np.asarray(read(info.path))
    odd = _odd_entry(values)
    if odd is not None:
        raise CatalogError(f"{info.path!r}, entry {odd}: expected a whole number, found {values[odd]!s}")
    return values.astype(np.int64)


def _from_starts_and_lengths(short: Sequence[DatasetInfo], frame_count: int, read: Read) -> Bounds | None:
    for first in (info for info in short if _STARTS.search(info.basename)):
        for other in short:
            if other.shape != first.shape or other.path == first.path or not _LENGTHS.search(other.basename):
                continue
            starts, lengths = _numbers(read, first), _numbers(read, other)
            paths = f"{first.path!r} and {other.path!r}"
            _check(starts, starts + lengths, frame_count, paths)
            return Bounds(starts, starts + lengths, frozenset({first.path, other.path}))
    return None


def _from_starts_and_ends(short: Sequence[DatasetInfo], frame_count: int, read: Read) -> Bounds | None:
    """Return what two datasets of one length say; an end is the row behind the last, or, where all fit so, the last."""
    for first in (info for info in short if _STARTS.search(info.basename)):
        for other in short:
            if other.shape != first.shape or other.path == first.path or not _ENDS.search(other.basename):
                continue
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
    for info in short:
        if not (_ENDS.search(info.basename) or _STARTS.search(info.basename)):
            continue
        ends = _numbers(read, info)
        if (np.diff(ends) < 0).any() or ends[0] < 0:
            continue
        if ends[0] == 0 and len(ends) > 1 and ends[-1] == frame_count:
            return Bounds(ends[:-1], ends[1:], frozenset({info.path}))
        if ends[-1] == frame_count:
            return Bounds(np.concatenate([[0], ends[:-1]]), ends, frozenset({info.path}))
        if ends[0] == 0 and ends[-1] < frame_count and _STARTS.search(info.basename):
            return Bounds(ends, np.concatenate([ends[1:], [frame_count]]), frozenset({info.path}))
    return None


def _from_pairs(pairs: Sequence[DatasetInfo], frame_count: int, read: Read) -> Bounds | None:
    for info in pairs:
        if info.shape[0] >= frame_count and not _PAIRS.search(info.basename):
            continue
        found = _numbers(read, info)
        for inclusive in (0, 1):
            starts, ends = found[:, 0], found[:, 1] + inclusive
            joined = len(found) and starts[0] == 0 and ends[-1] == frame_count and (starts[1:] == ends[:-1]).all()
            if joined and (ends >= starts).all():
                return Bounds(starts, ends, frozenset({info.path}))
    return None


def _from_lengths(short: Sequence[DatasetInfo], frame_count: int, read: Read) -> Bounds | None:
    for info in short:
        if not _LENGTHS.search(info.basename):
            continue
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
        if len(np.unique(numbers[starts])) < len(starts):
            raise CatalogError(
                f"{info.path!r}: expected the rows of each episode together, found episode {_again(numbers[starts])} "
                "in more than one place"
            )
        return Bounds(starts, np.concatenate([changes, [len(numbers)]]), frozenset({info.path}))
    return None


def _again(numbers: Int64s) -> int:
    found, counts = np.unique(numbers, return_counts=True)
    return int(found[counts > 1][0])


def _is_constant_in(values: Any, bounds: Bounds) -> bool:
    column = np.asarray(values)
    return all(
        (column[start:end] == column[start]).all()
        for start, end in zip(bounds.starts.tolist(), bounds.ends.tolist(), strict=True)
        if end > start
    )


def _refuse_odd(short: Sequence[DatasetInfo], frame_count: int, read: Read) -> None:
    """Refuse what is named as the ends, starts or lengths of episodes, and does not fit."""
    for info in short:
        named = any(pattern.search(info.basename) for pattern in (_ENDS, _STARTS, _LENGTHS))
        if named and _OF_UNIT.search(info.basename):
            values = _numbers(read, info)
            raise CatalogError(
                f"{info.path!r}: expected ends that never fall and reach {frame_count}, the number of rows, or lengths "
                f"that sum to it; found {values[0]} to {values[-1]}, at most {values.max()}, in sum {values.sum()}"
            )


def cut_at_ends(tree: Tree, found: Found, read: Read, *, declared: bool = False) -> Found:
    """Return a file with each of its videos cut where it is many, end to end; as it is where none is.

    Arrays are cut with the frames; what has an entry for each of them is a value, unless a schema declares the fields.
    Where a file has several such videos, each says its ends in its own group, and all are cut or none.

    Raises
    ------
    TwoReadingsError
        When datasets that are named as ends, or such, do not fit.
    """
    filled = [episode for episode in found.episodes if episode.frame_count]
    alone = len(found.episodes) == 1
    if found.layout == "vlen" or not filled or (not alone and any(not episode.root for episode in filled)):
        return found
    beside = {id(episode): _beside(tree, episode, alone=alone) for episode in filled}
    try:
        bounds = [find_bounds(beside[id(each)], each.frame_count, read, alone=alone) for each in filled]
    except CatalogError as error:
        raise TwoReadingsError(str(error), [Reading("one video of all rows", _uncut(filled[0], alone))]) from error
    several = [each for each in bounds if each is not None and (alone or len(each.starts) > 1)]
    if not several:
        return found
    episodes: list[Episode] = []
    used: set[str] = set()
    for whole, each in zip(filled, bounds, strict=True):
        where = each or Bounds(np.zeros(1, np.int64), np.array([whole.frame_count]), frozenset())
        values = {} if declared else _values(beside[id(whole)], whole, where, alone=alone)
        episodes += _cut(whole, where, values, declared=declared)
        paths = {*where.paths, *(info.path for info in values.values())}
        used |= paths | {info.path for info in beside[id(whole)] if info.basename in LABEL_NAMES}
        used |= {key_in(whole.root, path) for path in paths}
    left_out = {key: reason for key, reason in found.left_out.items() if key not in used}
    return Found("spans", episodes, left_out)


def _beside(tree: Tree, whole: Episode, *, alone: bool) -> list[DatasetInfo]:
    """Return what can say where the videos of a sequence end: all of a file with one, or what lies in its group."""
    inside = "" if alone else f"{whole.root}/"
    return [
        info
        for info in tree.datasets.values()
        if info.path not in whole.helpers and info.dtype and info.path.startswith(inside)
    ]


def _values(beside: Sequence[DatasetInfo], whole: Episode, bounds: Bounds, *, alone: bool) -> dict[str, DatasetInfo]:
    """Return the datasets with an entry for each of the videos, by key."""
    count = len(bounds.starts)
    return {
        info.path if alone else key_in(whole.root, info.path): info
        for info in beside
        if info.shape[:1] == (count,) and _is_value(info, bounds, whole.frame_count)
    }


def _cut(whole: Episode, bounds: Bounds, values: Mapping[str, DatasetInfo], *, declared: bool) -> list[Episode]:
    kept = {key: part for key, part in whole.parts.items() if declared or part.path not in bounds.paths}
    if whole.root and not declared:  # `spans` has no group of its own, so a schema names each by its path in the file
        kept = {key: replace(part, pattern=f"{VIDEO}/{key}") for key, part in kept.items()}
    episodes = []
    for number, (start, end) in enumerate(zip(bounds.starts.tolist(), bounds.ends.tolist(), strict=True)):
        parts = {
            key: part if part.kind == "value" else replace(part, first=part.first + start) for key, part in kept.items()
        }
        parts |= {key: _value(info, number) for key, info in values.items()}
        name = join(whole.name, str(number))
        episodes.append(Episode(name, None, end - start, whole.dataset_path, parts, whole.helpers | bounds.paths))
    return episodes


def _uncut(whole: Episode, alone: bool) -> Schema:
    """Return the schema that takes all rows for one video."""
    fields = [
        SchemaField(key.replace("/", "_") or "frames", part.kind, (part.path if alone else f"{VIDEO}/{key}",))
        for key, part in whole.parts.items()
        if part.kind != "value" and not part.missing
    ]
    return Schema(("files",) if alone else ("groups",), tuple(fields))


def _is_value(info: DatasetInfo, bounds: Bounds, frame_count: int) -> bool:
    small = info.size_bytes <= MOST_VALUE_BYTES * max(1, info.shape[0]) and not info.dtype.startswith("vlen")
    text = info.dtype.startswith("S") and len(info.shape) > 1
    labels = info.basename in LABEL_NAMES
    return small and not text and not labels and info.path not in bounds.paths and info.shape[0] != frame_count


def _value(info: DatasetInfo, number: int) -> VideoField:
    return VideoField("value", info.dtype, info.shape[1:], info.path, info=info, element=number)
