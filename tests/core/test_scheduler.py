"""A step from the want to the returned lease, told by the whole list of what the scheduler answers."""

from __future__ import annotations

import pytest

from loader_service.core import effects as a
from loader_service.core import events as e
from loader_service.protocol import messages as m
from loader_service.protocol.totals import StreamTotals, WorkerTotals
from tests.core.desk import MIB, Desk, failed, noted, ready, send

# ---- wants


def test_a_step_is_wanted_filled_announced_and_released(desk: Desk) -> None:
    assert desk.want(5) == [send(1, 2, (1,)), send(2, 1, (0,))]
    assert desk.end(1, 2) == []
    assert desk.end(2, 1) == [ready(5, lease=1)]
    assert desk.release(1) == []
    assert desk.want(6) == [send(1, 4, (1,)), send(2, 3, (0,))]


def test_a_want_repeated_while_it_waits_or_fills_is_not_answered_twice(desk: Desk) -> None:
    desk.want(5)
    assert desk.want(5) == []
    desk.want(6)
    assert desk.want(6) == []
    desk.end(1, 2)
    assert desk.end(2, 1) == [ready(5, lease=1)]


def test_a_want_repeated_after_its_answer_gets_the_same_lease_again(desk: Desk) -> None:
    desk.want(5)
    desk.end(1, 2)
    desk.end(2, 1)
    assert desk.want(5) == [ready(5, lease=1)]
    assert desk.release(1) == []


def test_wants_get_slots_in_the_order_in_which_they_came(desk: Desk) -> None:
    for want in (7, 5, 6):
        desk.want(want)
    desk.end(1, 2)
    assert desk.end(2, 1) == [ready(7, lease=1)]
    assert desk.release(1) == [send(1, 4, (1,)), send(2, 3, (0,))]
    desk.end(1, 4)
    assert desk.end(2, 3) == [ready(5, lease=2)]


def test_a_want_forgotten_while_waiting_is_gone(desk: Desk) -> None:
    desk.want(5)
    desk.want(6)
    assert desk.forget(6) == []
    desk.end(1, 2)
    desk.end(2, 1)
    assert desk.release(1) == []


def test_a_want_forgotten_while_filling_keeps_its_slot_until_the_last_worker_is_done(desk: Desk) -> None:
    desk.want(5)
    desk.want(6)
    assert desk.forget(5) == []
    assert desk.end(2, 1) == []
    assert desk.end(1, 2) == [send(1, 4, (1,)), send(2, 3, (0,))]


def test_the_tasks_of_a_forgotten_want_that_wait_are_never_given() -> None:
    desk = Desk(workers=1, files=1)
    desk.open(slots=3, files=(0,))
    for want in (1, 2, 3):
        desk.want(want)
    assert desk.forget(3) == []
    assert desk.want(4) == []
    assert desk.end(1, 1) == [ready(1, lease=1, rows=1), send(1, 4, (0,), slot=12)]


def test_a_forgotten_want_that_is_repeated_stays_forgotten(desk: Desk) -> None:
    desk.want(5)
    desk.forget(5)
    assert desk.want(5) == []
    assert desk.end(2, 1) == desk.end(1, 2) == []
    assert desk.streams()[0].slots_filling == 0


def test_a_forgotten_want_whose_worker_dies_gives_its_slot_up_when_that_is_reaped(desk: Desk) -> None:
    desk.want(5)
    desk.want(6)
    desk.forget(5)
    desk.end(2, 1)
    assert desk.exit(1) == [a.StartWorker(3), send(2, 3, (0, 1))]


def test_a_want_forgotten_after_its_answer_returns_its_lease(desk: Desk) -> None:
    desk.want(5)
    desk.end(1, 2)
    desk.end(2, 1)
    desk.want(6)
    assert desk.forget(5) == [send(1, 4, (1,)), send(2, 3, (0,))]


def test_forgetting_what_is_over_is_fine(desk: Desk) -> None:
    assert desk.forget(5) == []


# ---- bad samples


def test_a_bad_row_fails_the_step_by_name_once_its_other_rows_are_done(desk: Desk) -> None:
    desk.want(5)
    assert desk.end(2, 1, 0) == [*noted("DecodeError: row 0")]
    assert desk.end(1, 2) == [failed(5, "DecodeError", "row 0")]
    assert desk.want(6) == [send(1, 4, (1,)), send(2, 3, (0,))]


