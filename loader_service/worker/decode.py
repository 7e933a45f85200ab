"""The JPEG codec: checks a frame's header, then decodes into memory it is given; knows no file, crop or slot.

Plain JPEGs in fast colours are decoded by `native_jpeg`, where that can be, with the same pixels; all others, and all
that are damaged, by simplejpeg.

Its errors speak of the bytes alone; the caller, who knows file, video and frame, puts those in front.

What it makes of unusual JPEGs: grey ones give three equal channels when three are asked for; CMYK and YCCK ones are
converted without a colour profile, whole or damaged; an EXIF orientation is ignored, pixels come as they are stored.
"""

from __future__ import annotations

import struct

import numpy as np
import simplejpeg
from numpy.typing import NDArray

from loader_service.catalog.codecs import (
    MAX_PIXELS,
    SAMPLE_BITS,
    START_OF_IMAGE,
    describe_bytes,
    header_of,
)
from loader_service.catalog.unused_segments import BAD_PROFILE, without_profile
from loader_service.errors import ConfigError, DecodeError
from loader_service.protocol.spec import MAX_IMAGE_SIDE
from loader_service.record_class import record
from loader_service.worker.native_jpeg import native_decoder

#: simplejpeg computes ``height * width * channels`` in a C int, and a product that has wrapped around passes its check
#: of the buffer's size (1.9: 32768 x 43691 x 3 counts as 32 KB). Four channels of this many pixels stay below 2**31.
_SAFE_PIXELS = 2**29 - 1

#: Reducing a frame by less than this while decoding may cost more than it saves (simplejpeg on its `min_factor`).
_LEAST_REDUCTION = 2.0

#: By channels, and whether red and blue are swapped; the codec writes each of them in one pass.
_COLORSPACES = {(1, False): "GRAY", (3, False): "RGB", (3, True): "BGR"}

_START_OF_SCAN_BYTES = b"\xff\xda"
_START_OF_SCAN = 0xFFDA
_SEQUENTIAL_FRAMES = (0xFFC0, 0xFFC1)
#: Tables, restart interval, application data and comments: segments whose length says where the next one starts.
_SKIPPED_SEGMENTS = frozenset((0xFFDB, 0xFFC4, 0xFFDD, 0xFFFE, *range(0xFFE0, 0xFFF0)))

_SEGMENT = struct.Struct(">HH")  # marker, length without the marker
_FRAME_HEADER = struct.Struct(">BHHB")  # precision, height, width, components


@record(frozen=True)
class DecodeLimits:
    """What a frame may cost; all of it is checked before a pixel is decoded or memory is taken.

    Parameters
    ----------
    max_side
        Longest height or width, in pixels.
    max_pixels
        Height times width, in pixels. The default holds an 8K frame twice over and is 200 MB of RGB.
    max_bytes
        Compressed size, in bytes.
    max_scans
        Scans of a JPEG that is not decoded in one. An encoder writes about ten; each costs a pass over the whole image
        however few bytes it has (1,000 of them in 10 KB: 23 s for 16,384 x 16,384 pixels).

    Raises
    ------
    ConfigError
        When `max_pixels` is more than the codec can count.
    """

    max_side: int = MAX_IMAGE_SIDE
    max_pixels: int = MAX_PIXELS
    max_bytes: int = 2**26
    max_scans: int = 100

    def __post_init__(self) -> None:
        if self.max_pixels > _SAFE_PIXELS:
            raise ConfigError(
                f"DecodeLimits.max_pixels={self.max_pixels!r} is more than the JPEG codec can count; "
                f"give {_SAFE_PIXELS!r} or less"
            )


def check_header(jpeg: bytes, limits: DecodeLimits) -> tuple[int, int]:
    """Return ``(height, width)`` of a JPEG in pixels, having made sure that it is safe to decode.

    Called once for each frame, before `decode_into`; 1.7 µs for what cameras and tools write.

    Raises
    ------
    DecodeError
        When the bytes are no JPEG, or exceed a limit; the message does not say where they come from.
    """
    size = _one_scan_size(jpeg) or _any_size(jpeg, limits) if len(jpeg) <= limits.max_bytes else (0, 0)
    check_size(len(jpeg), size, limits)
    return size


def check_size(encoded: int, size: tuple[int, int], limits: DecodeLimits) -> None:
    """Make sure that a frame of so many bytes, which declares a height and width, may be decoded.

    Raises
    ------
    DecodeError
        When it exceeds a limit.
    """
    if encoded > limits.max_bytes:
        raise DecodeError(
            f"the frame has {encoded!r} bytes, at most {limits.max_bytes!r} are decoded; store smaller frames"
        )
    height, width = size
    if height > limits.max_side or width > limits.max_side or height * width > limits.max_pixels:
        raise DecodeError(
            f"the header says {height!r} x {width!r} pixels (height x width), expected sides of at most "
            f"{limits.max_side!r} and at most {limits.max_pixels!r} pixels in all; store smaller frames"
        )


