"""Rows of a file whose time or inode has changed wait until somebody has looked at it: the scheduler's part of that."""

from __future__ import annotations

from loader_service.core import effects as a
from loader_service.core import events as e
from tests.core.desk import Desk, failed, noted, orders, ready, send


def touched(desk: Desk, worker: int, task: int, *rows: int) -> list[a.Effect]:
    """Report a task some of whose rows lie in a file that has to be looked at."""
    return desk.end(worker, task, *rows, error="FileTouched")


def busy(substitutes: int = 0) -> Desk:
    """Return a scheduler whose two workers are at a step: the first at row 1 of file 1, the second at row 0."""
    desk = Desk(workers=2)
    desk.open(substitutes=substitutes)
    assert set(desk.want(0)) == {send(2, 1, (0,)), send(1, 2, (1,))}
    return desk


def test_rows_of_a_touched_file_are_done_when_it_was_looked_at_and_are_not_counted_as_bad() -> None:
    desk = busy(substitutes=3)
    assert touched(desk, 2, 1, 0) == [a.CheckFile(0)]
    assert desk.end(1, 2) == []
    assert not desk.scheduler.idle
    assert desk.happen(e.FileChecked(0)) == [send(2, 3, (0,))]
    assert desk.end(2, 3) == [ready(0, lease=1)]
    assert (desk.service.counters.samples_bad, desk.service.counters.samples_substituted) == (0, 0)
    assert desk.scheduler.idle


def test_a_file_with_other_content_fails_its_rows_and_no_other_sample_takes_their_place() -> None:
    desk = busy(substitutes=3)
    touched(desk, 2, 1, 0)
    desk.end(1, 2)
    assert desk.happen(e.FileChecked(0, "other frames")) == [
        *noted("CatalogChanged: other frames", told=True),
        failed(0, "CatalogChanged", "other frames"),
    ]
    assert desk.scheduler.idle


def test_a_file_is_asked_for_once_though_many_rows_wait_for_it() -> None:
    desk = Desk(workers=1)
    desk.open(slots=2, files=(0, 0))
    desk.want(0)
    desk.want(1)
    assert a.CheckFile(0) in touched(desk, 1, 1, 0, 1)
    assert a.CheckFile(0) not in touched(desk, 1, 2, 0, 1)
    again = desk.happen(e.FileChecked(0))
    assert {row for _, task in orders(again) for row in task.rows.numbers} == {0, 1}


def test_a_file_that_changes_again_is_looked_at_again() -> None:
    desk = busy()
    touched(desk, 2, 1, 0)
    desk.end(1, 2)
    desk.happen(e.FileChecked(0))
    assert touched(desk, 2, 3, 0) == [a.CheckFile(0)]


def test_held_rows_go_with_their_want_stream_and_client() -> None:
    for go in (lambda desk: desk.forget(0), Desk.close, Desk.lose):
        desk = busy()
        touched(desk, 2, 1, 0)
        desk.end(1, 2)
        go(desk)
        assert desk.scheduler.idle
        assert desk.happen(e.FileChecked(0)) == []


def test_a_check_that_nobody_asked_for_changes_nothing() -> None:
    assert busy().happen(e.FileChecked(1, "other frames")) == []
