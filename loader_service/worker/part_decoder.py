"""Decodes of a JPEG no more than the part that is used; the pixels are those of a full decode, whatever does it.

Plain JPEGs at full scale and at half are decoded by `native_jpeg`, where that can be. Else a library that decodes parts
(`turbo_library`) is used where there is one and where that is quicker. Without it the whole frame is decoded, and the
part is cut out of that: pixels and verdict are the same, for they are a function of the JPEG and the spec alone.

For the library a part begins at a block of the scan, on either side, since libjpeg transforms whole blocks; what was
not asked for is left out of the view. Below the part both stop where the spec allows that (``strict=False``), at the
end of a row of blocks; else they go on to the last row, for the end of the scan is what tells whether it is whole.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from loader_service.catalog.codecs import END_OF_IMAGE
from loader_service.errors import DecodeError
from loader_service.plan.resized_crop import Box
from loader_service.worker.decode import decode_into
from loader_service.worker.jpeg_layout import JpegLayout, jpeg_layout
from loader_service.worker.native_jpeg import Part, native_decoder
from loader_service.worker.routes import Route
from loader_service.worker.turbo_library import turbo_library

Pixels = NDArray[np.uint8]

#: What ends the data of a scan without restart markers: a marker, before which there may be fill bytes (T.81, B.1.1.2).
_MARKER = re.compile(rb"\xff+[^\x00\xff]")

#: What the codec says of a scan that goes on below the last row that its header declares.
_GOES_ON = "extraneous bytes before marker"

#: What decoding costs, in µs: a byte of the scan down to the part's last row, a pixel of the part, one beside it in its
#: rows, the calls. Fitted to parts of JPEGs of 256 x 342 to 720 x 960 pixels, to within 4 %. Only ratios count.
_BYTE_US, _PIXEL_US, _BESIDE_US, _CALLS_US = 0.0076, 0.0014, 0.0005, 12.0

#: What the codec takes for a whole frame, of what the library would take.
_CODEC = 0.95


def part_of(pixels: Pixels, box: Box) -> Pixels:
    """Return the view of a part of some pixels."""
    return pixels[box.top : box.top + box.height, box.left : box.left + box.width]


class PartDecoder:
    """Decodes parts of JPEGs for one stream. Used by one thread of a worker.

    Parameters
    ----------
    channels
        Of its pixels, 1 or 3.
    swapped, exact
        As for `decode_into`.
    strict
        Whether damage below a part is an error.
    """

    def __init__(self, channels: int, *, swapped: bool, exact: bool, strict: bool) -> None:
        self._channels = channels
        self._swapped = swapped
        self._exact = exact
        self._strict = strict
        self._room = np.empty(0, np.uint8)

    def decode(self, jpeg: bytes, route: Route) -> Pixels:
        """Return the part of a JPEG that a route cuts out.

        Parameters
        ----------
        jpeg
            Bytes that have passed `check_header`.
        route
            Of a frame of its size.

        Returns
        -------
        Pixels
            ``(route.cut.height, route.cut.width, channels) uint8``, valid until the next call.

        Raises
        ------
        DecodeError
            When the data is damaged, or, where `strict` is False, its rows from the first to the part's last are.
        """
        alone = self._memory((route.cut.height, route.cut.width))
        if self.decode_to(jpeg, route, alone):
            return alone
        layout = jpeg_layout(jpeg) if route.cuts else None
        if layout is None or (self._exact and layout.subsampled):
            return part_of(self._decode(jpeg, route.decoded), route.cut)
        rows, columns = (side * route.eighths // 8 for side in layout.block)
        part = self._part(route, rows, columns)
        pixels = self._try_part(jpeg, route, part)
        if pixels is None:
            return self._cut_from_whole(jpeg, route, layout, part)
        return part_of(pixels, route.cut._replace(top=route.cut.top - part.top, left=route.cut.left - part.left))

    def decode_to(self, jpeg: bytes, route: Route, out: Pixels) -> bool:
        """Decode what a route cuts out into `out`, where `native_jpeg` does it; return whether it was done.

        Parameters
        ----------
        jpeg, route
            As for `decode`.
        out
            ``(route.cut.height, route.cut.width, channels) uint8, C-order``; undefined where it was not done.
        """
        native = None if self._exact or route.eighths not in (8, 4) else native_decoder()
        part = Part(route.frame, route.cut, half=route.eighths == 4, to_end=self._strict)
        return native is not None and native.decode_part(jpeg, out, part, swapped=self._swapped)

    def _part(self, route: Route, rows: int, columns: int) -> Box:
        """Return what is decoded for a cut, at blocks of so many rows and columns."""
        cut, height = route.cut, route.decoded[0]
        top, left = cut.top - cut.top % rows, cut.left - cut.left % columns
        bottom = height if self._strict else min(height, -(-(cut.top + cut.height) // rows) * rows)
        return Box(top, left, bottom - top, cut.left + cut.width - left)

    def _try_part(self, jpeg: bytes, route: Route, part: Box) -> Pixels | None:
        """Return the pixels of a part that is decoded alone, or None where that cannot be, or is not worth it."""
        library = turbo_library()
        if library is None or not _pays(len(jpeg), route.decoded, part):
            return None
        if not self._strict and not jpeg.endswith(END_OF_IMAGE):
            return None  # near such an end, how far the library reads ahead would decide
        pixels = self._memory((part.height, part.width))
        try:
            library.decode(jpeg, pixels, part, route.eighths, swapped=self._swapped, exact=self._exact)
        except DecodeError:
            return None  # the full decode says what is wrong
        return pixels

    def _cut_from_whole(self, jpeg: bytes, route: Route, layout: JpegLayout, part: Box) -> Pixels:
        bottom = part.top + part.height
        try:
            return part_of(self._decode(jpeg, route.decoded), route.cut)
        except DecodeError:
            if bottom == route.decoded[0]:
                raise
        return part_of(self._decode_down_to(jpeg, route, layout, bottom), route.cut)

    def _decode_down_to(self, jpeg: bytes, route: Route, layout: JpegLayout, bottom: int) -> Pixels:
        """Decode a damaged JPEG down to some row as one that has no more rows; the damage may lie below it."""
        rows = bottom * 8 // route.eighths
        marker = _MARKER.search(jpeg, layout.scan_at)
        end = len(jpeg) if marker is None else marker.start()
        shorter = jpeg[: layout.height_at] + rows.to_bytes(2, "big") + jpeg[layout.height_at + 2 : end] + END_OF_IMAGE
        try:
            return self._decode(shorter, (bottom, route.decoded[1]))
        except DecodeError as error:
            if _GOES_ON not in str(error):
                raise
        return self._memory((bottom, route.decoded[1]))  # all rows were written before that was found

    def _decode(self, jpeg: bytes, size: tuple[int, int]) -> Pixels:
        pixels = self._memory(size)
        decode_into(jpeg, pixels, at_least=size, swapped=self._swapped, exact=self._exact)
        return pixels

    def _memory(self, size: tuple[int, int]) -> Pixels:
        """Return scratch memory of a size, kept from frame to frame."""
        shape = (*size, self._channels)
        length = size[0] * size[1] * self._channels
        if self._room.size < length:
            self._room = np.empty(length, np.uint8)
        return self._room[:length].reshape(shape)


def _pays(size: int, decoded: tuple[int, int], part: Box) -> bool:
    """Return whether decoding a part alone is quicker than decoding all of a JPEG of so many bytes.

    Most of a decode goes into the bytes of the scan, and those above a part are read all the same.
    """
    height, width = decoded
    whole = size * _BYTE_US + height * width * _PIXEL_US
    read = size * _BYTE_US * (part.top + part.height) / height
    beside = part.height * (width - part.width)
    return read + part.height * part.width * _PIXEL_US + beside * _BESIDE_US + _CALLS_US < whole * _CODEC
