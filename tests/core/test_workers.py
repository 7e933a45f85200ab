"""Workers that die, hang, come and go in the middle of steps, told by the whole list of what the scheduler answers."""

from __future__ import annotations

import pytest

from loader_service.core import effects as a
from loader_service.core import events as e
from loader_service.core.effects import Send
from loader_service.protocol import messages as m
from tests.core.desk import TRAIN, Desk, failed, killed, noted, orders, ready, send

# ---- workers whose reads take long


def test_a_worker_gets_as_many_tasks_as_it_asks_for() -> None:
    desk = Desk(workers=1, files=1)
    desk.open(slots=4, files=(0, 0))
    assert desk.want(5) == [send(1, 1, (0, 1))]
    assert desk.want(6) == [send(1, 2, (0, 1), slot=11)]
    assert desk.want(7) == []
    assert desk.hear(1, m.TasksWanted(1, 3)) == [send(1, 3, (0, 1), slot=12)]
    assert desk.hear(9, m.TasksWanted(9, 3)) == []  # one that is gone


def test_tasks_are_given_out_after_the_last_of_the_messages_that_come_together() -> None:
    desk = Desk(workers=1, files=1)
    desk.open(slots=3, files=(0, 0))
    assert desk.service.receive(TRAIN, m.Want(1, 5, 0, 5), desk.now, more=True) == []
    assert desk.want(6) == [send(1, 1, (0, 1)), send(1, 2, (0, 1), slot=11)]
    assert desk.want(7) == []
    assert desk.service.receive(1, m.TaskDone(1, 1, ()), desk.now, more=True) == [ready(5, lease=1)]
    assert desk.end(1, 2) == [ready(6, slot=11, lease=2), send(1, 3, (0, 1), slot=12)]


# ---- workers that die


def test_an_idle_worker_that_dies_is_replaced_and_its_files_go_on(desk: Desk) -> None:
    assert desk.exit(1) == [a.StartWorker(3)]
    assert desk.want(5) == [send(2, 1, (0, 1))]
    assert desk.ready(3) == []


def test_the_rows_of_a_dead_worker_are_done_again_by_another(desk: Desk) -> None:
    desk.want(5)
    assert desk.exit(1) == [a.StartWorker(3)]
    assert desk.end(2, 1) == [send(2, 3, (1,))]
    assert desk.end(2, 3) == [ready(5, lease=1)]
    assert desk.service.counters.rows_reassigned == 1


def test_a_worker_that_dies_between_writing_and_reporting_costs_nothing_but_time(desk: Desk) -> None:
    desk.want(5)
    desk.end(2, 1)
    assert desk.exit(1) == [a.StartWorker(3), send(2, 3, (1,))]
    assert desk.end(1, 2) == []  # a report that was still on its way: the rows are in another's hands now
    assert desk.end(2, 3) == [ready(5, lease=1)]


def test_the_task_that_killed_its_worker_is_cut_to_rows_and_the_one_behind_it_stays_whole() -> None:
    desk = Desk(workers=1, files=1)
    desk.open(slots=2, files=(0, 0))
    assert desk.want(5) == [send(1, 1, (0, 1))]
    assert desk.want(6) == [send(1, 2, (0, 1), slot=11)]
    assert desk.exit(1) == [a.StartWorker(2)]
    assert desk.ready(2) == [send(2, 3, (0,))]
    assert desk.end(2, 3) == [send(2, 4, (1,))]
    assert desk.end(2, 4) == [ready(5, lease=1), send(2, 5, (0, 1), slot=11)]


def test_a_row_that_kills_three_workers_is_a_bad_sample_by_name() -> None:
    desk = Desk(workers=1, files=1)
    desk.open(slots=2, files=(0, 0))
    desk.want(5)
    desk.exit(1)
    assert desk.ready(2) == [send(2, 2, (0,))]  # alone, so that the next death has one cause
    desk.exit(2)
    assert desk.ready(3) == [send(3, 3, (1,))]
    assert desk.end(3, 3) == [send(3, 4, (0,))]
    words = "sample 0 of file 0: 3 workers died while they were at it; the last one was killed by SIGKILL"
    assert desk.exit(3) == [
        *noted(f"WorkerDied: {words}"),
        failed(5, "WorkerDied", words),
        a.StartWorker(4),
    ]


def test_a_row_that_kills_three_workers_is_substituted_where_that_is_allowed() -> None:
    desk = Desk(workers=1, files=1)
    desk.open(files=(0,), substitutes=1)
    desk.want(5)
    for worker in (1, 2):
        desk.exit(worker)
        desk.ready(worker + 1)
    note = "WorkerDied: sample 0 of file 0: 3 workers died while they were at it; the last one was killed by SIGKILL"
    assert desk.exit(3) == [*noted(note, told=True), a.StartWorker(4)]
    assert desk.ready(4) == [send(4, 4, (0,), (100,))]
    assert desk.end(4, 4) == [ready(5, lease=1, rows=1, substituted=1)]


def test_deaths_at_other_tasks_do_not_count_against_a_task() -> None:
    desk = Desk(workers=1, files=1)
    desk.open(slots=2, files=(0,))
    desk.want(5)
    desk.want(6)  # second in line, until the first one is given up
    for worker in (1, 2, 3):
        desk.exit(worker)
        desk.ready(worker + 1)
    assert desk.exit(4) == [a.StartWorker(5)]  # one strike
    assert desk.ready(5) == [send(5, 6, (0,), slot=11)]


