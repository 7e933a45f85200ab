"""`tf.train.Example` and `tf.train.SequenceExample` as mappings of NumPy arrays and bytes, without TensorFlow.

The messages are declared here, in a pool of their own, as TensorFlow declares the same names in the common one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from loader_service.formats.damage import missing_package

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from google.protobuf.message import DecodeError as WireError
except ImportError as _error:
    raise missing_package("protobuf", "tf.train.Example") from _error

#: One feature as it is read: texts and files, whole numbers ``(n,) int64``, or numbers ``(n,) float32``.
Feature = list[bytes] | npt.NDArray[np.int64] | npt.NDArray[np.float32]

#: One feature as it can be written: bytes or a list of them; whole numbers or truth values of any shape, which become
#: int64; float16 and float32 of any shape, which become float32. Arrays are written in C-order, without their shape.
Writable = bytes | Sequence[bytes] | npt.NDArray[Any] | np.generic

_PACKAGE = "tensorflow"
_FIELD = descriptor_pb2.FieldDescriptorProto
_NUMBERS = ("bytes_list", "float_list", "int64_list")


class SequenceValues(NamedTuple):
    """What a SequenceExample holds: features of the whole, and lists with a feature a step, by name."""

    context: dict[str, Feature]
    lists: dict[str, list[Feature]]


def decode_example(data: bytes) -> dict[str, Feature]:
    """Return the features of an Example by name; one that holds nothing is an empty list.

    Raises
    ------
    ValueError
        When the bytes are no Example.
    """
    return _features(_parse("Example", data).features.feature)


def decode_sequence_example(data: bytes) -> SequenceValues:
    """Return what a SequenceExample holds. An Example is one too, whose features are the context, without lists.

    Raises
    ------
    ValueError
        When the bytes are no SequenceExample.
    """
    message = _parse("SequenceExample", data)
    lists = message.feature_lists.feature_list
    return SequenceValues(
        _features(message.context.feature),
        {name: [_feature(each) for each in lists[name].feature] for name in sorted(lists)},
    )


def encode_example(features: Mapping[str, Writable]) -> bytes:
    """Return the bytes of an Example; the same features give the same bytes.

    Raises
    ------
    ValueError
        When a value is none that can be written: float64 and numbers above 2⁶³ - 1 would not come back as they were.
    """
    message = _message_class("Example")()
    for name, value in features.items():
        _fill(message.features.feature[name], name, value)
    encoded: bytes = message.SerializeToString(deterministic=True)
    return encoded


def encode_sequence_example(context: Mapping[str, Writable], lists: Mapping[str, Iterable[Writable]]) -> bytes:
    """Return the bytes of a SequenceExample; raises as `encode_example` does."""
    message = _message_class("SequenceExample")()
    for name, value in context.items():
        _fill(message.context.feature[name], name, value)
    for name, values in lists.items():
        steps = message.feature_lists.feature_list[name].feature
        for value in values:
            _fill(steps.add(), name, value)
    encoded: bytes = message.SerializeToString(deterministic=True)
    return encoded


def is_exact(dtype: npt.DTypeLike) -> bool:
    """Return whether numbers of a dtype come back from an Example as they were, as to their values."""
    kind, size = np.dtype(dtype).kind, np.dtype(dtype).itemsize
    return kind in "bi" or (kind == "u" and size < 8) or (kind == "f" and size <= 4)


def _parse(name: str, data: bytes) -> Any:
    try:
        return _message_class(name).FromString(data)
    except WireError as error:
        raise ValueError(f"{len(data)} bytes that are no tf.train.{name}") from error


def _features(features: Any) -> dict[str, Feature]:
    return {name: _feature(features[name]) for name in sorted(features)}


def _feature(feature: Any) -> Feature:
    kind = feature.WhichOneof("kind")
    if kind == "bytes_list":
        return list(feature.bytes_list.value)
    if kind == "int64_list":
        integers = feature.int64_list.value
        return np.fromiter(integers, np.int64, len(integers))
    if kind == "float_list":
        numbers = feature.float_list.value
        return np.fromiter(numbers, np.float32, len(numbers))
    return []


def _fill(feature: Any, name: str, value: Writable) -> None:
    if isinstance(value, bytes):
        feature.bytes_list.value.append(value)
    elif isinstance(value, (np.ndarray, np.generic)):
        _fill_numbers(feature, name, np.asarray(value))
    else:
        feature.bytes_list.SetInParent()
        feature.bytes_list.value.extend(value)


def _fill_numbers(feature: Any, name: str, value: npt.NDArray[Any]) -> None:
    if value.dtype.kind in "biu" and (is_exact(value.dtype) or not (value > np.iinfo(np.int64).max).any()):
        feature.int64_list.SetInParent()
        feature.int64_list.value.extend(value.ravel().astype(np.int64, copy=False).tolist())
    elif is_exact(value.dtype):
        feature.float_list.SetInParent()
        feature.float_list.value.extend(value.ravel().tolist())
    else:
        raise ValueError(
            f"feature {name!r} has dtype {value.dtype}, which an Example cannot hold exactly: write its bytes instead"
        )


@cache
def _message_class(name: str) -> Any:
    pool = descriptor_pool.DescriptorPool()
    pool.Add(_declaration())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


def _declaration() -> Any:
    """Return what TensorFlow declares in ``feature.proto`` and ``example.proto``.

    References
    ----------
    https://github.com/tensorflow/tensorflow/tree/master/tensorflow/core/example
    """
    file = descriptor_pb2.FileDescriptorProto(name="loader_service/example.proto", package=_PACKAGE, syntax="proto3")
    for name, kind in (
        ("BytesList", _FIELD.TYPE_BYTES),
        ("FloatList", _FIELD.TYPE_FLOAT),
        ("Int64List", _FIELD.TYPE_INT64),
    ):
        values = file.message_type.add(name=name).field.add(
            name="value", number=1, label=_FIELD.LABEL_REPEATED, type=kind
        )
        if kind != _FIELD.TYPE_BYTES:
            values.options.packed = True
    feature = file.message_type.add(name="Feature")
    feature.oneof_decl.add(name="kind")
    for number, name in enumerate(_NUMBERS, 1):
        kind_name = "".join(part.capitalize() for part in name.split("_"))
        _add(feature, name, number, kind_name).oneof_index = 0
    _add_map(file.message_type.add(name="Features"), "feature", "Feature")
    _add(file.message_type.add(name="FeatureList"), "feature", 1, "Feature").label = _FIELD.LABEL_REPEATED
    _add_map(file.message_type.add(name="FeatureLists"), "feature_list", "FeatureList")
    _add(file.message_type.add(name="Example"), "features", 1, "Features")
    sequence = file.message_type.add(name="SequenceExample")
    _add(sequence, "context", 1, "Features")
    _add(sequence, "feature_lists", 2, "FeatureLists")
    return file


def _add(message: Any, name: str, number: int, kind: str) -> Any:
    return message.field.add(
        name=name,
        number=number,
        label=_FIELD.LABEL_OPTIONAL,
        type=_FIELD.TYPE_MESSAGE,
        type_name=f".{_PACKAGE}.{kind}",
    )


def _add_map(message: Any, name: str, kind: str) -> None:
    """Add a map from texts: on the wire, a repeated message of key and value."""
    entry_name = "".join(part.capitalize() for part in name.split("_")) + "Entry"
    entry = message.nested_type.add(name=entry_name)
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=_FIELD.LABEL_OPTIONAL, type=_FIELD.TYPE_STRING)
    _add(entry, "value", 2, kind)
    _add(message, name, 1, f"{message.name}.{entry_name}").label = _FIELD.LABEL_REPEATED
