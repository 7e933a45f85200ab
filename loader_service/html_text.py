"""HTML for notebooks, in which every text is escaped: tables, paragraphs, pictures. Knows nothing of what it shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

#: Characters of one text that are shown.
_MOST_CHARACTERS = 500

_CELL = "text-align:left;padding:2px 12px 2px 0;vertical-align:top"


def text(value: Any) -> str:
    """Return anything as text that is no HTML, cut where it is very long."""
    words = str(value)
    return escaped(words if len(words) <= _MOST_CHARACTERS else f"{words[:_MOST_CHARACTERS]}…")


def escaped(words: str) -> str:
    """Return a whole text as one that is no HTML."""
    import html  # noqa: PLC0415 - with all names of HTML's entities, and only notebooks show any

    return html.escape(words)


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table of texts; no head when it is empty."""
    lines = [_line("th", head)] if head else []
    return f"<table>{''.join([*lines, *(_line('td', row) for row in rows)])}</table>"


def paragraph(value: Any, *, bold: bool = False) -> str:
    """Return one paragraph of text."""
    words = f"<b>{text(value)}</b>" if bold else text(value)
    return f"<p style='margin:4px 0'>{words}</p>"


def picture(address: str, words: str) -> str:
    """Return a picture whose bytes are in its address."""
    return f"<img src='{escaped(address)}' alt='{text(words)}' style='max-width:100%;height:auto'>"


def _line(tag: str, cells: Sequence[Any]) -> str:
    return f"<tr>{''.join(f'<{tag} style={_CELL!r}>{text(each)}</{tag}>' for each in cells)}</tr>"
