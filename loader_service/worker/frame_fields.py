"""Fields that are filled frame by frame, one class for each kind; knows places in memory, not rows or slots.

Every part writes whole frames into memory that it is given, straight from the file where nothing is to be done to them.
All cameras of a sample share its draws: a crop is cut at the same share of each camera's spare rows and columns, and
all are mirrored or none.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from loader_service import failpoints
from loader_service.catalog.columns import Catalog
from loader_service.errors import DecodeError, SourceError
from loader_service.progress import Progress
from loader_service.protocol.fields import Field
from loader_service.protocol.spec import Clip, Spec
from loader_service.worker.gather import Run, gather
from loader_service.worker.image import ImageWriter
from loader_service.worker.picks import Pick
from loader_service.worker.reader import Reader

if TYPE_CHECKING:  # most workers run no code of the user's
    from loader_service.worker.python_source import GeneratorSource, MapSource

#: Encoded frames that are read ahead of the decoder: a whole video's would be as large as its file, and what is freed
#: together above some hundred KB goes back to the kernel, to come again page by page: 7 µs a frame of 22 KB for 64.
_FRAMES_AT_ONCE = 16

#: Raw pixels that are read at once when they are to be scaled or cut: many frames of a compressed chunk, but no video.
_SCRATCH_BYTES = 8 * 2**20

Out = NDArray[Any]


@dataclass(frozen=True)
class Origin:
    """Where frames come from.

    Parameters
    ----------
    catalog, reader
        What the files hold, and what reads them.
    source
        The user's own Python source, when the catalog is of one.
    progress
        Is told which sample is made.
    """

    catalog: Catalog
    reader: Reader
    source: MapSource | GeneratorSource | None = None
    progress: Progress = dataclasses.field(default_factory=Progress)


class Part(Protocol):
    """Writes a field, or several that come together; one per stream, used by one thread of a worker.

    Attributes
    ----------
    names
        The fields.
    """

    names: tuple[str, ...]

    def write(self, outs: Sequence[Out], pick: Pick) -> None:
        """Write a row's frames.

        Parameters
        ----------
        outs
            ``(pick.length, *shape)`` of each field, C-order; undefined after an error, and not kept.
        pick
            Which frames.

        Raises
        ------
        LoaderError
            When a frame cannot be had; names file, video and frame.
        """


def make_parts(origin: Origin, spec: Spec, fields: Sequence[Field]) -> list[Part]:
    """Return what writes the fields of a stream that are filled frame by frame."""
    stride = spec.clip.stride if isinstance(spec.clip, Clip) else 1
    if origin.source is not None:
        return [SourceItems(origin.catalog, origin.source, fields, stride)] if fields else []
    return [_make_part(origin, spec, field, stride) for field in fields]


def _make_part(origin: Origin, spec: Spec, field: Field, stride: int) -> Part:
    known = origin.catalog.field(field.name)
    if known.kind == "array":
        return Arrays(origin, field.name, stride)
    height, width, channels = field.shape[-3:]
    writer = ImageWriter(spec.image, (height, width, channels))
    if origin.catalog.is_encoded(field.name):
        return EncodedImages(origin, field.name, writer, stride)
    if writer.takes_as_it_is(known.shape) and not spec.image.flip:
        return Arrays(origin, field.name, stride)
    return RawImages(origin, field.name, writer, stride)


class _OneField:
    """What a part that writes one field of the files knows of it."""

    names: tuple[str, ...]

    def __init__(self, origin: Origin, name: str, stride: int) -> None:
        self.names = (name,)
        self._name = name
        self._origin = origin
        self._stride = stride


class Arrays(_OneField):
    """Numbers, or pixels that need no work: the file's bytes are the sample's."""

    def write(self, outs: Sequence[Out], pick: Pick) -> None:
        """Write a row's frames, as `Part` says."""
        self._origin.reader.read_array(pick.video, self._name, pick.start, outs[0], self._stride)

    def write_runs(self, frames: Out, video: int, runs: Sequence[Run]) -> None:
        """Write many rows of one video whose frames are neighbours there (a stride of 1); raises as `write` does.

        Parameters
        ----------
        frames
            All frames of the slot: ``(frames, *shape)``, C-order.
        video, runs
            Which frames go where.
        """
        gather(self._origin.catalog, self._origin.reader, (video, self._name), runs, frames)


