"""Reads a few frames of a field, so that other content in the same places is noticed. Knows no catalog.

Columns say how long a JPEG is, and of numbers only where they lie. A file that was written anew with other pixels or
numbers of the same shape has the same columns; the bytes of a few frames tell it apart.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from loader_service.catalog.hdf5.arrays import ArrayReader
from loader_service.catalog.hdf5.plain import HDF5_ERRORS
from loader_service.catalog.layouts.extents import read_frame
from loader_service.catalog.rows_place import RowsPlace

if TYPE_CHECKING:
    from loader_service.catalog.columns import Int64s
    from loader_service.catalog.findings import FieldScan
    from loader_service.catalog.hdf5.file import HDF5File

#: Frames that are looked at in each file: the first, the last, and some between them. Those of a compressed dataset
#: cost a chunk each.
_FRAMES = 4

#: How much of a frame of numbers is looked at; it begins in the middle, since pictures are often black at the edge.
_MOST_BYTES = 65_536


def sample_of(hdf5: HDF5File, field: FieldScan, frame_counts: Int64s) -> str:
    """Return what stands for the bytes of a few frames of a field: 32 hex digits, the same however they are stored.

    A frame that cannot be read counts as one that cannot: it is a bad frame when it is asked for, and no fault now.
    """
    storage = field.storage
    if storage == "value" or not len(frame_counts):
        return ""
    ends = frame_counts.cumsum()
    total = hashlib.blake2b(digest_size=16)
    last = int(ends[-1]) - 1
    numbers = list(dict.fromkeys([last * each // (_FRAMES - 1) for each in range(_FRAMES)]))
    read = _read_numbers if storage == "raw" else _read_encoded
    for number, video in zip(numbers, ends.searchsorted(numbers, side="right").tolist(), strict=True):
        frame = number - int(ends[video] - frame_counts[video])
        frame = min(frame, max(0, int(frame_counts[video]) - field.missing - 1))
        try:
            data = read(hdf5, field, (video, frame, number))
        except HDF5_ERRORS as error:
            if getattr(error, "errno", None):  # the disk's fault, and not the file's
                raise
            data = b"cannot be read"
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()


def _read_encoded(hdf5: HDF5File, field: FieldScan, place: tuple[int, int, int]) -> bytes:
    video, _, number = place
    offset, length = int(field.columns["extent_offsets"][number]), int(field.columns["extent_lengths"][number])
    return read_frame(hdf5, field.ways[field.columns["ways"][video]], field.paths[video], offset, length)


def _read_numbers(hdf5: HDF5File, field: FieldScan, place: tuple[int, int, int]) -> bytes:
    video, frame, _ = place
    sides = field.columns["sides"][video].tolist() if "sides" in field.columns else field.shape
    out = np.zeros((1, *sides), np.dtype(field.dtype))
    if not out.size:
        return b""
    skipped = max(0, out.nbytes - _MOST_BYTES) // 2
    address = int(field.columns["addresses"][video])
    if address >= 0:
        length = min(out.nbytes, _MOST_BYTES)
        return hdf5.read_at(address + frame * out.nbytes + skipped, length)
    columns = (int(field.columns[name][video]) for name in ("elements", "firsts", "digits", "strides"))
    unwritten = ArrayReader(hdf5.file).read(RowsPlace(field.paths[video], *columns), range(frame, frame + 1), out)
    return b"" if unwritten is not None else out.tobytes()[skipped : skipped + _MOST_BYTES]
