"""The slots that a worker writes into, mapped when they are first needed; knows no row."""

from __future__ import annotations

import mmap
from collections.abc import Iterable
from typing import Protocol

from loader_service.protocol.segment_files import map_segment


class TaskMemory(Protocol):
    """What a worker writes rows into: the slots themselves, or memory of its own whose rows are sent."""

    def memory(self, stream: int, slot: int, size_bytes: int) -> mmap.mmap:
        """Return memory of a slot's size, for the rows of one task; LoaderError when there is none."""

    def drop_slots(self, stream: int, slots: Iterable[int]) -> None:
        """Let go of slots of a stream."""

    def drop_stream(self, stream: int) -> None:
        """Let go of all slots of a stream; harmless when there are none."""


class MappedSlots:
    """The slots of a service on this host.

    Parameters
    ----------
    instance
        Names their folder.
    """

    def __init__(self, instance: str) -> None:
        self._instance = instance
        self._mapped: dict[int, dict[int, mmap.mmap]] = {}

    def memory(self, stream: int, slot: int, size_bytes: int) -> mmap.mmap:
        """Return a slot, mapped; ServiceUnavailable when it is not there."""
        of_stream = self._mapped.setdefault(stream, {})
        memory = of_stream.get(slot)
        if memory is None:
            memory = of_stream[slot] = map_segment(self._instance, slot, size_bytes, whole=True)
        return memory

    def drop_slots(self, stream: int, slots: Iterable[int]) -> None:
        """Unmap slots of a stream."""
        of_stream = self._mapped.get(stream, {})
        for slot in slots:
            if (memory := of_stream.pop(slot, None)) is not None:
                memory.close()

    def drop_stream(self, stream: int) -> None:
        """Unmap all slots of a stream; their memory is free once every process has."""
        for memory in self._mapped.pop(stream, {}).values():
            memory.close()
