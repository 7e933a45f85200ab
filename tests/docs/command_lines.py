"""The command lines of a page, each run in this process as a shell would run it in the current folder."""

from __future__ import annotations

import shlex
from importlib import metadata
from typing import TYPE_CHECKING

from loader_service.cli import cli
from loader_service.config import ServiceConfig
from loader_service.option_fields import build
from tests.docs.snippets import DOCS, snippets_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def command_lines(page: str) -> list[list[str]]:
    """Return the words of each command in the shell's snippets of a page, comments left out."""
    lines = (line for each in snippets_of(DOCS / page) if each.language == "bash" for line in each.code.splitlines())
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def run(words: list[str], *more: str) -> None:
    """Run a command of ours to its end, with more arguments; of `start`, read the options and no more.

    Raises
    ------
    SystemExit
        When it ends with another exit code than 0.
    LoaderError, click.ClickException
        As it does.
    """
    program, name, *arguments = words
    assert program == "loader-service", words
    if name == "start":
        options = cli.every_command()[name].make_context(name, arguments).params
        build(ServiceConfig, options)
    else:
        cli.main([name, *arguments, *more], prog_name=program, standalone_mode=False)


def installed_extras(page: str) -> Iterator[str]:
    """Yield the extras that a page says to install; each must be one of ours."""
    for words in command_lines(page):
        if words[:2] == ["pip", "install"]:
            name, _, extra = words[2].rstrip("]").partition("[")
            assert extra in (metadata.metadata(name).get_all("Provides-Extra") or ()), words
            yield extra
