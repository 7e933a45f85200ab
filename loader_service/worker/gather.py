"""Reads many short rows of a table at once: one check of the file for all of them; knows no batch and no stream.

`Reader.read_array` looks at the file before each read, which takes ten times as long as reading 16 KB that the kernel
has in memory. The rows of one task are read within milliseconds, so here one look is for all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from numpy.typing import NDArray

from loader_service.catalog.columns import Catalog
from loader_service.worker.reader import Reader


class Run(NamedTuple):
    """Frames that follow each other in a video and in memory."""

    start: int
    length: int
    begin: int  # where they go


def gather(catalog: Catalog, reader: Reader, place: tuple[int, str], runs: Iterable[Run], frames: NDArray[Any]) -> None:
    """Read numbers, or raw pixels, of one field of one video.

    Parameters
    ----------
    catalog, reader
        Where they are, and what reads those that do not lie there as in memory.
    place
        Video and field.
    runs
        Which frames, none empty. In the order of the video a compressed chunk is decompressed once.
    frames
        ``(frames, *shape)`` of the field's dtype, C-order, writable: where they go.

    Raises
    ------
    FileTouched, CatalogError, DecodeError
        As `Reader.read_array` does, for any of them.
    IndexError
        When the video has no such frame.
    """
    video, field = place
    address = catalog.address(video, field)
    if address < 0:
        for start, length, begin in runs:
            reader.read_array(video, field, start, frames[begin : begin + length])
        return
    row_bytes = frames.nbytes // len(frames)
    frame_count = int(catalog.frame_counts[video]) - catalog.missing((field,))
    descriptor = reader.descriptor(video)
    reader.reads.spent.turn_to(int(catalog.video_file[video]))
    for start, length, begin in runs:
        if reader.reads.are_slow or descriptor < 0:
            reader.read_array(video, field, start, frames[begin : begin + length])
            descriptor = reader.descriptor(video)
            continue
        if not 0 <= start <= start + length <= frame_count:
            raise IndexError(f"reading {length} frames from {start} of {catalog.describe(video)}: it has {frame_count}")
        out: Any = frames[begin : begin + length]  # mypy: NumPy's arrays are no buffers before Python 3.12
        try:
            done = reader.reads.timed(out.nbytes, os.preadv, descriptor, [out], address + start * row_bytes)
        except OSError:
            done = -1
        if done != length * row_bytes:  # interrupted, cut off, or a fault: the slow way tries again, or says which
            reader.read_array(video, field, start, out)
            descriptor = reader.descriptor(video)
