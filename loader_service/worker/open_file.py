"""One file of the catalog, open as a descriptor and, once needed, through h5py. Knows no video and no retry."""

from __future__ import annotations

import errno
import os
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from loader_service.catalog.attempts import TRANSIENT, ShortRead, errno_of, pread_fully
from loader_service.catalog.columns import FileStat
from loader_service.catalog.rows_place import RowsPlace
from loader_service.errors import CatalogError
from loader_service.worker.mapped_file import MappedFile, map_file
from loader_service.worker.scattered_read import scattered_read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import h5py
    import numpy as np
    from numpy.typing import NDArray

    from loader_service.catalog.hdf5.arrays import ArrayReader
    from loader_service.catalog.hdf5.plain import PlainReader
    from loader_service.stores.blocks import BlockFile
    from loader_service.worker.read_ahead import Opened

_Result = TypeVar("_Result")

#: Between bytes that are looked for in memory: the kernel reads about that much at once.
_LOOK_EVERY_BYTES = 256 * 2**10

#: Where bytes go that are read to learn whether that takes time.
_ONE_BYTE = bytearray(1)


class HDF5Failure(Exception):
    """HDF5 could not give some bytes, and the disk is not known to be the cause."""


class OpenFile:
    """A file that is open for reading.

    Attributes
    ----------
    descriptor
        For `os.pread`; -1 where only `read` and `read_into` lead to the bytes.

    Parameters
    ----------
    path
        Its path.

    Raises
    ------
    OSError
        When it cannot be opened now, and perhaps can in a moment.
    CatalogError
        When it cannot be opened.
    """

    descriptor: int

    def __init__(self, path: str) -> None:
        self._start(path)
        self._lock = threading.Lock()
        self._readers = 0  # threads that are at it
        self._is_closed = False
        try:
            self.descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in TRANSIENT:
                raise
            raise CatalogError(
                f"opening {path!r}: {error.strerror}; check its mode, and the limit of open files (`ulimit -n`)"
            ) from error

    def _start(self, path: str) -> None:
        self._path = path
        self._hdf5: h5py.File | None = None
        self._plain: PlainReader | None = None
        self._arrays: ArrayReader | None = None
        self._blocks: BlockFile | None = None
        self._mapped: MappedFile | None = None
        self._is_mapped = False  # or cannot be

    def status(self) -> FileStat:
        """Return what identifies the file that is open."""
        return FileStat.of(os.fstat(self.descriptor))

    def read(self, offset: int, length: int) -> bytes:
        """Return bytes of the file; raises OSError when they do not come."""
        data = pread_fully(self.descriptor, length, offset)
        if len(data) != length:
            raise _short(offset, length, len(data))
        return data

    def parts_read(self, starts: Sequence[int], ends: Sequence[int]) -> Callable[[], Sequence[Any]]:
        """Return what reads neighbouring parts of the file, as `scattered_read` takes them, and raises as `read`."""
        at_once = scattered_read(self.descriptor, starts, ends)
        return lambda: at_once() or [self.read(start, end - start) for start, end in zip(starts, ends, strict=True)]

    def hold(self) -> Opened:
        """Return what reads it in any thread, also after `close`, and what must be called when that has ended."""
        with self._lock:
            self._readers += 1
        return self.parts_read, self._let_go

    def _let_go(self) -> None:
        with self._lock:
            self._readers -= 1
            if self._is_closed and not self._readers:
                os.close(self.descriptor)

    def read_into(self, memory: Any, offset: int) -> None:
        """Fill memory, ``(bytes,) uint8``, from one place of the file; raises OSError when that does not work."""
        done = 0
        while done < len(memory):
            got = os.preadv(self.descriptor, [memory[done:]], offset + done)
            if not got:
                raise _short(offset, len(memory), done)
            done += got

    def is_in_memory(self, offset: int, length: int) -> bool:
        """Tell whether the kernel has bytes of the file in memory, as far as the last and some before it say."""
        try:
            for place in range(offset + length - 1, offset - 1, -_LOOK_EVERY_BYTES):
                if os.preadv(self.descriptor, [_ONE_BYTE], place, os.RWF_NOWAIT) != 1:
                    return False
        except OSError:  # it has not, or the file system cannot tell
            return False
        return True

    def count_in_memory(self, pieces: NDArray[np.int64]) -> int:
        """Return how many of the first pieces, as `MappedFile.gather` takes them, can be read without waiting."""
        mapped = self.mapped()
        if mapped is not None:
            return mapped.count_in_memory(pieces)
        for number, (offset, _, size) in enumerate(pieces.tolist()):
            if self.descriptor < 0 or not self.is_in_memory(offset, size):
                return number
        return len(pieces)

    def mapped(self) -> MappedFile | None:
        """Return the file in memory, valid until `close`; None where that cannot be had."""
        if not self._is_mapped:
            self._is_mapped = True
            self._mapped = map_file(self.descriptor) if self.descriptor >= 0 else None
        return self._mapped

    def read_frame(self, layout: str, path: str, position: int, length: int) -> bytes:
        """Return an encoded frame as the layout of this name reads it through HDF5; raises what h5py raises."""
        # Here, not above: most workers never need h5py, and it doubles their memory and start-up time.
        from loader_service.catalog.hdf5.plain import PlainReader  # noqa: PLC0415
        from loader_service.catalog.layouts import LAYOUT_NAMED  # noqa: PLC0415

        if self._plain is None:
            self._plain = PlainReader(self._open_hdf5())
        return self._plain.read(LAYOUT_NAMED[layout], path, position, length)

    def read_rows(self, place: RowsPlace, frames: range, out: Any) -> int | None:
        """Read frames of an array, which lies where `Catalog.rows_place` says, as `ArrayReader.read` does."""
        return self._array_reader().read(place, frames, out)

    def fetch_rows(self, place: RowsPlace, frames: range) -> list[tuple[int, int]]:
        """Have the chunks of frames of an array read ahead, as `_fetch` does; raises what h5py raises."""
        return self._fetch(self._array_reader().chunks(place, frames))

    def fetch_frame(self, layout: str, path: str, position: int, length: int) -> list[tuple[int, int]]:
        """Have the chunks of an encoded frame read ahead; parameters as of `read_frame`, else as `fetch_rows`."""
        from loader_service.catalog.layouts import LAYOUT_NAMED  # noqa: PLC0415 - as in `read_frame`

        rows = LAYOUT_NAMED[layout].rows_of(position, length)
        return self.fetch_rows(RowsPlace(path), rows) if rows else []

    def _fetch(self, chunks: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Have the kernel read chunks, first byte and length, into memory; return those that threads must read."""
        for offset, length in chunks:
            os.posix_fadvise(self.descriptor, offset, length, os.POSIX_FADV_WILLNEED)
        return []

    def read_lines(self, place: RowsPlace, lines: tuple[int, int], out: Any) -> bool:
        """Read lines of a frame of an array, by the numbers of the frame and the first, as `ArrayReader` does."""
        return self._array_reader().read_lines(place, *lines, out)

    def _array_reader(self) -> ArrayReader:
        if self._arrays is None:
            from loader_service.catalog.hdf5.arrays import ArrayReader  # noqa: PLC0415 - most workers never need h5py

            self._arrays = ArrayReader(self._open_hdf5())
        return self._arrays

    def through_hdf5(self, read: Callable[[], _Result]) -> _Result:
        """Return what a read by h5py gives.

        Raises
        ------
        OSError
            When the disk or the network failed, which may pass.
        HDF5Failure
            Whatever else h5py raises; it has many kinds for damaged data.
        """
        try:
            return read()
        except Exception as error:
            number = errno_of(error)
            if number in TRANSIENT:
                raise OSError(number, os.strerror(number), self._path) from error
            raise HDF5Failure(str(error)) from error

    def _open_hdf5(self) -> h5py.File:
        if self._hdf5 is None:
            import h5py  # noqa: PLC0415

            from loader_service.catalog.hdf5.plain import CHUNK_CACHE_BYTES  # noqa: PLC0415

            # No lock: it would keep the user from opening the file in append mode while a training runs, and a change
            # is noticed without it.
            self._hdf5 = h5py.File(os.fsencode(self._path), "r", rdcc_nbytes=CHUNK_CACHE_BYTES, locking=False)
        return self._hdf5

    def close(self) -> None:
        """Close it; the descriptor only when no thread reads it any more."""
        if self._mapped is not None:
            self._mapped.close()
            self._mapped = None
        with self._lock:
            self._is_closed = True
            if not self._readers:
                os.close(self.descriptor)
        self._close_hdf5()

    def _close_hdf5(self) -> None:
        if self._hdf5 is not None:
            self._plain = self._arrays = None
            self._hdf5.close()


def stat_of(path: str) -> FileStat | None:
    """Return what identifies the file that is at a path now; None when none can be reached.

    Raises
    ------
    OSError
        When the disk or the network failed, which may pass.
    """
    try:
        return FileStat.of(os.stat(path))
    except OSError as error:
        if error.errno in TRANSIENT:
            raise
        return None


def _short(offset: int, length: int, got: int) -> ShortRead:
    return ShortRead(errno.EIO, f"expected {length} bytes at byte {offset}, got {got}")
