"""Waits for what other processes do, up to a deadline; knows nothing of the tested code."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")

#: Pause between two looks, in seconds.
_PAUSE_S = 0.005


def eventually(look: Callable[[], _T], what: str, *, within_s: float = 100.0) -> _T:
    """Return the first true value of `look`; fail, saying what was awaited, when there is none within the time."""
    deadline = time.monotonic() + within_s
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {within_s:g} s: {what}; last seen: {found!r}"
        time.sleep(_PAUSE_S)
