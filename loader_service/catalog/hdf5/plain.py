"""Reads encoded frames through h5py, however they are stored: the plain path that every fast path must equal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from loader_service.catalog.inner_paths import to_text
from loader_service.catalog.natural import natural_key

if TYPE_CHECKING:
    import h5py

#: Decompressed chunks that HDF5 keeps of the dataset in use. Neighbouring frames share chunks, and HDF5's own 1 MiB is
#: less than one chunk of, say, 64 frames of 23 KB, which would then be decompressed anew for every frame.
CHUNK_CACHE_BYTES = 16 * 2**20

#: What h5py raises when a file is damaged or a filter is missing.
HDF5_ERRORS = (OSError, KeyError, ValueError, RuntimeError, TypeError, IndexError, MemoryError, OverflowError)


class Readable(Protocol):
    """What knows how frames are read, such as a layout."""

    def open(self, file: h5py.File, path: str) -> Any:
        """Return what `read` needs of a video's dataset or group."""

    def read(self, opened: Any, position: int, length: int) -> bytes:
        """Return one frame's bytes."""


class PlainReader:
    """Reads frames of one open file; keeps the dataset of the last video open.

    Parameters
    ----------
    file
        Open for reading; stays the caller's.
    """

    def __init__(self, file: h5py.File) -> None:
        self._file = file
        self._key: tuple[Readable, str] | None = None
        self._opened: Any = None

    def read(self, layout: Readable, path: str, position: int, length: int) -> bytes:
        """Return one frame's bytes.

        Parameters
        ----------
        layout
            How the video is stored.
        path
            Of the video's dataset or group.
        position, length
            The frame's extent, as the layout's `plain` gave it.

        Raises
        ------
        OSError, KeyError, ValueError, RuntimeError
            Whatever h5py raises for a damaged file; see `HDF5_ERRORS`.
        """
        if self._key != (layout, path):
            self._key = None
            self._opened = layout.open(self._file, path)
            self._key = layout, path
        return layout.read(self._opened, position, length)


def list_children(group: h5py.Group) -> list[str]:
    """Return the names in a group in natural order."""
    return sorted((to_text(name) for name in group.id), key=natural_key)
