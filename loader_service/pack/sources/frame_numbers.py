"""What numbers in the names of a folder's pictures say: whether they count, in which series, what is missing. Pure."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from loader_service.catalog.natural import natural_key

_LAST_NUMBER = re.compile(r"([0-9]+)[^0-9]*$")

#: What divides the parts of a name.
_PARTS = re.compile(r"[_\-. ]+")

#: Of the numbers between the first and the last of a series, the share that must be there.
_DENSE = 0.75

#: From how many pictures on steps of more than one count: few numbers happen to have equal distances.
_STEPPED = 4


def series_of(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the pictures of a folder by what they are called beside their number, each series in order.

    Names that have no number, or of which few go on, are one series, called ``frames``; so are those that differ in
    nothing but their number. ``img_1.jpg`` beside ``flow_1.jpg`` are the series ``img`` and ``flow``.
    """
    ordered = sorted(names, key=natural_key)
    found: dict[str, list[str]] = {}
    for name in ordered:
        found.setdefault(_called(name), []).append(name)
    numbers = [set(numbers_of(series)) for series in found.values()]
    together = len(set.intersection(*numbers)) if numbers else 0
    if len(found) > 1 and together > 1 and together >= _DENSE * max(map(len, numbers)):
        plain = [_PARTS.sub("_", name).strip("_") or "frames" for name in found]
        return dict(zip(plain if len(set(plain)) == len(found) else found, found.values(), strict=True))
    return {"frames": ordered}


def uneven(series: Mapping[str, Sequence[str]]) -> str:
    """Return in words where the pictures of several series have not the same numbers; empty where they have."""
    numbers = {name: set(numbers_of(names)) for name, names in series.items()}
    first, *others = numbers
    other = next((name for name in others if numbers[name] != numbers[first]), None)
    if other is None:
        return ""
    odd = min(numbers[first] ^ numbers[other])
    has, lacks = (first, other) if odd in numbers[first] else (other, first)
    return f"{has!r} has a picture of number {odd}, and {lacks!r} has none"


def counts(names: Sequence[str], *, plainly: bool = False) -> bool:
    """Tell whether each series of some names has dense numbers, in equal steps; plainly: one series, in steps of 1."""
    series = series_of(names).values()
    if plainly and (len(series) > 1 or _step(numbers_of(names)) > 1):
        return False
    return all(_is_one(each) and _is_dense(numbers_of(each)) for each in series)


def missing(names: Sequence[str]) -> int | None:
    """Return the first number that is missing in a series that counts; None where none is."""
    numbers = numbers_of(names)
    if not counts(names) or len(numbers) < 2:
        return None
    step = _step(numbers)
    return next((at + step for at, after in pairwise(numbers) if after != at + step), None)


def numbers_of(names: Sequence[str]) -> list[int]:
    """Return the last number in each name, those that have one, in order."""
    found = (_LAST_NUMBER.search(os.path.splitext(name)[0]) for name in names)
    return sorted(int(each[1][-18:]) for each in found if each)


def _called(name: str) -> str:
    """Return a name without its last number and its ending."""
    stem = os.path.splitext(name)[0]
    found = _LAST_NUMBER.search(stem)
    return stem if found is None else f"{stem[: found.start(1)]}.{stem[found.end(1) :]}"


def _is_one(names: Sequence[str]) -> bool:
    """Tell whether all names have a number, and begin alike before it."""
    found = [_LAST_NUMBER.search(os.path.splitext(name)[0]) for name in names]
    return all(found) and len({name[: each.start(1)] for name, each in zip(names, found, strict=True) if each}) == 1


def _is_dense(numbers: Sequence[int]) -> bool:
    step = _step(numbers)
    distinct = len(set(numbers)) == len(numbers) > 0
    return distinct and len(numbers) >= _DENSE * ((numbers[-1] - numbers[0]) // step + 1)


def _step(numbers: Sequence[int]) -> int:
    """Return by how much the numbers of a series rise, where that is clear; else 1."""
    steps = [after - at for at, after in pairwise(numbers)]
    return min(steps) if len(numbers) >= _STEPPED and min(steps) > 0 and not any(s % min(steps) for s in steps) else 1
