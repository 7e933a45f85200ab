"""Has pixels scaled bilinearly, and mirrored on the way, by the code in `loader_service/native`.

It gives the pixels that OpenCV gives, at twice its rate. What it declines is no error: who asks it goes on to OpenCV.
"""

from __future__ import annotations

import ctypes
import functools

import numpy as np
from numpy.typing import NDArray

from loader_service.native.library import native_library, native_text
from loader_service.worker.opencv import opencv


class NativeScaler:
    """Scales pixels. Used by any thread.

    Parameters
    ----------
    library
        The loaded library of native code.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        handle, number = ctypes.c_void_p, ctypes.c_int
        self._scale = library.native_scale
        self._scale.argtypes = (handle, ctypes.c_int64, number, number, handle, number, number, number)
        self._scale.restype = number

    def scale(self, pixels: NDArray[np.uint8], out: NDArray[np.uint8], *, mirrored: bool) -> bool:
        """Scale pixels to the height and width of `out`; return whether it was done.

        Parameters
        ----------
        pixels
            ``(height, width, 3) uint8`` of three channels, whose rows have no gaps inside.
        out
            ``(height, width, 3) uint8, C-order``, writable, other memory than `pixels`.
        mirrored
            Whether left and right are exchanged.
        """
        if pixels.shape[2] != 3 or out.shape[2] != 3 or pixels.dtype != np.uint8 or out.dtype != np.uint8:
            return False
        if pixels.strides[1:] != (3, 1) or not out.flags.carray:
            return False
        height, width, _ = pixels.shape
        place, target = pixels.ctypes.data, out.ctypes.data
        return bool(self._scale(place, pixels.strides[0], height, width, target, out.shape[0], out.shape[1], mirrored))


@functools.cache
def native_scaler() -> NativeScaler | None:
    """Return this process's scaler; None where there is none, or it would not give OpenCV's pixels."""
    library = native_library()
    return NativeScaler(library.functions) if library.functions and not scaling_problem() else None


@functools.cache
def scaling_problem() -> str:
    """Return why there is no such scaler in this process, in a few words; empty where there is one."""
    library = native_library()
    if library.functions is None:
        return native_text()
    if not library.has_avx2:
        return "this processor has no AVX2"
    return "" if agrees(NativeScaler(library.functions)) else "OpenCV computes otherwise"


def agrees(scaler: NativeScaler) -> bool:
    """Return whether a scaler gives OpenCV's pixels of a picture at sizes of each kind; 1.3 ms."""
    cv2 = opencv()
    rows, columns = np.mgrid[:61, :83]
    noise = (rows[..., None] * (7, 11, 13) + columns[..., None] * (5, 3, 17) + (rows * columns)[..., None]) % 251
    picture = noise.astype(np.uint8)
    for height, width in ((40, 50), (31, 97), (90, 30), (130, 171)):
        out = np.empty((height, width, 3), np.uint8)
        scaled = cv2.resize(picture, (width, height), interpolation=cv2.INTER_LINEAR)
        for mirrored in (False, True):
            expected = scaled[:, ::-1] if mirrored else scaled
            if not scaler.scale(picture, out, mirrored=mirrored) or not np.array_equal(out, expected):
                return False
    return True
