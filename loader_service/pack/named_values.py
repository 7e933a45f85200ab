"""Sorts what lies beside pictures in records of other formats: an entry for each frame, or a value; knows no format."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from loader_service.catalog.labels.encode import MOST_NAME_BYTES
from loader_service.pack.records import Beside, PackedLabel
from loader_service.protocol.fields import SERVICE_FIELDS

#: Names of labels, the first that is there counts: those of this package, of TensorFlow's own data sets, and of
#: MediaPipe.
LABEL_NAMES = (
    "label",
    "labels",
    "image/class/label",
    "image/label",
    "class/label",
    "video/class/label",
    "clip/label/index",
    "class",
    "cls",
    "image/class/text",
    "clip/label/text",
)

#: Bytes of a text that an attribute can hold, with room for others; what is longer becomes a dataset of bytes.
_MOST_TEXT_BYTES = 16_384

#: Of numbers that are served as a value of a video; more are an array of its frame, where it has one, or of the video.
_MOST_VALUE_BYTES = 4096

_ODD = re.compile(r"[\0/]+")


def field_name(name: str) -> str:
    """Return a name as a dataset of a video can have it: in the video's own group, and not one that streams have."""
    plain = _ODD.sub("_", _writable(name)).strip("_. ") or "field"
    return f"{plain}_packed" if plain in {"frames", "offsets", "label", *SERVICE_FIELDS} else plain


def pictures_name(name: str) -> str:
    """Return a field of pictures as a dataset can be called; streams have no ``frames`` of their own."""
    return name if name == "frames" else field_name(name)


class RaggedColumn(NamedTuple):
    """Lists of different lengths, one for each frame: their entries end to end, and where each begins."""

    entries: Any
    bounds: Any

    @classmethod
    def of(cls, lists: Sequence[Any], dtype: Any = None) -> RaggedColumn | None:
        """Return some lists of numbers, of a type where one is given; None where they are none, or differ in shape."""
        try:
            arrays = [np.asarray(each, dtype) for each in lists]
            filled = [each for each in arrays if each.size]
            if any(not each.ndim for each in arrays) or any(each.dtype.kind not in "biuf" for each in filled):
                return None
            entries = np.concatenate(filled) if filled else np.zeros(0, dtype)
        except ValueError:
            return None
        lengths = [len(each) if each.size else 0 for each in arrays]
        return cls(entries, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))


def put_value(beside: Beside, name: str, value: Any, frames: int) -> None:
    """Add an array, a number, texts or bytes to what lies beside a video's frames.

    Parameters
    ----------
    beside
        Gets it.
    name
        As the source has it.
    value
        An array or number; a text; bytes, which are a text if they are UTF-8; a list of any of them; `RaggedColumn`;
        what JSON can say else becomes a text of JSON, and None nothing.
    frames
        How many the video has: what has as many entries, if they are more than one, is a column.
    """
    key = field_name(name)
    if isinstance(value, RaggedColumn):
        if len(value.bounds) == frames + 1:
            beside.lists[key] = value
        else:
            _put_array(beside, key, np.asarray(value.entries), frames)
    elif isinstance(value, (bytes, str)):
        _put_text(beside, key, value, frames)
    elif isinstance(value, list):
        _put_list(beside, key, value, frames)
    elif isinstance(value, dict):
        _put_text(beside, key, json.dumps(value), frames)
    elif value is not None:
        array = np.asarray(value)
        if array.dtype.kind in "biufS":
            _put_array(beside, key, array, frames)
        else:  # such as a number of more than 64 bits
            _put_text(beside, key, json.dumps(value), frames)


def _put_list(beside: Beside, key: str, value: list[Any], frames: int) -> None:
    if value and all(isinstance(each, (bytes, str)) for each in value):
        if len(value) == 1:
            _put_text(beside, key, value[0], frames)
        else:
            _put_array(beside, key, np.array([_raw(each) for each in value]), frames)
        return
    try:
        found = np.asarray(value)
    except ValueError:  # what is in it differs
        found = np.zeros((), object)
    ragged = RaggedColumn.of(value) if found.dtype.kind not in "biuf" and len(value) == frames > 1 else None
    if ragged is not None:
        beside.lists[key] = ragged
    elif found.dtype.kind in "biuf":
        _put_array(beside, key, found, frames)
    else:
        _put_text(beside, key, json.dumps(value, default=lambda each: _raw(each).decode("utf-8", "replace")), frames)


def _put_array(beside: Beside, key: str, array: Any, frames: int) -> None:
    if frames > 1 and array.shape[:1] == (frames,):
        beside.columns[key] = array
    elif array.size == 1 and array.ndim < 2:
        beside.values[key] = array.reshape(-1)[0]
    elif array.nbytes > _MOST_VALUE_BYTES:
        (beside.columns if frames == 1 else beside.whole)[key] = array[None] if frames == 1 else array
    else:
        beside.values[key] = np.atleast_1d(array)


def _raw(value: bytes | str) -> bytes:
    if isinstance(value, bytes):
        return value
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character of UTF-16, as JSON can say it
        return value.encode("utf-8", "surrogatepass")


def _writable(text: str) -> str:
    """Return a text that HDF5 can hold: halves of characters as bytes that are no UTF-8."""
    return _raw(text).decode("utf-8", "surrogateescape")


def _put_text(beside: Beside, key: str, value: bytes | str, frames: int) -> None:
    raw = _raw(value)
    if raw and len(raw) <= _MOST_TEXT_BYTES and b"\0" not in raw and _is_utf8(raw):
        beside.values[key] = raw.decode()
    elif len(raw) > _MOST_VALUE_BYTES:
        _put_array(beside, key, np.frombuffer(raw, np.uint8), frames)
    elif raw:
        beside.values[key] = np.frombuffer(raw, np.uint8)


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def as_label(value: Any) -> PackedLabel:
    """Return what a catalog takes for a label: one number of 64 bits, or one short text; None for anything else."""
    if isinstance(value, (list, np.ndarray)):
        if len(value) != 1:
            return None
        value = value[0]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        value = _writable(value.strip())
        return value if value and "\0" not in value and len(_raw(value)) <= MOST_NAME_BYTES else None
    is_one = isinstance(value, (int, float)) and math.isfinite(value) and -(2**63) <= value < 2**63
    return value if is_one else None
