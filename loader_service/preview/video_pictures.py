"""Frames of a video as pictures, and its numbers along time, as the files have them; knows no stream and no process."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loader_service.catalog.columns import Catalog
from loader_service.contact_sheet import Picture, as_picture, fitted
from loader_service.errors import ConfigError
from loader_service.plan.image_draws import ImageDraws
from loader_service.protocol.fields import Field
from loader_service.protocol.spec import Frame, Image, Spec
from loader_service.worker.frame_fields import Origin, make_parts
from loader_service.worker.picks import Pick
from loader_service.worker.reader import Reader

#: Numbers of one entry that are drawn as lines of their own, and bytes of an entry that are read for that.
_MOST_LINES, _MOST_ENTRY_BYTES = 16, 65_536


class Plot(NamedTuple):
    """A field of a video along time: ``lines[component][point]``, at frames ``at``; what is not finite is None."""

    at: list[int]
    lines: list[list[float | None]]
    components: int  # of an entry, of which the first are drawn


class VideoPictures:
    """What videos hold; used by one thread.

    Parameters
    ----------
    catalog, reader
        What the files hold, and what reads them.
    """

    def __init__(self, catalog: Catalog, reader: Reader) -> None:
        self._catalog, self._reader = catalog, reader
        self._origin = Origin(catalog, reader)

    @property
    def pictured(self) -> list[str]:
        """Names of the fields that are pictures, encoded depth maps included."""
        return [
            each.name
            for each in self._catalog.fields
            if each.kind == "image" or (each.kind == "array" and self._catalog.is_encoded(each.name))
        ]

    @property
    def plotted(self) -> list[str]:
        """Names of the fields that are numbers along time."""
        return [each.name for each in self._catalog.fields if each.kind == "array" and each.name not in self.pictured]

    def frame(self, video: int, field: str, number: int, side: int) -> Picture:
        """Return a frame, scaled down to `side` pixels at most.

        Raises
        ------
        LoaderError
            When it cannot be read or decoded.
        IndexError
            When there is no such frame.
        """
        self._check(video, field, number, self.pictured)
        known = self._catalog.field(field)
        if known.kind != "image":
            out = np.zeros((1, *self._catalog.shape_in(video, field)), known.dtype)
            self._write(Field(field, known.dtype, out.shape[1:]), Image(), out, video, number)
            return fitted(as_picture(out[0]), side)
        height, width, channels = self._size(video, field)
        shrink = min(1.0, side / max(height, width))
        size = max(1, round(height * shrink)), max(1, round(width * shrink))
        out = np.zeros((1, *size, channels), np.uint8)
        image = Image(size=size, channels=1 if channels == 1 else 3)
        self._write(Field(field, "uint8", out.shape[1:]), image, out, video, number)
        return as_picture(out[0])

    def plot(self, video: int, field: str, points: int) -> Plot:
        """Return numbers along time, at so many points at most.

        Raises
        ------
        LoaderError
            When they cannot be read, or are too many for a line.
        """
        self._check(video, field, 0, self.plotted)
        count = int(self._catalog.counts_with([field])[video])
        stride = max(1, math.ceil(count / points))
        at = list(range(0, count, stride))
        if self._catalog.has_lists(field):
            lengths = self._catalog.list_lengths(video, field)[::stride]
            return Plot(at, [[float(each) for each in lengths]], 1)
        shape, dtype = self._catalog.shape_in(video, field), np.dtype(self._catalog.field(field).dtype)
        if math.prod(shape) * dtype.itemsize > _MOST_ENTRY_BYTES or dtype.kind == "S":
            raise ConfigError(f"an entry of {field!r} is {dtype} {shape}: too much for a line")
        out = np.zeros((len(at), *shape), dtype)
        self._reader.begin()
        self._reader.read_array(video, field, 0, out, stride)
        flat = out.reshape(len(at), -1).astype(np.float64)
        return Plot(at, [_finite(each) for each in flat.T[:_MOST_LINES]], flat.shape[1])

    def _write(self, field: Field, image: Image, out: NDArray[Any], video: int, number: int) -> None:
        part = make_parts(self._origin, Spec(1, Frame(), image), [field])[0]
        self._reader.begin()
        part.write([out] * len(part.names), Pick(video, number, 1, ImageDraws()))

    def _size(self, video: int, field: str) -> tuple[int, int, int]:
        known = self._catalog.field(field)
        if self._catalog.is_encoded(field):
            height, width = (int(each[video]) for each in self._catalog.sizes(field))
            if not height or not width:
                raise ConfigError(f"no frame of {field!r} in {self._catalog.describe(video)} can be read")
            return height, width, known.shape[-1]
        height, width, channels = self._catalog.shape_in(video, field)[-3:]
        return height, width, channels

    def _check(self, video: int, field: str, number: int, fields: list[str]) -> None:
        if self._catalog.kind in ("map", "generator"):
            raise ConfigError("a Python source makes the samples; there are no files to look into")
        if not 0 <= video < self._catalog.video_count:
            raise IndexError(f"video {video}: there are {self._catalog.video_count}")
        if field not in fields:
            raise ConfigError(f"{field!r:.80} is none of {', '.join(map(repr, fields)) or 'no fields'}")
        count = int(self._catalog.counts_with([field])[video])
        if not 0 <= number < count:
            raise IndexError(f"frame {number}: the video has {count}")


def _finite(numbers: NDArray[np.float64]) -> list[float | None]:
    return [float(each) if np.isfinite(each) else None for each in numbers]
