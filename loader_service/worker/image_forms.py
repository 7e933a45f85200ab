"""Which form the frames of each video have when they are decoded and scaled: what a cache of them goes by. No file.

A form holds frames of one size of cell. What is kept of a frame must follow from its file and the stream's `Image`
alone, so images whose scale depends on the sample's draws have none.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loader_service import __version__
from loader_service.catalog.codecs import JPEG, MAX_PIXELS, PNG, SERVED
from loader_service.catalog.columns import Catalog
from loader_service.frame_cache.cells import Cells
from loader_service.frame_cache.form_header import FormHeader
from loader_service.plan.image_shape import Size, scaled_shape, scales_all_alike
from loader_service.protocol.spec import MAX_IMAGE_SIDE, Image
from loader_service.worker.image import as_kept

#: Sizes of frames that have a form each; of more, sizes are rounded up to an eighth of a power of two.
_EXACT_SIZES = 8

#: What pixels come from, besides this package.
_DECODERS = ("simplejpeg", "opencv-python-headless", "opencv-python")


@dataclass(frozen=True)
class ImageForm:
    """Frames of the videos that have one size of cell.

    Parameters
    ----------
    header
        What stands in front of their file.
    firsts
        The number of each video's first frame in the form, ``(videos,) int64``; -1 of videos that are not in it.
    """

    header: FormHeader
    firsts: NDArray[np.int64]


@dataclass(frozen=True)
class FrameSizes:
    """Sizes of a video's frames, in pixels."""

    stored: Size
    scaled: Size


class ImageForms:
    """The forms of one field of a stream.

    Parameters
    ----------
    catalog
        What the files hold.
    name
        The field.
    image
        What the stream asks for.

    Attributes
    ----------
    forms
        All of them; none when no frame can be kept.
    """

    def __init__(self, catalog: Catalog, name: str, image: Image) -> None:
        self._heights, self._widths = catalog.sizes(name)
        self._image = image
        self._scaled: dict[Size, Size] = {}
        self.forms = tuple(self._find(catalog, name)) if image.strict and scales_all_alike(image) else ()

    def sizes(self, video: int) -> FrameSizes:
        """Return the sizes of the frames of a video that is in a form."""
        stored = int(self._heights[video]), int(self._widths[video])
        return FrameSizes(stored, self._scale(stored))

    def _scale(self, stored: Size) -> Size:
        if stored not in self._scaled:
            self._scaled[stored] = scaled_shape(self._image, stored)
        return self._scaled[stored]

    def _find(self, catalog: Catalog, name: str) -> list[ImageForm]:
        codecs = catalog.column("codecs", name)
        decoded = np.isin(codecs, [SERVED.index(JPEG), SERVED.index(PNG)])
        packed = self._heights.astype(np.int64) << 16 | self._widths
        packed[~decoded | (self._heights == 0) | (self._widths == 0)] = 0
        known, which = np.unique(packed, return_inverse=True)
        stored = [(int(size) >> 16, int(size) & 0xFFFF) for size in known]
        sizes = np.array([0 if not size[0] else self._bytes(size) for size in stored], np.int64)
        cells = _cells(sizes)[which]
        return [
            self._form(catalog, name, np.flatnonzero(cells == size), int(size)) for size in np.unique(cells) if size
        ]

    def _bytes(self, stored: Size) -> int:
        """Return what a frame takes once it is scaled; 0 where that is larger than what can be kept."""
        height, width = self._scale(stored)
        if max(height, width) > MAX_IMAGE_SIDE or height * width > MAX_PIXELS:
            return 0
        return height * width * self._image.channels

    def _form(self, catalog: Catalog, name: str, videos: NDArray[np.int64], cell_bytes: int) -> ImageForm:
        counts = catalog.frame_counts[videos]
        ends = np.cumsum(counts, dtype=np.int64)
        firsts = np.full(catalog.video_count, -1, np.int64)
        firsts[videos] = ends - counts
        stored = sorted(set(zip(self._heights[videos].tolist(), self._widths[videos].tolist(), strict=True)))
        digest = hashlib.sha256()
        wanted = [(size, as_kept(self._image, self._scale(size))) for size in stored]
        digest.update(repr((name, cell_bytes, wanted, _versions())).encode())
        for column in (firsts, catalog.frame_counts, self._heights, self._widths):
            digest.update(np.ascontiguousarray(column).tobytes())
        title = f"{name}: {_sizes_text([self._scale(size) for size in stored])} x {self._image.channels}"
        return ImageForm(FormHeader(digest.digest(), Cells(int(ends[-1]), cell_bytes), title), firsts)


def _cells(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the size of the cell for each size of frame, in bytes."""
    if len(np.unique(sizes[sizes > 0])) <= _EXACT_SIZES:
        return sizes
    step = np.left_shift(1, np.maximum(0, np.log2(np.maximum(sizes, 1)).astype(np.int64) - 3))
    return -(-sizes // step) * step


def _sizes_text(sizes: list[Size]) -> str:
    least, most = min(sizes), max(sizes)
    alike = f"{most[0]} x {most[1]}"
    return alike if least == most else f"{least[0]} x {least[1]} to {alike}"


def _versions() -> tuple[str, ...]:
    found = [__version__, platform.machine()]
    for name in _DECODERS:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"no {name}")
    return tuple(found)
