"""Sorts what lies beside pictures in records of other formats: an entry for each frame, or a value; knows no format."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

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

_ODD = re.compile(r"[\0/]+")


def field_name(name: str) -> str:
    """Return a name as a dataset of a video can have it: in the video's own group, and not one that streams have."""
    plain = _ODD.sub("_", name).strip("_. ") or "field"
    return f"{plain}_packed" if plain in {"frames", "offsets", "label", *SERVICE_FIELDS} else plain


def put_value(beside: Beside, name: str, value: Any, frames: int) -> None:
    """Add an array, a number, texts or bytes to what lies beside a video's frames.

    Parameters
    ----------
    beside
        Gets it.
    name
        As the source has it.
    value
        An array or number; a text; bytes, which are a text if they are UTF-8; a list of bytes or texts.
    frames
        How many the video has: what has as many entries, if they are more than one, is a column.
    """
    key = field_name(name)
    if isinstance(value, (bytes, str)):
        _put_text(beside, key, value)
        return
    if isinstance(value, list) and value and all(isinstance(each, (bytes, str)) for each in value):
        if len(value) == 1 and frames != len(value):
            _put_text(beside, key, value[0])
            return
        value = np.array([each.encode() if isinstance(each, str) else each for each in value], "S")
        if frames == 1 and len(value) == 1:
            _put_text(beside, key, bytes(value[0]))
            return
    array = np.asarray(value)
    if array.dtype.kind not in "biufS" or not array.size:
        return
    if frames > 1 and array.shape[:1] == (frames,):
        beside.columns[key] = array
    elif array.size == 1:
        beside.values[key] = array.reshape(-1)[0]
    else:
        beside.values[key] = array.reshape(-1)


def _put_text(beside: Beside, key: str, value: bytes | str) -> None:
    raw = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
    if raw:
        is_text = len(raw) <= _MOST_TEXT_BYTES and b"\0" not in raw and _is_utf8(raw)
        beside.values[key] = raw.decode() if is_text else np.frombuffer(raw, np.uint8)


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def as_label(value: Any) -> PackedLabel:
    """Return what can be a label: one number, or one text; None for anything else."""
    if isinstance(value, (list, np.ndarray)):
        if len(value) != 1:
            return None
        value = value[0]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        value = value.strip() or None
    return value if isinstance(value, (int, float, str)) else None
