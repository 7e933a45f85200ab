"""Makes command-line options of a configuration's fields, so that each option is declared once."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import click

from loader_service.config import parse_size
from loader_service.errors import ConfigError
from loader_service.option_fields import nested
from loader_service.worker_bounds import REMOTE_SPELLING, SPELLING, WorkerBounds
from loader_service.worker_limits import parse_workers

_Command = Callable[..., Any]


class _Spelled(click.ParamType):  # type: ignore[type-arg,unused-ignore] # generic in some versions of click only
    """A value with a spelling of its own, such as ``8G``."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return what is meant, or end with the parser's own message."""
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except ConfigError as error:
            self.fail(str(error), param, ctx)


#: Types of options whose values have a spelling of their own, by its name.
SPELLINGS: dict[str, _Spelled] = {
    "workers": _Spelled("N|auto", parse_workers),
    "bounds": _Spelled(SPELLING, WorkerBounds.of),
    "remote": _Spelled(REMOTE_SPELLING, WorkerBounds.of_remote),
    "size": _Spelled("size", parse_size),
}


def options_of(config: type, only: frozenset[str] | None = None) -> Callable[[_Command], _Command]:
    """Return a decorator that adds an option for each field of a dataclass, or of one in it, that has a help text.

    Parameters
    ----------
    config
        A dataclass whose fields carry ``metadata={"help": …}``.
    only
        Names of the fields to take; None for all.
    """

    def decorate(command: _Command) -> _Command:
        """Add the options, the last one first: click shows them in the other order."""
        hints = typing.get_type_hints(config)
        inner = nested(config)
        for field in reversed(dataclasses.fields(config)):
            if field.name in inner:
                command = options_of(inner[field.name], only)(command)
            elif "help" in field.metadata and (only is None or field.name in only):
                command = _option(field, hints[field.name])(command)
        return command

    return decorate


def _option(field: dataclasses.Field[Any], hint: Any) -> Callable[[_Command], _Command]:
    flag = f"--{field.name.replace('_', '-')}"
    hidden = bool(field.metadata.get("hidden"))
    text = field.metadata["help"]
    if hint is bool:
        flags = [each for each in (field.metadata.get("short"), flag) if each]
        return click.option(*flags, field.name, is_flag=True, default=field.default, help=text)
    if typing.get_origin(hint) is tuple:
        return click.option(flag, field.name, multiple=True, default=field.default, help=text)
    choices = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
    spelling = field.metadata.get("spelling")
    kind: Any = click.Choice(choices) if choices else SPELLINGS[spelling] if spelling else _plain_type(hint)
    said = "default:" in text  # in words, where the value itself says nothing
    shown = not hidden and not said and not spelling and field.default is not None
    alone: dict[str, Any] = {"metavar": "[HOST:PORT]"} if "alone" in field.metadata else {}
    return click.option(flag, field.name, type=kind, default=field.default, help=text, show_default=shown, **alone)


#: Options that say which data is served.
_ONCE = ("--frames", "--label", "--labels", "--schema", "--split")


class LoneOptions(click.Command):
    """A command some of whose options may stand alone: click would take the next word, such as a file, for their value.

    Parameters
    ----------
    lone
        By flag: the value that it has alone, and what tells whether the next word is its value.
    """

    def __init__(self, *words: Any, lone: dict[str, tuple[str, Callable[[str], bool]]], **more: Any) -> None:
        super().__init__(*words, **more)
        self._lone = lone

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give the options that stand alone their values."""
        end = args.index("--") if "--" in args else len(args)
        self._refuse_twice(args[:end])
        written = []
        for place, word in enumerate(args[:end]):
            value, takes = self._lone.get(word, ("", bool))
            follows = args[place + 1] if place + 1 < end else ""
            written.append(f"{word}={value}" if word in self._lone and not takes(follows) else word)
        return super().parse_args(ctx, written + args[end:])

    @staticmethod
    def _refuse_twice(words: list[str]) -> None:
        """Refuse two values of an option that says which data is served: click would take the last, in silence."""
        for flag in _ONCE:
            follow = [after for word, after in pairwise(words) if word == flag]
            values = [*follow, *(word.partition("=")[2] for word in words if word.startswith(f"{flag}="))]
            if len(set(values)) > 1:
                shown = " and ".join(map(repr, values))
                raise click.UsageError(f"{flag} is given {len(values)} times, {shown}; it takes one: leave one out")


def _plain_type(hint: Any) -> Any:
    """Return the type of ``X`` and of ``X | None``."""
    return next((each for each in typing.get_args(hint) if each is not type(None)), hint)
