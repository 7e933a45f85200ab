"""One file of the catalog that lies in a store: read by ranges and, where it must be, through h5py. Knows no video."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeVar

from loader_service.catalog.columns import FileStat
from loader_service.stores.faults import StoreFault
from loader_service.stores.object_copy import ObjectCopy
from loader_service.stores.open_stored import open_stored
from loader_service.worker.open_file import HDF5Failure, OpenFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import h5py

    from loader_service.stores.copy_folder import CopyFolder
    from loader_service.worker.read_ahead import Opened

_Result = TypeVar("_Result")

#: Chunks that were asked for last, as they are stored: HDF5 keeps four times as much, decompressed.
_HDF5_KEEPS_BYTES = 4 * 2**20


class OpenObject(OpenFile):
    """An object that is open for reading.

    Parameters
    ----------
    path
        Its URL.
    copy
        Keeps what is fetched; None for none.
    ahead
        Returns bytes of it that were read ahead, ``(offset, length)``; None where they were not.

    Raises
    ------
    StoreFault
        When it cannot be opened now, and perhaps can in a moment.
    """

    descriptor = -1

    def __init__(
        self, path: str, copy: CopyFolder | None = None, ahead: Callable[[int, int], bytes | None] = lambda *_: None
    ) -> None:
        self._start(path)
        self._ahead = ahead
        self._asked_for: OrderedDict[int, int] = OrderedDict()  # chunks, first byte and length
        self._asked_bytes = 0
        self._object = open_stored(path)
        self._kept = ObjectCopy(self._object.read_at, path, self._object.version, copy) if copy else None
        self._read_at = self._kept.read_at if self._kept else self._object.read_at

    def status(self) -> FileStat:
        """Return what identifies the object that is open."""
        return FileStat.of_version(self._object.version)

    def read(self, offset: int, length: int) -> bytes:
        """Return bytes of the object; raises StoreFault when they do not come, ObjectChanged when it is another now."""
        data = self._read_at(offset, length)
        if len(data) != length:
            raise StoreFault(f"{self._path!r}: expected {length} bytes at byte {offset}, got {len(data)}")
        return data

    def read_into(self, memory: Any, offset: int) -> None:
        """Fill memory, ``(bytes,) uint8``, from one place of the object; raises as `read` does."""
        memory[:] = memoryview(self.read(offset, len(memory)))

    def parts_read(self, starts: Sequence[int], ends: Sequence[int]) -> Callable[[], Sequence[Any]]:
        """Return what reads neighbouring parts of the object by one request, and raises as `read` does."""

        def read() -> list[memoryview]:
            data = memoryview(self.read(starts[0], ends[-1] - starts[0]))
            return [data[start - starts[0] : end - starts[0]] for start, end in zip(starts, ends, strict=True)]

        return read

    def hold(self) -> Opened:
        """Return what reads it in any thread; it needs no closing."""
        return self.parts_read, lambda: None

    def through_hdf5(self, read: Callable[[], _Result]) -> _Result:
        """Return what a read by h5py gives; raises StoreFault where that was the cause, else HDF5Failure."""
        try:
            return read()
        except Exception as error:
            if self._blocks is not None and self._blocks.fault is not None:
                raise self._blocks.fault from error
            raise HDF5Failure(str(error)) from error

    def _open_hdf5(self) -> h5py.File:
        if self._hdf5 is None:
            # Here, not above: most workers never need h5py.
            import h5py  # noqa: PLC0415

            from loader_service.catalog.hdf5.plain import CHUNK_CACHE_BYTES  # noqa: PLC0415
            from loader_service.stores.blocks import BlockFile  # noqa: PLC0415

            self._blocks = BlockFile(self._read_at, self._object.version.size_bytes, ahead=self._ahead)
            self._hdf5 = h5py.File(self._blocks, "r", rdcc_nbytes=CHUNK_CACHE_BYTES)
        return self._hdf5

    def _fetch(self, chunks: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the chunks that threads must read, but for those of a moment ago, which HDF5 keeps decompressed."""
        found = []
        for offset, length in chunks:
            if offset not in self._asked_for:
                found.append((offset, length))
                self._asked_bytes += length
            self._asked_for[offset] = length
            self._asked_for.move_to_end(offset)
            while self._asked_bytes > _HDF5_KEEPS_BYTES:
                self._asked_bytes -= self._asked_for.popitem(last=False)[1]
        return found

    def close(self) -> None:
        """Close it; threads that still read it go on."""
        if self._kept is not None:
            self._kept.close()
        self._close_hdf5()
