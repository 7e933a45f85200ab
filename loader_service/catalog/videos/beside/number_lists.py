"""Lists of numbers with an entry for each frame, such as a vlen dataset has: where they lie, and how long each is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.columns import RAW
from loader_service.catalog.dtypes import is_vlen
from loader_service.catalog.hdf5.tree import ElementKind
from loader_service.catalog.hdf5.vlen_places import places_of_lists
from loader_service.catalog.layouts.vlen import Vlen
from loader_service.catalog.videos.beside.flat_lists import flat_extents, read_bounds
from loader_service.catalog.videos.episodes import VideoField
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from loader_service.catalog.columns import Int64s
    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import DatasetInfo
    from loader_service.catalog.layouts.layout import Extents

#: Lists that are read at once to learn their lengths, where the file's bytes do not say them.
_SLAB = 256

#: The ways to lists: numbers in the column ``ways`` are places in this.
LIST_WAYS = (RAW, Vlen.name)

#: Of one list: what the column of lengths holds.
_MOST_BYTES = 2**32 - 1


def list_part(info: DatasetInfo) -> VideoField | None:
    """Return a dataset of lists as an array whose length differs from frame to frame; None if it is none.

    Bytes in a vlen dataset are no list unless a schema says so: they may be frames of any format.
    """
    if not is_vlen(info.dtype) or len(info.shape) != 1 or info.kind is ElementKind.VLEN_BYTES:
        return None
    return declared_list(info, (0,))


def declared_list(info: DatasetInfo, shape: tuple[int, ...]) -> VideoField:
    """Return a vlen dataset as lists whose entries have a shape: ``(0, 4)`` of boxes, ``(0,)`` of numbers."""
    return VideoField("array", info.dtype.removeprefix("vlen "), shape, info.path, info=info)


def is_list(part: VideoField) -> bool:
    """Tell whether a field has a list for each frame."""
    if part.bounds is not None:
        return True
    return part.info is not None and is_vlen(part.info.dtype) and part.element < 0 and part.kind == "array"


def list_columns(hdf5: HDF5File, parts: Sequence[VideoField], counts: Sequence[int]) -> dict[str, NDArray[Any]]:
    """Return the columns of a field of lists.

    Parameters
    ----------
    hdf5
        The file.
    parts
        The field in each video.
    counts
        Frames of each; those at the end that have no entry get an empty list.

    Raises
    ------
    CatalogError
        When a list does not hold a whole number of entries of its field's shape.
    """
    known: dict[str, tuple[int, Extents]] = {}  # several videos may lie end to end in one dataset
    ways, offsets, lengths = [], [], []
    for part, count in zip(parts, counts, strict=True):
        if part.path not in known:
            known[part.path] = _locate(hdf5, part)
        way, extents = known[part.path]
        begins, sizes = (each[part.first : part.first + count - part.missing] for each in extents)
        _check_whole(part, sizes)
        ways.append(way)
        offsets += [begins, np.zeros(part.missing, np.int64)]
        lengths += [sizes, np.zeros(part.missing, np.int64)]
    return {
        "ways": np.array(ways, np.uint8),
        "swapped": np.array([not np.dtype(part.dtype).isnative for part in parts], np.uint8),
        "extent_offsets": np.concatenate([np.zeros(0, np.int64), *offsets]),
        "extent_lengths": np.concatenate([np.zeros(0, np.int64), *lengths]).astype(np.uint32),
    }


def _check_whole(part: VideoField, sizes: Int64s) -> None:
    inner = math.prod(part.shape[1:])
    itemsize = np.dtype(part.dtype).itemsize
    if len(sizes) and sizes.max() > _MOST_BYTES:
        raise CatalogError(f"{part.path!r}: expected lists of at most {_MOST_BYTES} bytes, found one of {sizes.max()}")
    odd = np.flatnonzero(sizes % (inner * itemsize))
    if len(odd):
        raise CatalogError(
            f"{part.path!r}, entry {part.first + int(odd[0])}: expected a multiple of {inner} numbers, since an entry "
            f"has shape {part.shape!r}, found {int(sizes[odd[0]]) // itemsize}; correct `shape` in the schema, or the "
            "file"
        )


def _locate(hdf5: HDF5File, part: VideoField) -> tuple[int, Extents]:
    """Return the way to the lists of a dataset, as its place in `LIST_WAYS`, and their extents."""
    itemsize = np.dtype(part.dtype).itemsize
    if part.bounds is not None and part.info is not None:
        bounds = read_bounds(part.bounds, hdf5.entries)
        return 0, flat_extents(part.info.address, bounds, math.prod(part.shape[1:]) * itemsize)
    places = places_of_lists(hdf5, part.path, itemsize)
    return (1, _plain(hdf5, part, itemsize)) if places is None else (0, places)


def _plain(hdf5: HDF5File, part: VideoField, itemsize: int) -> Extents:
    """Return the numbers of lists, and their lengths, for which all are read."""
    dataset = hdf5.node(part.path)
    starts = range(0, dataset.shape[0], _SLAB)
    lengths = [np.size(row) * itemsize for start in starts for row in dataset[start : start + _SLAB]]
    return np.arange(len(lengths)), np.array(lengths, np.int64)
