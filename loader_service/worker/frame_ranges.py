"""Where in its file the frames of a row lie, so that their reads can be begun before they are needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from loader_service.catalog.columns import RAW, Catalog
from loader_service.worker.picks import Pick
from loader_service.worker.read_ahead import ByteRange

#: Has frames read into memory: video, field, frames.
Fetch = Callable[[int, str, range], object]


def frame_ranges(
    catalog: Catalog, name: str, pick: Pick, stride: int, fetch: Fetch | None = None
) -> Iterator[ByteRange]:
    """Yield the bytes that a field's frames are read from, in order; nothing where only HDF5 knows.

    Parameters
    ----------
    catalog
        What the files hold.
    name
        The field.
    pick
        The video and the frames of a row.
    stride
        From one of these frames to the next.
    fetch
        Called with video, field and frames of an array that only HDF5 can read, such as a compressed one. None where
        little of each frame is read.
    """
    file, end = int(catalog.video_file[pick.video]), pick.start + pick.length * stride
    if catalog.is_encoded(name) or catalog.has_lists(name):
        if catalog.way(pick.video, name) == RAW:
            offsets, lengths = catalog.extents(pick.video, name)
            some = slice(pick.start, end, stride)
            for offset, length in zip(offsets[some].tolist(), lengths[some].tolist(), strict=True):
                if length:
                    yield ByteRange(file, offset, length)
        return
    address, row_bytes = catalog.address(pick.video, name), bytes_of_frame(catalog, name, pick.video)
    if address < 0 and fetch is not None:
        fetch(pick.video, name, range(pick.start, end, stride))
    elif address >= 0 and row_bytes:
        for frame in range(pick.start, end, stride):
            yield ByteRange(file, address + frame * row_bytes, row_bytes)


def bytes_of_frame(catalog: Catalog, name: str, video: int) -> int:
    """Return how long each frame of an array is in a video, in bytes."""
    return np.dtype(catalog.field(name).dtype).itemsize * math.prod(catalog.shape_in(video, name))
