"""Reads encoded frames through h5py, however they are stored: the plain path that every fast path must equal."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np

from loader_service.catalog.columns import Access
from loader_service.catalog.natural import natural_key
from loader_service.catalog.tree import to_bytes, to_text

#: Decompressed chunks that HDF5 keeps of the dataset in use. Neighbouring frames share chunks, and HDF5's own 1 MiB is
#: less than one chunk of, say, 64 frames of 23 KB, which would then be decompressed anew for every frame.
CHUNK_CACHE_BYTES = 16 * 2**20

_ONE_ROW = h5py.h5s.create_simple((1,))


class PlainReader:
    """Reads frames of one open file; keeps the dataset of the last video open.

    Parameters
    ----------
    file
        Open for reading; stays the caller's.
    """

    def __init__(self, file: h5py.File) -> None:
        self._file = file
        self._path: str | None = None
        self._node: Any = None
        self._dtype: Any = None
        self._children: list[str] = []

    def read(self, access: Access, path: str, position: int, length: int) -> bytes:
        """Return one frame's bytes.

        Parameters
        ----------
        access
            How the video is stored; not ``RAW``.
        path
            Of the video's dataset, or, for ``DATASETS``, group.
        position, length
            The frame's extent, as `Access` says.

        Raises
        ------
        OSError, KeyError, ValueError, RuntimeError
            Whatever h5py raises for a damaged file; see `HDF5_ERRORS`.
        """
        if path != self._path:
            self._open(access, path)
        if access is Access.DATASETS:
            child = self._node[to_bytes(self._children[position])]
            return bytes(child[()].tobytes())
        if access is Access.VLEN:
            return self._read_row(position)
        if access is Access.FLAT:
            return bytes(self._node[position : position + length].tobytes())
        if access is Access.PADDED:
            return bytes(self._node[position, :length].tobytes())
        raise ValueError(f"{access!r} is not read through HDF5")

    def _read_row(self, row: int) -> bytes:
        """Return one row of a vlen dataset; `Dataset.__getitem__` takes twice as long, and scans read two a video."""
        dataset = self._node.id
        selected = dataset.get_space()
        selected.select_hyperslab((row,), (1,))
        out = np.empty((1,), self._dtype)
        dataset.read(_ONE_ROW, selected, out)
        return bytes(out[0].tobytes())

    def _open(self, access: Access, path: str) -> None:
        self._path = None
        self._node = self._file[to_bytes(path)] if path else self._file
        self._dtype = self._node.dtype if access is Access.VLEN else None
        self._children = list_children(self._node) if access is Access.DATASETS else []
        self._path = path


#: What h5py raises when a file is damaged or a filter is missing.
HDF5_ERRORS = (OSError, KeyError, ValueError, RuntimeError, TypeError, IndexError, MemoryError, OverflowError)


def list_children(group: h5py.Group) -> list[str]:
    """Return the names in a group in natural order: ``DATASETS`` videos number their frames by it."""
    return sorted((to_text(name) for name in group.id), key=natural_key)
