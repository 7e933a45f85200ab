"""Copies of small arrays that TensorFlow can import by DLPack, many in one piece of memory; knows no slot, no field.

TensorFlow aborts the process for memory that does not begin where it wants it. To ask NumPy for an address takes ten
times as long as to copy a column of labels, so a piece of memory is asked once, and copies follow one another in it.
It lives for as long as any of them; room is used once, so those that are kept take no more memory than alone.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loader_service.protocol.fields import ALIGNMENT_BYTES

#: Room for the copies of many steps; below what the allocator asks the system for each time.
_PIECE_BYTES = 32_768


class AlignedCopies:
    """Makes copies. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._piece, self._free, self._end = np.empty(0, np.uint8), 0, 0

    def of(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return a copy that begins at a multiple of `ALIGNMENT_BYTES`."""
        room = -(-max(1, array.nbytes) // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        with self._lock:
            if self._free + room > self._end:
                self._begin(room)
            piece, place = self._piece, self._free
            self._free += room
        copy: NDArray[Any] = np.ndarray(array.shape, array.dtype, piece, place)
        copy[...] = array
        return copy

    def _begin(self, room: int) -> None:
        """Go on in another piece of memory, which has this much room."""
        size = max(room, _PIECE_BYTES)
        self._piece = np.empty(size + ALIGNMENT_BYTES, np.uint8)
        self._free = -self._piece.ctypes.data % ALIGNMENT_BYTES
        self._end = self._free + size
