"""No part of the project looks at the wall clock, so one that jumps is nobody's concern."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_SOURCES = sorted([*(_ROOT / "loader_service").rglob("*.py"), *(_ROOT / "client").rglob("*.py")])

#: What tells the time of day, by module.
_WALL_CLOCKS = {
    "time": {"time", "time_ns", "localtime", "gmtime", "ctime", "asctime", "strftime", "CLOCK_REALTIME"},
    "datetime": {"datetime", "date"},
}


def looks_at_the_clock(source: str) -> Iterator[str]:
    """Yield each use of a wall clock in a source text."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if name in _WALL_CLOCKS.get(module, ()):
                yield f"line {node.lineno}: {module}.{name}"
            case ast.ImportFrom(module=str(module)):
                yield from (
                    f"line {node.lineno}: from {module} import {each.name}"
                    for each in node.names
                    if each.name in _WALL_CLOCKS.get(module, ())
                )


@pytest.mark.parametrize("source", _SOURCES, ids=lambda path: str(path.relative_to(_ROOT)))
def test_a_file_knows_monotonic_time_only(source: Path) -> None:
    assert list(looks_at_the_clock(source.read_text())) == []


@pytest.mark.parametrize("text", ["import time; time.time()", "from time import time", "from datetime import datetime"])
def test_a_wall_clock_would_be_found(text: str) -> None:
    assert list(looks_at_the_clock(text))
