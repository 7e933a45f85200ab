"""Waits for what other processes do, up to a deadline; knows nothing of the tested code."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")

#: Pause between two looks, in seconds: at first, and at most. A look may be a question to a service, or a process.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.005, 0.025

#: The pause by the time that has been waited: that much later what is awaited is seen.
_SHARE = 0.05


def eventually(look: Callable[[], _T], what: str, *, within_s: float = 100.0) -> _T:
    """Return the first true value of `look`; fail, saying what was awaited, when there is none within the time."""
    begun = time.monotonic()
    while True:
        found = look()
        if found:
            return found
        waited_s = time.monotonic() - begun
        assert waited_s < within_s, f"not within {within_s:g} s: {what}; last seen: {found!r}"
        time.sleep(min(max(_FIRST_PAUSE_S, _SHARE * waited_s), _LONGEST_PAUSE_S))
