"""The command line of ``start`` where one program gives it to another: written, and read again from outside.

Its options are the fields of `ServiceConfig`, which the command line itself is made of too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from loader_service.children import command
from loader_service.config import ServiceConfig
from loader_service.option_fields import all_fields

_SWITCHES = {field.name for field in all_fields(ServiceConfig) if isinstance(field.default, bool)}


def start_words(
    options: Mapping[str, str | Sequence[str]], more: Sequence[str] = (), files: Sequence[str] = ()
) -> list[str]:
    """Return the command that starts a service.

    Parameters
    ----------
    options
        Texts by the names of the fields of `ServiceConfig`. A list gives its option several times; a switch is given by
        ``"True"``.
    more
        Arguments that are written as people write them.
    files
        Names or patterns, also with a dash in front.
    """
    flags = [
        flag
        for name, one_or_more in options.items()
        for value in ([one_or_more] if isinstance(one_or_more, str) else one_or_more)
        for flag in _written(name, value)
    ]
    return command("loader_service.entry_point", "start", *flags, *more, *(["--", *files] if files else []))


def read_option(arguments: Sequence[str], name: str) -> str | None:
    """Return what a command line gives an option, as `start_words` writes it: the last value, None without any."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if name in _SWITCHES:
        return "True" if _flag(name) in options else None
    given = f"{_flag(name)}="
    return next((each.removeprefix(given) for each in reversed(options) if each.startswith(given)), None)


def _written(name: str, value: str) -> Iterator[str]:
    if name not in _SWITCHES or value not in {"True", "False"}:
        yield f"{_flag(name)}={value}"
    elif value == "True":
        yield _flag(name)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
