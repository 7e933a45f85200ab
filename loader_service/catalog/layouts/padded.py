"""Frames as rows of one width with zeros behind each, and perhaps a dataset of lengths beside them.

Rows are those of a dataset of bytes, ``(frames, bytes)`` or ``(frames, bytes, 1)``, or elements of fixed width, opaque
or strings, in a column too. HDF5 takes the zeros at the end of a string for padding; an image ends with its format's
marker, which holds none.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.attempts import RangeReader, pread_fully
from loader_service.catalog.codecs import END_OF_IMAGE, END_OF_PNG
from loader_service.catalog.columns import Int64s
from loader_service.catalog.hdf5.peek import as_bytes
from loader_service.catalog.hdf5.storage import find_pieces
from loader_service.catalog.hdf5.tree import DatasetInfo, ElementKind
from loader_service.catalog.inner_paths import unnumbered
from loader_service.catalog.layouts.layout import (
    LENGTH_NAMES,
    Candidates,
    Extents,
    FoundVideo,
    Layout,
    first_middle_last,
    names_of,
)
from loader_service.errors import CatalogError
from loader_service.sizes import size_text

if TYPE_CHECKING:
    from loader_service.catalog.hdf5.file import HDF5File

#: Bytes of the end of a row that are looked at first, and beyond as many zeros as the row before ends with. Those of a
#: store, of which many rows are fetched at a time, are more: JPEGs of one video differ in length by a few KB.
_TAIL_BYTES, _TAIL_BYTES_FETCHED = 512, 8192
#: Rows of a store that are fetched whole to learn how long the ends of others must be, and bytes of rows at a time.
_TRIED, _AT_ONCE_BYTES = 16, 32 * 2**20
#: Bytes of a store that are fetched to learn where the rows of one dataset end.
_MOST_FETCHED = 2**30
#: Rows that the plain path reads at once to learn their lengths.
_SLAB = 64


@dataclass(frozen=True)
class PaddedVideo(FoundVideo):
    """A video, and, where a dataset says it, the encoded bytes of each row, ``(frames,) int64``."""

    lengths: Int64s | None = None


class Padded(Layout[PaddedVideo]):
    """The position of a frame is the number of its row."""

    name = "padded"
    in_rows = True
    expected = "a 2-D uint8 dataset, or fixed strings or opaque elements, of padded images"
    kinds = frozenset({ElementKind.BYTES, ElementKind.OPAQUE, ElementKind.TEXT})
    helpers_say = "says how many bytes each image of {} has"

    def find(self, contents: Candidates) -> list[PaddedVideo]:
        """Return a video for each dataset whose rows are images."""
        rows = [info for info in contents.candidates if _is_rows(info)]
        # Where some of one element lie beside each other, those are frames in datasets of their own.
        beside = Counter((info.parent, unnumbered(info.basename)) for info in rows if info.shape[0] == 1)
        if max(beside.values(), default=0) > 1:
            rows = [info for info in rows if info.shape[0] != 1]
        images = contents.images(rows, lambda info: first_middle_last(range(info.shape[0])))
        datasets = [info for info in rows if info.path in images]
        found = []
        for info, name in zip(datasets, names_of(datasets), strict=True):
            index = contents.beside(info, LENGTH_NAMES)
            lengths = None if index is None else _row_lengths(info, index, contents.read_numbers(index))
            helpers = frozenset() if index is None else frozenset({index.path})
            found.append(PaddedVideo(self, name, info.path, info.shape[0], helpers, images[info.path], lengths))
        return found

    def locate(self, hdf5: HDF5File, video: PaddedVideo) -> Extents | None:
        """Return where the rows lie, each without its padding."""
        dataset = hdf5.node(video.dataset_path).id
        pieces = find_pieces(dataset)
        if pieces is None:
            return None
        width = _width(dataset.dtype, dataset.shape)
        offsets = pieces.address(np.arange(video.frame_count), width)
        if video.lengths is not None:
            return offsets, video.lengths
        if isinstance(hdf5.descriptor, int):
            return offsets, _unpadded_lengths(hdf5.descriptor, offsets, width)
        return offsets, _fetched_lengths(hdf5.descriptor, video, offsets, width)

    def plain(self, hdf5: HDF5File, video: PaddedVideo) -> Extents:
        """Return the rows' numbers, and their lengths, for which all are read if no dataset says them."""
        lengths = video.lengths
        if lengths is None:
            dataset = hdf5.node(video.dataset_path)
            starts = range(0, video.frame_count, _SLAB)
            ends = [_find_end(as_bytes(row)) for start in starts for row in dataset[start : start + _SLAB]]
            lengths = np.array(ends, np.int64)
        return np.arange(video.frame_count), lengths

    def read(self, opened: Any, position: int, length: int) -> bytes:
        """Return the beginning of one row."""
        # HDF5 gives a string without the zeros at its end, which a dataset of lengths may count.
        row = opened[position] if len(opened.shape) == 1 else opened[position, :length]
        return as_bytes(row)[:length].ljust(length, b"\0")

    def rows_of(self, position: int, length: int) -> range:  # noqa: ARG002
        """Return the one row."""
        return range(position, position + 1)


