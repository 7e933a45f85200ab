"""Whole numbers as users give them, NumPy's among them: checked, and made Python's own, which alone travel. Pure."""

from __future__ import annotations

import operator
from typing import Any

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
