"""Where in its file the frames of a row lie, so that their reads can be begun before they are needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from loader_service.catalog.columns import RAW, Catalog
from loader_service.worker.picks import Pick
from loader_service.worker.read_ahead import ByteRange

#: Has frames read into memory: video, field, frames; returns first byte and length of what is to be read for that.
Fetch = Callable[[int, str, range], Iterable[tuple[int, int]]]


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
        Called with video, field and frames of what only HDF5 can read, such as compressed arrays. None where little of
        each frame is read.
    """
    file, end = int(catalog.video_file[pick.video]), pick.start + pick.length * stride
    frames = range(pick.start, end, stride)
    address = -1
    if not (catalog.is_encoded(name) or catalog.has_lists(name)):
        address = catalog.address(pick.video, name)
    elif catalog.way(pick.video, name) == RAW:
        offsets, lengths = (column[pick.start : end : stride].tolist() for column in catalog.extents(pick.video, name))
        yield from (ByteRange(file, *extent) for extent in zip(offsets, lengths, strict=True) if extent[1])
        return
    row_bytes = bytes_of_frame(catalog, name, pick.video) if address >= 0 else 0
    if row_bytes:
        yield from (ByteRange(file, address + frame * row_bytes, row_bytes) for frame in frames)
    elif address < 0 and fetch is not None:
        yield from (ByteRange(file, *extent) for extent in fetch(pick.video, name, frames))


def bytes_of_frame(catalog: Catalog, name: str, video: int) -> int:
    """Return how long each frame of an array is in a video, in bytes."""
    return np.dtype(catalog.field(name).dtype).itemsize * math.prod(catalog.shape_in(video, name))
