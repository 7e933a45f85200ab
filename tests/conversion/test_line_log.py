"""A log of lines: what was written comes back, whatever a kill has cut off, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from loader_service.conversion.line_log import LineLog

LINES = [{"number": number, "text": "ä" * number} for number in range(4)]


def opened(path: Path, taken: list[Any]) -> LineLog:
    def take(said: dict[str, Any]) -> None:
        taken.append({"number": int(said["number"]), "text": said["text"]})

    return LineLog(os.open(path, os.O_RDWR | os.O_CREAT), take)


def read(path: Path) -> list[Any]:
    taken: list[Any] = []
    opened(path, taken).close()
    return taken


def test_lines_that_were_cut_off_anywhere_are_none_and_the_next_follow_the_whole_ones(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with opened(path, []) as log:
        log.write(LINES[:2])
        log.write(LINES[2:], sync=True)
    assert read(path) == LINES
    data = path.read_bytes()
    for end in range(len(data)):
        path.write_bytes(data[:end])
        taken: list[Any] = []
        with opened(path, taken) as log:
            assert taken == LINES[: data[:end].count(b"\n")]
            log.write(LINES[3:])
        assert read(path) == [*taken, LINES[3]]


@pytest.mark.parametrize("line", [b"no JSON\n", b"[]\n", b'{"number": "x"}\n', b"\xff\n"])
def test_a_line_that_is_none_of_the_log_is_cut_away_with_all_that_follow(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "log"
    with opened(path, []) as log:
        log.write(LINES[:1])
    whole = path.read_bytes()
    path.write_bytes(whole + line + whole)
    assert read(path) == LINES[:1]
    assert path.read_bytes() == whole
    with opened(path, []) as log:
        log.clear()
    assert read(path) == []
