"""The page of the command line, made of click's own commands and options."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from loader_service.cli import cli


def commands_page() -> str:
    """Return the page: each command with its usage, options, environment and examples."""
    lines = [
        "# Command line",
        "",
        inspect.cleandoc(cli.help or ""),
        "",
        "Exit codes: 0 done; 1 failed while running; 2 wrong usage or configuration; 130 stopped by Ctrl-C. "
        "An error is one line on standard error.",
        "",
    ]
    for name, command in sorted(cli.every_command().items()):
        lines += _section(name, command, click.Context(command, info_name=f"loader-service {name}"))
    return "\n".join(lines) + "\n"


def _section(name: str, command: click.Command, context: click.Context) -> Iterator[str]:
    yield from ("", f"## {name}", "", "```text", f"loader-service {name} {' '.join(_pieces(command, context))}", "```")
    yield from ("", _prose(command.help or ""), "")
    options = [each for each in command.get_params(context) if isinstance(each, click.Option) and not each.hidden]
    yield from ("| option | what it does |", "|---|---|")
    for option in options:
        record = option.get_help_record(context)
        if record is not None:
            yield f"| {_code(record[0])} | {_cell(record[1])} |"
    if command.epilog:
        yield from ("", "```text", inspect.cleandoc(command.epilog.replace("\b", "")).strip(), "```")


def _pieces(command: click.Command, context: click.Context) -> list[str]:
    return command.collect_usage_pieces(context)


def _prose(text: str) -> str:
    return inspect.cleandoc(text).replace("\b\n", "").replace("*", "\\*")


def _code(text: str) -> str:
    return f"`{text}`"  # a pipe in code divides no cells


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
