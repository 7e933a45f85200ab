"""TFRecord files of ``tf.train.Example`` or ``SequenceExample``: each record is a video, or one picture."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.codecs import codec_of
from loader_service.errors import PackError
from loader_service.formats.tfrecord import (
    RecordPlace,
    begins_records,
    compression_of,
    data_range,
    locate_records,
    read_record,
    read_records,
)
from loader_service.pack.named_values import LABEL_NAMES, RaggedColumn, as_label, field_name, put_value
from loader_service.pack.recode import add_picture
from loader_service.pack.records import Beside, Item, Recoding, checked_name
from loader_service.pack.source_files import Part, opened
from loader_service.pack.sources.in_turn import InTurnReader
from loader_service.pack.sources.source_kind import Look, stem_of
from loader_service.pack.sources.video_files import read_film

if TYPE_CHECKING:
    from loader_service.pack.frame_blob import FrameSink

#: Names of features that are the frames, if several features hold pictures.
_FRAME_NAMES = ("frames", "image/encoded", "image", "video", "clip/data", "image/encoded/video")

_HEIGHTS, _WIDTHS = ("height", "image/height", "image_height"), ("width", "image/width", "image_width")
_DEPTHS = ("depth", "channels", "image/channels", "image/depth")


#: How files of records end; others are known by their first bytes, such as those of shards, `…-00000-of-00010`.
_ENDING = re.compile(r"\.tfrecords?(\.gz)?$")


class TFRecordFiles:
    """A video for each record, called after the file and the record's number."""

    name = "tfrecord"
    takes = "TFRecord files of tf.train.Example"

    def __init__(self) -> None:
        self._compressed = InTurnReader(read_records)

    def claims(self, look: Look) -> bool:
        """Tell whether a file begins with a length and its checksum."""
        return any(_is_records(file, head) for file, head in look.sample())

    def items(self, look: Look, *, labelled: bool) -> Iterator[Item]:  # noqa: ARG002 - a record says its label itself
        """Yield a video for each record."""
        for file, head, path in look.those(_is_records):
            is_compressed = bool(compression_of(head))
            plain = file.removesuffix(".gz")
            stem = checked_name(stem_of(plain) if plain.endswith((".tfrecord", ".tfrecords")) else file, look.given)
            places = _inflated_places(path) if is_compressed else record_places(path)
            for place in look.until_damage(places, self.name, path):
                if isinstance(place, Item):
                    yield place
                    continue
                name = f"{stem}/{place.number:06}"
                yield Item(self.name, name, path, tuple(place), place.length, in_turn=is_compressed)

    def files(self, item: Item) -> list[str]:
        """Return the file of the record."""
        return [item.path]

    def parts(self, item: Item) -> Iterable[Part]:
        """Return where the record lies; of a compressed file, which is read in order, nothing."""
        return [] if item.in_turn else [(item.path, *data_range(RecordPlace(*item.place)))]

    def read(self, item: Item, recoding: Recoding, sink: FrameSink) -> Beside:
        """Read the record."""
        # Here, not above: protobuf is in an extra.
        from loader_service.formats.examples import decode_sequence_example  # noqa: PLC0415

        place = RecordPlace(*item.place)
        data = self._compressed.read(item.path, place.number).data if item.in_turn else _plain_record(item.path, place)
        where = f"{item.path!r}, record {place.number}"
        try:
            found = decode_sequence_example(data)
        except ValueError as error:
            raise PackError(f"{where}: it is no tf.train.Example: {error}; leave it out") from error
        features: dict[str, Any] = dict(found.context)
        features |= {name: _steps(steps) for name, steps in found.lists.items()}
        return pack_features(features, recoding, sink, where)


def record_places(path: str) -> Iterator[RecordPlace]:
    """Yield where the records of a file that is not compressed lie."""
    with opened(path) as file:
        yield from locate_records(file)


def _inflated_places(path: str) -> Iterator[RecordPlace]:
    """Yield the records of a compressed file, with their places in what it holds; reads all of it."""
    with opened(path) as file:
        for number, record in enumerate(read_records(file)):
            yield RecordPlace(record.offset, len(record.data), number)


def example_at(path: str, place: Sequence[Any], where: str) -> dict[str, Any]:
    """Return the features of an Example of a file that is not compressed; raises PackError when it is none."""
    from loader_service.formats.examples import decode_example  # noqa: PLC0415 - in an extra

    try:
        return dict(decode_example(_plain_record(path, RecordPlace(*place))))
    except ValueError as error:
        raise PackError(f"{where}: it is no tf.train.Example: {error}; leave it out") from error


def _plain_record(path: str, place: RecordPlace) -> bytes:
    with opened(path) as file:
        return read_record(file, place)


def _is_records(file: str, head: bytes) -> bool:
    return bool(head) and (_ENDING.search(file) is not None or begins_records(head))


