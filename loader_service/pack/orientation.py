"""How a picture is turned or mirrored before it is shown, as films and pictures say it; opens no file."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np

from loader_service.catalog.codecs import PNG_SIGNATURE, START_OF_IMAGE
from loader_service.errors import PackError


class Orientation(NamedTuple):
    """What is done with a picture, ``(height, width, channels)``, in this order."""

    swaps_sides: bool = False
    flips_rows: bool = False
    flips_columns: bool = False

    def turned(self, pixels: Any) -> Any:
        """Return a picture as it is to be shown; a view of the same memory."""
        if self.swaps_sides:
            pixels = pixels.swapaxes(0, 1)
        return pixels[:: -1 if self.flips_rows else 1, :: -1 if self.flips_columns else 1]


#: As it is.
UPRIGHT = Orientation()

#: By the value of EXIF's tag 274: where the first row and the first column are shown (TIFF 6.0, "Orientation").
_OF_EXIF = {
    2: Orientation(flips_columns=True),
    3: Orientation(flips_rows=True, flips_columns=True),
    4: Orientation(flips_rows=True),
    5: Orientation(swaps_sides=True),
    6: Orientation(swaps_sides=True, flips_columns=True),
    7: Orientation(swaps_sides=True, flips_rows=True, flips_columns=True),
    8: Orientation(swaps_sides=True, flips_rows=True),
}
_TAG = 274

#: Segments of a JPEG that may come before that with its EXIF data, beside those for applications (T.81, B.1.1.3).
_APPLICATIONS, _COMMENT = range(0xE0, 0xF0), 0xFE


def of_matrix(matrix: bytes, where: str) -> Orientation:
    """Return what a film's display matrix asks for: nine numbers, ``int32`` (ISO 14496-12, 8.3.2).

    Raises
    ------
    PackError
        When it asks for something else than quarters of a turn, and mirrors.
    """
    across, down, _, across_by_row, down_by_row = np.frombuffer(matrix, np.int32, 5).tolist()  # of x and y in turn
    if not (across or down or across_by_row or down_by_row):
        return UPRIGHT
    if across and down_by_row and not (down or across_by_row):
        return Orientation(flips_rows=down_by_row < 0, flips_columns=across < 0)
    if down and across_by_row and not (across or down_by_row):
        return Orientation(swaps_sides=True, flips_rows=down < 0, flips_columns=across_by_row < 0)
    degrees = np.degrees(np.arctan2(-down, across))
    raise PackError(
        f"{where} is to be shown turned by {degrees:.0f} degrees; expected quarters of a turn: write it again, turned"
    )


def of_picture(data: bytes) -> Orientation:
    """Return what a JPEG or PNG asks for in its EXIF data; what cannot be read asks for nothing."""
    try:
        exif = _exif_of_jpeg(data) if data.startswith(START_OF_IMAGE) else _exif_of_png(data)
        return _OF_EXIF.get(_orientation_tag(exif), UPRIGHT) if exif else UPRIGHT
    except (struct.error, IndexError):
        return UPRIGHT


def _exif_of_jpeg(data: bytes) -> bytes:
    place = 2
    while data[place] == 0xFF and (data[place + 1] in _APPLICATIONS or data[place + 1] == _COMMENT):
        size = int.from_bytes(data[place + 2 : place + 4], "big")
        if data[place + 1] == 0xE1 and data[place + 4 : place + 10] == b"Exif\0\0":
            return data[place + 10 : place + 2 + size]
        place += 2 + size
    return b""


def _exif_of_png(data: bytes) -> bytes:
    if not data.startswith(PNG_SIGNATURE):
        return b""
    place = len(PNG_SIGNATURE)
    while place < len(data):
        size, kind = struct.unpack_from(">I4s", data, place)
        if kind in {b"eXIf", b"IDAT"}:
            return data[place + 8 : place + 8 + size] if kind == b"eXIf" else b""
        place += size + 12
    return b""


def _orientation_tag(exif: bytes) -> int:
    """Return the value of the tag in the first directory; 0 where it is not there."""
    order = "<" if exif[:2] == b"II" else ">"
    (first,) = struct.unpack_from(f"{order}I", exif, 4)
    (count,) = struct.unpack_from(f"{order}H", exif, first)
    for number in range(count):
        tag, _, _, value = struct.unpack_from(f"{order}HHIH", exif, first + 2 + 12 * number)
        if tag == _TAG:
            return int(value)
    return 0
