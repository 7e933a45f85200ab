"""How often frames came from the cache, counted by each worker in memory that it shares with the daemon.

The numbers are for people: nothing is decided by them. A worker that has ended has counted for good.
"""

from __future__ import annotations

import numpy as np

from loader_service.worker_board import PLACES, WorkerBoard, shared_memory_of

#: Frames that came from the cache, that were decoded, and that were written into it.
_COLUMNS = 3

_PLACE_BYTES = _COLUMNS * 8


class CountsBoard(WorkerBoard):
    """What all workers have counted; a context manager. Made by the daemon, and written by the workers."""

    def __init__(self) -> None:
        super().__init__("loader-service-cache-counts", _PLACE_BYTES)

    def totals(self) -> tuple[int, int, int]:
        """Return frames from the cache, frames decoded, and frames written, of all workers that there were."""
        found = np.frombuffer(bytes(self.memory), np.int64).reshape(PLACES, _COLUMNS).sum(axis=0)
        hits, misses, kept = found.tolist()
        return hits, misses, kept


class CacheCounts:
    """What one worker counts.

    Parameters
    ----------
    descriptor
        Of the daemon's board; None when nobody wants to know.
    worker
        Its number.
    """

    def __init__(self, descriptor: int | None = None, worker: int = 0) -> None:
        if descriptor is None:
            self._numbers = np.zeros(_COLUMNS, np.int64)
            return
        memory = shared_memory_of(descriptor, _PLACE_BYTES)
        self._numbers = np.frombuffer(memory, np.int64).reshape(PLACES, _COLUMNS)[worker % PLACES]

    def add(self, hits: int, misses: int, kept: int) -> None:
        """Count frames of a row."""
        self._numbers += (hits, misses, kept)

    @property
    def values(self) -> tuple[int, int, int]:
        """Frames from the cache, frames decoded, frames written."""
        hits, misses, kept = self._numbers.tolist()
        return hits, misses, kept
