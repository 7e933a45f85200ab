"""Says which option was meant where a name is misspelt; knows no option."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable
from typing import Any, TypeVar

_Kind = TypeVar("_Kind")


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the name that was most likely meant; None where none is alike."""
    import difflib  # noqa: PLC0415 - for who has mistaken a name

    return next(iter(difflib.get_close_matches(name, list(names), n=1)), None)


def tells_near_names(kind: type[_Kind]) -> type[_Kind]:
    """Have a dataclass say which of its options was meant, and which there are, where it is given another name.

    Python itself does so for misspelt attributes, and not for keyword arguments before 3.13.
    """
    made: Any = kind.__init__
    names = tuple(each.name for each in dataclasses.fields(kind) if each.init)  # type: ignore[arg-type]

    @functools.wraps(made)
    def checked(self: Any, *given: Any, **options: Any) -> None:
        for name in options:
            if name not in names:
                close = nearest(name, names)
                hint = f"did you mean {close!r}? It takes" if close else "it takes"
                said = f"unexpected keyword argument {name!r} of {kind.__name__}; {hint} {', '.join(names)}"
                raise TypeError(said)
        made(self, *given, **options)

    kind.__init__ = checked  # type: ignore[method-assign]
    return kind
