"""Checks what a frozen dataclass of options is given, as its fields declare it; knows no option. Pure."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from loader_service.errors import ConfigError
from loader_service.protocol.numbers import whole_number


def whole(lowest: int, highest: int) -> dict[str, Any]:
    """Return what declares a field a whole number with bounds; None is left alone where it may be given."""
    return {"bounds": (lowest, highest)}


def check_each(instance: Any, prefix: str = "") -> None:
    """Check each number, truth value and choice of an instance that is being made, as its fields declare them.

    Whole numbers become Python's own, since NumPy's cannot travel, and lists that people write for tuples become those.
    """
    hints = _hints(instance.__class__)
    for each in fields(instance):
        value, hint, name = getattr(instance, each.name), hints[each.name], f"{prefix}{each.name}"
        if isinstance(value, list):
            object.__setattr__(instance, each.name, tuple(value))
        if "bounds" in each.metadata:
            if value is not None or type(None) not in get_args(hint):
                object.__setattr__(instance, each.name, whole_number(name, value, *each.metadata["bounds"]))
        elif hint is bool and not isinstance(value, bool):
            raise ConfigError(f"{name}={value!r} is no truth value; give True or False")
        elif get_origin(hint) is Literal and not _is_one_of(value, get_args(hint)):
            raise ConfigError(f"{name}={value!r} is unknown; choose one of {', '.join(map(repr, get_args(hint)))}")


@cache
def _hints(kind: type) -> dict[str, Any]:
    """Return the types of a class's fields; its annotations are texts, which take longer to read than all checks."""
    return get_type_hints(kind)


def _is_one_of(value: Any, choices: tuple[Any, ...]) -> bool:
    """Tell whether a value is a choice; arrays and tensors, which compare by element or not at all, are none."""
    return isinstance(value, tuple(map(type, choices))) and value in choices
