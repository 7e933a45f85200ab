"""Has plain JPEGs decoded, whole or in part, by the decoder in `loader_service/native`; what it declines is no error.

It gives the pixels that the codec gives with fast colours, at twice its rate, and takes nothing that the codec
would refuse or warn of. So who asks it goes on to the codec where it declines, and verdicts and words stay the codec's.
"""

from __future__ import annotations

import ctypes
import functools
import threading
import weakref
from typing import NamedTuple

import numpy as np
import simplejpeg
from numpy.typing import NDArray

from loader_service.native.library import native_library, native_text
from loader_service.plan.resized_crop import Box

# As in `jpeg_decoder.c`.
_COLOURS, _SWAPPED, _TO_THE_END, _HALF = 1, 2, 4, 8


class Part(NamedTuple):
    """A part of a frame.

    Attributes
    ----------
    frame
        ``(height, width)`` of the frame as it is stored.
    box
        What is wanted of it, at the scale at which it is decoded, in pixels.
    half
        Whether it is decoded at half its height and width, rounded up.
    to_end
        Whether to decline where anything below the part is damaged.
    """

    frame: tuple[int, int]
    box: Box
    half: bool = False
    to_end: bool = True


class NativeDecoder:
    """Decodes plain JPEGs. Used by one thread.

    Parameters
    ----------
    library
        The loaded library of native code.

    Raises
    ------
    MemoryError
        When there is no memory for its tables, 180 KB.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        handle, number = ctypes.c_void_p, ctypes.c_int
        library.jpeg_decoder_new.restype = handle
        library.jpeg_decoder_free.argtypes, library.jpeg_decoder_free.restype = (handle,), None
        self._decode = library.jpeg_decoder_decode
        self._decode.argtypes = (handle, ctypes.c_char_p, ctypes.c_size_t, handle, *[number] * 7)
        self._decode.restype = number
        self._handle = library.jpeg_decoder_new()
        if not self._handle:
            raise MemoryError("no memory for a decoder of JPEGs")
        weakref.finalize(self, library.jpeg_decoder_free, self._handle)

    def decode(self, jpeg: bytes, out: NDArray[np.uint8], *, swapped: bool) -> bool:
        """Decode a JPEG of the height and width of `out` into it; return whether it was done.

        Parameters
        ----------
        jpeg
            Any bytes.
        out
            ``(height, width, 3 or 1) uint8``, writable and C-contiguous. Undefined where it was not done.
        swapped
            Whether to swap red and blue.
        """
        height, width, _ = out.shape
        return self.decode_part(jpeg, out, Part((height, width), Box(0, 0, height, width)), swapped=swapped)

    def decode_part(self, jpeg: bytes, out: NDArray[np.uint8], part: Part, *, swapped: bool) -> bool:
        """Decode a part of a JPEG, as `decode` does.

        Parameters
        ----------
        jpeg, swapped
            As for `decode`.
        out
            ``(part.box.height, part.box.width, 3 or 1) uint8``, writable and C-contiguous.
        part
            Which, of a JPEG of which size.
        """
        if type(jpeg) is not bytes or out.dtype != np.uint8 or not out.flags.carray:
            return False
        box, channels = part.box, out.shape[2]
        if out.shape[:2] != (box.height, box.width) or channels not in (1, 3):
            return False
        form = _COLOURS * (channels == 3) + _SWAPPED * swapped + _TO_THE_END * part.to_end + _HALF * part.half
        return bool(self._decode(self._handle, jpeg, len(jpeg), out.ctypes.data, form, *part.frame, *box))


_of_this_thread = threading.local()


def native_decoder() -> NativeDecoder | None:
    """Return this thread's decoder; None where there is none, or it would not give the codec's pixels."""
    try:
        return _of_this_thread.decoder  # type: ignore[no-any-return]
    except AttributeError:
        library = native_library()
        _of_this_thread.decoder = (
            NativeDecoder(library.functions) if library.functions and not native_problem() else None
        )
        return native_decoder()


@functools.cache
def native_problem() -> str:
    """Return why there is no such decoder in this process, in a few words; empty where there is one."""
    library = native_library()
    if library.functions is None:
        return native_text()
    if not library.has_avx2:
        return "this processor has no AVX2"
    return "" if agrees(NativeDecoder(library.functions)) else "the codec computes otherwise"


def agrees(decoder: NativeDecoder) -> bool:
    """Return whether a decoder gives the codec's pixels of three pictures, also at half their size; 2 ms."""
    rows, columns = np.mgrid[:70, :90]
    noise = (rows[..., None] * (7, 11, 13) + columns[..., None] * (5, 3, 17) + (rows * columns)[..., None]) % 251
    picture = np.ascontiguousarray(noise.astype(np.uint8))
    for subsampling, channels, scale in (("420", 3, 1), ("444", 3, 1), ("422", 1, 1), ("420", 3, 2)):
        jpeg = bytes(simplejpeg.encode_jpeg(picture, quality=90, colorsubsampling=subsampling))
        box = Box(0, 0, 70 // scale, 90 // scale)
        whole = simplejpeg.decode_jpeg(
            jpeg,
            "RGB" if channels == 3 else "GRAY",
            fastdct=True,
            fastupsample=True,
            min_height=box.height,
            min_width=box.width,
            min_factor=2.0,
        )
        out = np.empty((box.height, box.width, channels), np.uint8)
        part = Part((70, 90), box, half=scale == 2)
        if not decoder.decode_part(jpeg, out, part, swapped=False) or not np.array_equal(out, whole):
            return False
    return True
