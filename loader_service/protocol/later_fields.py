"""Fields that messages got after they were first spoken: left out where they say nothing new. Pure.

A message is refused when it lacks a field or has one too many. So a field that comes later travels only when it has
another value than its default, and where it is absent it has that: peers of both ages understand each other as long as
nobody uses what only one of them knows.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Hashable
from functools import cache
from typing import Any

_KEY = "later"


def later(default: Any) -> Any:
    """Return what declares a field of a dataclass that travels only when it is not its default."""
    return dataclasses.field(default=default, metadata={_KEY: True})


@cache
def later_fields(kind: Hashable) -> dict[str, Any]:
    """Return the defaults of such fields of a class, by name; empty for most."""
    return {each.name: each.default for each in dataclasses.fields(typing.cast(Any, kind)) if _KEY in each.metadata}


def travelling(message: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that travel."""
    fields: dict[str, Any] = vars(message)
    kind: Any = type(message)
    defaults = later_fields(kind)
    if not defaults:
        return fields
    return {name: value for name, value in fields.items() if name not in defaults or value != defaults[name]}
