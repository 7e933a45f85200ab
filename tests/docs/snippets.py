"""Snippets of the pages, as they stand there: their language, the file that they are, what they need."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_FENCE = re.compile(
    r"(?:^<!-- needs: (?P<needs>[\w, ]+) -->\n)?"
    r"^```(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Snippet:
    """One block of a page.

    Parameters
    ----------
    page
        The file of the page.
    line
        Where it begins.
    language
        As it is written; "" for none.
    title
        The file that the reader is to make of it; "" for none.
    needs
        What it needs that tests do not have; "" for nothing.
    code
        Its text.
    """

    page: Path
    line: int
    language: str
    title: str
    needs: str
    code: str


def pages() -> list[Path]:
    """Return all pages."""
    return sorted(DOCS.rglob("*.md"))


def snippets_of(page: Path) -> list[Snippet]:
    """Return the snippets of a page, in their order."""
    text = page.read_text(encoding="utf-8")
    return [
        Snippet(
            page,
            text.count("\n", 0, match.start()) + 1,
            match["language"],
            match["title"] or "",
            match["needs"] or "",
            match["code"],
        )
        for match in _FENCE.finditer(text)
    ]
