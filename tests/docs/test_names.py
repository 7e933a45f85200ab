"""A name means one thing: no two classes, private or not, and no two files of the product share one.

Nothing lies in the tree that was not put there.
"""

from __future__ import annotations

import ast
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = {"benchmarks", "client", "deploy", "docs", "examples", "loader_service", "tests", "website"}
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


def test_no_other_folder_is_kept() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout of git")
    kept = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    folders = {path.partition("/")[0] for path in kept.stdout.splitlines() if "/" in path}
    assert folders - {".ci"} == FOLDERS
