"""Fields that are filled frame by frame, one class for each kind; knows places in memory, not rows or slots.

Every part writes whole frames into memory that it is given, straight from the file where nothing is to be done to them.
All cameras of a sample share its draws: a crop is cut at the same share of each camera's spare rows and columns, and
all are mirrored or none.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from loader_service import failpoints
from loader_service.catalog.columns import Catalog
from loader_service.errors import DecodeError
from loader_service.plan.image_draws import NOTHING_DRAWN
from loader_service.plan.window_cuts import window_of
from loader_service.progress import Progress
from loader_service.protocol.fields import Field
from loader_service.protocol.spec import Clip, Image, Spec
from loader_service.record_class import record
from loader_service.worker.decode import DecodeLimits
from loader_service.worker.frame_ranges import bytes_of_frame, frame_ranges
from loader_service.worker.gather import Runs, beyond_memory, gather
from loader_service.worker.image import ImageWriter
from loader_service.worker.picks import Pick
from loader_service.worker.png import decode_depth
from loader_service.worker.read_ahead import ByteRange
from loader_service.worker.reader import Reader
from loader_service.worker.uneven_fields import Lists, UnevenArrays

if TYPE_CHECKING:  # most workers run no code of the user's
    from loader_service.user_code.python_source import GeneratorSource, MapSource

#: Encoded frames that are read ahead of the decoder: a whole video's would be as large as its file, and what is freed
#: together above some hundred KB goes back to the kernel, to come again page by page: 7 µs a frame of 22 KB for 64.
_FRAMES_AT_ONCE = 16

#: Raw pixels that are read at once when they are to be scaled or cut: many frames of a compressed chunk, but no video.
_SCRATCH_BYTES = 8 * 2**20

Out = NDArray[Any]


class MakeImages(Protocol):
    """Makes what writes a field of encoded images for one stream, in front of decoding or in place of it."""

    def __call__(self, origin: Origin, name: str, writer: ImageWriter, stride: int, *, image: Image) -> EncodedImages:
        """Return it; parameters as of `EncodedImages`, and what the stream asks for."""


@record(frozen=True)
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
    make_images
        What makes the writer of a field of encoded images; None for `EncodedImages`.
    """

    catalog: Catalog
    reader: Reader
    source: MapSource | GeneratorSource | None = None
    progress: Progress = dataclasses.field(default_factory=Progress)
    make_images: MakeImages | None = None


class FieldWriter(Protocol):
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

    def ranges(self, pick: Pick) -> Iterable[ByteRange]:
        """Return the bytes of files that a row's frames are read from, in order; nothing where only HDF5 knows."""


def make_parts(origin: Origin, spec: Spec, fields: Sequence[Field]) -> list[FieldWriter]:
    """Return what writes the fields of a stream that are filled frame by frame."""
    stride = spec.clip.stride if isinstance(spec.clip, Clip) else 1
    if origin.source is not None:
        # Here, not above: most services have no code of the user's.
        from loader_service.worker.source_items import SourceItems  # noqa: PLC0415

        return [SourceItems(origin.catalog, origin.source, fields, origin.reader.reads, stride)] if fields else []
    together: dict[str, list[Field]] = {}  # a field's real sides are written with it
    for field in fields:
        main = origin.catalog.beside(field.name)
        together.setdefault(field.name if main is None else main.name, []).append(field)
    return [_make_part(origin, spec, name, some, stride) for name, some in together.items()]


