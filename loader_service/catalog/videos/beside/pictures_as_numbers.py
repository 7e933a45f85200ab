"""Pictures among numbers: an image as wider numbers, or behind other bytes, is refused; pixels in rows have a line."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from loader_service.catalog.codecs import LOOK_BYTES, Codec, codec_of
from loader_service.catalog.layouts import IMAGE_KINDS
from loader_service.catalog.layouts.inner_images import explain_inside
from loader_service.catalog.sides import CHANNELS
from loader_service.catalog.vocabulary import named_as_sides
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.videos.episodes import Episode, Found


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


_PICTURE = (
    "as many numbers as a picture of {}, as {!r} and {!r} say, and is served as a list; for pictures write "
    "array.reshape(-1, height, width, channels) in its place, or, where their sides differ, a dataset each, in a file"
)

#: Pixels that a picture has at least: shorter rows agree with sides by chance.
_LEAST_PIXELS = 16


def lines_of_flat_pixels(found: Found, read: Callable[[str], Any]) -> dict[str, str]:
    """Return a line for each field of which the first row, or video, has as many numbers as a picture of its sides.

    Parameters
    ----------
    found
        The videos of a file.
    read
        Gives the entries of a dataset, or, behind an @, of an attribute.
    """
    first = found.episodes[0] if found.episodes else None
    names = [] if first is None else sorted(first.parts, key=lambda key: "@" in key)
    named = named_as_sides(names)[:2]
    sides = [name for name in named if name is not None]
    if first is None or len(sides) < len(named):
        return {}
    height, width = (_first_number(first, name, read) for name in sides)
    if height * width < _LEAST_PIXELS:
        return {}
    picture = _PICTURE.format(f"{height} x {width}", *(name.lstrip("@") for name in sides))
    sizes = {height * width * channels for channels in CHANNELS}
    return {
        f"{key} (pixels)": f"{_shown(part.shape)} has {picture}"
        for key, part in first.parts.items()
        if part.kind == "array" and part.info is not None and _numbers_of(first, key) in sizes
    }


def _first_number(episode: Episode, name: str, read: Callable[[str], Any]) -> int:
    """Return the first number of a field, of the episode's own row where one row is of each video; 0 if it is none."""
    part = episode.parts[name]
    numbers = np.ravel(read(part.place))
    number = numbers[max(part.element, 0)] if numbers.dtype.kind in "iuf" and len(numbers) else 0
    return int(number) if math.isfinite(number) else 0


def _numbers_of(episode: Episode, key: str) -> int:
    """Return how many numbers a row of a field has; a vlen row is all frames of its video. 0 where rows have axes."""
    part = episode.parts[key]
    if not part.shape:
        return episode.frame_count if part.element >= 0 else 0
    return part.shape[0] if len(part.shape) == 1 else 0


def _shown(shape: tuple[int, ...]) -> str:
    return f"each row {shape}" if shape else "the first list"
