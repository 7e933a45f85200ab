"""Finds where in a file the bytes of each frame lie, so that they can be read without HDF5. Knows no names, no labels.

HDF5 costs 99 µs a frame of a vlen dataset, `os.pread` at a known place 4 µs. A place is only trusted when the first and
the last frame found there equal what h5py returns; anything unusual (compression, split rows, odd files) is no error,
but leaves the video to `plain`.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import h5py
import numpy as np

from loader_service.catalog import heap
from loader_service.catalog.attempts import pread_fully
from loader_service.catalog.columns import Access, Int64s
from loader_service.catalog.foreign_storage import lies_elsewhere
from loader_service.catalog.jpeg import END_OF_IMAGE
from loader_service.catalog.plain import PlainReader, list_children
from loader_service.catalog.storage import find_pieces, read_references
from loader_service.catalog.tree import to_bytes
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Callable

    from loader_service.catalog.layouts import FoundVideo
    from loader_service.catalog.tree import DatasetInfo

_LOG = logging.getLogger(__name__)

_MAX_FRAME_BYTES = 2**32 - 1
# How many bytes of the end of a padded row are looked at first; JPEGs of one video differ in length by a few KB.
_TAIL_BYTES = 8192
# Rows or vlen elements that the plain path reads at once to learn their lengths.
_SLAB = 64


@dataclass(frozen=True)
class Located:
    """Where a video's frames are: what `Access` says of offsets and lengths, ``(frames,) int64`` each."""

    access: Access
    offsets: Int64s
    lengths: Int64s


@dataclass(frozen=True)
class Source:
    """One file, open in two ways.

    Attributes
    ----------
    file, plain
        Through HDF5.
    descriptor
        The same file for `os.pread`.
    size_bytes
        Its size.
    direct
        Whether HDF5's addresses are plain 8-byte offsets in this file.
    """

    file: h5py.File
    plain: PlainReader
    descriptor: int
    size_bytes: int
    direct: bool

    @classmethod
    def of(cls, file: h5py.File, descriptor: int) -> Source:
        """Return the source of a file opened by h5py's default driver and, as a descriptor, for reading."""
        created = file.id.get_create_plist()
        direct = created.get_userblock() == 0 and created.get_sizes() == (8, 8)
        return cls(file, PlainReader(file), descriptor, os.fstat(descriptor).st_size, direct)

    def read_at(self, offset: int, length: int) -> bytes:
        """Return bytes of the file."""
        return pread_fully(self.descriptor, length, offset)


def locate(source: Source, video: FoundVideo) -> Located:
    """Return where a video's frames lie.

    Raises
    ------
    CatalogError
        When a frame lies beyond the end of the file, or has 4 GiB or more, or there are more frames than bytes.
    OSError, KeyError, ValueError, RuntimeError
        Whatever h5py raises for a damaged file; see `plain.HDF5_ERRORS`.
    """
    # Or a damaged shape would be counted through, one frame after the other.
    if video.frame_count > source.size_bytes and not _lies_elsewhere(source, video):
        raise CatalogError(
            f"{video.dataset_path!r}: expected no more frames than the file has bytes, {source.size_bytes}; "
            f"got {video.frame_count}: the file is damaged, or nothing was written into most of the dataset"
        )
    located = _locate_direct(source, video) if source.direct and video.frame_count else None
    if located is None:
        located = _PLAIN[video.access](source, video)
    if len(located.lengths) and located.lengths.max() > _MAX_FRAME_BYTES:
        raise CatalogError(f"{video.dataset_path!r}: a frame of {int(located.lengths.max())} bytes is no JPEG")
    return located


def read_frame(source: Source, video: FoundVideo, located: Located, frame: int) -> bytes:
    """Return one frame's bytes by the way that `located` says."""
    offset, length = int(located.offsets[frame]), int(located.lengths[frame])
    if located.access is Access.RAW:
        return pread_fully(source.descriptor, length, offset)
    return source.plain.read(located.access, video.dataset_path, offset, length)


def _lies_elsewhere(source: Source, video: FoundVideo) -> bool:
    return video.access is not Access.DATASETS and lies_elsewhere(source.file[to_bytes(video.dataset_path)].id)


def _locate_direct(source: Source, video: FoundVideo) -> Located | None:
    try:
        places = _DIRECT[video.access](source, video)
    except heap.HeapError as error:
        _LOG.debug("reading %r through HDF5: %s", video.dataset_path, error)
        return None
    if places is None:
        return None
    located = Located(Access.RAW, *places)
    end = int((located.offsets + located.lengths).max())
    if end > source.size_bytes:
        raise CatalogError(
            f"{video.dataset_path!r}: expected its frames to end by byte {source.size_bytes}, the end of the file; "
            f"got {end}: the file is truncated"
        )
    if all(_equals_plain(source, video, located, frame) for frame in {0, video.frame_count - 1}):
        return located
    _LOG.debug("reading %r through HDF5: bytes found directly differ", video.dataset_path)
    return None


