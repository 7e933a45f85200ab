"""Pixels to pictures for people: strips of frames, sheets of samples, JPEG, PNG. Knows no file, stream or process."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: ``(height, width, 3) uint8``.
Picture = NDArray[np.uint8]

#: The smallest and the largest of some numbers.
Bounds = tuple[float, float]

#: Quality of JPEGs that people look at.
_QUALITY = 82

#: Pixels between the frames of a strip, and between the rows of a sheet, and their shade of grey.
_GAP, _SHADE = 2, 128


def as_picture(pixels: NDArray[Any], bounds: Bounds | None = None) -> Picture:
    """Return anything with two sides as colours.

    Parameters
    ----------
    pixels
        ``(height, width)`` or ``(height, width, 1 or 3)``. Of numbers that are no bytes the smallest becomes black and
        the largest white; what is not finite is black.
    bounds
        What becomes black and what white instead, as where frames are to be compared.

    Returns
    -------
    numpy.ndarray
        ``(height, width, 3) uint8``.

    Raises
    ------
    ValueError
        When it has another number of axes or channels.
    """
    pixels = np.asarray(pixels)
    if pixels.ndim == 2:
        pixels = pixels[:, :, np.newaxis]
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 3) or 0 in pixels.shape:
        raise ValueError(f"{pixels.shape} is no picture; give (height, width), with 1 or 3 channels")
    if pixels.dtype != np.uint8:
        pixels = _stretched(pixels, bounds)
    return np.ascontiguousarray(np.broadcast_to(pixels, (*pixels.shape[:2], 3)))


def bounds_of(arrays: Iterable[NDArray[Any]]) -> Bounds | None:
    """Return the smallest and the largest finite number of some arrays; None where there is none."""
    found = [each[np.isfinite(each)] for each in arrays]
    found = [each for each in found if each.size]
    return (min(float(each.min()) for each in found), max(float(each.max()) for each in found)) if found else None


def bounds_text(bounds: Bounds) -> str:
    """Return in words what `as_picture` makes of numbers within bounds."""
    return f"black is {bounds[0]:.6g}, white is {bounds[1]:.6g}"


def fitted(picture: Picture, side: int) -> Picture:
    """Return a picture scaled down so that no side is longer than `side` pixels; as it is when it is small enough."""
    height, width = picture.shape[:2]
    longest = max(height, width)
    if longest <= side:
        return picture
    size = max(1, round(width * side / longest)), max(1, round(height * side / longest))
    made: Picture = _opencv().resize(picture, size, interpolation=_opencv().INTER_AREA)
    return made


def strip(frames: Sequence[Picture]) -> Picture:
    """Return frames of one size side by side, in the order of time."""
    height, width = frames[0].shape[:2]
    made = np.full((height, len(frames) * (width + _GAP) - _GAP, 3), _SHADE, np.uint8)
    for place, frame in enumerate(frames):
        made[:, place * (width + _GAP) : place * (width + _GAP) + width] = frame
    return made


def sheet(rows: Sequence[Picture]) -> Picture:
    """Return strips one below the other, each at the left."""
    width = max(each.shape[1] for each in rows)
    made = np.full((sum(each.shape[0] + _GAP for each in rows) - _GAP, width, 3), _SHADE, np.uint8)
    top = 0
    for each in rows:
        made[top : top + each.shape[0], : each.shape[1]] = each
        top += each.shape[0] + _GAP
    return made


def evenly(count: int, most: int) -> list[int]:
    """Return the numbers of at most so many of `count` frames, evenly spread from the first to the last."""
    if count <= most:
        return list(range(count))
    return np.linspace(0, count - 1, most).round().astype(int).tolist() if most > 1 else [0]


def jpeg(picture: Picture) -> bytes:
    """Return a picture as JPEG."""
    import simplejpeg  # noqa: PLC0415 - what is shown to nobody costs nothing

    return bytes(simplejpeg.encode_jpeg(np.ascontiguousarray(picture), _QUALITY))


def png(picture: Picture) -> bytes:
    """Return a picture as PNG."""
    done, data = _opencv().imencode(".png", picture[:, :, ::-1])
    if not done:
        raise ValueError(f"a picture of {picture.shape} cannot be written as PNG; take fewer or smaller frames")
    return bytes(data)


def data_url(data: bytes) -> str:
    """Return the bytes of a JPEG as an address that holds them, for pages without a server."""
    return f"data:image/jpeg;base64,{base64.b64encode(data).decode('ascii')}"


def _stretched(pixels: NDArray[Any], bounds: Bounds | None) -> NDArray[np.uint8]:
    numbers = pixels.astype(np.float64)
    real = np.isfinite(numbers)
    if not real.any():
        return np.zeros(pixels.shape, np.uint8)
    low, high = bounds or (numbers[real].min(), numbers[real].max())
    within = np.clip(np.where(real, numbers, low), low, high)
    scaled: NDArray[np.float64] = (within - low) * (255 / (high - low) if high > low else 0)
    return scaled.astype(np.uint8)


def _opencv() -> Any:
    import cv2  # noqa: PLC0415 - 30 ms, for those who look at pictures

    return cv2
