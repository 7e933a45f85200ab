"""Reads many short rows of a table at once: one check of the file for all of them; knows no batch and no stream.

`Reader.read_array` looks at the file before each read, which takes ten times as long as reading 16 KB that the kernel
has in memory. The rows of one task are read within milliseconds, so here one look is for all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loader_service.catalog.columns import Catalog
from loader_service.worker.reader import Reader

#: Runs that are read between two looks at the clock: it takes as long as a fifth of such a read.
_AT_ONCE = 8


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
    flat: Any = frames.reshape(-1).view(np.uint8)
    memory = memoryview(flat)
    left = list(runs)
    for start, length, _ in left:
        if not 0 <= start <= start + length <= frame_count:
            raise IndexError(f"reading {length} frames from {start} of {catalog.describe(video)}: it has {frame_count}")
    descriptor = reader.descriptor(video)
    reader.reads.spent.turn_to(int(catalog.video_file[video]))
    done = 0
    while done < len(left):
        some = left[done : done + _AT_ONCE]
        if reader.reads.are_slow or descriptor < 0:
            read = 0
        else:
            size = sum(run.length for run in some) * row_bytes
            read = reader.reads.timed(size, _read, descriptor, address, row_bytes, some, memory)
        done += read
        if read < len(some):  # interrupted, cut off, or a fault: the slow way tries again, or says which
            start, length, begin = some[read]
            reader.read_array(video, field, start, frames[begin : begin + length])
            descriptor = reader.descriptor(video)
            done += 1


def _read(descriptor: int, address: int, row_bytes: int, runs: list[Run], memory: memoryview) -> int:
    """Read runs of rows into their places; return how many were read, in order, before one that was not."""
    for number, (start, length, begin) in enumerate(runs):
        size, place = length * row_bytes, begin * row_bytes
        try:
            got = os.preadv(descriptor, [memory[place : place + size]], address + start * row_bytes)
        except OSError:
            return number
        if got != size:
            return number
    return len(runs)
