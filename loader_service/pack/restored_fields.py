"""Makes fields of what `unpack` wrote of them: types, shapes and lists as its manifest says. Opens no file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from loader_service.errors import PackError
from loader_service.pack.named_values import field_name
from loader_service.pack.records import Beside


def restore_fields(
    beside: Beside, fields: Sequence[Mapping[str, Any]], found: Mapping[str, Any], frames: int, where: str
) -> None:
    """Add the fields of a sample that are no pictures to what lies beside its frames.

    Parameters
    ----------
    beside
        Gets them.
    fields
        As the manifest has them.
    found
        What was read, by field, and by the name of its real sides: arrays, lists of bytes, numbers or texts.
    frames
        How many the sample has.
    where
        For errors.

    Raises
    ------
    PackError
        When something does not fit what the manifest says.
    """
    for field in fields:
        if found.get(field["name"]) is None:
            continue
        try:
            _restore(beside, field, found, frames)
        except (ValueError, TypeError, IndexError) as error:
            raise PackError(
                f"{where}: {field['name']!r} is not as the manifest says: {error}; unpack again, or say what it is "
                "with --from KIND"
            ) from error


def _restore(beside: Beside, field: Mapping[str, Any], found: Mapping[str, Any], frames: int) -> None:
    array = _typed(found[field["name"]], np.dtype(field["dtype"]))
    shape, name = tuple(field["shape"]), field["name"]
    sides = np.atleast_1d(found[field["sides"]]).astype(np.int64) if field["sides"] in found else None
    is_list = field["sides"].endswith("_length")
    if field["kind"] == "value":
        whole = array.reshape(shape if sides is None else (-1, *shape[1:]) if is_list else tuple(sides))
        _put_value(beside, name, whole, field["classes"])
    elif is_list and sides is not None:
        bounds = np.concatenate([[0], np.cumsum(sides)]).astype(np.int64)
        beside.lists[field_name(name)] = array.reshape(-1, *shape[1:]), bounds
    elif frames:
        inner = shape if sides is None else tuple(sides)
        column = array.reshape(-1, *inner)
        _put_column(beside, name, column, frames)


def _put_value(beside: Beside, name: str, value: Any, classes: Sequence[str]) -> None:
    text = classes[int(value)] if classes and 0 <= int(value) < len(classes) else None
    if name == "label":
        beside.label = value.item() if text is None and not value.ndim else text
    else:
        beside.values[field_name(name)] = (value if value.ndim else value[()]) if text is None else text


def _put_column(beside: Beside, name: str, column: Any, frames: int) -> None:
    key = "label" if name == "label" else field_name(name)
    beside.columns[key] = column
    if len(column) == frames - 1:
        beside.between |= {key}


def _typed(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return what was read with its type: numbers that an Example cannot hold are bytes there, tables hold texts."""
    if isinstance(value, list) and value and isinstance(value[0], bytes):
        return np.array(value, dtype) if dtype.kind == "S" else np.frombuffer(value[0], dtype.newbyteorder("<"))
    if isinstance(value, str):
        if dtype.kind == "S":
            return np.array(value.encode("utf-8", "surrogateescape"), dtype)
        return np.array(value == "True" if dtype.kind == "b" else value).astype(dtype)
    return np.asarray(value).astype(dtype, copy=False)
