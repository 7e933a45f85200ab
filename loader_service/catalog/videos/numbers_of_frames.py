"""The numbers of frames that are datasets, or groups, of their own, and where sequences have other ones. Pure."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import without_ending
from loader_service.catalog.natural import are_dates, are_times, decimals_of, seconds_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo

_DIGITS = re.compile(r"[0-9]{1,18}")
_AT_END = re.compile(r"[0-9]+$")

#: Of the numbers of a span, those that are there, at least, where they count: others are times or ids.
_LEAST_SHARE = 0.5


def numbers_of(members: Sequence[DatasetInfo]) -> tuple[int, ...]:
    """Return the numbers of datasets in whose names one number differs; nothing where these are times, or are two."""
    names = [info.basename for info in members]
    if len(names) <= 2 or _are_timed(names):
        return ()
    runs = [tuple(map(int, _DIGITS.findall(name))) for name in names]
    if not all(runs) or len(set(map(len, runs))) > 1:
        return ()
    columns = [column for column in zip(*runs, strict=True) if len(set(column)) > 1]
    return columns[0] if len(columns) == 1 else ()


def times_of(members: Sequence[DatasetInfo]) -> list[str]:
    """Return the names of datasets without their endings where these are times; else nothing."""
    names = [info.basename for info in members]
    return list(map(without_ending, names)) if len(names) > 2 and _are_timed(names) else []


def _are_timed(names: Sequence[str]) -> bool:
    return any(are(names) for are in (are_times, are_dates, decimals_of, seconds_of))


def count_without_gaps(paths: Iterable[str], least: int = 2) -> bool:
    """Tell whether numbers at the end of paths are all of a span, of so many at least, behind each text before them."""
    numbers: dict[str, set[int]] = {}
    for path in paths:
        digits = _AT_END.search(path)
        if digits is None:
            return False
        numbers.setdefault(path[: digits.start()], set()).add(int(digits[0]))
    return all(max(each) - min(each) == len(each) - 1 >= least - 1 for each in numbers.values())


def words_of_other_numbers(videos: Iterable[Mapping[str, Sequence[DatasetInfo]]]) -> str:
    """Return what to add to a question about sequences of frames by name that may be one video, of each video.

    It says which numbers one lacks that others have, in the first video where some do; else it is empty.
    """
    for sequences in videos:
        first, *others = [(name, numbers_of(members)) for name, members in sequences.items()]
        for other in others:
            if first_apart(first[1], other[1]) >= 0:
                return (
                    "; one video would pair frames in their order, and not by their numbers, of which "
                    f"{lacking_numbers(dict([first, other]))}: to pair them, write in each the numbers that all have"
                )
    return ""


def first_apart(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the first place at which numbers differ that count the same; -1 where they do not, or are in step."""
    place = first_difference(one, other)
    same = place >= 0 and not set(one).isdisjoint(other)
    return place if same and _count(one) and _count(other) else -1


def first_difference(one: Sequence[object], other: Sequence[object]) -> int:
    """Return the first place at which two sequences differ, as far as both go; -1 where they do not."""
    return next((place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), -1)


def _count(numbers: Sequence[int]) -> bool:
    """Tell whether most numbers of a span are there, in equal steps."""
    steps = [after - before for before, after in pairwise(numbers)]
    step = min(steps, default=0)
    if step <= 0 or any(each % step for each in steps):
        return False
    return len(numbers) >= _LEAST_SHARE * ((numbers[-1] - numbers[0]) // step + 1)


def lacking_numbers(numbers: Mapping[str, Sequence[int]]) -> str:
    """Return which numbers sequences lack that others have, in words."""
    every = set[int]().union(*numbers.values())
    lacking = {name: sorted(every.difference(own)) for name, own in numbers.items()}
    words = [
        f"{name!r} lacks number {each[0]}{f' and {len(each) - 1} more' if len(each) > 1 else ''}"
        for name, each in lacking.items()
        if each
    ]
    return " and ".join(words)
