"""Where the pixels of a JPEG lie in its scan, as its header says it; decodes nothing.

Only what is decoded row by row has such a layout: a baseline or sequential JPEG whose one scan holds all components.
"""

from __future__ import annotations

import struct

from loader_service.record_class import record

_SEGMENT = struct.Struct(">HH")  # marker, length without the marker
_FRAME_HEADER = struct.Struct(">BHHB")  # precision, height, width, components
_START_OF_SCAN = 0xFFDA
_RESTART_INTERVAL = 0xFFDD
_SEQUENTIAL_FRAMES = (0xFFC0, 0xFFC1)

#: Horizontal and vertical sampling factors of the first component, where the two others have 1 and 1.
_SAMPLINGS = frozenset(((1, 1), (2, 1), (2, 2), (1, 2), (4, 1)))

#: Pixels of a block's side, before it is scaled.
_BLOCK = 8


@record(frozen=True)
class JpegLayout:
    """How a scan goes through a picture: in blocks of some pixels, row by row.

    Attributes
    ----------
    block
        ``(height, width)`` of one block of all components together, in pixels: 16 x 16 for 4:2:0.
    subsampled
        Whether colours have fewer samples than the luma.
    height_at
        Where the header says the height, in bytes from the beginning: two bytes, the higher one first.
    scan_at
        Where the scan's own data begins, in bytes from the beginning.
    """

    block: tuple[int, int]
    subsampled: bool
    height_at: int
    scan_at: int


def jpeg_layout(jpeg: bytes) -> JpegLayout | None:
    """Return the layout of a JPEG that `check_header` let pass, or None where it is not known to be a plain one.

    Four-colour JPEGs, those of 12 bits, restart markers and sampling factors that no camera writes are left out too.
    """
    at, end, frame_at = 2, len(jpeg) - 20, 0
    while at < end:
        marker, length = _SEGMENT.unpack_from(jpeg, at)
        if length < 2 or (marker == _RESTART_INTERVAL and jpeg[at + 4 : at + 6] != b"\0\0"):
            return None
        if marker in _SEQUENTIAL_FRAMES:
            frame_at = at + 4
        elif marker == _START_OF_SCAN:
            one_scan = frame_at and jpeg[at + 4] == jpeg[frame_at + 5]
            return _layout(jpeg, frame_at, at + 2 + length) if one_scan else None
        at += 2 + length
    return None


def _layout(jpeg: bytes, frame_at: int, scan_at: int) -> JpegLayout | None:
    precision, _, _, components = _FRAME_HEADER.unpack_from(jpeg, frame_at)
    factors = jpeg[frame_at + 7 : frame_at + 6 + 3 * components : 3]
    if precision != 8:
        return None
    if components == 1 and factors == b"\x11":
        return JpegLayout((_BLOCK, _BLOCK), subsampled=False, height_at=frame_at + 1, scan_at=scan_at)
    across, down = factors[0] >> 4, factors[0] & 15
    if components != 3 or factors[1:] != b"\x11\x11" or (across, down) not in _SAMPLINGS:
        return None
    return JpegLayout((_BLOCK * down, _BLOCK * across), (across, down) != (1, 1), frame_at + 1, scan_at)
