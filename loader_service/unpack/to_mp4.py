"""Samples as mp4 videos, H.264: one file for each video and picture field. Pictures are encoded again, with loss."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from loader_service.catalog.columns import Catalog
from loader_service.conversion.pieces import OutputEntry
from loader_service.conversion.summed_file import SummedFile
from loader_service.errors import ConfigError, DecodeError
from loader_service.formats.checksums import crc32c
from loader_service.formats.damage import missing_package
from loader_service.sizes import counted
from loader_service.unpack.sample_files import array_file, sample_row
from loader_service.unpack.source_samples import EncodedPictures, SampleRange, SourceSample
from loader_service.unpack.target import FileTarget, OnFrame
from loader_service.unpack.unpack_options import UnpackOptions
from loader_service.worker.decode import DecodeLimits, check_header, decode_into
from loader_service.worker.png import decode_png

#: Names of fields that say how many frames a second a video has.
RATE_FIELDS = ("fps", "frame_rate", "framerate")

#: x264's trade of time for size; a slower one is smaller at the same quality.
_PRESET = "fast"

#: By how many of 255 levels a picture may differ on average from what was encoded, beside the quality asked for.
_MOST_DIFFERENCE = 12.0

_LIMITS = DecodeLimits()
_READ_BYTES = 2**20


class Mp4Target(FileTarget):
    """``VIDEO.mp4``, or ``VIDEO.FIELD.mp4``; arrays as ``.npy`` beside it, the rest in a table of all.

    Sides that are even give yuv420p, which everything plays; others yuv444p, so that no pixel is lost or made up.
    """

    def __init__(self, catalog: Catalog, options: UnpackOptions, *, by_frame: bool) -> None:
        super().__init__(catalog, options, by_frame=by_frame)
        self._pictures = [each.name for each in catalog.fields if each.kind == "image"]
        self._rate_field = next((each.name for each in catalog.fields if each.name in RATE_FIELDS), None)
        if not self._pictures:
            raise ConfigError("the files hold no pictures, and mp4 holds nothing else; give --to tfrecord")
        if by_frame:
            raise ConfigError("a sample is one picture here, and no video; give --to folders, or --sample video")
        if self._rate_field is None and not options.fps:
            raise ConfigError(f"no field of the files says how many frames a second ({RATE_FIELDS[0]}): give --fps N")
        _av()

    def describe(self, field: str) -> str:
        """Return how a field is written, as `Target` says."""
        found = self.catalog.field(field)
        if found.kind == "image":
            return "mp4"
        return "npy" if found.kind == "array" or found.shape else "labels.csv"

    def names(self, which: SampleRange) -> tuple[str, ...]:
        """Return the paths of a sample, as `FileTarget` says."""
        arrays = [each.name for each in self.catalog.fields if self.describe(each.name) == "npy"]
        arrays += self.sides_with_axes
        videos = [self._video_name(which.key, name) for name in self._pictures]
        return (*videos, *(f"{which.key}.{self.field_names[name]}.npy" for name in arrays))

    def row(self, sample: SourceSample) -> dict[str, Any]:
        """Return what the table says of a sample, with its frames a second."""
        return {**sample_row(sample), "fps": float(self._rate(sample))}

    def write(self, sample: SourceSample, folder: Path, on_frame: OnFrame) -> list[OutputEntry]:
        """Write a sample, as `FileTarget` says."""
        entries = []
        for field in self._pictures:
            name = self._video_name(sample.range.key, field)
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            self._encode(sample, sample.pictures[field], path, on_frame)
            entries.append(OutputEntry(name, path.stat().st_size, _sum_on_disk(path)))
        for field in sample.arrays_with_axes:
            name = f"{sample.range.key}.{self.field_names[field]}.npy"
            with SummedFile(folder / name) as file:
                file.write(array_file(sample, field))
            entries.append(OutputEntry(name, file.size_bytes, file.crc32c))
        return entries

    def difference(self, sample: SourceSample, place: Path, on_frame: OnFrame) -> str | None:
        """Return what is not as it was written, as `FileTarget` says."""
        for field in sample.arrays_with_axes:
            path = place / f"{sample.range.key}.{self.field_names[field]}.npy"
            if not path.is_file() or path.read_bytes() != array_file(sample, field):
                return f"{str(path)!r} is not there, or holds other bytes"
        for field in self._pictures:
            path = place / self._video_name(sample.range.key, field)
            reason = (
                self._video_difference(sample.pictures[field], path, on_frame) if path.is_file() else "is not there"
            )
            if reason is not None:
                return f"{str(path)!r} {reason}"
        return None

    def _video_name(self, key: str, field: str) -> str:
        return f"{key}.mp4" if len(self._pictures) == 1 else f"{key}.{self.field_names[field]}.mp4"

    def _rate(self, sample: SourceSample) -> Fraction:
        found = sample.values.get(self._rate_field or "")
        rate = float(found.reshape(-1)[0]) if found is not None and found.size == 1 else self.options.fps
        if not 0 < rate <= 1000:
            raise DecodeError(
                f"video {sample.name!r} of {sample.file!r} says {rate!r} frames a second; expected more than 0 and "
                "up to 1000: correct it"
            )
        return Fraction(rate).limit_denominator(1001)

    def _encode(self, sample: SourceSample, pictures: EncodedPictures, path: Path, on_frame: OnFrame) -> None:
        av = _av()
        where = f"of video {sample.name!r} in {sample.file!r}"
        options = {"crf": str(self.options.quality), "preset": _PRESET}
        with av.open(str(path), "w", format="mp4") as container:
            stream = container.add_stream("libx264", rate=self._rate(sample), options=options)
            stream.codec_context.thread_count = 1  # one worker is one core
            size = None
            for frame, pixels in enumerate(_pixels(pictures, sample.range.start, where)):
                if size is None:
                    size = pixels.shape
                    stream.height, stream.width = size[:2]
                    stream.pix_fmt = "yuv444p" if size[0] % 2 or size[1] % 2 else "yuv420p"
                elif pixels.shape != size:
                    raise DecodeError(
                        f"frame {sample.range.start + frame} {where} has {pixels.shape[:2]!r} pixels, the first "
                        f"{size[:2]!r}; a video has frames of one size: give --to folders"
                    )
                container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
                on_frame()
            container.mux(stream.encode())

    def _video_difference(self, pictures: EncodedPictures, path: Path, on_frame: OnFrame) -> str | None:
        """Return in what a video is not what was encoded; None when it is, but for the loss that was asked for."""
        av = _av()
        most = _MOST_DIFFERENCE + self.options.quality
        count = 0
        try:
            with av.open(str(path)) as container:
                frames = container.decode(video=0)
                for expected, frame in zip(_pixels(pictures, 0, "of it"), frames, strict=False):
                    found = frame.to_ndarray(format="rgb24")
                    if found.shape != expected.shape:
                        return f"has pictures of {found.shape[:2]!r} pixels, expected {expected.shape[:2]!r}"
                    if np.abs(found.astype(np.int16) - expected).mean() > most:
                        return f"has another picture as frame {count}"
                    count += 1
                    on_frame()
                if sum(1 for _ in frames):
                    return f"has more than {len(pictures.frames)} frames"
        except av.error.FFmpegError as error:
            return f"cannot be decoded: {error.strerror}"
        return (
            None if count == len(pictures.frames) else f"has {counted(count, 'frame')}, expected {len(pictures.frames)}"
        )


def _pixels(pictures: EncodedPictures, start: int, where: str) -> Iterator[npt.NDArray[np.uint8]]:
    """Yield each picture as ``(height, width, 3) uint8``, RGB."""
    for frame, data in enumerate(pictures.frames):
        try:
            if pictures.extension == "jpg":
                out = np.empty((*check_header(data, _LIMITS), 3), np.uint8)
                decode_into(data, out, exact=True)
            else:
                decoded = decode_png(data, _LIMITS)
                out = np.repeat(decoded, 3, 2) if decoded.shape[2] == 1 else decoded
        except DecodeError as error:
            raise DecodeError(f"frame {start + frame} {where}: {error}") from error
        yield out


def _sum_on_disk(path: Path) -> int:
    """Return the checksum of a file that another library has written, and which is on disk by then."""
    total = 0
    with path.open("rb") as file:
        os.fsync(file.fileno())
        while piece := file.read(_READ_BYTES):
            total = crc32c(piece, total)
    return total


def _av() -> Any:
    """Return PyAV, imported now: it takes 0.2 s, and needs an extra."""
    try:
        import av  # noqa: PLC0415 (lazy on purpose, see above)
    except ImportError as error:
        raise missing_package("av", "writing mp4") from error
    return av
