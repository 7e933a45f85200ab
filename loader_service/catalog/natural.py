"""The order of names that people expect, frame2 before frame10; knows nothing of what is named."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

_DIGITS = re.compile(r"([0-9]+)")

#: Sorts like the name it was made from; opaque to its users.
NaturalKey = tuple[tuple["str | tuple[int, str]", ...], str]


def natural_key(name: str) -> NaturalKey:
    """Return a sort key under which runs of digits compare as numbers; no two names share a key."""
    # Odd positions of the split are digits, so texts only ever meet texts. Digits compare by length and then as
    # text, not through int(), which refuses runs of thousands of digits.
    pieces = _DIGITS.split(name)
    parts = tuple(
        (len(piece.lstrip("0")), piece.lstrip("0")) if position % 2 else piece for position, piece in enumerate(pieces)
    )
    return parts, name


def are_times(names: Sequence[str]) -> bool:
    """Tell whether names are times of one recording: seconds since 1970, or parts of one, that hardly differ.

    Behind a beginning that all names have they are of our days: ``CAM_BACK__1532402927626460``.
    """
    shared = os.path.commonprefix(names) if len(names) > 1 else ""  # noqa: RUF071 - of names, letter by letter
    begin = len(_TIME_AT_END.sub("", shared))
    form = _TIME_BEHIND if begin else _TIME
    found = [match[1] for name in names if (match := form.fullmatch(name, begin))]
    if len(found) < max(2, len(names)) or len({len(text.partition(".")[0]) for text in found}) > 1:
        return False
    times = list(map(float, found))
    return max(times) - min(times) < _ONE_RECORDING * min(times)


def are_seconds(names: Sequence[str]) -> bool:
    """Tell whether names are numbers of seconds, and perhaps one word: all with two decimals or more, or as printed.

    What is printed without zeros at its end has now more decimals and now fewer: ``t_0``, ``t_0.05``, ``t_0.1``.
    """
    found = [_SECONDS.fullmatch(name) for name in names]
    texts = [match[2] for match in found if match]
    if len(texts) < max(2, len(names)) or len({(match[1], match[3]) for match in found if match}) > 1:
        return False
    decimals = {len(text.partition(".")[2]) for text in texts}
    printed = all(text in {f"{float(text):g}", repr(float(text))} for text in texts)
    return min(decimals) > 1 or (max(decimals) > 1 and printed)


def are_dates(names: Sequence[str]) -> bool:
    """Tell whether names are days with a time, to the second or closer."""
    return len(names) > 1 and all(map(_DATE.match, names))


def are_days(names: Sequence[str]) -> bool:
    """Tell whether names are days of the calendar, with lines between their parts, with or without an ending."""
    return len(names) > 1 and all(map(_DAY.fullmatch, names))


def are_moments(names: Sequence[str]) -> bool:
    """Tell whether names are times, seconds, dates or days of one recording."""
    return any(told(names) for told in (are_times, are_seconds, are_dates, are_days))


def words_before_times(names: Sequence[str]) -> list[str]:
    """Return the words before times or dates, of which each has two or more: ``left_2017_03_21_08_18_10_228``.

    Nothing where a name has no word, or no time behind it.
    """
    times: dict[str, list[str]] = {}
    for name in names:
        found = _WORD_BEFORE.fullmatch(name)
        times.setdefault(found[1] if found else "", []).append(found[2] if found else name)
    dated = all(len(each) > 1 and (all(map(_WIDE_DATE.match, each)) or are_times(each)) for each in times.values())
    return [] if "" in times or not dated else list(times)


def seconds_of(names: Sequence[str]) -> list[float]:
    """Return the seconds that names are, by which they come in order; nothing where natural order is theirs."""
    return [float(match[2]) for name in names if (match := _SECONDS.fullmatch(name))] if are_seconds(names) else []


def decimals_of(names: Sequence[str]) -> list[float]:
    """Return the numbers that names are, as Python writes them, with or without an ending: ``0.25``, ``0.5.jpg``.

    Their digits behind the point are no whole number, as they are in natural order; nothing if one is something else.
    """
    found = [match[1] for name in names if (match := _DECIMAL.fullmatch(name))]
    return [float(text) for text in found] if len(found) == len(names) and all(map(_is_shortest, found)) else []


def _is_shortest(text: str) -> bool:
    return repr(float(text)) == text


#: Of a file.
_ENDING = "([.][A-Za-z][A-Za-z0-9]*)?"

_DECIMAL = re.compile(rf"([0-9]+[.][0-9]+){_ENDING}")

#: A number, and a word before or behind it.
_SECONDS = re.compile(r"([^0-9.]*)([0-9]+(?:[.][0-9]+)?)([A-Za-z]*)")

#: Ten digits or more, and perhaps a fraction.
_TIME = re.compile(rf"([0-9]{{10,19}}([.][0-9]+)?){_ENDING}")

#: The same from 2001 to 2033: in seconds, thousandths, millionths or billionths.
_TIME_BEHIND = re.compile(rf"(1[0-9]{{9}}(?:(?:[0-9]{{3}}){{1,3}}|[.][0-9]+)?){_ENDING}")
_TIME_AT_END = re.compile(r"[0-9]+([.][0-9]*)?$")

#: A day and a time of it, to the second: ``2024-01-31T12:00:00.123``, ``20240131_120000``.
_DATE = re.compile(r"[0-9]{4}(-?[0-9]{2}){2}[T_ -][0-9]{2}([-:_]?[0-9]{2}){2}")

#: The same with lines between its parts, too.
_WIDE_DATE = re.compile(r"[0-9]{4}([-_]?[0-9]{2}){2}[T_ -][0-9]{2}([-:_]?[0-9]{2}){2}")

#: A day alone, ``2018-01-15``.
_DAY = re.compile(rf"[12][0-9]{{3}}([-_])(0[1-9]|1[0-2])\1(0[1-9]|[12][0-9]|3[01]){_ENDING}")

#: A word, and what begins with a digit behind it.
_WORD_BEFORE = re.compile(r"([^0-9]*[^0-9_.\- ])[_.\- ]*([0-9].*)")

#: Two months of the years since 1970: ids of ten digits are spread wider.
_ONE_RECORDING = 0.003
