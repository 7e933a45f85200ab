"""Reads many short rows of a table at once: one check of the file for all of them; knows no batch and no stream.

`Reader.read_array` looks at the file before each read, which takes ten times as long as reading 16 KB that the kernel
has in memory. The rows of one task are read within milliseconds, so here one look is for all, and for those of tasks
that came together and took less than 2 ms so far (`WorkerProcess.obey`). They are copied out of the mapped file where
there is native code for it, else read one by one.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loader_service.catalog.columns import Catalog
from loader_service.worker.open_file import OpenFile
from loader_service.worker.reader import Reader

#: Runs that are read between two looks at the clock: it takes as long as a fifth of such a read.
_AT_ONCE = 8


class Runs(NamedTuple):
    """Frames that follow each other in a video and in memory, ``(runs,) int64`` each."""

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    begins: NDArray[np.int64]  # where they go


def gather(catalog: Catalog, reader: Reader, place: tuple[int, str], runs: Runs, frames: NDArray[Any]) -> None:
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
    reads = reader.reads

    def read_alone(number: int) -> None:
        start, length, begin = (int(column[number]) for column in runs)
        reader.read_array(video, field, start, frames[begin : begin + length])

    if address < 0:
        for number in range(len(runs.starts)):
            read_alone(number)
        return
    frame_count = int(catalog.frame_counts[video]) - catalog.missing((field,))
    ends = runs.starts + runs.lengths
    if np.count_nonzero(runs.starts < 0) or np.count_nonzero(ends > frame_count):  # each a tenth of the time of `min`
        raise IndexError(
            f"reading frames {runs.starts.min()} to {ends.max() - 1} of {catalog.describe(video)}: it has {frame_count}"
        )
    rows = _GatheredRows(reader.files.of_rows(video), address, frames.nbytes // len(frames), runs, frames)
    reads.spent.turn_to(int(catalog.video_file[video]))
    while rows.done < len(runs.starts):
        # Those that threads have begun are not done here once more.
        end = rows.end_of_memory() if reads.are_ahead else len(runs.starts)
        if end == rows.done or not reads.timed_rows(rows.read, end):
            # Interrupted, cut off, or a fault: the slow way tries again, or says which.
            read_alone(rows.done)
            rows.done += 1
            rows.file = reader.open_file(video)


def beyond_memory(catalog: Catalog, reader: Reader, place: tuple[int, str], runs: Runs, row_bytes: int) -> list[int]:
    """Return the numbers of the runs that the kernel does not have in memory: all of them where nobody can tell.

    Parameters
    ----------
    catalog, reader, place, runs
        As `gather` takes them.
    row_bytes
        Of a frame.
    """
    address, file = catalog.address(*place), reader.if_open(place[0])
    if address < 0 or file is None:
        return list(range(len(runs.starts)))
    pieces = _pieces_of(runs, address, row_bytes)
    absent, done = [], file.count_in_memory(pieces)
    while done < len(pieces):
        absent.append(done)
        done += 1 + file.count_in_memory(pieces[done + 1 :])
    return absent


def _pieces_of(runs: Runs, address: int, row_bytes: int) -> NDArray[np.int64]:
    pieces = np.empty((len(runs.starts), 3), np.int64)
    pieces[:, 0] = runs.starts * row_bytes + address
    pieces[:, 1] = runs.begins * row_bytes
    pieces[:, 2] = runs.lengths * row_bytes
    return pieces


class _GatheredRows:
    """Rows on their way out of a file.

    Parameters
    ----------
    file
        Open.
    address, row_bytes
        Where the first row of the file begins, and how long each is.
    runs, frames
        As `gather` takes them.
    """

    def __init__(self, file: OpenFile, address: int, row_bytes: int, runs: Runs, frames: NDArray[Any]) -> None:
        self.file = file
        self.done = 0  # runs that were read
        self._frames = frames
        self._pieces = _pieces_of(runs, address, row_bytes)

    def end_of_memory(self) -> int:
        """Return up to which run the next ones are those that the kernel has in memory."""
        return self.done + self.file.count_in_memory(self._pieces[self.done :])

    def read(self, end: int) -> int:
        """Read the next runs up to one; return how many bytes, of `done` runs more, came before a fault."""
        first, mapped = self.done, self.file.mapped()
        if mapped is not None:
            self.done += mapped.gather(self._pieces[first:end], self._frames.ctypes.data)
        else:
            self.done += self._read_some(self._pieces[first : min(end, first + _AT_ONCE)].tolist())
        return int(np.add.reduce(self._pieces[first : self.done, 2]))

    def _read_some(self, pieces: list[list[int]]) -> int:
        if self.file.descriptor < 0:
            return 0
        flat: Any = self._frames.reshape(-1).view(np.uint8)
        memory = memoryview(flat)
        for number, (offset, place, size) in enumerate(pieces):
            try:
                if os.preadv(self.file.descriptor, [memory[place : place + size]], offset) != size:
                    return number
            except OSError:
                return number
        return len(pieces)
