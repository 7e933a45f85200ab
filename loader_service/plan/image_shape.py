"""The sizes a frame passes through, from what `Image` asks for; pure arithmetic, knows no pixel and no codec."""

from __future__ import annotations

import functools
from fractions import Fraction

from loader_service.errors import ConfigError
from loader_service.plan.image_draws import NOTHING_DRAWN, ImageDraws
from loader_service.plan.resized_crop import Box, BoxRange, draw_box
from loader_service.protocol.spec import MAX_IMAGE_SIDE, Image

#: (height, width) in pixels.
Size = tuple[int, int]


def output_shape(image: Image, frame_shape: Size | None) -> tuple[int, int, int]:
    """Return the shape of one frame of a sample: ``(height, width, channels)``.

    Parameters
    ----------
    image
        What the stream asks for.
    frame_shape
        ``(height, width)`` that all videos of the catalog share, in pixels; None when they differ.

    Raises
    ------
    ConfigError
        When the shape hangs on the videos' size and they have no common one, or when a side of it is longer than
        `MAX_IMAGE_SIDE` pixels.
    """
    if isinstance(image.size, tuple):
        return (*image.size, image.channels)
    if image.size is not None and image.crop != "none":
        return (image.size, image.size, image.channels)
    if frame_shape is None:
        raise ConfigError(
            f"Image.size={image.size!r} with crop='none' gives each video its own shape, but the videos differ in "
            "size and a batch has one shape; give Image(size=(height, width)), or one number and a crop"
        )
    height, width = scaled_shape(image, frame_shape)
    if max(height, width) > MAX_IMAGE_SIDE:
        raise ConfigError(
            f"Image.size={image.size!r} makes {frame_shape!r} frames {(height, width)!r} pixels (height, width), at "
            f"most {MAX_IMAGE_SIDE!r} a side are possible; give Image(size=(height, width))"
        )
    return (height, width, image.channels)


def scales_all_alike(image: Image) -> bool:
    """Tell whether the size that a frame is scaled to depends on nothing that is drawn for a sample."""
    return image.crop in ("none", "center", "random") and not isinstance(image.short_side, tuple)


def scaled_shape(image: Image, frame_shape: Size, draws: ImageDraws = NOTHING_DRAWN) -> Size:
    """Return the ``(height, width)`` in pixels that a frame of `frame_shape` is scaled to before the crop.

    Not for ``crop="resized"``, which scales after the crop. Exact integer arithmetic, halves rounded up, so that every
    process finds the same size. With a crop the result is never smaller than the window on either side.
    """
    return _scaled(image.size, image.crop, _short_side(image, draws), frame_shape)


@functools.lru_cache(maxsize=1024)
def _scaled(size: int | Size | None, crop: str, short_side: int | None, frame_shape: Size) -> Size:
    if size is None:
        return frame_shape
    short = min(frame_shape)
    if isinstance(size, int):
        return _scale(frame_shape, Fraction(size, short))
    if crop == "none":
        return size
    wanted = Fraction(short_side or short, short)
    covering = (Fraction(window, side) for window, side in zip(size, frame_shape, strict=True))
    return _scale(frame_shape, max(wanted, *covering))


def keeps_frames(image: Image, frame_shape: Size) -> bool:
    """Return whether every frame of a size is taken at its own scale, whatever is drawn; 0 is a size that differs."""
    if 0 in frame_shape or image.crop == "resized" or isinstance(image.short_side, tuple):
        return False
    return scaled_shape(image, frame_shape) == frame_shape


def _short_side(image: Image, draws: ImageDraws) -> int | None:
    if not isinstance(image.short_side, tuple):
        return image.short_side
    least, largest = image.short_side
    return least + ((draws.short_side * (largest - least + 1)) >> 64)


def crop_box(image: Image, frame_shape: Size, draws: ImageDraws) -> Box:
    """Return the part of a frame that ``crop="resized"`` scales to the sample's size."""
    return draw_box(BoxRange(image.scale, image.ratio), frame_shape, draws.box, draws.crop)


def crop_corner(image: Image, scaled: Size, window: Size, draws: tuple[int, int]) -> tuple[int, int]:
    """Return ``(top, left)`` of the window that is cut out of a scaled frame.

    Parameters
    ----------
    image
        Its `crop` chooses how the corner is found.
    scaled, window
        ``(height, width)`` in pixels; the window fits into the scaled frame.
    draws
        Two numbers in [0, 2**64), one for the rows and one for the columns. A number is mapped to the n possible
        offsets by multiplying and shifting: no modulo, and each offset has a share of 1/n to within 2**-64 [1]_.

    References
    ----------
    .. [1] D. Lemire, "Fast Random Integer Generation in an Interval", 2019, section 4, without the rejection step.
    """
    free = (scaled[0] - window[0], scaled[1] - window[1])
    if image.crop == "random":
        # Python's own integers, for the products have up to 79 bits: a np.uint64 would silently wrap around.
        return ((int(draws[0]) * (free[0] + 1)) >> 64, (int(draws[1]) * (free[1] + 1)) >> 64)
    return (free[0] // 2, free[1] // 2)


def _scale(shape: Size, factor: Fraction) -> Size:
    numerator, denominator = factor.numerator, factor.denominator
    height, width = ((2 * side * numerator + denominator) // (2 * denominator) for side in shape)
    return (height, width)
