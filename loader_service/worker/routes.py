"""The way of a frame through the sizes: at which scale it is decoded, what is cut, what it is scaled to. Pure.

A frame is decoded whole or in part at some eighths of its size; a part of that is scaled; a window of that is the
sample. Which of the steps change nothing is for the writer to see.
"""

from __future__ import annotations

from loader_service.errors import DecodeError
from loader_service.plan.image_draws import NOTHING_DRAWN, ImageDraws
from loader_service.plan.image_shape import Size, crop_box, crop_corner, scaled_shape
from loader_service.plan.resized_crop import Box
from loader_service.protocol.spec import Image
from loader_service.record_class import record
from loader_service.worker.decode import DecodeLimits, eighths_of, eighths_shape, reduced_shape

#: A side that becomes this many times smaller is averaged: bilinear weights take in every pixel down to one half. Where
#: boxes are decoded at a reduced scale, one side at the most becomes that small, by its aspect, and seldom a third.
_AVERAGED_FROM, _BOX_AVERAGED_FROM = 2, 3

#: Scales at which a frame is decoded whose box is cut out before it is scaled, in eighths.
_BOX_EIGHTHS = (1, 2, 3, 4)


@record(frozen=True)
class Route:
    """What happens to a frame; sizes are ``(height, width)`` in pixels.

    Attributes
    ----------
    frame
        As it is stored.
    decoded
        The whole of it, as it is decoded.
    cut
        The part of that which is scaled.
    scaled
        What that part becomes.
    corner
        ``(top, left)`` of the sample's window there.
    averaged_from
        How many times smaller a side becomes whose pixels are averaged.
    """

    frame: Size
    decoded: Size
    cut: Box
    scaled: Size
    corner: tuple[int, int]
    averaged_from: int = _AVERAGED_FROM

    @property
    def averages(self) -> bool:
        """Whether the part is scaled down by averages: where a side shrinks that far, and none grows."""
        (height, width), cut = self.scaled, self.cut
        shrinks = cut.height >= self.averaged_from * height or cut.width >= self.averaged_from * width
        return shrinks and cut.height >= height and cut.width >= width  # OpenCV has none where a side grows

    @property
    def eighths(self) -> int:
        """At which scale the frame is decoded."""
        return 8 if self.decoded == self.frame else eighths_of(self.frame, self.decoded)

    @property
    def resizes(self) -> bool:
        """Whether the part is scaled at all."""
        return self.scaled != (self.cut.height, self.cut.width)

    @property
    def cuts(self) -> bool:
        """Whether the part is not the whole."""
        return self.decoded != (self.cut.height, self.cut.width)


class RouteFinder:
    """Finds the routes of one stream's frames, and keeps the last one: the frames of a clip share theirs.

    Parameters
    ----------
    image
        What the stream asks for.
    window
        ``(height, width)`` of a frame in the sample.
    limits
        What one frame may cost.
    encoded
        Whether frames are JPEGs, which can be decoded at a reduced scale.
    """

    def __init__(self, image: Image, window: Size, limits: DecodeLimits, *, encoded: bool) -> None:
        self._image = image
        self._window = window
        self._limits = limits
        self._reduces = encoded and image.decode == "reduced"
        self._draws = NOTHING_DRAWN
        self._route: Route | None = None

    def find(self, frame: Size, draws: ImageDraws) -> Route:
        """Return the route of a frame of some size, in a sample of some draws.

        Raises
        ------
        DecodeError
            When a frame of that size cannot become the sample; without the frame's place.
        """
        last = self._route
        if last is None or last.frame != frame or self._draws != draws:
            self._route = last = (
                self._boxed(frame, draws) if self._image.crop == "resized" else self._found(frame, draws)
            )
            self._draws = draws
        return last

    def _boxed(self, frame: Size, draws: ImageDraws) -> Route:
        """Return the route of a frame of which a box is cut out first, and then scaled."""
        box = crop_box(self._image, frame, draws)
        height, width = self._window
        for eighths in _BOX_EIGHTHS if self._reduces else ():
            if box.height * eighths >= height * 8 and box.width * eighths >= width * 8:
                cut = _in_eighths(box, eighths)
                return Route(frame, eighths_shape(frame, eighths), cut, self._window, (0, 0), _BOX_AVERAGED_FROM)
        return Route(frame, frame, box, self._window, (0, 0), _BOX_AVERAGED_FROM if self._reduces else _AVERAGED_FROM)

    def _found(self, frame: Size, draws: ImageDraws) -> Route:
        """Return the route of a frame that is scaled first."""
        scaled = scaled_shape(self._image, frame, draws)
        if self._image.crop == "none" and scaled != self._window:
            raise DecodeError(
                f"the frame has {frame!r} pixels (height, width) and would become {scaled!r}, expected "
                f"{self._window!r} like the other videos; give Image(size=(height, width)) to mix sizes"
            )
        if scaled[0] * scaled[1] > self._limits.max_pixels:
            raise DecodeError(
                f"the frame has {frame!r} pixels (height, width) and would be scaled to {scaled!r} before the crop, "
                f"expected at most {self._limits.max_pixels!r} pixels in all; give a smaller Image.size or short_side, "
                "or store frames of a less extreme shape"
            )
        decoded = reduced_shape(frame, scaled) if self._reduces else frame
        top, left = crop_corner(self._image, scaled, self._window, draws.crop)
        if decoded == scaled:  # what is cut need not be decoded whole
            return Route(frame, decoded, Box(top, left, *self._window), self._window, (0, 0))
        return Route(frame, decoded, Box(0, 0, *decoded), scaled, (top, left))


def _in_eighths(box: Box, eighths: int) -> Box:
    """Return the box in a frame of which so many eighths are decoded; its edges are rounded, halves up."""
    top, left, bottom, right = (
        (edge * eighths + 4) // 8 for edge in (box.top, box.left, box.top + box.height, box.left + box.width)
    )
    return Box(top, left, bottom - top, right - left)
