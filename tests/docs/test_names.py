"""A name means one thing: no two classes, private or not, and no two files of the product share one."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = [*(ROOT / "loader_service").rglob("*.py"), *(ROOT / "client").rglob("*.py")]


def test_no_two_classes_have_one_name() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in FILES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append(str(path.relative_to(ROOT)))
    assert len(places) > 100
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_no_two_files_have_one_name() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in FILES:
        if not path.name.startswith("__"):
            places[path.name].append(str(path.relative_to(ROOT)))
    assert len(places) > 100
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_no_file_is_longer_than_350_lines() -> None:
    lengths = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8").count("\n") for path in FILES}
    assert {path: length for path, length in lengths.items() if length > 350} == {}
