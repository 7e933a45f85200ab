"""A file in memory, out of which native code copies rows; knows no catalog, and not why the rows are wanted."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loader_service.native.library import native_library
from loader_service.worker.read_pace import SLOW_S


class MappedFile:
    """A file that is mapped for reading; used by one thread.

    Parameters
    ----------
    descriptor
        Of the file; stays the caller's, and open for as long as this is used.
    gather
        The native function.

    Raises
    ------
    OSError, ValueError
        When it cannot be mapped.
    """

    def __init__(self, descriptor: int, gather: Any) -> None:
        self._gather = gather
        self._mapped = mmap.mmap(descriptor, 0, prot=mmap.PROT_READ)
        view = np.frombuffer(self._mapped, np.uint8)
        self._file = np.array([view.ctypes.data, len(view), descriptor], np.int64)
        self._address = int(self._file.ctypes.data)

    def gather(self, pieces: NDArray[np.int64], memory: int) -> int:
        """Copy pieces of the file; return how many were, in order.

        Fewer than all are copied before one that cannot be read or does not lie in the file, and after one that took
        longer than memory does.

        Parameters
        ----------
        pieces
            ``(pieces, 3)``, C-order: where each begins in the file, where it goes from `memory` on, and its length; in
            bytes.
        memory
            An address, with room for all of them.
        """
        count: int = self._gather(self._address, pieces.ctypes.data, len(pieces), memory, SLOW_S)
        return count

    def close(self) -> None:
        """Unmap it."""
        self._mapped.close()


def map_file(descriptor: int) -> MappedFile | None:
    """Map a file; None where there is no native code, or the file system maps no files."""
    functions = native_library().functions
    if functions is None:
        return None
    gather = functions.native_gather
    address = ctypes.c_void_p
    gather.argtypes = (address, address, ctypes.c_int64, address, ctypes.c_double)
    gather.restype = ctypes.c_int64
    try:
        return MappedFile(descriptor, gather)
    except (OSError, ValueError):  # an empty file is no memory
        return None