def decode_into(
    jpeg: bytes,
    out: NDArray[np.uint8],
    at_least: tuple[int, int] | None = None,
    *,
    swapped: bool = False,
    exact: bool = False,
) -> None:
    """Decode a JPEG into `out` and nowhere else.

    Parameters
    ----------
    jpeg
        Bytes that have passed `check_header`: the codec itself can be overrun by sizes that it refuses.
    out
        ``(height, width, channels) uint8, C-order``, writable; 3 channels are RGB, 1 is the luma. Usually a view into
        shared memory. Its content is undefined after an error.
    at_least
        Decode at the reduced scale that `reduced_shape` found for this ``(height, width)``; None for full scale.
    swapped
        Whether to swap red and blue.
    exact
        Whether to interpolate subsampled colours, and to take the accurate DCT: libjpeg's defaults.

    Raises
    ------
    DecodeError
        When the data is truncated or damaged in any way that the codec notices, or has not the size of `out`.
    ValueError
        When `out` is not writable, contiguous memory.
    """
    if not out.flags.carray:
        raise ValueError(f"out must be writable and C-contiguous, got strides {out.strides!r} for shape {out.shape!r}")
    native = None if exact else native_decoder()
    if native is not None and native.decode(jpeg, out, swapped=swapped):
        return
    min_height, min_width = at_least or (0, 0)
    try:
        decoded = simplejpeg.decode_jpeg(
            jpeg,
            _COLORSPACES[out.shape[2], swapped],
            fastdct=not exact,
            fastupsample=not exact,
            min_height=min_height,
            min_width=min_width,
            min_factor=_LEAST_REDUCTION,
            buffer=out,
            strict=True,
        )
    except ValueError as error:
        if BAD_PROFILE in str(error) and len(plain := without_profile(jpeg)) < len(jpeg):
            decode_into(plain, out, at_least, swapped=swapped, exact=exact)
            return
        raise DecodeError(
            f"the JPEG data is damaged or has another size than expected: {error}; store the frame again"
        ) from error
    if decoded.shape != out.shape:
        raise DecodeError(
            f"the JPEG decodes to {decoded.shape!r} (height, width, channels), expected {out.shape!r}; "
            "store frames of one size"
        )


def reduced_shape(frame_shape: tuple[int, int], at_least: tuple[int, int]) -> tuple[int, int]:
    """Return the ``(height, width)`` that `decode_into` gives a frame of `frame_shape` when called with `at_least`.

    The smallest of the codec's scales, 1/8, 1/4, 3/8, 1/2 and 1, that is not below `at_least` on either side. The
    scales between one half and one are not used.
    """
    height, width = frame_shape
    for eighths in (1, 2, 3, 4):
        reduced = eighths_shape(frame_shape, eighths)
        if reduced[0] >= min(at_least[0], height) and reduced[1] >= min(at_least[1], width):
            return reduced
    return frame_shape


def eighths_shape(frame_shape: tuple[int, int], eighths: int) -> tuple[int, int]:
    """Return the ``(height, width)`` of a frame that is decoded at so many eighths of its size; libjpeg rounds up."""
    return (-(-frame_shape[0] * eighths // 8), -(-frame_shape[1] * eighths // 8))


def eighths_of(frame_shape: tuple[int, int], decoded: tuple[int, int]) -> int:
    """Return the scale at which the codec decodes a frame to a size: of small frames several scales have the same.

    It takes the largest of them (`tjDecompress2`).
    """
    return next(eighths for eighths in range(8, 0, -1) if eighths_shape(frame_shape, eighths) == decoded)


def _one_scan_size(jpeg: bytes) -> tuple[int, int] | None:
    """Return ``(height, width)`` of a sequential JPEG whose first scan holds all components; None for anything else.

    Such a JPEG is decoded in one pass, whatever follows that scan. Segments are passed over by their lengths just as
    libjpeg does it; all that it would treat specially (stray bytes, fill bytes, other frame types) is left to it.
    """
    if jpeg[:2] != START_OF_IMAGE:
        return None
    bits = height = width = components = 0
    at = 2
    end = len(jpeg) - 10  # of a frame header's fixed part, the longest read below
    while at < end:
        marker, length = _SEGMENT.unpack_from(jpeg, at)
        if length < 2:
            return None
        if marker in _SEQUENTIAL_FRAMES and not components:
            bits, height, width, components = _FRAME_HEADER.unpack_from(jpeg, at + 4)
        elif marker == _START_OF_SCAN:
            one_scan = bits == SAMPLE_BITS and height and width and components and jpeg[at + 4] == components
            return (height, width) if one_scan else None
        elif marker not in _SKIPPED_SEGMENTS:
            return None
        at += 2 + length
    return None


def _any_size(jpeg: bytes, limits: DecodeLimits) -> tuple[int, int]:
    if jpeg[:2] != START_OF_IMAGE:
        raise DecodeError(
            f"the frame is {describe_bytes(jpeg)}, expected a JPEG image; store frames as JPEG, of which "
            "`loader-service inspect --check=all` names each that is none, or let other samples take their place by "
            "on_error='substitute'"
        )
    try:
        height, width, _, _ = simplejpeg.decode_jpeg_header(jpeg)
    except ValueError as error:
        if BAD_PROFILE in str(error) and len(plain := without_profile(jpeg)) < len(jpeg):
            return _any_size(plain, limits)
        raise DecodeError(f"the JPEG header is damaged: {error}; store the frame again") from error
    except KeyError as error:  # simplejpeg has no name for 4:4:1, and looks it up
        raise DecodeError("the JPEG has a chroma subsampling unknown to the codec; store it as 4:2:0") from error
    # The codec does not scale lossless JPEGs: asked for an eighth of one, it writes all of it, far beyond the memory.
    header = header_of(jpeg)
    if header.unusual:
        raise DecodeError(
            f"the JPEG is {header.unusual}, expected one of {SAMPLE_BITS} bits, baseline or progressive; store it "
            "as such"
        )
    if header.size != (height, width):
        raise DecodeError("the JPEG header is damaged: it says its size in an unknown way; store the frame again")
    scans = jpeg.count(_START_OF_SCAN_BYTES)
    if scans > limits.max_scans:
        raise DecodeError(
            f"the JPEG has {scans!r} scans, at most {limits.max_scans!r} are decoded; store it as a baseline JPEG"
        )
    return height, width
