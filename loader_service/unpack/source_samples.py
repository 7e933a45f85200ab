"""Samples as they are read from the files of a catalog: pictures as they are, numbers as arrays. Writes nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from loader_service.catalog.codecs import JPEG
from loader_service.catalog.columns import Catalog
from loader_service.protocol.fields import CatalogField
from loader_service.worker.opencv import opencv
from loader_service.worker.reader import Reader

#: Frames that are read together: enough that a look at the file for each read costs little.
_FRAMES_AT_ONCE = 64

#: PNG's fastest compression that compresses: raw pixels are packed without loss.
_PNG_LEVEL = 1


class SampleRange(NamedTuple):
    """Which frames of which video are a sample, and its name as a path."""

    key: str
    video: int
    start: int
    stop: int


class FrameBytes(Sequence[bytes]):
    """The bytes of each frame, read when they are asked for: a long video is never in memory as a whole.

    Parameters
    ----------
    count
        How many there are.
    read
        Returns the frames from one place to another.
    """

    def __init__(self, count: int, read: Callable[[int, int], list[bytes]]) -> None:
        self._count, self._read = count, read

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> bytes: ...
    @overload
    def __getitem__(self, place: slice) -> list[bytes]: ...
    def __getitem__(self, place: int | slice) -> bytes | list[bytes]:
        chosen = range(self._count)[place]
        return self._read(chosen, chosen + 1)[0] if isinstance(chosen, int) else [self[each] for each in chosen]

    def __iter__(self) -> Iterator[bytes]:
        for first in range(0, self._count, _FRAMES_AT_ONCE):
            yield from self._read(first, min(first + _FRAMES_AT_ONCE, self._count))


class EncodedPictures(NamedTuple):
    """The pictures of one field: the extension of their format, and the bytes of each frame."""

    extension: str
    frames: FrameBytes


@dataclass(frozen=True)
class SourceSample:
    """A sample: its numbers, and what reads its pictures, for as long as its reader is open.

    Attributes
    ----------
    range
        Which it is.
    name, file
        Of its video, in the file, and of the file; bytes that are not UTF-8 are surrogate-escaped.
    is_frame
        Whether it is one frame or row of its video, rather than all of it.
    pictures
        By field: JPEG and PNG as they are in the file; raw pixels as PNG.
    arrays
        By field: numbers of the frames, ``(frames, *shape)``; one frame less where they lie between frames. Lists of
        all frames one after the other, ``(entries, *shape)``, with ``<field>_length`` ``(frames,) int64`` beside them.
    values
        By field: numbers or bytes of the video, ``shape``; where the sides of a field differ between videos, its real
        ones as ``<field>_shape``, or ``<field>_length`` where only the first does.
    texts
        By field: the class that a value, or the array of a row, stands for.
    size_bytes
        Of its pictures, as they are in the file, and its arrays.
    """

    range: SampleRange
    name: str
    file: str
    is_frame: bool
    pictures: dict[str, EncodedPictures]
    arrays: dict[str, npt.NDArray[Any]]
    values: dict[str, npt.NDArray[Any]]
    texts: dict[str, str]
    size_bytes: int

    @property
    def frame_count(self) -> int:
        """How many frames it has."""
        return self.range.stop - self.range.start

    @property
    def arrays_with_axes(self) -> list[str]:
        """Names of the arrays, and of the values, that are not one single number or text."""
        arrays = [name for name, each in self.arrays.items() if not (self.is_frame and each.size == each.ndim == 1)]
        return arrays + [name for name, each in self.values.items() if each.ndim]

    @property
    def label(self) -> int | None:
        """Its label, when that is one whole number."""
        found = self.values.get("label", self.arrays.get("label") if self.is_frame else None)
        if found is None or found.size != 1 or found.dtype.kind not in "iu":
            return None
        return int(found.reshape(-1)[0])


class SampleReader:
    """Reads samples; used by one thread.

    Parameters
    ----------
    catalog
        Stays the caller's.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._reader = Reader(catalog)

    def read(self, which: SampleRange, *, is_frame: bool) -> SourceSample:
        """Return a sample; reading its pictures, when that is asked for, raises the same.

        Raises
        ------
        FileTouched
            When its file is not the one that was scanned.
        CatalogError, DecodeError
            When it cannot be read.
        """
        self._reader.begin()
        catalog, video = self._catalog, which.video
        pictures: dict[str, EncodedPictures] = {}
        arrays: dict[str, npt.NDArray[Any]] = {}
        values: dict[str, npt.NDArray[Any]] = {}
        size = 0
        for field in catalog.fields:
            if field.kind == "value":
                real = tuple(map(slice, catalog.shape_in(video, field.name)))
                values[field.name] = np.asarray(catalog.values(field.name)[video])[real]
                values |= self._sides(field, video)
            elif catalog.is_encoded(field.name):
                extension = "jpg" if catalog.codec(video, field.name) is JPEG else "png"
                pictures[field.name] = EncodedPictures(extension, self._encoded(field.name, which))
                size += int(catalog.extents(video, field.name)[1][which.start : which.stop].sum())
            elif field.kind == "image":
                pictures[field.name] = EncodedPictures("png", self._packed(field, which))
                size += math.prod(catalog.shape_in(video, field.name)) * (which.stop - which.start)
            elif catalog.has_lists(field.name):
                arrays |= self._lists(field, which, is_frame=is_frame)
                size += arrays[field.name].nbytes
            else:
                values |= self._sides(field, video)
                arrays[field.name] = self._numbers(field, which.video, which.start, which.stop)
                size += arrays[field.name].nbytes
        return SourceSample(
            which,
            catalog.name(video).decode("utf-8", "surrogateescape"),
            catalog.file_path(int(catalog.video_file[video])),
            is_frame,
            pictures,
            arrays,
            values,
            self._texts(arrays, values, is_frame=is_frame),
            size,
        )

    def close(self) -> None:
        """Close all files."""
        self._reader.close()

    def _encoded(self, field: str, which: SampleRange) -> FrameBytes:
        def read(first: int, stop: int) -> list[bytes]:
            return self._reader.read(which.video, range(which.start + first, which.start + stop), field)

        return FrameBytes(which.stop - which.start, read)

    def _packed(self, field: CatalogField, which: SampleRange) -> FrameBytes:
        def read(first: int, stop: int) -> list[bytes]:
            return [_png(each) for each in self._numbers(field, which.video, which.start + first, which.start + stop)]

        return FrameBytes(which.stop - which.start, read)

    def _numbers(self, field: CatalogField, video: int, start: int, stop: int) -> npt.NDArray[Any]:
        end = int(self._catalog.frame_counts[video]) - self._catalog.missing((field.name,))
        shape = self._catalog.shape_in(video, field.name)
        out = np.empty((max(0, min(stop, end) - start), *shape), field.dtype)
        if out.size:
            self._reader.read_array(video, field.name, start, out)
        return out

    def _lists(self, field: CatalogField, which: SampleRange, *, is_frame: bool) -> dict[str, npt.NDArray[Any]]:
        """Return the lists of some frames one after the other, and their lengths; of one frame with its axis."""
        entries = self._reader.read_lists(which.video, range(which.start, which.stop), field.name)
        lengths = np.array([len(each) for each in entries], np.int64)
        return {field.name: entries[0][None] if is_frame else np.concatenate(entries), field.sides_name: lengths}

    def _sides(self, field: CatalogField, video: int) -> dict[str, npt.NDArray[Any]]:
        """Return the real sides of a field in a video, where they differ between videos."""
        if not field.differs:
            return {}
        sides = np.array(self._catalog.shape_in(video, field.name), np.int64)
        return {field.sides_name: sides[0] if field.is_list else sides}

    def _texts(
        self, arrays: dict[str, npt.NDArray[Any]], values: dict[str, npt.NDArray[Any]], *, is_frame: bool
    ) -> dict[str, str]:
        texts = {}
        for field in self._catalog.fields:
            number = values.get(field.name, arrays.get(field.name) if is_frame else None)
            if field.classes and number is not None and number.size == 1:
                place = int(number.reshape(-1)[0])
                if 0 <= place < len(field.classes):
                    texts[field.name] = field.classes[place]
        return texts


def _png(pixels: npt.NDArray[np.uint8]) -> bytes:
    cv2 = opencv()
    swapped = cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR) if pixels.shape[-1] == 3 else pixels
    _, encoded = cv2.imencode(".png", swapped, [cv2.IMWRITE_PNG_COMPRESSION, _PNG_LEVEL])
    data: bytes = encoded.tobytes()
    return data
