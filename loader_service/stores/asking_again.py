"""Asks a store again, after growing pauses, while that may help."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from loader_service.stores.faults import LastingFault, RefusedFault, StoreFault

if TYPE_CHECKING:
    from collections.abc import Callable

_Answer = TypeVar("_Answer")

#: How long a request is tried again, in seconds, and the pauses between.
_PATIENCE_S, _FIRST_PAUSE_S, _LONGEST_PAUSE_S = 15.0, 0.05, 2.0


def until_it_comes(ask: Callable[[], _Answer]) -> _Answer:
    """Return the answer to a request that is sent until it comes; in any thread.

    Raises
    ------
    StoreFault
        When none comes in time, or none will come.
    """
    deadline, pause_s = time.monotonic() + _PATIENCE_S, _FIRST_PAUSE_S
    while True:
        try:
            return ask()
        except StoreFault as fault:
            if isinstance(fault, (LastingFault, RefusedFault)) or time.monotonic() > deadline:
                raise
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
