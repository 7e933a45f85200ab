"""Which sample each worker is at, in memory that the daemon shares with its workers; knows no meaning of any number.

A worker that stands still sends nothing, so what it is at must be known beforehand. It writes two numbers when it comes
to a sample, which takes 0.3 µs. They are for people only: nothing is decided by them, and a reader that catches them
half written sees numbers that do not go together.
"""

from __future__ import annotations

import mmap
import struct

from loader_service.worker_board import PLACES, WorkerBoard, shared_memory_of

_PLACE = struct.Struct("<qq")  # task, sample


class ProgressBoard(WorkerBoard):
    """What all workers are at; a context manager. Made by the daemon, and written by the workers."""

    def __init__(self) -> None:
        super().__init__("loader-service-progress", _PLACE.size)

    def read(self, worker: int) -> tuple[int, int]:
        """Return the task that a worker came to last, and the sample that it came to last; -1 before the first."""
        task, sample = _PLACE.unpack_from(self.memory, worker % PLACES * _PLACE.size)
        return task, sample


class Progress:
    """What one worker is at.

    Parameters
    ----------
    descriptor
        Of the daemon's board; None when nobody wants to know.
    worker
        Its number.
    """

    def __init__(self, descriptor: int | None = None, worker: int = 0) -> None:
        self._offset = worker % PLACES * _PLACE.size
        self._memory: mmap.mmap | bytearray = (
            bytearray(_PLACE.size) if descriptor is None else shared_memory_of(descriptor, _PLACE.size)
        )
        if descriptor is None:
            self._offset = 0
        self._task = 0

    def begin(self, task: int) -> None:
        """Note that a task begins."""
        self._task = task
        _PLACE.pack_into(self._memory, self._offset, task, -1)

    def at(self, sample: int) -> None:
        """Note that the worker comes to one of the task's samples."""
        _PLACE.pack_into(self._memory, self._offset, self._task, sample)
