"""Samples as TFRecord files of `tf.train.Example`, for TensorFlow and all that read its files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from loader_service.catalog.columns import Catalog
from loader_service.errors import CatalogError
from loader_service.formats.examples import Writable, encode_example, is_exact
from loader_service.formats.tfrecord import MOST_RECORD_BYTES, RecordWriter, read_records
from loader_service.unpack.source_samples import SourceSample
from loader_service.unpack.target import ShardTarget
from loader_service.unpack.unpack_options import UnpackOptions

#: What each Example says beside its fields: the sample's name as a path, its video's name in its file, and that file.
BOOKKEEPING_FEATURES = ("key", "video", "file", "start", "length")


class TFRecordTarget(ShardTarget[bytes]):
    """One Example a sample: pictures as a list of JPEGs or PNGs, numbers flat, in C-order.

    Numbers that an Example cannot hold exactly, such as float64, are written as little-endian bytes, for
    ``tf.io.decode_raw``; the manifest says which.
    """

    suffix = ".tfrecord"

    def __init__(self, catalog: Catalog, options: UnpackOptions, *, by_frame: bool) -> None:
        super().__init__(catalog, options, by_frame=by_frame)
        self._own = [name for name in BOOKKEEPING_FEATURES if all(each.name != name for each in catalog.fields)]

    def describe(self, field: str) -> str:
        """Return how a field is written, as `Target` says."""
        found = self.catalog.field(field)
        if found.kind == "image" or self.catalog.is_encoded(field):
            return "bytes_list of pictures"
        dtype = np.dtype(found.dtype)
        if not is_exact(dtype):
            return "bytes" if dtype.kind == "S" else f"bytes of {dtype.name}, little-endian"
        return "float_list" if dtype.kind == "f" else "int64_list"

    def encode(self, sample: SourceSample) -> bytes:
        """Return what a sample becomes, as `ShardTarget` says."""
        features: dict[str, Writable] = {name: _bookkeeping(sample, name) for name in self._own}
        for name, text in sample.texts.items():
            features[f"{name}_text"] = text.encode("utf-8", "surrogateescape")
        for name, pictures in sample.pictures.items():
            features[name] = list(pictures.frames)
        for name, numbers in (*sample.arrays.items(), *sample.values.items()):
            features[name] = _writable(numbers)
        data = encode_example(features)
        if len(data) > MOST_RECORD_BYTES:
            raise CatalogError(
                f"video {sample.name!r} of {sample.file!r} has {len(data)} bytes, and a tf.train.Example holds at most "
                f"{MOST_RECORD_BYTES}: give --sample frame"
            )
        return data

    def writer(self, file: BinaryIO) -> RecordWriter:
        """Return what writes to an open file, as `ShardTarget` says."""
        return RecordWriter(file)

    def read(self, path: Path) -> Iterator[bytes]:
        """Yield what a file holds, as `ShardTarget` says."""
        return (record.data for record in read_records(path))


def _bookkeeping(sample: SourceSample, name: str) -> Writable:
    texts = {"key": sample.range.key, "video": sample.name, "file": sample.file}
    if name in texts:
        return texts[name].encode("utf-8", "surrogateescape")
    return np.array(sample.range.start if name == "start" else sample.frame_count, np.int64)


def _writable(numbers: npt.NDArray[Any]) -> Writable:
    if is_exact(numbers.dtype):
        return numbers
    if numbers.dtype.kind == "S":
        return [bytes(each) for each in numbers.reshape(-1).tolist()]
    data: bytes = numbers.astype(numbers.dtype.newbyteorder("<"), order="C").tobytes()
    return data
