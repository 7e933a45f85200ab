"""One frame's way into its place: decode, scale, crop, mirror; knows no file, no randomness and no slot.

Where the decoded frame is the sample, the codec writes straight into it. Otherwise it writes into scratch memory that
is kept from frame to frame, and only the last operation writes into the sample. A frame that is stored as pixels goes
the same way, without the decoder.

A frame that is to become half as large or smaller is decoded at a reduced scale, which skips most of the work. Its
pixels differ slightly from those of a full decode that is scaled down, but they depend on the JPEG and the `Image`
alone: they are the same in every process and every run on one kind of machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loader_service.catalog.codecs import JPEG, PNG, Codec
from loader_service.plan.image_draws import ImageDraws
from loader_service.plan.image_shape import Size, keeps_frames
from loader_service.plan.resized_crop import Box
from loader_service.protocol.spec import Image
from loader_service.worker.decode import DecodeLimits, check_header, decode_into
from loader_service.worker.native_scaling import native_scaler
from loader_service.worker.opencv import opencv
from loader_service.worker.part_decoder import PartDecoder, part_of
from loader_service.worker.png import decode_png
from loader_service.worker.routes import Route, RouteFinder
from loader_service.worker.stored_pixels import stored_pixels

#: ``(height, width, channels) uint8``.
Pixels = NDArray[np.uint8]


class ImageWriter:
    """Writes frames as the pixels that one stream asks for. Used by one thread of a worker, for one stream.

    Parameters
    ----------
    image
        What the stream asks for.
    out_shape
        ``(height, width, channels)`` of a frame in the sample, from `output_shape`.
    limits
        What one frame may cost.
    """

    def __init__(self, image: Image, out_shape: tuple[int, int, int], limits: DecodeLimits | None = None) -> None:
        self._image = image
        self._swapped = image.colors == "bgr"
        self._exact = image.chroma == "exact"
        self._out_shape = out_shape
        self._window = out_shape[:2]
        self._limits = limits or DecodeLimits()
        self._parts = PartDecoder(out_shape[2], swapped=self._swapped, exact=self._exact, strict=image.strict)
        self._routes = RouteFinder(image, self._window, self._limits, encoded=True)
        self._pixel_routes = RouteFinder(image, self._window, self._limits, encoded=False)
        self._colour_room = np.empty(0, np.uint8)
        self._resize_room = np.empty(0, np.uint8)

    def write(self, frame: bytes, out: Pixels, draws: ImageDraws, codec: Codec = JPEG) -> None:
        """Write one encoded frame.

        Parameters
        ----------
        frame
            Its bytes.
        out
            ``(height, width, channels) uint8, C-order`` of the shape given to the constructor, usually a view into a
            slot; undefined after an error, and not kept.
        draws
            Of the sample; the same for all frames of a clip, so that a random window stands still.
        codec
            What the video's frames are: JPEG, 8-bit PNG, or pixels with a header.

        Raises
        ------
        DecodeError
            When the bytes are no safe, whole picture of that format and of a size that fits; without the frame's place.
        ValueError
            When `out` has another shape or is not contiguous.
        """
        if codec is not JPEG:
            decode = decode_png if codec is PNG else stored_pixels
            self.write_pixels(decode(frame, self._limits), out, draws)
            return
        self._check_out(out)
        route = self._routes.find(check_header(frame, self._limits), draws)
        as_it_is = not route.resizes and not draws.flip
        if as_it_is and self._parts.decode_to(frame, route, out):
            return
        if as_it_is and route.decoded == self._window:
            decode_into(frame, out, at_least=route.decoded, swapped=self._swapped, exact=self._exact)
            return
        self._finish(self._parts.decode(frame, route), out, route, draws)

    def write_pixels(self, pixels: Pixels, out: Pixels, draws: ImageDraws) -> None:
        """Write one frame that is stored as pixels; in one copy when nothing is to be done to it.

        Grey becomes three equal channels when three are asked for, and colours become the luma of a JPEG when one is.

        Parameters
        ----------
        pixels
            ``(height, width, 1 or 3) uint8, C-order``; left as it is.
        out, draws
            As for `write`.

        Raises
        ------
        DecodeError
            When the frame has not a size that fits; without the frame's place.
        ValueError
            When `out` has another shape or is not contiguous.
        """
        self._check_out(out)
        route = self._pixel_routes.find((pixels.shape[0], pixels.shape[1]), draws)
        if route.decoded == self._window and not route.resizes and not draws.flip:
            _copy(pixels, out, swapped=self._swapped)
            return
        pixels = part_of(pixels, route.cut)
        if pixels.shape[2] != self._out_shape[2] or (self._swapped and pixels.shape[2] == 3):
            coloured, self._colour_room = self._room(self._colour_room, (pixels.shape[0], pixels.shape[1]))
            _copy(pixels, coloured, swapped=self._swapped)
            pixels = coloured
        self._finish(pixels, out, route, draws)

    def cut_all(self, pixels: NDArray[np.uint8], out: NDArray[np.uint8], draws: ImageDraws) -> None:
        """Write frames of a clip that are scaled already, and have their colours, together.

        Parameters
        ----------
        pixels
            ``(frames, height, width, channels) uint8``.
        out
            ``(frames, height, width, channels)`` of the shape given to the constructor.
        draws
            As for `write`.
        """
        if draws.flip:
            for frame, place in zip(pixels, out, strict=True):
                self.write_pixels(frame, place, draws)
            return
        cut = self._pixel_routes.find((pixels.shape[1], pixels.shape[2]), draws).cut
        np.copyto(out, pixels[:, cut.top : cut.top + cut.height, cut.left : cut.left + cut.width])

    def takes_as_it_is(self, shape: tuple[int, ...]) -> bool:
        """Return whether stored pixels of a shape are the sample already, as they are."""
        same = tuple(shape) == self._out_shape and keeps_frames(self._image, (shape[0], shape[1]))
        return same and not self._image.flip and not self._swapped

    def _check_out(self, out: Pixels) -> None:
        if out.shape != self._out_shape:
            raise ValueError(f"out has shape {out.shape!r}, expected {self._out_shape!r}")

    def _finish(self, pixels: Pixels, out: Pixels, route: Route, draws: ImageDraws) -> None:
        """Make the sample of the part of a frame that its route cuts out."""
        if route.resizes and route.scaled == self._window:
            if not draws.flip:
                _resize(pixels, out, route.averages)
                return
            if not route.averages and _scale(pixels, out, mirrored=True):
                return
        if route.resizes:
            scaled, self._resize_room = self._room(self._resize_room, route.scaled)
            _resize(pixels, scaled, route.averages)
            pixels = scaled
        window = part_of(pixels, Box(*route.corner, *self._window))
        if draws.flip:
            _mirror(window, out)
        else:
            np.copyto(out, window)

    def _room(self, room: Pixels, size: Size) -> tuple[Pixels, Pixels]:
        """Return a ``(height, width, channels)`` view into scratch memory, and that memory, grown where needed."""
        shape = (*size, self._out_shape[2])
        length = shape[0] * shape[1] * shape[2]
        if room.size < length:
            room = np.empty(length, np.uint8)
        return room[:length].reshape(shape), room


def as_kept(image: Image, scaled: Size) -> Image:
    """Return what is asked for where frames are kept for other samples: all that is done before the crop."""
    return Image(size=scaled, channels=image.channels, colors=image.colors, chroma=image.chroma, decode=image.decode)


def from_kept(image: Image, window: Size) -> Image:
    """Return what is still to be done to pixels that are `as_kept`."""
    return Image(size=window, crop=image.crop, flip=image.flip, channels=image.channels)


def is_as_kept(scaled: Size, window: Size, draws: ImageDraws) -> bool:
    """Tell whether nothing is to be done to them."""
    return scaled == window and not draws.flip


def _copy(source: Pixels, out: Pixels, *, swapped: bool) -> None:
    """Copy pixels of the same height and width: from grey to colours or back, or red and blue swapped if they are."""
    channels = source.shape[2], out.shape[2]
    if channels == (1, 1) or (channels == (3, 3) and not swapped):
        np.copyto(out, source)
        return
    cv2 = opencv()
    to_grey = cv2.COLOR_BGR2GRAY if swapped else cv2.COLOR_RGB2GRAY
    ways = {(3, 1): to_grey, (1, 3): cv2.COLOR_GRAY2RGB, (3, 3): cv2.COLOR_BGR2RGB}
    target = _planes(out)
    _check_in_place(cv2.cvtColor(_planes(source), ways[channels], dst=target), target)


def _resize(source: Pixels, out: Pixels, averages: bool) -> None:
    """Scale `source` to the shape of `out`: by area averages, or bilinearly.

    OpenCV's area averages would be slower than the decoder: 570 µs against 80 µs for 256 x 342 to 224 x 224, beside
    220 µs of decoding. So they are only taken where bilinear weights would leave pixels out.
    """
    if not averages and _scale(source, out, mirrored=False):
        return
    cv2 = opencv()
    target = _planes(out)
    size = (out.shape[1], out.shape[0])  # OpenCV counts width first
    way = cv2.INTER_AREA if averages else cv2.INTER_LINEAR
    _check_in_place(cv2.resize(_planes(source), size, dst=target, interpolation=way), target)


def _scale(source: Pixels, out: Pixels, *, mirrored: bool) -> bool:
    """Scale `source` bilinearly to the shape of `out` by native code, mirrored if it is; return whether it was done."""
    native = native_scaler()
    return native is not None and native.scale(source, out, mirrored=mirrored)


def _mirror(source: Pixels, out: Pixels) -> None:
    """Write `source` mirrored left to right into `out`; for 224 x 224 x 3 in 5 µs, NumPy takes 160."""
    target = _planes(out)
    _check_in_place(opencv().flip(_planes(source), 1, dst=target), target)


def _planes(pixels: Pixels) -> Pixels:
    """Return a view as OpenCV wants it: one channel has no axis of its own."""
    return pixels[:, :, 0] if pixels.shape[2] == 1 else pixels


def _check_in_place(result: Pixels, target: Pixels) -> None:
    # OpenCV silently allocates when `dst` does not suit it: the sample would keep old bytes. Mostly it gives back the
    # very array that it was given, and then no addresses need be looked up.
    if result is not target and result.ctypes.data != target.ctypes.data:
        raise ValueError(
            f"out of shape {target.shape!r}, strides {target.strides!r} cannot be written in place; give C-order uint8"
        )
