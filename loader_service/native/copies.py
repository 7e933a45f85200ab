"""Copies of memory by native code where there is some, else by NumPy; knows not what they are for."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loader_service.native.library import native_library

#: Copies that are shorter stay in the processor's cache, where the next reader finds them.
_LARGE_BYTES = 2**20


def copy(out: NDArray[np.uint8], data: NDArray[np.uint8]) -> None:
    """Copy bytes, many of them past the processor's cache; that takes four fifths of the time.

    Parameters
    ----------
    out
        ``(bytes,) uint8``, C-contiguous and writable.
    data
        As many bytes, C-contiguous, that do not overlap with `out`.
    """
    native = _native_copy() if len(out) >= _LARGE_BYTES else None
    if native is None or len(out) != len(data):
        np.copyto(out, data)
    else:
        native(out.ctypes.data, data.ctypes.data, len(out))


@functools.cache
def _native_copy() -> Callable[[int, int, int], Any] | None:
    functions = native_library().functions
    if functions is None:
        return None
    functions.native_copy.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    functions.native_copy.restype = None
    return functions.native_copy
