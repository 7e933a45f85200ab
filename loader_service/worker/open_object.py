"""One file of the catalog that lies in a store: read by ranges and, where it must be, through h5py. Knows no video."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from loader_service.catalog.columns import FileStat
from loader_service.stores.faults import StoreFault
from loader_service.stores.object_copy import ObjectCopy
from loader_service.stores.open_stored import open_stored
from loader_service.worker.open_file import HDF5Failure, OpenFile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import h5py

    from loader_service.stores.copy_folder import CopyFolder
    from loader_service.worker.read_ahead import Opened

_Result = TypeVar("_Result")


class OpenObject(OpenFile):
    """An object that is open for reading.

    Parameters
    ----------
    path
        Its URL.
    copy
        Keeps what is fetched; None for none.

    Raises
    ------
    StoreFault
        When it cannot be opened now, and perhaps can in a moment.
    """

    descriptor = -1

    def __init__(self, path: str, copy: CopyFolder | None = None) -> None:
        self._start(path)
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

            self._blocks = BlockFile(self._read_at, self._object.version.size_bytes)
            self._hdf5 = h5py.File(self._blocks, "r", rdcc_nbytes=CHUNK_CACHE_BYTES)
        return self._hdf5

    def close(self) -> None:
        """Close it; threads that still read it go on."""
        if self._kept is not None:
            self._kept.close()
        self._close_hdf5()
