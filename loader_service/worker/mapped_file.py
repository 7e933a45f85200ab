"""A file in memory, out of which native code copies rows; knows no catalog, and not why the rows are wanted."""

from __future__ import annotations

import ctypes
import mmap

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
    library
        The native code.

    Raises
    ------
    OSError, ValueError
        When it cannot be mapped.
    """

    def __init__(self, descriptor: int, library: ctypes.CDLL) -> None:
        self._gather, self._in_memory = library.native_gather, library.native_in_memory
        self._descriptor = descriptor
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

    def count_in_memory(self, pieces: NDArray[np.int64]) -> int:
        """Return how many of the first pieces, as `gather` takes them, the kernel has in memory."""
        count: int = self._in_memory(self._descriptor, pieces.ctypes.data, len(pieces))
        return count

    def close(self) -> None:
        """Unmap it."""
        self._mapped.close()


def map_file(descriptor: int) -> MappedFile | None:
    """Map a file; None where there is no native code, or the file system maps no files."""
    functions = native_library().functions
    if functions is None:
        return None
    address, number = ctypes.c_void_p, ctypes.c_int64
    functions.native_gather.argtypes = (address, address, number, address, ctypes.c_double)
    functions.native_in_memory.argtypes = (number, address, number)
    functions.native_gather.restype = functions.native_in_memory.restype = number
    try:
        return MappedFile(descriptor, functions)
    except (OSError, ValueError):  # an empty file is no memory
        return None