class EncodedImages(_OneField):
    """JPEGs, each decoded into its place."""

    def __init__(self, origin: Origin, name: str, writer: ImageWriter, stride: int) -> None:
        super().__init__(origin, name, stride)
        self._writer = writer

    def write(self, outs: Sequence[Out], pick: Pick) -> None:
        """Write a row's frames, as `Part` says."""
        out = outs[0]
        for place, (number, jpeg) in enumerate(self._read(pick)):
            try:
                self._writer.write(jpeg, out[place], pick.crop, pick.flip)
            except DecodeError as error:
                raise DecodeError(
                    f"{_describe(self._origin.catalog, pick.video, number, self._name)}: {error}"
                ) from error
            failpoints.passing("worker.frame_written")

    def _read(self, pick: Pick) -> Iterator[tuple[int, bytes]]:
        numbers = range(pick.start, pick.start + pick.length * self._stride, self._stride)
        for first in range(0, pick.length, _FRAMES_AT_ONCE):
            some = numbers[first : first + _FRAMES_AT_ONCE]
            yield from zip(some, self._origin.reader.read(pick.video, some, self._name), strict=True)


class RawImages(_OneField):
    """Stored pixels that are scaled, cut, mirrored or given other channels."""

    def __init__(self, origin: Origin, name: str, writer: ImageWriter, stride: int) -> None:
        super().__init__(origin, name, stride)
        self._writer = writer
        self._shape = origin.catalog.field(name).shape
        self._room = np.empty(0, np.uint8)

    def write(self, outs: Sequence[Out], pick: Pick) -> None:
        """Write a row's frames, as `Part` says."""
        out = outs[0]
        shape = self._shape
        at_once = min(pick.length, max(1, _SCRATCH_BYTES // math.prod(shape)))
        for first in range(0, pick.length, at_once):
            pixels = self._scratch((min(at_once, pick.length - first), *shape))
            start = pick.start + first * self._stride
            self._origin.reader.read_array(pick.video, self._name, start, pixels, self._stride)
            for place in range(len(pixels)):
                try:
                    self._writer.write_pixels(pixels[place], out[first + place], pick.crop, pick.flip)
                except DecodeError as error:
                    number = start + place * self._stride
                    where = _describe(self._origin.catalog, pick.video, number, self._name)
                    raise DecodeError(f"{where}: {error}") from error
                failpoints.passing("worker.frame_written")

    def _scratch(self, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        size = math.prod(shape)
        if self._room.size < size:
            self._room = np.empty(size, np.uint8)
        return self._room[:size].reshape(shape)


class SourceItems:
    """Items of the user's own Python source: each holds all fields, so they are written together."""

    names: tuple[str, ...]

    def __init__(
        self, catalog: Catalog, source: MapSource | GeneratorSource, fields: Sequence[Field], stride: int
    ) -> None:
        self.names = tuple(field.name for field in fields)
        # Of one item, whatever the clip: what the catalog says, not the field of the stream.
        self._shapes = [catalog.field(name).shape for name in self.names]
        self._name = catalog.describe(0)
        self._fields = fields
        self._source = source
        self._stride = stride

    def write(self, outs: Sequence[Out], pick: Pick) -> None:
        """Write a row's items, as `Part` says."""
        for place in range(pick.length):
            number = pick.start + place * self._stride
            item = self._source.read(number)
            for field, shape, out in zip(self._fields, self._shapes, outs, strict=True):
                try:
                    out[place] = checked(item, field, shape)
                except SourceError as error:
                    raise SourceError(f"item {number} of {self._name}: {error}") from error


def checked(values: dict[str, Out], field: Field, shape: tuple[int, ...]) -> Out:
    """Return one field of what a user's code gave.

    Parameters
    ----------
    values
        What it gave.
    field, shape
        Name and dtype that it should have, and the shape.

    Raises
    ------
    SourceError
        When it is missing, or has another dtype or shape; does not say whose code it was.
    """
    value = values.get(field.name)
    if value is None:
        raise SourceError(
            f"there is no field {field.name!r}, only {', '.join(map(repr, values)) or 'nothing'}; "
            "return the same fields for every sample"
        )
    expected = np.dtype(field.dtype)
    text = value.dtype.kind == expected.kind == "S"
    if text and value.dtype.itemsize > expected.itemsize:
        raise SourceError(
            f"field {field.name!r}: a text of {value.dtype.itemsize} bytes, and there is room for {expected.itemsize}, "
            "which follows from those that were looked at when this began; shorten it, or make one of those as long"
        )
    if value.shape != tuple(shape) or not (value.dtype == expected or text):
        raise SourceError(
            f"field {field.name!r}: expected {field.dtype} of shape {tuple(shape)!r}, got {value.dtype.name} of shape "
            f"{value.shape!r}; return the same shape and dtype for every sample"
        )
    return value


def _describe(catalog: Catalog, video: int, frame: int, name: str) -> str:
    camera = "" if name == "frames" else f" of {name!r}"
    return f"{catalog.describe(video)}, frame {frame}{camera}"
