"""Loads the library of native code, once for a process; knows what is in it only as far as to say whether it fits.

Calls through `ctypes.CDLL` let the GIL go. Each user declares the functions that it calls.
"""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass

from loader_service.native.build import LIBRARY, sources_key


@dataclass(frozen=True)
class NativeLibrary:
    """The library, or why there is none.

    Attributes
    ----------
    functions
        What can be called, or None.
    has_avx2
        Whether the processor runs what was compiled for AVX2.
    missing
        Why there are no functions, in a few words; empty where there are.
    """

    functions: ctypes.CDLL | None
    has_avx2: bool = False
    missing: str = ""


@functools.cache
def native_library() -> NativeLibrary:
    """Return this process's library."""
    if not LIBRARY.exists():
        return NativeLibrary(None, missing="it was not compiled; install a C compiler, then this package again")
    try:
        functions = ctypes.CDLL(str(LIBRARY))
    except OSError as error:
        return NativeLibrary(None, missing=f"{error}; install this package again")
    functions.native_sources_key.restype = ctypes.c_uint
    expected = sources_key()
    if expected not in (0, functions.native_sources_key()):  # a wheel has no sources
        return NativeLibrary(None, missing="its sources are newer; run `make native`")
    return NativeLibrary(functions, has_avx2=bool(functions.native_has_avx2()))


def native_text() -> str:
    """Return whether there is native code, in a few words."""
    library = native_library()
    if library.functions is None:
        return f"no native code: {library.missing}"
    return "native code" if library.has_avx2 else "native code, without AVX2"