def _make_part(origin: Origin, spec: Spec, name: str, fields: Sequence[Field], stride: int) -> FieldWriter:
    """Return what writes a field of the catalog, or its real sides, or both."""
    field, known = fields[0], origin.catalog.field(name)
    names = tuple(each.name for each in fields)
    if origin.catalog.has_lists(name):
        return Lists(origin.catalog, origin.reader, known, spec, names)
    if known.kind == "array":
        whole = (EncodedArrays if origin.catalog.is_encoded(name) else Arrays)(origin, name, stride)
        uneven = known.differs or window_of(spec, name) is not None
        ways = (whole.write, origin.reader.read_lines)
        return UnevenArrays(origin.catalog, ways, known, spec, names) if uneven else whole
    height, width, channels = field.shape[-3:]
    writer = ImageWriter(spec.image, (height, width, channels))
    if origin.catalog.is_encoded(field.name):
        if origin.make_images is not None:
            return origin.make_images(origin, field.name, writer, stride, image=spec.image)
        return EncodedImages(origin, field.name, writer, stride)
    if writer.takes_as_it_is(known.shape):
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

    def ranges(self, pick: Pick) -> Iterator[ByteRange]:
        """Return where a row's frames lie, as `FieldWriter` says."""
        return frame_ranges(self._origin.catalog, self._name, pick, self._stride, self._origin.reader.fetch_rows)

    def _blamed(self, error: DecodeError, video: int, frame: int) -> DecodeError:
        camera = "" if self._name == "frames" else f" of {self._name!r}"
        return DecodeError(f"{self._origin.catalog.describe(video)}, frame {frame}{camera}: {error}")

    def _encoded(self, pick: Pick) -> Iterator[tuple[int, bytes]]:
        """Yield number and bytes of each encoded frame."""
        return self._encoded_frames(
            pick.video, range(pick.start, pick.start + pick.length * self._stride, self._stride)
        )

    def _encoded_frames(self, video: int, numbers: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield number and bytes of some encoded frames of a video."""
        for first in range(0, len(numbers), _FRAMES_AT_ONCE):
            some = numbers[first : first + _FRAMES_AT_ONCE]
            yield from zip(some, self._origin.reader.read(video, some, self._name), strict=True)


class Arrays(_OneField):
    """Numbers, or pixels that need no work: the file's bytes are the sample's."""

    def write(self, outs: Sequence[Out], pick: Pick) -> None:
        """Write a row's frames, as `FieldWriter` says."""
        self._origin.reader.read_array(pick.video, self._name, pick.start, outs[0], self._stride)

    def write_runs(self, frames: Out, video: int, runs: Runs) -> None:
        """Write many rows of one video whose frames are neighbours there (a stride of 1); raises as `write` does.

        Parameters
        ----------
        frames
            All frames of the slot: ``(frames, *shape)``, C-order.
        video, runs
            Which frames go where.
        """
        gather(self._origin.catalog, self._origin.reader, (video, self._name), runs, frames)

    def ranges_of_runs(self, video: int, runs: Runs) -> Iterator[ByteRange]:
        """Return where those frames lie that the kernel does not have in memory; parameters as of `write_runs`."""
        catalog, place = self._origin.catalog, (video, self._name)
        row_bytes = bytes_of_frame(catalog, self._name, video)
        for number in beyond_memory(catalog, self._origin.reader, place, runs, row_bytes):
            yield from self.ranges(Pick(video, int(runs.starts[number]), int(runs.lengths[number]), NOTHING_DRAWN))


class EncodedArrays(_OneField):
    """Numbers that are kept as pictures, each decoded into its place."""

    _limits = DecodeLimits()

    def write(self, outs: Sequence[Out], pick: Pick) -> None:
        """Write a row's frames, as `FieldWriter` says."""
        for place, (number, frame) in enumerate(self._encoded(pick)):
            try:
                decode_depth(frame, outs[0][place], self._limits)
            except DecodeError as error:
                raise self._blamed(error, pick.video, number) from error


class _Images(_OneField):
    """What a part that writes pictures knows besides."""

    def __init__(self, origin: Origin, name: str, writer: ImageWriter, stride: int) -> None:
        super().__init__(origin, name, stride)
        self._writer = writer


class EncodedImages(_Images):
    """JPEGs and PNGs, each decoded into its place."""

    def write(self, outs: Sequence[Out], pick: Pick) -> None:
        """Write a row's frames, as `FieldWriter` says."""
        out, codec = outs[0], self._origin.catalog.codec(pick.video, self._name)
        for place, (number, frame) in enumerate(self._encoded(pick)):
            try:
                self._writer.write(frame, out[place], pick.draws, codec)
            except DecodeError as error:
                raise self._blamed(error, pick.video, number) from error
            failpoints.passing("worker.frame_written")

    def close(self) -> None:
        """Let go of what was opened for this stream alone: here nothing."""


class RawImages(_Images):
    """Stored pixels that are scaled, cut, mirrored or given other channels."""

    _room = np.empty(0, np.uint8)

    def write(self, outs: Sequence[Out], pick: Pick) -> None:
        """Write a row's frames, as `FieldWriter` says."""
        out = outs[0]
        shape = self._origin.catalog.shape_in(pick.video, self._name)
        at_once = min(pick.length, max(1, _SCRATCH_BYTES // math.prod(shape)))
        for first in range(0, pick.length, at_once):
            pixels = self._scratch((min(at_once, pick.length - first), *shape))
            start = pick.start + first * self._stride
            self._origin.reader.read_array(pick.video, self._name, start, pixels, self._stride)
            for place in range(len(pixels)):
                try:
                    self._writer.write_pixels(pixels[place], out[first + place], pick.draws)
                except DecodeError as error:
                    raise self._blamed(error, pick.video, start + place * self._stride) from error
                failpoints.passing("worker.frame_written")

    def _scratch(self, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        size = math.prod(shape)
        if self._room.size < size:
            self._room = np.empty(size, np.uint8)
        return self._room[:size].reshape(shape)
