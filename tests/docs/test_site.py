"""The site's pages that are made of the code have all of it: commands and options, errors, fields of a status."""

from __future__ import annotations

import re

import click
import pytest

import loader_client
from loader_service import errors
from loader_service.cli import cli
from loader_service.core.ledger import Counters
from loader_service.errors import BY_NAME
from tests.docs.snippets import DOCS, ROOT, pages
from website.command_pages import commands_page
from website.error_pages import errors_page, messages
from website.status_pages import status_page

#: What a page must not take from the network.
_FOREIGN = re.compile(r"!\[[^\]]*\]\(https?://|<(?:script|img|iframe)\b")


def test_the_page_of_commands_has_every_option_with_its_help() -> None:
    page = commands_page()
    for name, command in cli.every_command().items():
        section = page.partition(f"\n## {name}\n")[2].split("\n## ")[0]
        assert section, name
        for param in command.params:
            if isinstance(param, click.Option):
                assert all(f"{flag}" in section for flag in param.opts), (name, param.name)
        assert "Environment:" in section or name == "completion"


def test_the_page_of_errors_has_every_class_and_most_have_messages() -> None:
    page, said = errors_page(), messages()
    kinds = {name: each for name, each in vars(errors).items() if isinstance(each, type)}
    assert set(BY_NAME) <= set(kinds)
    for name, kind in kinds.items():
        section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert " ".join((kind.__doc__ or "-").split()) in section, f"{name} is not said to be caused by anything"
        assert name in said or kind.__subclasses__(), f"{name} has no message"
    assert sum(map(len, said.values())) > 300
    assert {"ConfigError", "CatalogError", "DecodeError", "ServiceUnavailable", "SourceError"} <= set(said)


def test_the_page_of_python_has_every_name_that_users_import() -> None:
    page = (DOCS / "reference" / "api.md").read_text()
    named = {each.rpartition(".")[2] for each in re.findall(r"^::: (\S+)$", page, re.MULTILINE)}
    kinds = {name for name, each in vars(errors).items() if isinstance(each, type)}
    keras = re.search(r"__all__ = \[(.*)\]", (ROOT / "client/loader_client/keras.py").read_text())
    assert keras is not None
    wanted = {*loader_client.__all__, *re.findall(r'"(\w+)"', keras[1]), "FigureWriter"}
    assert wanted - kinds - {"__version__"} <= named


def test_the_page_of_the_status_has_every_counter_with_what_the_code_says_of_it() -> None:
    page = status_page()
    assert all(f"`{name}`" in page for name in vars(Counters()))
    assert "| `steps_redone` | `int` | in another slot, since a worker was late with rows of them |" in page
    assert "| `workers_why` |" in page


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_no_page_takes_anything_from_the_network(page) -> None:
    assert not _FOREIGN.search(page.read_text())


def test_every_page_is_named_by_the_navigation_or_found_by_the_hook() -> None:
    named = set(re.findall(r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    made = {"reference/cli.md", "reference/errors.md", "reference/metrics.md"}
    there = {page.relative_to(DOCS).as_posix() for page in pages()}
    assert named - made <= there, "the navigation names pages that are not there"
    assert "metrics.md" in named, "names of figures and metrics are reference, and no how-to page"


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_a_page_has_one_title(page) -> None:
    lines = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert len(re.findall(r"^# .", lines, re.MULTILINE)) == 1
