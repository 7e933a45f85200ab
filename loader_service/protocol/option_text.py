"""Options as people read them: of a dataclass, the fields that are not their default. Pure."""

from __future__ import annotations

import dataclasses
from typing import Any


def option_text(options: Any) -> str:
    """Return options, such as ``Spec(batch_size=16, clip=Clip(frames=8))``; other values as Python writes them."""
    if not dataclasses.is_dataclass(options):
        return repr(options)
    told = [
        f"{each.name}={option_text(value)}"
        for each in dataclasses.fields(options)
        if each.repr and (value := getattr(options, each.name)) != _default(each)
    ]
    return f"{type(options).__name__}({', '.join(told)})"


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default
