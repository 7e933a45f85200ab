"""Lists of numbers that lie end to end in one dataset, with their bounds beside them: ``boxes``, ``boxes_offsets``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from loader_service.catalog.dtypes import is_number, is_whole
from loader_service.catalog.videos.episodes import VideoField

if TYPE_CHECKING:
    from loader_service.catalog.columns import Int64s
    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.bounds.bound_lists import Read

#: What the name of the bounds ends with.
BOUNDS_ENDING = "_offsets"


def flat_list_part(read: Read, tree: Tree, info: DatasetInfo, frames: int | None = None) -> VideoField | None:
    """Return a dataset as lists, one for each frame of its video, where its bounds lie beside it; else None.

    Parameters
    ----------
    read, tree
        Gives the numbers of a dataset of a file, and what is in it.
    info
        ``(entries of all frames, …)`` numbers that lie together.
    frames
        Of the video: the bounds are one more, from 0 to the number of entries, and never fall. None: as they say.
    """
    beside = tree.datasets.get(info.path + BOUNDS_ENDING)
    if beside is None or len(beside.shape) != 1 or beside.shape[0] < 2 or not is_whole(beside.dtype):
        return None
    if frames is not None and beside.shape[0] != frames + 1:
        return None
    is_numbers = is_number(info.dtype) and bool(info.shape)
    if not is_numbers or 0 in info.shape[1:] or (info.address is None and info.shape[0]):
        return None
    bounds = np.asarray(read(beside.path), np.int64)
    if bounds[0] or bounds[-1] != info.shape[0] or (np.diff(bounds) < 0).any():
        return None
    return VideoField("array", info.dtype, (0, *info.shape[1:]), info.path, info=info, bounds=beside)


def flat_extents(address: int | None, bounds: Int64s, entry_bytes: int) -> tuple[Int64s, Int64s]:
    """Return where the lists lie in the file, and their bytes, by where their dataset begins."""
    return (address or 0) + bounds[:-1] * entry_bytes, np.diff(bounds) * entry_bytes
