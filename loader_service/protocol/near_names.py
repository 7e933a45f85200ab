"""Says which option was meant where a name is misspelt; knows no option."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

_Kind = TypeVar("_Kind")
_Call = TypeVar("_Call", bound=Callable[..., Any])


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
                raise TypeError(_unexpected(name, names, kind.__name__))
        made(self, *given, **options)

    kind.__init__ = checked  # type: ignore[method-assign]
    return kind


def tells_near_options(elsewhere: Callable[[str], str | None] = lambda _: None) -> Callable[[_Call], _Call]:
    """Have a function say the same of its options.

    Parameters
    ----------
    elsewhere
        Returns what to give where a name is an option of something else, or None.
    """

    def telling(call: _Call) -> _Call:
        names = tuple(inspect.signature(call).parameters)

        @functools.wraps(call)
        def checked(*given: Any, **options: Any) -> Any:
            for name in options:
                if name not in names:
                    where = elsewhere(name)
                    said = f"unexpected keyword argument {name!r} of {call.__name__}; {where}"
                    raise TypeError(said if where else _unexpected(name, names, call.__name__))
            return call(*given, **options)

        return checked  # type: ignore[return-value] # it takes the same

    return telling


def _unexpected(name: str, names: Sequence[str], what: str) -> str:
    close = nearest(name, names)
    hint = f"did you mean {close!r}? It takes" if close else "it takes"
    return f"unexpected keyword argument {name!r} of {what}; {hint} {', '.join(names) or 'none'}"
