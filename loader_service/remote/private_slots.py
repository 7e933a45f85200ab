"""Memory of a remote worker in place of slots: rows are written there as into a slot, and sent; two tasks at a time."""

from __future__ import annotations

import mmap
import queue
from collections.abc import Iterable

from loader_service.errors import ServiceUnavailable

#: Tasks whose rows lie in memory: one that is being written, one that is being sent.
_TASKS = 2

#: A buffer of up to so many bytes keeps its pages: other rows of a task lie elsewhere in it, and in the end it has all.
_KEPT_BYTES = 64 * 2**20

#: How long the rows of an earlier task may take to be sent before the connection counts as dead, in seconds.
_SENT_S = 60.0


class PrivateSlots:
    """Two buffers of the largest slot's size, of which only what is written takes memory; used by one thread.

    What was sent comes back by `give_back`, from any thread.
    """

    def __init__(self) -> None:
        self._free: queue.SimpleQueue[mmap.mmap | None] = queue.SimpleQueue()
        for _ in range(_TASKS):
            self._free.put(None)
        self._held: mmap.mmap | None = None

    def memory(self, stream: int, slot: int, size_bytes: int) -> mmap.mmap:  # noqa: ARG002 - as a worker asks
        """Return a buffer for one task; waits until the one before the last was sent.

        Raises
        ------
        ServiceUnavailable
            When that takes too long.
        """
        try:
            buffer = self._free.get(timeout=_SENT_S)
        except queue.Empty:
            raise ServiceUnavailable(f"the rows of an earlier task were not sent within {_SENT_S:g} s") from None
        if buffer is None or len(buffer) < size_bytes:
            if buffer is not None:
                buffer.close()
            buffer = mmap.mmap(-1, size_bytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._held = buffer
        return buffer

    def take(self) -> mmap.mmap | None:
        """Return the buffer of the task that was just written; its memory is the caller's until `give_back`."""
        taken, self._held = self._held, None
        return taken

    def give_back(self, buffer: mmap.mmap) -> None:
        """Take a buffer back whose rows were sent; of a large one, give the pages back to the kernel."""
        if len(buffer) > _KEPT_BYTES:
            buffer.madvise(mmap.MADV_DONTNEED)
        self._free.put(buffer)

    def drop_slots(self, stream: int, slots: Iterable[int]) -> None:
        """Do nothing: no buffer belongs to a slot."""

    def drop_stream(self, stream: int) -> None:
        """Do nothing: no buffer belongs to a stream."""
