"""A process that is asked in lines: neither waits for the other for ever, and its end or silence is seen and named."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from loader_service.children import readable
from loader_service.line_worker import LineWorker

#: Answers each line by as many as it says, of as many bytes; says nothing, or ends, where it is told so.
_SCRIPT = """
import json, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("ends"):
        sys.exit("no more")
    if asked.get("sleeps"):
        time.sleep(60)
    for number in range(asked["lines"]):
        print(json.dumps({"number": number, "text": "y" * asked["bytes"]}), flush=True)
"""

_PATIENCE_S = 100.0


@pytest.fixture
def worker(request: pytest.FixtureRequest) -> Iterator[LineWorker]:
    made = LineWorker([sys.executable, "-S", "-c", _SCRIPT], getattr(request, "param", _PATIENCE_S))
    yield made
    made.close()


def _heard(worker: LineWorker, count: int) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    deadline = time.monotonic() + _PATIENCE_S
    while len(said) < count and not worker.is_over(is_busy=True):
        assert time.monotonic() < deadline
        readable(worker.outputs, 1.0)
        said += worker.replies()
    return said


def test_requests_and_answers_that_fill_their_pipes_do_not_stand_still(worker: LineWorker) -> None:
    for _ in range(3):
        worker.tell({"lines": 20, "bytes": 100_000, "padding": "x" * 1_000_000})
    said = _heard(worker, 60)
    assert [each["number"] for each in said] == [*range(20)] * 3
    assert {len(each["text"]) for each in said} == {100_000}


def test_one_that_ended_is_named_with_its_last_words_and_can_be_begun_anew(worker: LineWorker) -> None:
    worker.tell({"ends": True})
    assert _heard(worker, 1) == []
    worker.tell({"lines": 1, "bytes": 1})  # harmless
    assert worker.end() == "exited with code 1: no more"
    worker.begin_anew()
    worker.tell({"lines": 1, "bytes": 1})
    assert _heard(worker, 1) == [{"number": 0, "text": "y"}]


@pytest.mark.parametrize("worker", [0.2], indirect=True)
def test_one_that_says_nothing_is_over_only_while_it_has_work(worker: LineWorker) -> None:
    worker.tell({"sleeps": True, "lines": 1, "bytes": 1})
    assert _heard(worker, 1) == []
    assert not worker.is_over(is_busy=False)
    assert worker.end() == "said nothing for 0.2 s"
