"""Turns the encoded frames of a field into columns: where each lies, how large its picture is, in which format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.codecs import SERVED
from loader_service.catalog.layouts.extents import Located, locate_all
from loader_service.catalog.layouts.pictures import look_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from loader_service.catalog.columns import Int64s
    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.layouts.pictures import OddFrames
    from loader_service.catalog.videos.episodes import VideoField

Columns = dict[str, "NDArray[Any]"]


def picture_columns(
    hdf5: HDF5File, parts: Sequence[VideoField], counts: Sequence[int], odd: OddFrames
) -> tuple[list[str], Columns, bool]:
    """Return the ways to one camera's pictures, their columns, and whether sizes differ within a video.

    `counts`: frames of each video; `odd`: as of `look_at`.
    """
    videos = [part.frames for part in parts if part.frames is not None]  # several may lie end to end in one sequence
    located = [
        _cut(whole, slice(part.first, part.first + count))
        for whole, part, count in zip(locate_all(hdf5, videos), parts, counts, strict=True)
    ]
    codecs, sizes, are_mixed = look_at(hdf5, videos, located, odd)
    shapes = np.minimum(np.array(sizes, np.int64), 2**16 - 1).astype(np.uint16).reshape(-1, 2)
    ways = list(dict.fromkeys(places.way for places in located))
    columns: Columns = {
        "heights": shapes[:, 0],
        "widths": shapes[:, 1],
        "codecs": np.array([SERVED.index(codec) for codec in codecs], np.uint8),
        "ways": np.array([ways.index(places.way) for places in located], np.uint8),
        "extent_offsets": _join([places.offsets for places in located]),
        "extent_lengths": _join([places.lengths for places in located]).astype(np.uint32),
    }
    return ways, columns, are_mixed


def _cut(places: Located, frames: slice) -> Located:
    return Located(places.way, places.offsets[frames], places.lengths[frames], frames.start)


def _join(pieces: list[Int64s]) -> Int64s:
    return np.concatenate([np.zeros(0, np.int64), *pieces])
