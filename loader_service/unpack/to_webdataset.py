"""Samples as WebDataset tars: one key a sample, and a file for each thing that it has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from loader_service.catalog.columns import Catalog
from loader_service.formats.tars import SampleWriter, TarContent, read_samples
from loader_service.unpack.sample_files import array_file, json_file, picture_names
from loader_service.unpack.source_samples import SourceSample
from loader_service.unpack.target import ShardTarget
from loader_service.unpack.unpack_options import UnpackOptions


class WebDatasetTarget(ShardTarget[TarContent]):
    """Pictures as ``jpg`` or ``png``, numbers with axes as ``npy``, the label as ``cls``, and the rest as ``json``.

    The frames of a video are ``000001.jpg``, ``000002.jpg``, …; where there are several picture fields, their names
    come before that: ``top.000001.jpg``.
    """

    suffix = ".tar"
    dots = False

    def __init__(self, catalog: Catalog, options: UnpackOptions, *, by_frame: bool) -> None:
        super().__init__(catalog, options, by_frame=by_frame)
        self.field_names = {name: part.lower() for name, part in self.field_names.items()}  # as readers make of them

    def describe(self, field: str) -> str:
        """Return how a field is written, as `Target` says."""
        found = self.catalog.field(field)
        if found.kind == "image" or self.catalog.is_encoded(field):
            return "jpg, png"
        return "npy" if found.kind == "array" and not (self.by_frame and found.shape == ()) else "json"

    def encode(self, sample: SourceSample) -> TarContent:
        """Return what a sample becomes, as `ShardTarget` says."""
        files = dict(picture_names(sample, ".", self.field_names))
        files |= {f"{self.field_names[name]}.npy": array_file(sample, name) for name in sample.arrays_with_axes}
        label = sample.label
        if label is not None:
            files["cls"] = str(label).encode("ascii")
        files["json"] = json_file(sample)
        return TarContent(sample.range.key, files)

    def writer(self, file: BinaryIO) -> _TarWriter:
        """Return what writes to an open file, as `ShardTarget` says."""
        return _TarWriter(file)

    def read(self, path: Path) -> Iterator[TarContent]:
        """Yield what a file holds, as `ShardTarget` says."""
        return read_samples(path)


class _TarWriter:
    """Writes items to a tar; a context manager."""

    def __init__(self, file: BinaryIO) -> None:
        self._writer = SampleWriter(file)

    def __enter__(self) -> _TarWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.__exit__(kind, error, trace)

    def write(self, item: TarContent, /) -> None:
        """Write a sample."""
        self._writer.write(item.key, item.files)
