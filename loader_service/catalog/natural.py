"""The order of names that people expect, frame2 before frame10; knows nothing of what is named."""

from __future__ import annotations

import re

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
