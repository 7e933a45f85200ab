"""Decodes PNGs with OpenCV, having checked their headers; knows no file, crop or slot.

Its errors speak of the bytes alone, as those of `decode` do. An alpha channel is dropped, palettes and fewer than 8
bits become 8, gamma and orientation are ignored: pixels come as they are stored. Of an animation they are those of the
picture that decoders show which know no animations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from loader_service.catalog.codecs import DEPTH, PNG, Codec, codec_of, describe_bytes, picture_size
from loader_service.catalog.unused_segments import without_animation
from loader_service.errors import DecodeError
from loader_service.worker.decode import DecodeLimits, check_size
from loader_service.worker.opencv import opencv

#: Colour types without colours: grey, and grey with alpha (PNG, 11.2.1); the type is the 26th byte.
_GREY = (b"\0", b"\4")


def decode_png(data: bytes, limits: DecodeLimits) -> NDArray[np.uint8]:
    """Return an 8-bit PNG's pixels, ``(height, width, 1) uint8``, or ``(height, width, 3)`` in red, green, blue.

    Raises
    ------
    DecodeError
        When the bytes are another format, exceed a limit, or are damaged.
    """
    _check(data, PNG, limits)
    cv2 = opencv()
    if data[25:26] in _GREY:
        return _decode(data, cv2.IMREAD_GRAYSCALE)[:, :, None]
    in_order = getattr(cv2, "IMREAD_COLOR_RGB", None)  # since OpenCV 4.11; to swap them takes 2 % of the time
    if in_order is not None:
        return _decode(data, in_order)
    pixels = _decode(data, cv2.IMREAD_COLOR)
    return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB, dst=pixels))


def decode_depth(data: bytes, out: NDArray[np.uint16], limits: DecodeLimits) -> None:
    """Decode a 16-bit grey PNG into `out`, ``(height, width) uint16``.

    Raises
    ------
    DecodeError
        When the bytes are another format, exceed a limit, are damaged, or have not the size of `out`.
    """
    size = _check(data, DEPTH, limits)
    if size != out.shape:
        raise DecodeError(
            f"the PNG has {size!r} pixels (height, width), expected {out.shape!r}; store arrays of one size"
        )
    np.copyto(out, _decode(data, opencv().IMREAD_ANYDEPTH))


def _check(data: bytes, codec: Codec, limits: DecodeLimits) -> tuple[int, int]:
    """Return ``(height, width)`` as the header says it, having made sure that it is safe to decode."""
    if codec_of(data) is not codec:
        raise DecodeError(
            f"the frame is {describe_bytes(data)}, expected a {codec.name} image, as the video's first frame is; "
            "store frames of one format"
        )
    size = picture_size(data)
    if size is None:
        raise DecodeError("the PNG header is damaged; store the frame again")
    check_size(len(data), size, limits)
    return size


def _decode(data: bytes, flags: int) -> NDArray[Any]:
    cv2 = opencv()
    plain = np.frombuffer(without_animation(data), np.uint8)
    try:
        pixels = cv2.imdecode(plain, flags | cv2.IMREAD_IGNORE_ORIENTATION)
    except cv2.error as error:
        raise DecodeError(f"the PNG data is damaged: {error}; store the frame again") from error
    if pixels is None or pixels.shape[:2] != picture_size(data):
        raise DecodeError("the PNG data is damaged; store the frame again")
    return np.asarray(pixels)