def _equals_plain(source: Source, video: FoundVideo, located: Located, frame: int) -> bool:
    length = int(located.lengths[frame])
    position = frame
    if video.access is Access.FLAT:
        position = int(video.starts[frame])
    if video.access is Access.DATASETS:
        member = source.file[to_bytes(video.members[frame].path)]
        return bool(member[()].tobytes() == read_frame(source, video, located, frame))
    expected = source.plain.read(video.access, video.dataset_path, position, length)
    return expected == read_frame(source, video, located, frame)


def _vlen_direct(source: Source, video: FoundVideo) -> tuple[Int64s, Int64s] | None:
    references = read_references(source.descriptor, h5py.h5d.open(source.file.id, to_bytes(video.dataset_path)))
    if references is None:
        return None
    offsets = heap.locate(source.descriptor, references, source.size_bytes)
    return offsets, references["length"].astype(np.int64)


def _vlen_plain(source: Source, video: FoundVideo) -> Located:
    dataset = source.file[to_bytes(video.dataset_path)]
    lengths = [len(frame) for start in range(0, video.frame_count, _SLAB) for frame in dataset[start : start + _SLAB]]
    return Located(Access.VLEN, np.arange(video.frame_count), np.array(lengths, np.int64))


def _flat_direct(source: Source, video: FoundVideo) -> tuple[Int64s, Int64s] | None:
    pieces = find_pieces(source.file[to_bytes(video.dataset_path)].id)
    return None if pieces is None else pieces.extents(video.starts[:-1], np.diff(video.starts))


def _flat_plain(_source: Source, video: FoundVideo) -> Located:
    return Located(Access.FLAT, video.starts[:-1], np.diff(video.starts))


def _padded_direct(source: Source, video: FoundVideo) -> tuple[Int64s, Int64s] | None:
    dataset = source.file[to_bytes(video.dataset_path)].id
    pieces = find_pieces(dataset)
    if pieces is None:
        return None
    width = dataset.shape[1]
    offsets = pieces.address(np.arange(video.frame_count), width)
    if video.lengths is not None:
        return offsets, video.lengths
    lengths = [_unpadded_bytes(source.descriptor, offset, width) for offset in offsets.tolist()]
    return offsets, np.array(lengths, np.int64)


def _unpadded_bytes(descriptor: int, offset: int, width: int) -> int:
    """Return how many bytes of a row come before its padding, reading little more than the padding."""
    window = _TAIL_BYTES
    while True:
        start = max(0, width - window)
        length = _find_end(pread_fully(descriptor, width - start, offset + start))
        if length or not start:
            return start + length
        window *= 4


def _find_end(row: bytes) -> int:
    """Return where the zeros at the end begin, or where the JPEG ends if an end-of-image marker says so."""
    stripped = row.rstrip(b"\0")
    marker = stripped.rfind(END_OF_IMAGE)
    return marker + 2 if marker >= 0 else len(stripped)


def _padded_plain(source: Source, video: FoundVideo) -> Located:
    lengths = video.lengths
    if lengths is None:
        dataset = source.file[to_bytes(video.dataset_path)]
        ends = [
            _find_end(row.tobytes())
            for start in range(0, video.frame_count, _SLAB)
            for row in dataset[start : start + _SLAB]
        ]
        lengths = np.array(ends, np.int64)
    return Located(Access.PADDED, np.arange(video.frame_count), lengths)


def _datasets_direct(source: Source, video: FoundVideo) -> tuple[Int64s, Int64s] | None:
    offsets = [_whole_dataset(source, info) for info in video.members]
    if None in offsets:
        return None
    return np.array(offsets, np.int64), np.array([info.size_bytes for info in video.members], np.int64)


def _whole_dataset(source: Source, info: DatasetInfo) -> int | None:
    """Return where a dataset's bytes lie in one piece, or None."""
    if info.address is not None or not info.size_bytes:
        return info.address or 0
    if not info.shape:
        return None
    pieces = find_pieces(source.file[to_bytes(info.path)].id)
    if pieces is None:
        return None
    whole = pieces.extents(np.array([0]), np.array([info.size_bytes]))
    return None if whole is None else int(whole[0][0])


def _datasets_plain(source: Source, video: FoundVideo) -> Located:
    group = source.file[to_bytes(video.dataset_path)] if video.dataset_path else source.file
    number = {name: position for position, name in enumerate(list_children(group))}
    positions = [number[info.basename] for info in video.members]
    lengths = [info.size_bytes for info in video.members]
    return Located(Access.DATASETS, np.array(positions, np.int64), np.array(lengths, np.int64))


_DIRECT: dict[Access, Callable[[Source, FoundVideo], tuple[Int64s, Int64s] | None]] = {
    Access.VLEN: _vlen_direct,
    Access.FLAT: _flat_direct,
    Access.PADDED: _padded_direct,
    Access.DATASETS: _datasets_direct,
}
_PLAIN: dict[Access, Callable[[Source, FoundVideo], Located]] = {
    Access.VLEN: _vlen_plain,
    Access.FLAT: _flat_plain,
    Access.PADDED: _padded_plain,
    Access.DATASETS: _datasets_plain,
}
