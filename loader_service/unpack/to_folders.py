"""Samples as plain files: a folder of pictures for each video, or a picture for each sample that is one frame."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from loader_service.catalog.codecs import JPEG
from loader_service.conversion.pieces import OutputEntry
from loader_service.conversion.work_folder import size_of
from loader_service.formats.checksums import crc32c
from loader_service.unpack.sample_files import array_file, picture_names
from loader_service.unpack.source_samples import SampleRange, SourceSample
from loader_service.unpack.target import FileTarget, OnFrame


class FolderTarget(FileTarget):
    """``VIDEO/000001.jpg``, or ``IMAGE.jpg``; arrays as ``.npy`` beside the pictures, the rest in a table of all.

    Where the files have several picture fields, each has a folder in the video's.
    """

    by_class = True

    def describe(self, field: str) -> str:
        """Return how a field is written, as `Target` says."""
        found = self.catalog.field(field)
        if found.kind == "image" or self.catalog.is_encoded(field):
            return "jpg, png"
        if found.kind == "array":
            return "npy" if not self.by_frame or found.shape else "labels.csv"
        return "npy" if found.shape else "labels.csv"

    def names(self, which: SampleRange) -> tuple[str, ...]:
        """Return the paths of a sample, as `FileTarget` says."""
        if not self.by_frame:
            return (which.key,)
        pictures = [each.name for each in self.catalog.fields if self.describe(each.name) == "jpg, png"]
        arrays = [each.name for each in self.catalog.fields if self.describe(each.name) == "npy"]
        arrays += self.sides_with_axes
        several = len(pictures) > 1
        names = [
            f"{which.key}{f'.{self.field_names[name]}' if several else ''}.{self._extension(which.video, name)}"
            for name in pictures
        ]
        return (*names, *(f"{which.key}.{self.field_names[name]}.npy" for name in arrays))

    def write(self, sample: SourceSample, folder: Path, on_frame: OnFrame) -> list[OutputEntry]:
        """Write a sample, as `FileTarget` says."""
        entries = []
        total, made = 0, None
        for name, data in self._files(sample):
            path = folder / name
            if path.parent != made:
                made = path.parent
                made.mkdir(parents=True, exist_ok=True)
            _write(path, data)
            total = crc32c(data, total)
            entries.append(OutputEntry(name, len(data), crc32c(data) if sample.is_frame else None))
            on_frame()
        if sample.is_frame:
            return entries
        return [OutputEntry(sample.range.key, sum(each.size_bytes for each in entries), total)]

    def difference(self, sample: SourceSample, place: Path, on_frame: OnFrame) -> str | None:
        """Return what is not as it was written, as `FileTarget` says."""
        names = set()
        for name, data in self._files(sample):
            path = place / name
            if not path.is_file():
                return f"{str(path)!r} is not there"
            if path.read_bytes() != data:
                return f"{str(path)!r} holds other bytes"
            names.add(name)
            on_frame()
        if sample.is_frame:
            return None
        found: list[Path] = []
        size_of(place / sample.range.key, found.append)
        more = {str(each.relative_to(place)) for each in found} - names
        return f"{str(place / min(more))!r} is there, and no frame of the video" if more else None

    def _files(self, sample: SourceSample) -> Iterator[tuple[str, bytes]]:
        """Yield path and bytes of each file of a sample."""
        key = sample.range.key
        joint = "." if sample.is_frame else "/"
        for name, data in picture_names(sample, "/", self.field_names):
            yield f"{key}{joint}{name}", data
        for name in sample.arrays_with_axes:
            yield f"{key}{joint}{self.field_names[name]}.npy", array_file(sample, name)

    def _extension(self, video: int, field: str) -> str:
        return "jpg" if self.catalog.is_encoded(field) and self.catalog.codec(video, field) is JPEG else "png"


def _write(path: Path, data: bytes) -> None:
    """Write a small file at once; raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        done = os.write(descriptor, data)
        while done < len(data):
            done += os.write(descriptor, data[done:])
    finally:
        os.close(descriptor)
