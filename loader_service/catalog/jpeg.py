"""Reads the picture size from a JPEG's header; knows nothing of pixels and decodes none."""

from __future__ import annotations

#: The two bytes that every JPEG begins with (ITU-T T.81, B.1.1.3: start of image).
START_OF_IMAGE = b"\xff\xd8"
END_OF_IMAGE = b"\xff\xd9"

# Start-of-frame markers: C0 to CF without DHT (C4), JPG (C8) and DAC (CC).
_START_OF_FRAME = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
# Markers that stand alone: TEM, RST0 to RST7, SOI.
_NO_LENGTH = frozenset({0x01, *range(0xD0, 0xD9)})
# Before the first scan or the end of the image a frame header must have come.
_TOO_LATE = frozenset({0xD9, 0xDA})


def frame_size(data: bytes) -> tuple[int, int] | None:
    """Return ``(height, width)`` in pixels as the header declares them, or None if `data` is no JPEG with a size.

    References
    ----------
    ITU-T T.81, B.1.1 (markers may be preceded by fill bytes FF) and B.2.2 (frame header).
    """
    if not data.startswith(START_OF_IMAGE):
        return None
    position = 2
    while position + 4 <= len(data) and data[position] == 0xFF:
        marker = data[position + 1]
        if marker == 0xFF:
            position += 1
        elif marker in _NO_LENGTH:
            position += 2
        elif marker in _START_OF_FRAME:
            return _declared_size(data[position + 5 : position + 9])
        elif marker in _TOO_LATE:
            return None
        else:
            position += 2 + int.from_bytes(data[position + 2 : position + 4], "big")
    return None


def _declared_size(header: bytes) -> tuple[int, int] | None:
    height, width = int.from_bytes(header[:2], "big"), int.from_bytes(header[2:4], "big")
    return (height, width) if height and width else None
