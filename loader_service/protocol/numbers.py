"""Whole numbers: as users give them, checked and made Python's own, which alone travel; and many at once. Pure."""

from __future__ import annotations

import operator
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loader_service.errors import ConfigError


def whole_number(name: str, value: Any, lowest: int, highest: int) -> int:
    """Return a number as an `int`.

    Parameters
    ----------
    name
        What the user calls it.
    value
        An integer of any kind.
    lowest, highest
        What it may be.

    Raises
    ------
    ConfigError
        When it is no whole number, or out of range.
    """
    number = as_int(name, value, f"{lowest} to {highest}")
    if not lowest <= number <= highest:
        raise ConfigError(f"{name}={number} is out of range; give {lowest} to {highest}")
    return number


def as_int(name: str, value: Any, expected: str) -> int:
    """Return a number as an `int`, whatever its size; when it is none, the error says what is expected.

    Raises
    ------
    ConfigError
        When it is no whole number.
    """
    given: Any = None if isinstance(value, bool) else value  # True is 1 to Python, and to no user
    try:
        return operator.index(given)
    except TypeError as error:
        raise ConfigError(f"{name}={value!r} is not a whole number; give {expected}") from error


def int64_column(numbers: Sequence[int]) -> NDArray[np.int64]:
    """Return numbers as an array, ``(numbers,)``, read-only; of 128 in 1 µs, for which `np.asarray` takes 4.

    Raises
    ------
    struct.error
        When one has no 64 bits, or is no integer.
    """
    return np.frombuffer(struct.pack(f"{len(numbers)}q", *numbers), np.int64)


def are_below(numbers: Sequence[int], end: int) -> bool:
    """Return whether all numbers, of 64 bits and at least one, are 0 or more and less than `end`."""
    # As words without a sign, in which what is negative is too large.
    return bool(np.maximum.reduce(int64_column(numbers).view(np.uint64)) < end)
