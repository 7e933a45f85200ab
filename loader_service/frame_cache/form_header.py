"""The header of a file of frames: which form it is of, and how much of it is kept. Knows no frame and no budget.

A service that keeps less of a form counts up a number here first, and readers of frames look at it before and after
they read.
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import struct
import zlib
from typing import NamedTuple

from loader_service.frame_cache.cells import BLOCK_FRAMES, Cells

_MAGIC = b"LSFRAMES"
_FORMAT = 1

#: Magic, format, frames of a block, key, frames, bytes of a frame, words for people; then a CRC of that.
_FIXED = struct.Struct("<8sII32sQQ128s")
_CRC = struct.Struct("<I")

#: Where the number of blocks that are kept stands, and how often there were fewer than before; then a CRC of both.
EXTENT_AT = 2048
_EXTENT = struct.Struct("<QQ")
EXTENT_BYTES = _EXTENT.size + _CRC.size

#: `fallocate`: free the bytes, which are zeros then, and leave the file as long as it is (linux/falloc.h).
_PUNCH_HOLE_KEEP_SIZE = 3


class DamagedHeader(Exception):
    """The header of a file of frames is not what was written there."""


class ForeignFile(Exception):
    """A file under the name of a form is none that was made here."""


class FormHeader(NamedTuple):
    """What a file of frames says of itself."""

    key: bytes
    cells: Cells
    title: str  # for people


def write_header(descriptor: int, header: FormHeader) -> None:
    """Make an empty file one of a form that keeps nothing yet, as long as it would be with all frames; OSError."""
    cells, title = header.cells, header.title.encode("utf-8", "replace")[:128]
    fixed = _FIXED.pack(_MAGIC, _FORMAT, BLOCK_FRAMES, header.key, cells.frames, cells.frame_bytes, title)
    os.ftruncate(descriptor, cells.file_bytes(cells.blocks))
    # Not from 0: who reads meanwhile must see another number than before.
    write_extent(descriptor, 0, secrets.randbits(62))
    os.pwrite(descriptor, fixed + _CRC.pack(zlib.crc32(fixed)), 0)


def read_header(descriptor: int) -> FormHeader:
    """Return the header of a file of frames.

    Raises
    ------
    ForeignFile
        When it is none.
    DamagedHeader
        When it was one, or was never written to its end, or is of another version.
    OSError
        When it cannot be read.
    """
    data = os.pread(descriptor, _FIXED.size + _CRC.size, 0)
    if not any(data):  # who made it was killed before it could say what it is, or had no room
        raise DamagedHeader
    if data[: len(_MAGIC)] != _MAGIC:
        raise ForeignFile
    if len(data) < _FIXED.size + _CRC.size or zlib.crc32(data[: _FIXED.size]) != _CRC.unpack(data[_FIXED.size :])[0]:
        raise DamagedHeader
    _, form, block_frames, key, frames, frame_bytes, title = _FIXED.unpack(data[: _FIXED.size])
    if (form, block_frames) != (_FORMAT, BLOCK_FRAMES) or not 0 < frames < 2**48 or not 0 < frame_bytes < 2**40:
        raise DamagedHeader
    return FormHeader(key, Cells(frames, frame_bytes), title.rstrip(b"\0").decode("utf-8", "replace"))


def write_extent(descriptor: int, blocks: int, shrinks: int) -> None:
    """Say how many blocks are kept, and how often there were fewer than before; raises OSError."""
    data = _EXTENT.pack(blocks, shrinks)
    os.pwrite(descriptor, data + _CRC.pack(zlib.crc32(data)), EXTENT_AT)


def read_extent(descriptor: int) -> tuple[int, int]:
    """Return how many blocks are kept, and how often there were fewer than before.

    Raises
    ------
    DamagedHeader
        When that was not written there.
    OSError
        When it cannot be read.
    """
    return parse_extent(os.pread(descriptor, EXTENT_BYTES, EXTENT_AT))


def parse_extent(data: bytes) -> tuple[int, int]:
    """Return what `read_extent` does, of the bytes at `EXTENT_AT`."""
    if len(data) < EXTENT_BYTES or zlib.crc32(data[: _EXTENT.size]) != _CRC.unpack(data[_EXTENT.size :])[0]:
        raise DamagedHeader
    blocks, shrinks = _EXTENT.unpack(data[: _EXTENT.size])
    return blocks, shrinks


def keep_less(descriptor: int, cells: Cells, blocks: int, shrinks: int) -> None:
    """Keep fewer blocks than before, and free what the others took; raises OSError.

    The file stays as long as it is, so that nobody who has it mapped reads beyond its end.
    """
    write_extent(descriptor, blocks, shrinks + 1)
    start, end = cells.file_bytes(blocks), cells.file_bytes(cells.blocks)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    if end > start and libc.fallocate(descriptor, _PUNCH_HOLE_KEEP_SIZE, start, end - start):
        if ctypes.get_errno() != errno.EOPNOTSUPP:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        os.ftruncate(descriptor, start)  # where nobody maps files: on disks
        os.ftruncate(descriptor, end)
