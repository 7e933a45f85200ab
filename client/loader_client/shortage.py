"""Says that a stream has fewer slots than it should, and what helps here; knows no stream and no socket."""

from __future__ import annotations

import os

from loader_service.control_groups import memory_limits
from loader_service.plan.prefetch import is_cramped, wanted_slots
from loader_service.protocol.segment_files import shared_memory
from loader_service.remedies import SMALLER_BATCH, higher_limit, more_shared_memory
from loader_service.sizes import size_text


def shortage(slots: int, slot_bytes: int, prefetch: int) -> str:
    """Return what is to be said of a stream's slots; "" when there are enough.

    Parameters
    ----------
    slots, slot_bytes
        That it has, and the size of each.
    prefetch
        That was asked for; 0 when none was.
    """
    if not is_cramped(slots, slot_bytes, prefetch):
        return ""
    missing = wanted_slots(slot_bytes, prefetch) - slots
    return (
        f"there is room for {slots} of {slots + missing} batches of {size_text(slot_bytes)}: all of them come, in the "
        f"same order, but the trainer may have to wait; {SMALLER_BATCH}, or {_more_room(missing * slot_bytes)}"
    )


def _more_room(bytes_: int) -> str:
    """Return how to have so much more room: of the tmpfs, where that is short, else of what the service may take."""
    found = os.statvfs(shared_memory())
    # A stream takes half of what is left, so twice as much must be free.
    if found.f_blocks and found.f_bavail * found.f_frsize < 2 * bytes_:
        return more_shared_memory()
    return "start the service with more --memory" + (f", or {higher_limit()}" if memory_limits() else "")
