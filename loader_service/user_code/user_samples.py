"""What a user's code may return as a sample, as flat fields of arrays; knows no source and no transform."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loader_service.errors import SourceError
from loader_service.protocol.fields import Field
from loader_service.protocol.spec import MAX_FIELDS
from loader_service.user_code.loading import describe

#: A sample's fields by name, in order.
Sample = dict[str, NDArray[Any]]

#: Kinds and sizes of elements that tensors have, as `protocol.fields` lists them.
_TENSOR_KINDS = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "S": None}

#: Characters of a field's name, with those of the dicts around it.
_LONGEST_NAME = 200


def flatten(sample: Any, what: str) -> Sample:
    """Return a sample as fields.

    Parameters
    ----------
    sample
        A dict, perhaps of dicts, whose keys are joined with ``/``; a tuple or list, whose fields are called ``"0"``,
        ``"1"``, …; or one array, whose field is called ``"value"``. Inside, a tuple of arrays or dicts is taken apart
        in the same way, and a list, or a tuple of numbers, is an array.
    what
        Whose it is, for errors.

    Raises
    ------
    SourceError
        When a part of it has no tensor form; names the part.
    """
    fields: Sample = {}
    for name, value in _parts(sample):
        if len(name) > _LONGEST_NAME or len(fields) >= MAX_FIELDS:
            raise SourceError(
                f"{what} has the field {name[:40]!r}, with {len(name)} characters, as its number {len(fields) + 1}; "
                f"return at most {MAX_FIELDS} fields, with names of at most {_LONGEST_NAME}"
            )
        if name in fields:
            raise SourceError(f"{what} has two fields called {name!r}; rename one")
        fields[name] = _as_array(value, f"field {name!r} of {what}")
    if not fields:
        raise SourceError(f"{what} is empty; return a dict or tuple of arrays")
    return fields


def _parts(sample: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(sample, Mapping):
        for key, value in sample.items():
            yield from _nested(str(key), value)
    elif isinstance(sample, (tuple, list)):
        for place, value in enumerate(sample):
            yield from _nested(str(place), value)
    else:
        yield "value", sample


def _nested(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _nested(f"{name}/{key}", each)
    elif isinstance(value, tuple) and any(isinstance(each, (Mapping, np.ndarray)) for each in value):
        for place, each in enumerate(value):
            yield from _nested(f"{name}/{place}", each)
    else:
        yield name, value


def _as_array(value: Any, what: str) -> NDArray[Any]:
    try:
        array = np.asarray(value)
    except Exception as error:  # lists of different lengths, tensors on a device, or with a gradient
        raise SourceError(
            f"{what}: a {type(value).__name__} that makes no array ({describe(error)}); pad it, or copy it"
        ) from error
    if array.dtype.kind == "U":
        array = np.char.encode(array, "utf-8")
    sizes = _TENSOR_KINDS.get(array.dtype.kind, ())
    if sizes is not None and array.dtype.itemsize not in sizes:
        raise SourceError(
            f"{what}: a {type(value).__name__} of dtype {array.dtype} has no tensor form; return numbers, truth values "
            "or texts, in arrays of one type, or leave it out"
        )
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def checked(values: Sample, field: Field, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return one field of what a user's code gave.

    Parameters
    ----------
    values
        What it gave.
    field, shape
        Name and dtype that it should have, and the shape.

    Raises
    ------
    SourceError
        When it is missing, or has another dtype or shape; does not say whose code it was.
    """
    value = values.get(field.name)
    if value is None:
        raise SourceError(
            f"there is no field {field.name!r}, only {', '.join(map(repr, values)) or 'nothing'}; "
            "return the same fields for every sample"
        )
    expected = np.dtype(field.dtype)
    text = value.dtype.kind == expected.kind == "S"
    if text and value.dtype.itemsize > expected.itemsize:
        raise SourceError(
            f"field {field.name!r}: a text of {value.dtype.itemsize} bytes, and there is room for {expected.itemsize}, "
            "which follows from those that were looked at when this began; shorten it, or make one of those as long"
        )
    if value.shape != tuple(shape) or not (value.dtype == expected or text):
        raise SourceError(
            f"field {field.name!r}: expected {field.dtype} of shape {tuple(shape)!r}, got {value.dtype.name} of shape "
            f"{value.shape!r}; return the same shape and dtype for every sample"
        )
    return value
