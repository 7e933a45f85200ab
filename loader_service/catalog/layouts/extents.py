"""Finds where in a file the bytes of each frame lie, so that they can be read without HDF5. Knows no names, no labels.

HDF5 costs 99 µs a frame of a vlen dataset, `os.pread` at a known place 4 µs. Places are only trusted when the last
frame found there equals what h5py returns, of the first video of a file, and of more while they are small: how a
dataset lies is asked of each, and what one library wrote it reads in one way. Anything unusual (compression, split
rows, odd files) is no error, but leaves the video to its layout's `read`.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loader_service.catalog.columns import RAW, Int64s
from loader_service.catalog.hdf5 import heap
from loader_service.catalog.hdf5.foreign_storage import lies_elsewhere
from loader_service.catalog.layouts import LAYOUT_NAMED
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.layouts.layout import FoundVideo

_LOG = logging.getLogger(__name__)

_MAX_FRAME_BYTES = 2**32 - 1

#: Videos of a file of which a frame is compared, and bytes that are read for it beside the first of them: of 50 small
#: ones a sixth of the scan was for it. From a store HDF5 fetches more than a frame: of 27 KB in a vlen element 40, and
#: the block before.
_COMPARED_VIDEOS, _COMPARED_BYTES = 16, 2**16


@dataclass(frozen=True)
class Located:
    """Where a video's frames are: which way leads to them, and its two numbers for each, ``(frames,) int64``.

    The way is `RAW`, and offsets count bytes of the file, or the name of a layout, whose `read` takes them. `first` is
    the number of its first frame in the dataset, in which other videos may lie before it.
    """

    way: str
    offsets: Int64s
    lengths: Int64s
    first: int = 0


def locate_all(hdf5: HDF5File, videos: Sequence[FoundVideo]) -> list[Located]:
    """Return where the frames of each video lie, a video that comes again being located once; raises as `locate`."""
    found: dict[int, Located] = {}
    compared, compared_bytes = 0, 0
    for number, video in enumerate(videos):
        if id(video) not in found:
            share = number / len(videos)
            is_compared = compared <= _COMPARED_VIDEOS * share and compared_bytes <= _COMPARED_BYTES * share
            before = _fetched_bytes(hdf5)
            located = found[id(video)] = locate(hdf5, video, is_compared=is_compared)
            if is_compared and len(located.lengths):
                compared += 1
                compared_bytes += max(int(located.lengths[-1]), _fetched_bytes(hdf5) - before)
    return [found[id(video)] for video in videos]


def _fetched_bytes(hdf5: HDF5File) -> int:
    return 0 if isinstance(hdf5.descriptor, int) else hdf5.descriptor.fetched_bytes


def locate(hdf5: HDF5File, video: FoundVideo, *, is_compared: bool = True) -> Located:
    """Return where a video's frames lie; its last frame is read and compared where that is asked for.

    Raises
    ------
    CatalogError
        When a frame lies beyond the end of the file, or has 4 GiB or more, or there are more frames than bytes.
    OSError, KeyError, ValueError, RuntimeError
        Whatever h5py raises for a damaged file; see `plain.HDF5_ERRORS`.
    """
    # Or a damaged shape would be counted through, one frame after the other.
    if video.frame_count > hdf5.size_bytes and (
        video.layout.in_group or not lies_elsewhere(hdf5.node(video.dataset_path).id)
    ):
        raise CatalogError(
            f"{video.dataset_path!r}: expected no more frames than the file has bytes, {hdf5.size_bytes}; "
            f"got {video.frame_count}: the file is damaged, or nothing was written into most of the dataset"
        )
    located = _locate_direct(hdf5, video, is_compared) if hdf5.direct and video.frame_count else None
    if located is None:
        located = Located(video.layout.name, *video.layout.plain(hdf5, video))
    if len(located.lengths) and located.lengths.max() > _MAX_FRAME_BYTES:
        raise CatalogError(f"{video.dataset_path!r}: a frame of {int(located.lengths.max())} bytes is no JPEG")
    return located


def read_frame(hdf5: HDF5File, way: str, path: str, offset: int, length: int) -> bytes:
    """Return one frame's bytes by the way that `locate` found, as a worker does."""
    if way == RAW:
        return hdf5.read_at(offset, length)
    return hdf5.plain.read(LAYOUT_NAMED[way], path, offset, length)


def _locate_direct(hdf5: HDF5File, video: FoundVideo, is_compared: bool) -> Located | None:
    try:
        places = video.layout.locate(hdf5, video)
    except heap.HeapError as error:
        _LOG.debug("reading %r through HDF5: %s", video.dataset_path, error)
        return None
    if places is None:
        return None
    offsets, lengths = places
    end = int((offsets + lengths).max())
    if end > hdf5.size_bytes:
        raise CatalogError(
            f"{video.dataset_path!r}: expected its frames to end by byte {hdf5.size_bytes}, the end of the file; "
            f"got {end}: the file is truncated"
        )
    length = int(lengths[-1])
    if is_compared and video.layout.read_frame(hdf5, video, video.frame_count - 1, length) != hdf5.read_at(
        int(offsets[-1]), length
    ):
        _LOG.debug("reading %r through HDF5: bytes found directly differ", video.dataset_path)
        return None
    return Located(RAW, offsets, lengths)