def _steps(steps: list[Any]) -> Any:
    """Return the features of all steps as one: a list of bytes, an array with an entry a step, or lists that differ."""
    if all(isinstance(step, list) for step in steps):
        if len({len(step) for step in steps}) == 1 < len(steps[0]):
            return np.array(steps)  # of texts, with as many a step
        return [each for step in steps for each in step]
    if len({len(step) for step in steps}) != 1:
        return RaggedColumn.of(steps)
    whole = np.stack(steps)
    return whole[:, 0] if whole.shape[1] == 1 else whole


def pack_features(features: dict[str, Any], recoding: Recoding, sink: FrameSink, where: str) -> Beside:
    """Give the pictures among some named features to a sink, and return what lies beside them.

    Parameters
    ----------
    features
        Lists of bytes, and arrays, by name.
    where
        For errors.

    Raises
    ------
    PackError
        When there are no pictures, or damaged ones.
    """
    left = dict(features)
    beside = _pictures(left, recoding, sink, where) or _film(left, recoding, sink, where) or _raw_pixels(left)
    if beside is None:
        raise PackError(f"{where}: no feature holds a JPEG, PNG or film; {_found_instead(features)}")
    name = next((each for each in LABEL_NAMES if as_label(left.get(each)) is not None), None)
    if name is not None:
        beside.label = as_label(left.pop(name))
    _refuse_one_name(
        [*((each, each) for each in sink.frame_counts()), *((field_name(each), each) for each in left)], where
    )
    frames = max([*sink.frame_counts().values(), *map(len, beside.columns.values())])
    for key, value in left.items():
        put_value(beside, key, _by_step(key, value, frames), frames)
    return beside


def _by_step(name: str, value: Any, frames: int) -> Any:
    """Return a feature of RLDS with an entry for each step: TensorFlow Datasets writes those of all steps as one list.

    References
    ----------
    ``tensorflow_datasets/core/features/dataset_feature.py``: what a data set in an Example holds is stacked, and flat.
    """
    is_flat = name.startswith("steps/") and isinstance(value, np.ndarray) and value.ndim == 1
    return value.reshape(frames, -1) if is_flat and value.size > frames and value.size % frames == 0 else value


def _found_instead(features: dict[str, Any]) -> str:
    """Return what there is in place of pictures that can be packed, and what to do about it."""
    for name, value in features.items():
        codec = codec_of(value[0][:64]) if _is_bytes(value) else None
        if codec is not None and codec.kind == "image":
            return f"{name!r} is {codec.name}: {codec.remedy}"
    return f"found {', '.join(map(repr, sorted(features))) or 'nothing'}; write pictures, or leave it out"


def _refuse_one_name(names: Iterable[tuple[str, str]], where: str) -> None:
    """Refuse two features whose names are one in HDF5; each is a field and the feature's own name."""
    owners: dict[str, str] = {}
    for field, name in names:
        if owners.setdefault(field, name) != name:
            raise PackError(f"{where}: {owners[field]!r} and {name!r} would both be the field {field!r}; rename one")


def _is_bytes(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, bytes) for each in value)


def _pictures(left: dict[str, Any], recoding: Recoding, sink: FrameSink, where: str) -> Beside | None:
    """Take the features that hold pictures; one of them is called ``frames``."""
    found = [
        name for name, value in left.items() if _is_bytes(value) and all(codec_of(each[:64]).served for each in value)
    ]
    if not found:
        return None
    main = found[0] if len(found) == 1 else next((name for name in _FRAME_NAMES if name in found), None)
    streams = {name: "frames" if name == main else field_name(name) for name in found}
    _refuse_one_name(((stream, name) for name, stream in streams.items()), where)
    for name, stream in streams.items():
        for number, picture in enumerate(left.pop(name)):
            add_picture(sink, picture, recoding, f"{where}, picture {number} of {name!r}", stream)
    return Beside()


def _film(left: dict[str, Any], recoding: Recoding, sink: FrameSink, where: str) -> Beside | None:
    for name, value in left.items():
        if _is_bytes(value) and len(value) == 1 and codec_of(value[0][:64]).kind == "video":
            del left[name]
            return read_film(BytesIO(value[0]), recoding, sink, where=where)
    return None


def _raw_pixels(left: dict[str, Any]) -> Beside | None:
    """Take bytes that are as many as height, width and channels say."""
    sides = [next((left[name] for name in names if name in left), None) for names in (_HEIGHTS, _WIDTHS, _DEPTHS)]
    height, width, depth = (int(np.ravel(each)[0]) if each is not None and np.size(each) == 1 else 0 for each in sides)
    for name, value in left.items():
        for channels in (depth,) if depth else (1, 3):
            if _is_bytes(value) and len(value) == 1 and 0 < len(value[0]) == height * width * channels:
                del left[name]
                return Beside({"frames": np.frombuffer(value[0], np.uint8).reshape(1, height, width, channels)})
    return None
