"""How often frames came from the cache, counted by each worker in memory that it shares with the daemon.

The numbers are for people: nothing is decided by them. A worker that has ended has counted for good.
"""

from __future__ import annotations

import mmap
import os

import numpy as np

#: Workers that have a place of their own at a time; numbers are never used twice, and there are never so many at once.
_PLACES = 4096

#: Frames that came from the cache, that were decoded, and that were written into it.
_COLUMNS = 3

_SIZE_BYTES = _PLACES * _COLUMNS * 8


class CountsBoard:
    """What all workers have counted; a context manager. Made by the daemon, and written by the workers."""

    def __init__(self) -> None:
        #: Given to each worker at its start.
        self.descriptor = os.memfd_create("loader-service-cache-counts", os.MFD_CLOEXEC)
        os.ftruncate(self.descriptor, _SIZE_BYTES)
        self._memory = mmap.mmap(self.descriptor, _SIZE_BYTES)

    def __enter__(self) -> CountsBoard:
        return self

    def __exit__(self, *_: object) -> None:
        self._memory.close()
        os.close(self.descriptor)

    def totals(self) -> tuple[int, int, int]:
        """Return frames from the cache, frames decoded, and frames written, of all workers that there were."""
        found = np.frombuffer(bytes(self._memory), np.int64).reshape(_PLACES, _COLUMNS).sum(axis=0)
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
        memory = mmap.mmap(descriptor, _SIZE_BYTES)
        os.close(descriptor)
        place = worker % _PLACES
        self._numbers = np.frombuffer(memory, np.int64).reshape(_PLACES, _COLUMNS)[place]

    def add(self, hits: int, misses: int, kept: int) -> None:
        """Count frames of a row."""
        self._numbers += (hits, misses, kept)

    @property
    def values(self) -> tuple[int, int, int]:
        """Frames from the cache, frames decoded, frames written."""
        hits, misses, kept = self._numbers.tolist()
        return hits, misses, kept
