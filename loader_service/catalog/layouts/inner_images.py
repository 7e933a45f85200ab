"""Finds images that begin behind the first byte of an element: behind its length, a pickle's head, or zeros.

An element's first bytes say what it is; these say nothing. A picture's header is looked for further on in one element.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from loader_service.catalog.codecs import JPEG, LOOK_BYTES, PNG, PNG_SIGNATURE, START_OF_IMAGE, picture_size
from loader_service.catalog.hdf5.peek import peek
from loader_service.catalog.hdf5.tree import DatasetInfo, ElementKind
from loader_service.catalog.layouts import IMAGE_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loader_service.catalog.hdf5.file import HDF5File

#: Bytes of an element that are looked at, and datasets of a file.
_MOST_BYTES, _MOST_DATASETS = 2**14, 64


def image_inside(data: bytes) -> tuple[str, int] | None:
    """Return the format of the first image that begins behind the first byte, and where; None where none does."""
    for magic, codec in ((START_OF_IMAGE + b"\xff", JPEG), (PNG_SIGNATURE, PNG)):
        place = data.find(magic, 1)
        if place > 0 and picture_size(data[place:]) is not None:
            return codec.name, place
    return None


def explain_inside(hdf5: HDF5File, infos: Iterable[DatasetInfo]) -> str:
    """Return what helps for the first of some datasets whose first element has an image inside; empty for none."""
    for info in islice((info for info in infos if _may_hold_one(info)), _MOST_DATASETS):
        found = hdf5.ask(_look_inside, info)
        if found is not None:
            codec, place = found
            return (
                f"{info.path!r}, frame 0: expected the bytes of an image, found {codec} that begins behind {place} "
                f"bytes of something else in {info.describe()}; write each frame from its own first byte on, as vlen "
                "uint8 or as rows with zeros behind it, or decode it in a Python source of your own (--source "
                "package.module:Name)"
            )
    return ""


def _may_hold_one(info: DatasetInfo) -> bool:
    rows = 1 if len(info.shape) < 2 and info.kind is ElementKind.BYTES else info.shape[0] if info.shape else 1
    wide = info.kind is ElementKind.VLEN_BYTES or info.size_bytes >= LOOK_BYTES * rows
    return info.kind in IMAGE_KINDS and wide and len(info.shape) < 3 and 0 not in info.shape


def _look_inside(hdf5: HDF5File, info: DatasetInfo) -> tuple[str, int] | None:
    (data,) = peek(hdf5, info, (0,), _MOST_BYTES)
    return image_inside(data)
