"""Turns a filled slot into arrays, and the death of the last of them into a release; knows no socket and no TensorFlow.

The protocol of a lease: the service fills a slot and names it in `Ready`. From then on the slot is this client's to
read, until it sends `Release`. The arrays made here lie in the slot's memory. Each is the *base* of whatever is made of
it, views, DLPack capsules and the tensors made of those, so it dies when the last of them is gone; then its finalizer
counts down, and the last one hands the lease back. Nothing is released by rotation or by time.

The finalizer runs in whichever thread drops the last reference, at any bytecode, perhaps while that thread holds a lock
of ours: so it takes no lock. It appends to a deque and writes to an eventfd, and the connection's thread does the rest.
It does not keep its stream alive: arrays that outlive the stream keep nothing but their own slot.
"""

from __future__ import annotations

import mmap
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loader_service.protocol.fields import ALIGNMENT_BYTES, Field, SlotLayout
from loader_service.protocol.messages import Ready
from loader_service.protocol.segments import map_segment

#: A field smaller than this is copied: the copy takes 2 µs, a lease of its own with DLPack import and release 60 µs.
COPY_BELOW_BYTES = 16_384


class Leases:
    """The slots of one stream, as this client sees them.

    Parameters
    ----------
    layout
        Where the fields lie in a slot.
    instance
        The service's instance, which names the segments' folder.
    slots
        How many slots the stream has; when half of them are out, batches are copied and their slots returned at once,
        so a client that hoards batches can never leave the service without a slot to fill.
    release
        Called with a lease's number from any thread, once for each lease; must take no lock.
    """

    def __init__(self, layout: SlotLayout, instance: str, slots: int, release: Callable[[int], None]) -> None:
        self._layout = layout
        self._instance = instance
        self._most_out = max(1, slots // 2)
        self._release = release
        self._memory: dict[int, mmap.mmap] = {}
        self._large = frozenset(field.name for field in layout.fields if self._is_large(field))
        self._out: dict[int, list[weakref.ref[Any]]] = {}  # by lease: what tells of the end of its arrays
        self._taking = threading.Lock()  # two threads that take at once must not both take the last lease
        #: The want whose lease was handed back last, by slot. The service heard of all earlier ones: it has used the
        #: slot since. Of these it need not have, when a message was lost.
        self.handed_back: dict[int, int] = {}
        self.copied_batches = 0

    @property
    def out(self) -> int:
        """Leases that are held by living arrays."""
        return len(self._out)

    @property
    def slot_bytes(self) -> int:
        """Size of a slot."""
        return self._layout.size_bytes

    def map(self, slot: int) -> mmap.mmap:
        """Return a slot's memory, which stays readable from now on even when its service ends.

        Raises
        ------
        ServiceUnavailable
            When the segment cannot be mapped.
        """
        memory = self._memory.get(slot)
        if memory is None:
            memory = self._memory[slot] = map_segment(self._instance, slot, self._layout.size_bytes)
        return memory

    def take(self, ready: Ready) -> dict[str, NDArray[Any]]:
        """Return the batch in a slot.

        Parameters
        ----------
        ready
            What the service said.

        Returns
        -------
        dict of str to numpy.ndarray
            ``(rows, *field.shape)`` each, C-order; of a field that varies ``(frames of all rows, *field.shape)``.
            Large fields lie in the slot and keep it leased for as long as any array or tensor made of them lives;
            small ones are copies.

        Raises
        ------
        ServiceUnavailable
            When the segment cannot be mapped.
        """
        memory = self.map(ready.slot)
        batch = {
            field.name: self._layout.view(field.name, memory, ready.frames if field.varies else ready.rows)
            for field in self._layout.fields
        }
        crowded = not self._large or not self._reserve(ready.lease)
        for name, array in batch.items():
            if crowded or name not in self._large:
                batch[name] = _aligned_copy(array)
        if crowded:
            self.copied_batches += bool(self._large)
            self.hand_back(ready)
        else:
            self._watch([batch[name] for name in self._large], ready)
        return batch

    def hand_back(self, ready: Ready) -> None:
        """Return the lease of a batch that nobody here reads, or reads any more; takes no lock."""
        self.handed_back[ready.slot] = ready.want
        self._release(ready.lease)

    def _reserve(self, lease: int) -> bool:
        """Count a lease as held from now on, unless half of the slots are."""
        with self._taking:
            if len(self._out) >= self._most_out:
                return False
            self._out[lease] = []
            return True

    def _is_large(self, field: Field) -> bool:
        room = self._layout.frames if field.varies else self._layout.batch_size
        return field.sample_bytes * room >= COPY_BELOW_BYTES

    def _watch(self, arrays: list[NDArray[Any]], ready: Ready) -> None:
        """Hand the lease back when the last of the arrays has died."""
        last = [True, *[False] * (len(arrays) - 1)]  # list.pop is atomic, where a counter would need a lock
        weak_self = weakref.ref(self)  # these arrays may outlive the stream, and must not keep it

        def died(_array: object) -> None:
            leases = weak_self() if last.pop() else None
            if leases is not None:
                del leases._out[ready.lease]  # noqa: SLF001 - it is `self`
                leases.hand_back(ready)

        # Not `weakref.finalize`, which takes four times as long.
        self._out[ready.lease] = [weakref.ref(array, died) for array in arrays]


def _aligned_copy(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy that TensorFlow can import by DLPack, as it can the original."""
    room = np.empty(array.nbytes + ALIGNMENT_BYTES, np.uint8)
    offset = -room.ctypes.data % ALIGNMENT_BYTES
    copy: NDArray[Any] = np.ndarray(array.shape, array.dtype, room, offset)
    np.copyto(copy, array)
    return copy
