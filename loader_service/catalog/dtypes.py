"""What a dtype says of elements, as `DatasetInfo`, fields and scans have it: ``>f4``, ``S12``, ``vlen int16``. Pure.

An empty dtype is that of what is no field, and is none of these.
"""

from __future__ import annotations

import functools

import numpy as np


def is_number(dtype: str) -> bool:
    """Tell whether elements are numbers or bools, and neither texts nor lists of any length."""
    return dtype[:1] not in {"", "S", "v"}


def is_whole(dtype: str) -> bool:
    """Tell whether elements are whole numbers, in any byte order; bools are none."""
    return dtype.lstrip("<>")[:1] in {"i", "u"}


def is_floating(dtype: str) -> bool:
    """Tell whether elements are floating-point numbers, in any byte order."""
    return dtype.lstrip("<>")[:1] == "f"


def is_text(dtype: str) -> bool:
    """Tell whether elements are texts, of one width or of any."""
    return dtype[:1] == "S"


def is_one_text(dtype: str, shape: tuple[int, ...]) -> bool:
    """Tell whether an array is a single text, whatever axes its writer gave it."""
    return {*shape} <= {1} and is_text(dtype)


def is_vlen(dtype: str) -> bool:
    """Tell whether elements are lists of numbers, each of a length of its own."""
    return dtype[:4] == "vlen"


@functools.cache
def native_name(dtype: str) -> str:
    """Return NumPy's name of a dtype in memory, of texts the dtype itself; NumPy takes 5 µs to find it."""
    return dtype if is_text(dtype) else np.dtype(dtype).newbyteorder("=").name
