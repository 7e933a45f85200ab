"""Whole numbers: as users give them, checked and made Python's own, which alone travel; and many at once. Pure."""

from __future__ import annotations

import operator
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loader_service.errors import ConfigError

_LITTLE_ENDIAN = np.dtype("<i8")

#: So many numbers take less time one by one than as bytes.
_FEW = 16


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
    if type(value) is int and lowest <= value <= highest:
        return value
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


class PackedNumbers(Sequence[int]):
    """Many whole numbers of 64 bits, kept as the bytes in which they travel; nobody looks at each on its way.

    Equal to a tuple of the same numbers.

    Parameters
    ----------
    data
        Eight bytes for each, the lowest first.
    """

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data

    @property
    def array(self) -> NDArray[np.int64]:
        """The numbers, ``(numbers,)``, read-only."""
        return np.frombuffer(self.data, _LITTLE_ENDIAN)

    def take(self, places: Sequence[int]) -> NumberColumn:
        """Return those in some places."""
        return number_column(self.array[list(places)])

    def __len__(self) -> int:
        return len(self.data) // 8

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return PackedNumbers(self.array[place].tobytes())
        return self.array.item(place)

    def __iter__(self) -> Iterator[int]:
        return iter(self.array.tolist())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PackedNumbers):
            return self.data == other.data
        return tuple(self) == other

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


#: Numbers in a message: many as bytes, a few as they are, which is shorter.
NumberColumn = tuple[int, ...] | PackedNumbers


def number_column(numbers: NDArray[np.int64]) -> NumberColumn:
    """Return the numbers of an array as they travel best."""
    if len(numbers) <= _FEW:
        return tuple(numbers.tolist())
    return PackedNumbers(numbers.astype(_LITTLE_ENDIAN, copy=False).tobytes())


def int64_column(numbers: Sequence[int]) -> NDArray[np.int64]:
    """Return numbers as an array, ``(numbers,)``, read-only; of a tuple of 128 in 1 µs, for which `np.asarray` takes 4.

    Raises
    ------
    struct.error
        When one has no 64 bits, or is no integer.
    """
    if isinstance(numbers, PackedNumbers):
        return numbers.array
    return np.frombuffer(struct.pack(f"{len(numbers)}q", *numbers), np.int64)


def are_below(numbers: Sequence[int], end: int) -> bool:
    """Return whether all numbers, of 64 bits and at least one, are 0 or more and less than `end`."""
    # As words without a sign, in which what is negative is too large.
    return bool(np.maximum.reduce(int64_column(numbers).view(np.uint64)) < end)


def are_int64(values: list[Any]) -> bool:
    """Tell whether all are whole numbers of 64 bits, as Python has them: of 128, in 3 µs."""
    if set(map(type, values)) != {int}:  # a truth value has a type of its own
        return False
    try:
        struct.pack(f"{len(values)}q", *values)  # takes a third of the time of `max`
    except struct.error:
        return False
    return True
