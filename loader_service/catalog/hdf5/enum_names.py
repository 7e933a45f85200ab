"""Names that an HDF5 file has for whole numbers: of an enumeration, or in an attribute beside them."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from loader_service.catalog.hdf5.tree import ElementKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import DatasetInfo


def enum_names(dtype: Any) -> dict[int, str]:
    """Return the names of an enumeration's numbers; empty for other types, and for bool."""
    names = h5py.check_enum_dtype(dtype) if dtype is not None else None
    return {int(number): name for name, number in (names or {}).items()}


def lines_of_names(hdf5: HDF5File, members: Mapping[str, DatasetInfo]) -> dict[str, str]:
    """Return what the numbers of fields stand for, where those are enumerations, as lines of what is no field.

    Parameters
    ----------
    members
        The datasets of a video's fields, by key.
    """
    lines = {}
    for key, info in members.items():
        if info.kind is ElementKind.OTHER and info.dtype.startswith(("int", "uint")):  # whole numbers have a kind
            names = enum_names(hdf5.node(info.path).dtype)
            if not names:  # bits
                continue
            shown = ", ".join(f"{number} is {name!r}" for number, name in islice(sorted(names.items()), _MOST_NAMES))
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            lines[f"{key} (names)"] = f"its numbers are served: {shown}{more}, by the enumeration in a file"
    return lines


#: Names of one enumeration that are shown.
_MOST_NAMES = 12


def text_of(numbers: Any) -> str:
    """Return the text whose characters are numbers of UTF-16, in any axes; what is none of these is replaced."""
    return np.asarray(numbers, "<u2").tobytes().decode("utf-16-le", "replace")


def with_names(values: Any, dtype: Any) -> Any:
    """Return the names of numbers of an enumeration, as an array or one text; other values as they are."""
    names = enum_names(dtype)
    if not names:
        return values
    texts = [names.get(int(each), str(int(each))) for each in np.asarray(values).reshape(-1)]
    return texts[0] if np.ndim(values) == 0 else np.array(texts, object)


def names_in_attributes(attributes: Mapping[str, Any], is_name: Callable[[str], bool]) -> dict[int, str]:
    """Return which number stands for which name, where an attribute of a dataset says so.

    Parameters
    ----------
    attributes
        Of the dataset: a list of names, whose places are the numbers; a JSON object of both, in either order; or one
        attribute for each name, with its number.
    is_name
        Tells whether a text is such a name; all of them must be.
    """
    singly: dict[int, str] = {}
    for key in attributes:
        value = attributes[key]
        names = _names_of(value)
        if names and all(map(is_name, names.values())):
            return names
        if is_name(key) and np.size(value) == 1 and np.asarray(value).dtype.kind in "iu":
            singly[int(np.reshape(value, -1)[0])] = key
    return singly


def _names_of(value: Any) -> dict[int, str]:
    array = np.asarray(value)
    if array.ndim == 1 and array.dtype.kind in "SUO":
        return dict(enumerate(map(_text, array.tolist())))
    if array.ndim or array.dtype.kind not in "SUO":
        return {}
    try:
        said = json.loads(_text(array.item()))
        pairs = [(each, key) if isinstance(each, int) else (key, each) for key, each in said.items()]
        return {int(number): str(name) for number, name in pairs}
    except (ValueError, TypeError, AttributeError):
        return {}


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
