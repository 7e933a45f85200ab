"""The tables of docs/scale.md are those of the model, and the model fits what was measured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.scale_model import WORKS, Constants, Host, Work, core_s, lines, owners_of, predict, remote_pays

_DOCS = Path(__file__).parents[2] / "docs"
_CONSTANTS = Constants()


def test_the_page_has_the_tables_of_the_model() -> None:
    page = (_DOCS / "scale.md").read_text()
    assert [line for line in lines(_CONSTANTS) if line and line not in page] == []


def test_the_scheduler_is_predicted_within_a_tenth_of_what_was_measured() -> None:
    rows = re.findall(
        r"^\| ([\d,]+) \| 1 \| \d[\d,]* \| (\d+) µs \| [\d.]+ s \|", (_DOCS / "benchmarks.md").read_text(), re.MULTILINE
    )
    assert len(rows) >= 6
    for workers, measured in rows:
        predicted = core_s(Work(), int(workers.replace(",", "")), _CONSTANTS) * 1e6
        assert predicted == pytest.approx(float(measured), rel=0.1), workers


def test_a_step_has_as_many_tasks_as_owners() -> None:
    assert owners_of(16, 1) == 1
    assert owners_of(1, 1000) == pytest.approx(1)
    assert owners_of(16, 16) == pytest.approx(10.3, abs=0.05)
    assert owners_of(16, 10**9) == pytest.approx(16, abs=0.01)


def test_remote_workers_never_make_it_slower_and_pay_where_rows_leave_small() -> None:
    for work in WORKS.values():
        alone = predict(work, Host(remote=0), _CONSTANTS).rate
        rates = [predict(work, Host(remote=remote), _CONSTANTS).rate for remote in (1, 16, 128)]
        assert min(rates) >= 0.99 * alone
    small, large = WORKS["1080p to 224²"], WORKS["256 x 342, as they are"]
    assert remote_pays(small, _CONSTANTS) > 40
    assert remote_pays(large, _CONSTANTS) < 3
    assert predict(small, Host(remote=16), _CONSTANTS).rate > 1.9 * predict(small, Host(), _CONSTANTS).rate


def test_what_is_full_is_named() -> None:
    work = Work()
    assert predict(work, Host(cores=10_000, local=10_000), _CONSTANTS).full == "daemon"
    assert predict(work, Host(cores=64, local=1), _CONSTANTS).full == "local workers"
    assert predict(WORKS["1080p to 224²"], Host(remote=1000), _CONSTANTS).full == "network"
    slow = Constants(read_calls_per_s=160)
    assert predict(work, Host(), slow).full == "file system"
    assert predict(work, Host(), slow).rate == pytest.approx(10)
