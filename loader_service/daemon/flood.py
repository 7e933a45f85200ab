"""Tells when those who connect have taken so much of the daemon that all are to be disconnected."""

from __future__ import annotations

import os

from loader_service.daemon.descriptors import DescriptorGuard
from loader_service.daemon.memory import GROWTH_BYTES, MemoryGuard, OwnMemory


class FloodGuard:
    """Watches the memory and the descriptors of this process; a context manager.

    ZeroMQ bounds each frame of a message, but not their number, and shows nothing of a message before its last frame.
    Nor does it bound the number of connections. What a peer takes in this way is seen in the process as a whole only.
    Made when all else is, and nobody could connect yet.
    """

    def __init__(self) -> None:
        self._memory = OwnMemory(os.getpid())
        self._growth = MemoryGuard(self._memory, GROWTH_BYTES)
        self._descriptors = DescriptorGuard()

    def __enter__(self) -> FloodGuard:
        return self

    def __exit__(self, *_: object) -> None:
        self._memory.close()

    def alarm(self, workers: int) -> str | None:
        """Return what has been taken when that is too much for a service with so many workers, else None."""
        grown = self._growth.grown_bytes()
        if grown:
            return f"this process has grown by {grown} bytes"
        taken = self._descriptors.taken(workers)
        return f"{taken} descriptors are in use" if taken else None

    def rest(self) -> None:
        """Take what is in use now as normal: all have been disconnected."""
        self._growth.rest()