@pytest.mark.parametrize("order", [((1, 2, 1), (2, 1, 0)), ((2, 1, 0), (1, 2, 1))])
def test_the_lowest_bad_row_names_the_error_whichever_was_found_first(
    desk: Desk, order: tuple[tuple[int, int, int], ...]
) -> None:
    desk.want(5)
    answers = [desk.end(*each) for each in order][-1]
    assert answers[-1] == failed(5, "DecodeError", "row 0")


def test_a_bad_row_is_substituted_as_often_as_the_stream_allows() -> None:
    desk = Desk(workers=2)
    desk.open(substitutes=2)
    desk.want(5)
    desk.end(1, 2)
    assert desk.end(2, 1, 0) == [*noted("DecodeError: row 0", told=True), send(2, 3, (0,), (100,))]
    assert desk.end(2, 3, 0) == [*noted("DecodeError: row 0", told=True), send(2, 4, (0,), (200,))]
    assert desk.end(2, 4) == [ready(5, lease=1, substituted=1)]
    assert desk.streams()[0].samples_substituted == 1
    counters = desk.service.counters
    assert (counters.samples_bad, counters.samples_substituted) == (2, 2)


def test_a_row_that_stays_bad_fails_the_step() -> None:
    desk = Desk(workers=2)
    desk.open(substitutes=1)
    desk.want(5)
    desk.end(1, 2)
    desk.end(2, 1, 0)
    assert desk.end(2, 3, 0) == [
        *noted("DecodeError: row 0", told=True),
        failed(5, "DecodeError", "row 0; what was tried in its place, 1 times, was bad too"),
    ]


def test_a_bad_row_named_twice_or_not_of_the_task_counts_once_or_not_at_all() -> None:
    desk = Desk(workers=2)
    desk.open(substitutes=1)
    desk.want(5)
    assert desk.end(2, 1, 0, 0, 1, 9) == [*noted("DecodeError: row 0", told=True), send(2, 3, (0,), (100,))]


def test_a_report_said_twice_counts_once(desk: Desk) -> None:
    desk.want(5)
    desk.end(2, 1)
    assert desk.end(2, 1, 0) == []
    assert desk.end(1, 2) == [ready(5, lease=1)]


# ---- time and status


def test_there_is_no_deadline_while_nothing_is_awaited(desk: Desk) -> None:
    assert desk.scheduler.next_deadline() is None
    desk.now = 3.0
    desk.want(5)
    assert desk.scheduler.next_deadline() == 13.0, "when the first task of a worker is late"
    desk.now = 13.0
    desk.happen(e.ClockTicked())
    assert desk.scheduler.next_deadline() == 63.0, "when the worker is killed"
    desk.end(1, 2)
    desk.end(2, 1)
    assert desk.scheduler.next_deadline() is None


def test_the_nearest_deadline_counts(desk: Desk) -> None:
    desk.now = 3.0
    desk.want(5)
    desk.now = 20.0
    desk.happen(e.ScaleWanted(3))
    assert desk.scheduler.next_deadline() == 50.0  # of the start, which is due before the tasks


def test_figures_count_what_is_there(desk: Desk) -> None:
    desk.want(5)
    desk.want(6)
    desk.end(1, 2)
    assert desk.streams() == [_status(steps_done=0, filling=1, leased=0)]
    assert [desk.scheduler.worker_status(each, 10 + each.worker, 0.0) for each in desk.scheduler.staff] == [
        m.WorkerStatus(
            1, 11, "working", 1, 0, 1, totals=WorkerTotals(tasks_total=1, rows_total=1, bytes_total=3 * MIB)
        ),
        m.WorkerStatus(2, 12, "working", 1, 1, 0),
    ]
    assert (desk.scheduler.staff.working, desk.scheduler.idle) == (2, False)
    desk.end(2, 1)
    assert desk.streams() == [_status(steps_done=1, filling=0, leased=1)]
    assert desk.scheduler.idle


def _status(steps_done: int, filling: int, leased: int) -> m.StreamStatus:
    done = StreamTotals(
        steps_total=steps_done, rows_total=2 * steps_done, frames_total=2 * steps_done, bytes_total=6 * MIB * steps_done
    )
    return m.StreamStatus(1, "", 0, 100, steps_done, 1, filling, leased, 1, 7, 0, slots_wanted=1, totals=done)