def _is_rows(info: DatasetInfo) -> bool:
    if info.kind is ElementKind.BYTES:
        return len(info.shape) > 1 and info.shape[1] != 1 and info.shape[2:] in {(), (1,)}
    fixed = info.kind in {ElementKind.OPAQUE, ElementKind.TEXT} and info.dtype != "S"
    return fixed and info.shape != () and info.shape[1:] in {(), (1,)}


def _width(dtype: np.dtype[Any], shape: tuple[int, ...]) -> int:
    return dtype.itemsize * math.prod(shape[1:])


def _row_lengths(info: DatasetInfo, index: DatasetInfo, lengths: Int64s) -> Int64s:
    rows, width = info.shape[0], info.size_bytes // max(1, info.shape[0])
    if len(lengths) != rows or (rows and (lengths.min() < 0 or lengths.max() > width)):
        span = f"{int(lengths.min())} to {int(lengths.max())}" if len(lengths) else "nothing"
        raise CatalogError(
            f"{index.path!r}: expected {rows} lengths of 0 to {width} bytes for {info.describe()}, "
            f"got {len(lengths)} of {span}; correct them, or leave the file out"
        )
    return lengths


def _unpadded_lengths(descriptor: int, offsets: Int64s, width: int) -> Int64s:
    """Return how many bytes of each row come before its padding, reading little more than the padding."""
    lengths = np.zeros(len(offsets), np.int64)
    padding = 0
    for row, offset in enumerate(offsets.tolist()):
        window = padding + _TAIL_BYTES
        while True:
            start = max(0, width - window)
            length = _find_end(pread_fully(descriptor, width - start, offset + start))
            if length or not start:
                break
            window *= 4
        lengths[row] = start + length
        padding = width - start - length
    return lengths


def _fetched_lengths(source: RangeReader, video: PaddedVideo, offsets: Int64s, width: int) -> Int64s:
    """Return what `_unpadded_lengths` does; many ends are fetched at a time, of the length that some need.

    Raises
    ------
    CatalogError
        When too much of the file would have to be fetched.
    """
    some = np.linspace(0, len(offsets) - 1, min(len(offsets), _TRIED)).astype(np.int64)
    padding = width - _ends_in(source, offsets[some], width, width).min(initial=width)
    window = min(width, int(padding * 5 // 4) + _TAIL_BYTES_FETCHED)
    if window * len(offsets) > _MOST_FETCHED:
        raise CatalogError(
            f"{video.dataset_path!r}: {len(offsets):,} padded rows, and no dataset beside them says how long each "
            f"image is: to find out, {size_text(window * len(offsets))} would be fetched; write the lengths "
            "into a dataset 'lengths' beside it, or copy the file here"
        )
    lengths = _ends_in(source, offsets, width, window)
    longer = np.flatnonzero(lengths == width - window) if window < width else np.zeros(0, np.int64)
    lengths[longer] = _ends_in(source, offsets[longer], width, width)
    return lengths


def _ends_in(source: RangeReader, offsets: Int64s, width: int, window: int) -> Int64s:
    """Return where the images of rows end, by so many bytes of the rows' ends; where those are padding alone, there."""
    start, ends = width - window, np.zeros(len(offsets), np.int64)
    at_once = max(1, _AT_ONCE_BYTES // window)
    for first in range(0, len(offsets), at_once):
        some = slice(first, first + at_once)
        ends[some] = [start + _find_end(each) for each in source.read_each((offsets[some] + start).tolist(), window)]
    return ends


def _find_end(row: bytes) -> int:
    """Return where the zeros at the end begin, or where the last end of a JPEG or PNG says that the image ends."""
    stripped = row.rstrip(b"\0")
    ends = [stripped.rfind(marker) + len(marker) for marker in (END_OF_PNG, END_OF_IMAGE) if marker in stripped]
    return max(ends, default=len(stripped))
