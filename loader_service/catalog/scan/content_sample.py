"""Reads a few frames of a field, so that other content in the same places is noticed. Knows no catalog.

Columns say how long a JPEG is, and of numbers only where they lie. A file that was written anew with other pixels or
numbers of the same shape has the same columns; the bytes of a few frames tell it apart.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from loader_service.catalog.columns import RAW
from loader_service.catalog.hdf5.arrays import ArrayReader
from loader_service.catalog.hdf5.plain import HDF5_ERRORS
from loader_service.catalog.layouts.extents import read_frame
from loader_service.catalog.rows_place import RowsPlace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.columns import Int64s
    from loader_service.catalog.findings import FieldScan
    from loader_service.catalog.hdf5.file import HDF5File

#: Frames that are looked at in each file: the first, the last, and some between them. Those of a compressed dataset
#: cost a chunk each.
_FRAMES = 4

#: Pieces of a larger frame that are looked at, and their bytes: in the middle of each part of it, since pictures are
#: often black at the edge, and masks in most places. Of a field 16 KB are read, whatever its frames weigh.
_PIECES, _PIECE_BYTES = 4, 1024
_WHOLE_BYTES = _PIECES * _PIECE_BYTES


class SampledFrame(NamedTuple):
    """A frame that is looked at: of which video, its number there and in the file, and that video's frames."""

    video: int
    frame: int
    number: int
    frames: int


def places_of(frame_counts: Int64s) -> list[SampledFrame]:
    """Return the frames of a file that are looked at; `frame_counts` are those of each video."""
    if not len(frame_counts):
        return []
    ends = frame_counts.cumsum()
    last = int(ends[-1]) - 1
    numbers = list(dict.fromkeys([last * each // (_FRAMES - 1) for each in range(_FRAMES)]))
    videos = ends.searchsorted(numbers, side="right").tolist()
    counts = [int(frame_counts[video]) for video in videos]
    return [
        SampledFrame(video, number - int(ends[video]) + count, number, count)
        for number, video, count in zip(numbers, videos, counts, strict=True)
    ]


def sample_of(hdf5: HDF5File, field: FieldScan, places: Sequence[SampledFrame]) -> str:
    """Return what stands for the bytes of a few frames of a field: 32 hex digits, the same however they are stored.

    A frame that cannot be read counts as one that cannot: it is a bad frame when it is asked for, and no fault now.
    """
    storage = field.storage
    if storage == "value" or not places:
        return ""
    total = hashlib.blake2b(digest_size=16)
    read = _read_numbers if storage == "raw" else _read_encoded
    for place in places:
        try:
            data = read(hdf5, field, place)
        except HDF5_ERRORS as error:
            if getattr(error, "errno", None):  # the disk's fault, and not the file's
                raise
            data = b"cannot be read"
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()


def _read_encoded(hdf5: HDF5File, field: FieldScan, place: SampledFrame) -> bytes:
    columns, number = field.columns, place.number
    offset, length = int(columns["extent_offsets"][number]), int(columns["extent_lengths"][number])
    way = field.ways[columns["ways"][place.video]]
    if way == RAW:
        return _pieces_at(hdf5, offset, length)
    return _pieces_of(read_frame(hdf5, way, field.paths[place.video], offset, length))


def _pieces_at(hdf5: HDF5File, offset: int, length: int) -> bytes:
    """Return the pieces of a frame that lies in the file as it is."""
    if length <= _WHOLE_BYTES:
        return hdf5.read_at(offset, length)
    return b"".join([hdf5.read_at(offset + begin, end - begin) for begin, end in _pieces(length)])


def _pieces_of(frame: bytes) -> bytes:
    if len(frame) <= _WHOLE_BYTES:
        return frame
    return b"".join([frame[begin:end] for begin, end in _pieces(len(frame))])


def _pieces(length: int) -> list[tuple[int, int]]:
    """Return where the pieces of a frame of so many bytes begin and end."""
    begins = [(2 * part + 1) * length // (2 * _PIECES) - _PIECE_BYTES // 2 for part in range(_PIECES)]
    return [(begin, begin + _PIECE_BYTES) for begin in begins]


def _read_numbers(hdf5: HDF5File, field: FieldScan, place: SampledFrame) -> bytes:
    columns, video = field.columns, place.video
    frame = min(place.frame, max(0, place.frames - field.missing - 1))
    sides = columns["sides"][video].tolist() if "sides" in columns else field.shape
    dtype = np.dtype(field.dtype)
    size = math.prod(sides) * dtype.itemsize
    if not size:
        return b""
    address = int(columns["addresses"][video])
    if address >= 0:
        return _pieces_at(hdf5, address + frame * size, size)
    out = np.zeros((1, *sides), dtype)
    rows = (int(columns[name][video]) for name in ("elements", "firsts", "digits", "strides"))
    unwritten = ArrayReader(hdf5.file).read(RowsPlace(field.paths[video], *rows), range(frame, frame + 1), out)
    return b"" if unwritten is not None else _pieces_of(out.tobytes())
