"""Each test that `docs/threats.md` names is there."""

from __future__ import annotations

import re
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_FILE = re.compile(r"\b([a-z_]+/test_\w+\.py)")
_FRAGMENT = re.compile(r"`(?:[a-z_]+/test_\w+\.py: )?(…?\w+(?:…\w*)*…?)`")


def names_in(path: Path) -> list[str]:
    return re.findall(r"^def test_(\w+)\(", path.read_text(), re.MULTILINE)


def shown_by(section: str) -> list[str]:
    """Return the last cell of each row of a section's tables."""
    rows = [line for line in section.splitlines() if line.startswith("| ") and not line.endswith("| shown by |")]
    return [row.rsplit(" | ", 1)[1].removesuffix(" |") for row in rows]


def test_each_test_that_the_page_of_threats_names_is_there() -> None:
    looked_at = 0
    for section in (_ROOT / "docs" / "threats.md").read_text().split("\n## ")[1:]:
        files: list[str] = []
        for cell in shown_by(section):
            files += _FILE.findall(cell)
            names = [name for each in files for name in names_in(_ROOT / "tests" / each)]
            for fragment in _FRAGMENT.findall(cell):
                pattern = ".*".join(map(re.escape, fragment.split("…")))
                assert any(re.fullmatch(pattern, name) for name in names), f"{fragment!r} is no test of {files}"
                looked_at += 1
    assert looked_at > 40
