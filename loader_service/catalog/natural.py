"""The order of names that people expect, frame2 before frame10; knows nothing of what is named."""

from __future__ import annotations

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
    """Tell whether names are times of one recording: seconds since 1970, or parts of one, that hardly differ."""
    if (
        len(names) < 2
        or not all(map(_TIME.fullmatch, names))
        or len({len(name.partition(".")[0]) for name in names}) > 1
    ):
        return False
    times = [float(name) for name in names]
    return max(times) - min(times) < _ONE_RECORDING * min(times)


#: Ten digits or more, and perhaps a fraction.
_TIME = re.compile(r"[0-9]{10,19}([.][0-9]+)?")

#: Two months of the years since 1970: ids of ten digits are spread wider.
_ONE_RECORDING = 0.003