def test_all_workers_dying_at_once_is_a_pause(desk: Desk) -> None:
    desk.want(5)
    assert desk.exit(1) == [a.StartWorker(3)]
    assert desk.exit(2) == [a.StartWorker(4)]
    assert desk.ready(3) == [send(3, 4, (0,))]
    assert desk.end(3, 4) == [send(3, 3, (1,))]
    assert desk.end(3, 3) == [ready(5, lease=1)]


def test_a_hung_worker_is_killed_at_its_deadline_and_its_rows_wait_until_it_is_reaped(desk: Desk) -> None:
    desk.now = 10.0
    desk.want(5)
    desk.now = 12.0
    desk.end(2, 1)
    assert desk.tick(20.0) == [a.MakeSegments(1, 1, 1, 7)]
    assert desk.happen(e.SegmentsMade(1, (), e.Shortage("none left"))) == [
        a.Note("stream 1: a step that a worker is late with waits for it; none left")
    ]
    assert desk.scheduler.next_deadline() == 70.0
    assert desk.tick(69.9) == []
    assert desk.tick(70.0) == [*killed(1, "did not finish task 2 within 60 s"), a.StartWorker(3)]
    assert desk.ready(3) == []
    assert desk.exit(1) == [send(2, 3, (1,))]


def test_a_step_of_a_hung_worker_is_not_announced_before_it_is_reaped(desk: Desk) -> None:
    desk.want(5)
    desk.forget(5)
    desk.want(6)
    desk.end(2, 1)
    assert desk.tick(60.0) == [*killed(1, "did not finish task 2 within 60 s"), a.StartWorker(3)]
    assert desk.exit(1) == [send(2, 3, (0, 1))]


def test_a_hung_worker_that_answers_before_it_is_reaped_has_done_its_rows(desk: Desk) -> None:
    desk.want(5)
    desk.end(2, 1)
    desk.tick(60.0)
    assert desk.end(1, 2) == [ready(5, lease=1)]
    assert desk.exit(1) == []


# ---- workers that come and go


def test_failing_to_start_ends_in_giving_up_once() -> None:
    desk = Desk(workers=0)
    assert desk.happen(e.ScaleWanted(1)) == [a.StartWorker(1)]
    assert desk.exit(1) == []
    assert desk.scheduler.next_deadline() == pytest.approx(0.2)
    assert desk.tick(0.2) == [a.StartWorker(2)]
    assert desk.exit(2) == []
    assert desk.tick(1.0) == [a.StartWorker(3)]
    assert desk.exit(3) == [a.GiveUp("3 workers in a row failed to start; the last one was killed by SIGKILL")]
    assert desk.tick(100.0) == []
    assert desk.scheduler.next_deadline() is None


def test_one_to_four_to_two_workers_in_the_middle_of_a_step() -> None:
    desk = Desk(workers=1, files=4)
    desk.open(slots=2, files=(0, 1, 2, 3))
    assert desk.want(5) == [send(1, 1, (0, 1, 2, 3))]
    assert desk.happen(e.ScaleWanted(4)) == [a.StartWorker(2), a.StartWorker(3), a.StartWorker(4)]
    for worker in (2, 3, 4):
        assert desk.ready(worker) == []
    owners = [desk.scheduler._ownership.owner(file) for file in range(4)]
    assert sorted(owners) == [1, 2, 3, 4]  # type: ignore[type-var]  # none is None
    shared = desk.want(6)
    assert {(worker, task.rows.numbers) for worker, task in orders(shared)} == {
        (owner, (file,)) for file, owner in enumerate(owners)
    }
    assert desk.happen(e.ScaleWanted(2)) == []
    number = {worker: task.task for worker, task in orders(shared)}
    assert desk.end(3, number[3]) == [Send(3, m.Drain())]
    assert desk.end(4, number[4]) == [Send(4, m.Drain())]
    assert desk.exit(3) == desk.exit(4) == []
    assert desk.end(2, number[2]) == []
    assert desk.end(1, 1) == [ready(5, lease=1, rows=4)]
    assert desk.end(1, number[1]) == [ready(6, lease=2, slot=11, rows=4)]


def test_wants_wait_while_there_is_no_worker() -> None:
    desk = Desk(workers=0)
    desk.open()
    assert desk.want(5) == []
    assert not desk.scheduler.idle
    desk.happen(e.ScaleWanted(1))
    assert desk.ready(1) == [send(1, 1, (0, 1))]


def test_an_idle_worker_takes_what_waits_for_a_busy_one() -> None:
    desk = Desk(workers=2, files=1)  # the second worker owns nothing
    desk.open(slots=3, files=(0,))
    assert desk.want(1) == [send(1, 1, (0,))]
    assert desk.want(2) == [send(1, 2, (0,), slot=11)]
    assert desk.want(3) == [send(2, 3, (0,), slot=12)]
    assert desk.service.counters.tasks_stolen == 1


def test_a_worker_with_one_task_takes_a_second_when_more_wait_than_there_are_workers() -> None:
    desk = Desk(workers=2, files=1)
    desk.open(slots=6, files=(0,))
    given = [desk.want(want) for want in range(1, 7)]
    assert given[:3] == [[send(1, 1, (0,))], [send(1, 2, (0,), slot=11)], [send(2, 3, (0,), slot=12)]]
    assert given[3:] == [[], [], [send(2, 4, (0,), slot=13)]]


def test_one_file_keeps_all_workers_busy() -> None:
    desk = Desk(workers=4, files=1)
    desk.open(slots=2, files=(0,) * 8)
    assert desk.want(5) == [send(1, 1, (0, 1)), send(1, 2, (2, 3)), send(2, 3, (4, 5)), send(3, 4, (6, 7))]
    assert desk.want(6)[0] == send(4, 5, (0, 1), slot=11)
    assert all(worker.tasks for worker in desk.scheduler.staff)
