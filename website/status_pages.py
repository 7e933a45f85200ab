"""The page of what a service tells of itself, made of the messages that carry it."""

from __future__ import annotations

import ast
import inspect
from dataclasses import fields, is_dataclass

from loader_service.core.ledger import Counters
from loader_service.protocol import status_messages


def status_page() -> str:
    """Return the page: the fields of `status --json`, and the counters."""
    lines = [
        "# Fields of a status",
        "",
        "The messages that carry what `loader-service status --json` prints, each field with its type; counts are "
        "those since the start of the service. [Figures, metrics and the log](../metrics.md) says what the names mean.",
        "",
    ]
    for kind in _classes():
        lines += ["", f"## {kind.__name__}", "", inspect.cleandoc(kind.__doc__ or "").splitlines()[0], ""]
        lines += _table(kind)
    lines += [
        "",
        "## Counters of events",
        "",
        inspect.cleandoc(Counters.__doc__ or "").splitlines()[0],
        "",
        *_table(Counters),
    ]
    return "\n".join(lines) + "\n"


def _classes() -> list[type]:
    own = [each for each in vars(status_messages).values() if isinstance(each, type) and is_dataclass(each)]
    return [each for each in own if each.__module__ == status_messages.__name__]


def _table(kind: type) -> list[str]:
    notes = _comments(kind)
    rows = [
        f"| `{each.name}` | `{each.type!s}` | {notes.get(each.name, '')} |".replace(" | None", " \\| None")
        for each in fields(kind)
    ]
    return ["| field | type | |", "|---|---|---|", *rows]


def _comments(kind: type) -> dict[str, str]:
    """Return what stands behind each field in the code, by its name."""
    lines = inspect.getsource(kind).splitlines()
    found: dict[str, str] = {}
    for node in ast.parse(inspect.cleandoc("\n".join(lines))).body[0].body:  # type: ignore[attr-defined]
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            _, mark, note = lines[(node.end_lineno or 1) - 1].partition("  # ")
            found[node.target.id] = note.replace("|", "\\|") if mark else ""
    return found
