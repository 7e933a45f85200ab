"""Finds a libjpeg-turbo of version 3 on this host and calls it; knows no file and no spec.

The functions are called through `ctypes`, which lets the GIL go meanwhile. One handle is made and kept: making one for
each frame costs 20 µs.

References
----------
``turbojpeg.h`` of libjpeg-turbo 3, whose names stand beside the numbers here.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import simplejpeg
from numpy.typing import NDArray

from loader_service.errors import DecodeError
from loader_service.plan.resized_crop import Box
from loader_service.worker.decode import decode_into
from loader_service.worker.native_jpeg import native_problem

_INIT_DECOMPRESS = 1  # TJINIT_DECOMPRESS
_FAST_UPSAMPLE, _FAST_DCT = 9, 10  # TJPARAM_FASTUPSAMPLE, TJPARAM_FASTDCT

#: By channels, and whether red and blue are swapped: TJPF_GRAY, TJPF_RGB, TJPF_BGR.
_FORMATS = {(1, False): 6, (3, False): 0, (3, True): 1}

#: The package whose wheel brings the library along, and the name under which systems have it.
_WHEEL = "turbojpeg"
_SYSTEM_NAME = "libturbojpeg.so.0"


class _Region(ctypes.Structure):
    """``tjregion``."""

    _fields_ = (("x", ctypes.c_int), ("y", ctypes.c_int), ("w", ctypes.c_int), ("h", ctypes.c_int))


class _ScalingFactor(ctypes.Structure):
    """``tjscalingfactor``."""

    _fields_ = (("num", ctypes.c_int), ("denom", ctypes.c_int))


_EIGHTHS = {
    eighths: _ScalingFactor(*pair)
    for eighths, pair in enumerate(((1, 8), (1, 4), (3, 8), (1, 2), (5, 8), (3, 4), (7, 8), (1, 1)), start=1)
}


class TurboLibrary:
    """Decodes parts of JPEGs; used by one thread, and never shared with a forked process.

    Parameters
    ----------
    path
        Of the library, or its name for the system's loader.

    Raises
    ------
    OSError
        When it cannot be loaded.
    AttributeError
        When it is older than version 3.
    """

    def __init__(self, path: str) -> None:
        library = ctypes.CDLL(path)
        handle, number, size = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
        signatures = {
            "tj3Init": (handle, (number,)),
            "tj3Set": (number, (handle, number, number)),
            "tj3GetErrorStr": (ctypes.c_char_p, (handle,)),
            "tj3DecompressHeader": (number, (handle, ctypes.c_char_p, size)),
            "tj3SetScalingFactor": (number, (handle, _ScalingFactor)),
            "tj3SetCroppingRegion": (number, (handle, _Region)),
            "tj3Decompress8": (number, (handle, ctypes.c_char_p, size, handle, number, number)),
        }
        for name, (result, arguments) in signatures.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        self.path = path
        self._library = library
        self._handle = library.tj3Init(_INIT_DECOMPRESS)
        if not self._handle:
            raise OSError(f"{path!r} gives no decoder: it is out of memory")
        self._exact: bool | None = None

    def decode(
        self, jpeg: bytes, out: NDArray[np.uint8], part: Box, eighths: int, *, swapped: bool, exact: bool
    ) -> None:
        """Decode a part of a JPEG.

        Parameters
        ----------
        jpeg
            Its bytes, whose header has been checked.
        out
            ``(part.height, part.width, channels) uint8, C-order``; undefined after an error.
        part
            In pixels of the picture at its scale; its left edge is a multiple of the width of a block there.
        eighths
            The scale.
        swapped, exact
            As for `decode_into`.

        Raises
        ------
        DecodeError
            With the library's own words.
        """
        if exact is not self._exact:
            self._library.tj3Set(self._handle, _FAST_UPSAMPLE, not exact)
            self._library.tj3Set(self._handle, _FAST_DCT, not exact)
            self._exact = exact
        handle, size = self._handle, len(jpeg)
        region = _Region(part.left, part.top, part.width, part.height)
        if (
            self._library.tj3DecompressHeader(handle, jpeg, size)
            or self._library.tj3SetScalingFactor(handle, _EIGHTHS[eighths])
            or self._library.tj3SetCroppingRegion(handle, region)
            or self._library.tj3Decompress8(handle, jpeg, size, out.ctypes.data, 0, _FORMATS[out.shape[2], swapped])
        ):
            raise DecodeError(self._library.tj3GetErrorStr(handle).decode("utf-8", "replace"))


@functools.cache
def turbo_library() -> TurboLibrary | None:
    """Return this process's library that decodes parts of JPEGs as the codec decodes them, or None without one."""
    for path in _candidates():
        try:
            library = TurboLibrary(path)
        except (OSError, AttributeError):  # it is not there, or older than version 3
            continue
        if agrees(library):
            return library
    return None


def decoder_text() -> str:
    """Return what decodes JPEGs here, and parts of them, in a few words."""
    library, problem = turbo_library(), native_problem()
    parts = "whole frames are decoded, also where less is needed; the extra [windows] brings what decodes parts"
    if library is not None:
        parts = f"parts of frames are decoded alone, by {library.path}"
    if problem:
        return f"{parts}; all of them by simplejpeg: {problem}"
    return f"plain JPEGs and parts of them are decoded by this package's own decoder; of others, {parts}"


def _candidates() -> Iterator[str]:
    """Yield paths of libraries: the system's, then the one that a wheel has put where the codec's own package lies.

    The folder is known from a package that was imported, so none that somebody else can write to is looked at.
    """
    yield _SYSTEM_NAME
    packages = Path(simplejpeg.__file__).resolve().parents[1]
    yield from sorted(str(path) for path in (packages / f"{_WHEEL}.libs").glob("libturbojpeg*.so*"))


def agrees(library: TurboLibrary) -> bool:
    """Return whether a library decodes parts of some pictures to the bytes of the codec's full decode; 2 ms."""
    rows, columns = np.mgrid[:70, :90]
    noise = (rows[..., None] * (7, 11, 13) + columns[..., None] * (5, 3, 17) + (rows * columns)[..., None]) % 251
    picture = noise.astype(np.uint8)
    for subsampling, block in (("420", 16), ("444", 8)):
        jpeg = simplejpeg.encode_jpeg(picture, quality=90, colorsubsampling=subsampling)
        for eighths in (8, 4):
            whole = np.empty((-(-70 * eighths // 8), -(-90 * eighths // 8), 3), np.uint8)
            decode_into(jpeg, whole, at_least=whole.shape[:2])
            side = block * eighths // 8
            part = Box(side, 2 * side, 3 * side - 1, 2 * side + 1)
            pixels = np.empty((part.height, part.width, 3), np.uint8)
            try:
                library.decode(jpeg, pixels, part, eighths, swapped=False, exact=False)
            except DecodeError:
                return False
            if not np.array_equal(pixels, whole[part.top :, part.left :][: part.height, : part.width]):
                return False
    return True
