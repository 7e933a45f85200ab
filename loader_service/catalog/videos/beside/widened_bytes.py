"""Refuses images among numbers: as wider ones, one for each byte, or behind other bytes. Pure but for reading a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from loader_service.catalog.codecs import LOOK_BYTES, Codec, codec_of
from loader_service.catalog.layouts import IMAGE_KINDS
from loader_service.catalog.layouts.inner_images import explain_inside
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.videos.episodes import Found


def refuse_widened_rows(found: Found, begin: Callable[[str, int], Any]) -> None:
    """Refuse a field whose rows are lists of numbers that are the bytes of an image; `begin` gives how one begins.

    Raises
    ------
    CatalogError
        It names dataset and codec.
    """
    if not found.episodes:
        return
    last = found.episodes[0].frame_count - 1
    for part in found.episodes[0].parts.values():
        if part.info is None or part.frames is not None or len(part.shape) != 1 or part.shape[0] < LOOK_BYTES:
            continue
        if part.dtype.startswith(("S", "vlen", "uint8")) or part.first:
            continue
        first = begin(part.path, 0)
        # Two rows, since numbers may begin as an image does by chance.
        if codec_in(first) and codec_in(begin(part.path, last)):
            refuse_widened(part.path, 0, part.dtype, first)


def refuse_widened(path: str, number: int, dtype: str, numbers: Any) -> None:
    """Refuse one row of numbers if they are the bytes of an image.

    Raises
    ------
    CatalogError
        It names dataset, row and codec.
    """
    codec = codec_in(numbers)
    if codec is not None:
        raise CatalogError(
            f"{path!r}, row {number}: expected numbers, found the bytes of {codec.name} as {dtype}; write them as vlen "
            "uint8, an element for each frame"
        )


def refuse_inner_images(hdf5: HDF5File, found: Found) -> None:
    """Refuse a field of numbers, or texts, of which a row has an image inside: as such it is of no use.

    Raises
    ------
    CatalogError
        It names the dataset, the format, and where in the row the image begins.
    """
    for part in found.episodes[0].parts.values() if found.episodes else ():
        info = part.info
        if info is None or part.frames is not None or info.kind not in IMAGE_KINDS:
            continue
        if wrong := explain_inside(hdf5, [info]):
            raise CatalogError(wrong)


def codec_in(numbers: Any) -> Codec | None:
    """Return what numbers are the bytes of, if they are those of something that has a name."""
    begin = np.ravel(numbers)[:LOOK_BYTES]
    if begin.dtype.kind not in "iuf" or not ((begin >= 0) & (begin < 2**8) & (begin % 1 == 0)).all():
        return None
    codec = codec_of(begin.astype(np.uint8).tobytes())
    return codec if codec.named else None
