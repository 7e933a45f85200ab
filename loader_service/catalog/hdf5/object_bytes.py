"""An HDF5 file that lies in a store, open through h5py and for reading by ranges. Knows no video."""

from __future__ import annotations

from typing import TYPE_CHECKING

import h5py

from loader_service.catalog.header import FileStat
from loader_service.stores.blocks import OF_SCANS, BlockFile, BlockSizes
from loader_service.stores.open_stored import open_stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Files up to this size are fetched whole: one of 30 vlen videos took 938 requests for more than its 0.9 MB.
_SMALL_BYTES = 2**20


class ObjectBytes:
    """The bytes of an object, for HDF5 and for who knows where they lie.

    Parameters
    ----------
    path
        Its URL.

    Attributes
    ----------
    file
        For `h5py.File`; also says which fault HDF5 has met.
    status
        What identifies the object.

    Raises
    ------
    StoreFault
        When it cannot be had.
    """

    def __init__(self, path: str) -> None:
        self._object = open_stored(path)
        self.status = FileStat.of_version(self._object.version)
        size = self.status.size_bytes
        self._is_small = size <= _SMALL_BYTES
        sizes = BlockSizes(max(1, size), 1, 1, size) if self._is_small else OF_SCANS
        self.file = BlockFile(self._object.read_at, size, sizes)

    @property
    def fetched_bytes(self) -> int:
        """How many bytes were fetched so far, for HDF5 or past it."""
        return self.file.fetched_bytes

    def open_hdf5(self, cache_bytes: int) -> h5py.File:
        """Open it through HDF5, which keeps so many bytes of decompressed chunks; raises what h5py raises."""
        return h5py.File(self.file, "r", rdcc_nbytes=cache_bytes)

    def read_at(self, offset: int, length: int) -> bytes:
        """Return bytes by way of the blocks that are kept; raises StoreFault."""
        return self.file.read_at(offset, length)

    def read_each(self, offsets: Sequence[int], length: int) -> list[bytes]:
        """Return as many bytes of each of many places, read at a time and not kept; raises StoreFault."""
        if self._is_small:
            return [self.file.read_at(offset, length) for offset in offsets]
        return self.file.fetch_each([(offset, length) for offset in offsets])

    def expect(self, places: Iterable[int]) -> None:
        """Fetch the blocks that places lie in, many at a time; raises StoreFault."""
        self.file.expect(places)
