"""Who is started, given tasks, killed and replaced, and when."""

from __future__ import annotations

import pytest

from loader_service.core.effects import GiveUp, KillWorker, Send, StartWorker
from loader_service.core.tasks import SMALL_TASK_BYTES
from loader_service.core.worker import MOST_TASKS_OUTSTANDING, Worker, WorkerState
from loader_service.core.worker_starts import FIRST_RETRY_S, LAST_RETRY_S
from loader_service.protocol.messages import Drain
from tests.core.crew import Crew
from tests.core.desk import killed

# ---- coming


def test_nobody_is_started_before_somebody_is_wanted(crew: Crew) -> None:
    assert crew.hire(0.0) == []
    assert crew.staff.next_deadline() is None


def test_a_worker_owns_files_from_the_moment_it_is_ready(crew: Crew) -> None:
    crew.scale(1, 0.0)
    assert crew.ownership.workers == ()
    crew.start(1)
    assert crew.ownership.files(1) == (0, 1, 2, 3)


def test_a_worker_that_starts_twice_owns_its_files_once(pair: Crew) -> None:
    pair.start(1)
    assert pair.hire(1.0) == []
    assert pair.ownership.workers == (1, 2)


def test_an_unknown_worker_that_starts_changes_nothing(pair: Crew) -> None:
    pair.start(77)
    assert pair.states() == {1: WorkerState.WORKING, 2: WorkerState.WORKING}


@pytest.mark.parametrize(("size", "ease", "held"), [(SMALL_TASK_BYTES, 1, 2), (SMALL_TASK_BYTES, 8, 8), (99, 1, 16)])
def test_tasks_of_little_work_are_held_together(pair: Crew, size: int, ease: int, held: int) -> None:
    assert pair.fill(1, size, ease) == held
    for task in range(held):
        assert pair.staff.take_back(1, task, 1.0) is not None
    assert pair.worker(1).bytes_given == 0


def test_a_dead_idle_worker_is_replaced_at_once_under_a_new_number(pair: Crew) -> None:
    assert pair.exit(1, 5.0) == [StartWorker(3)]
    assert pair.ownership.workers == (2,)
    assert pair.ledger.counters.workers_lost == 1


def test_an_exit_said_twice_changes_nothing(pair: Crew) -> None:
    pair.exit(1, 5.0)
    assert pair.exit(1, 5.0) == []
    assert pair.ledger.counters.workers_lost == 1


# ---- failing to start


def test_a_failed_start_is_tried_again_after_a_pause(crew: Crew) -> None:
    crew.scale(1, 0.0)
    assert crew.exit(1, 1.0) == []
    assert crew.staff.next_deadline() == 1.0 + FIRST_RETRY_S
    assert crew.tick(1.1) == []
    assert crew.tick(1.0 + FIRST_RETRY_S) == [StartWorker(2)]


def test_the_pause_doubles_up_to_a_bound_for_ever(pair: Crew) -> None:
    pair.scale(3, 1.0)
    now, failing, pauses = 1.0, 3, []
    for _ in range(2000):
        assert pair.exit(failing, now) == []
        due = pair.staff.next_deadline()
        assert due is not None
        pauses.append(due - now)
        failing, now = failing + 1, due
        assert pair.tick(now) == [StartWorker(failing)]
    assert pauses[:6] == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, LAST_RETRY_S])
    assert pauses[6:] == pytest.approx([LAST_RETRY_S] * 1994)


def test_the_service_gives_up_once_after_three_failures_in_a_row(crew: Crew) -> None:
    crew.scale(1, 0.0)
    crew.exit(1, 0.0)
    crew.tick(10.0)
    crew.exit(2, 10.0)
    crew.tick(20.0)
    assert crew.exit(3, 20.0, "exited with 7: no catalog") == [
        GiveUp("3 workers in a row failed to start; the last one exited with 7: no catalog")
    ]
    assert crew.tick(1000.0) == []
    assert crew.staff.next_deadline() is None


def test_it_does_not_give_up_while_one_is_still_starting_and_sleeps_meanwhile(crew: Crew) -> None:
    crew.scale(4, 0.0)
    assert [crew.exit(worker, 1.0) for worker in (1, 2, 3)] == [[], [], []]
    assert crew.tick(10.0) == []
    assert crew.staff.next_deadline() == 30.0  # the fourth's; no earlier one that nothing would come of
    crew.start(4)
    assert crew.hire(11.0) == [StartWorker(5), StartWorker(6), StartWorker(7)]


def test_it_gives_up_when_the_last_one_fails_too(crew: Crew) -> None:
    crew.scale(4, 0.0)
    for worker in (1, 2, 3):
        crew.exit(worker, 1.0)
    assert crew.exit(4, 2.0, "was killed by SIGBUS") == [
        GiveUp("4 workers in a row failed to start; the last one was killed by SIGBUS")
    ]


def test_it_never_gives_up_while_another_works(pair: Crew) -> None:
    pair.scale(3, 1.0)
    now = 1.0
    for failing in range(3, 20):
        now += 10.0
        assert pair.exit(failing, now) == []
        now += 10.0
        assert pair.tick(now) == [StartWorker(failing + 1)]


def test_failures_beside_a_working_worker_do_not_count_when_that_one_dies(crew: Crew) -> None:
    crew.scale(2, 0.0)
    crew.start(1)
    now = 1.0
    for failing in range(2, 7):
        crew.exit(failing, now)
        now += 10.0
        assert crew.tick(now) == [StartWorker(failing + 1)]
    crew.exit(7, now)
    assert crew.exit(1, now, "was killed by SIGKILL") == [StartWorker(8), StartWorker(9)]


def test_a_new_number_of_workers_is_tried_whatever_failed_before(crew: Crew) -> None:
    crew.scale(3, 0.0)
    crew.start(1)
    for worker in (2, 3):
        crew.exit(worker, 1.0)
    crew.tick(9.0)
    for worker in (4, 5):
        crew.exit(worker, 9.0)
    assert crew.scale(0, 9.5) == [Send(1, Drain())]
    assert crew.scale(1, 9.6) == [StartWorker(6)]


def test_a_worker_that_hangs_while_starting_has_failed_to_start(crew: Crew) -> None:
    crew.scale(1, 0.0)
    assert crew.staff.next_deadline() == 30.0
    assert crew.tick(29.9) == []
    assert crew.tick(30.0) == [*killed(1, "was starting for more than 30 s")]
    assert crew.staff.next_deadline() == 30.0 + FIRST_RETRY_S
    assert crew.exit(1, 30.1) == []
    assert crew.tick(30.0 + FIRST_RETRY_S) == [StartWorker(2)]


def test_a_worker_that_is_ready_after_it_was_killed_gets_nothing(crew: Crew) -> None:
    crew.scale(1, 0.0)
    crew.tick(30.0)
    crew.start(1)
    assert crew.states() == {1: WorkerState.KILLED}
    assert crew.ownership.workers == ()


# ---- being late


def test_the_clock_of_a_task_runs_from_when_its_worker_gets_to_it(pair: Crew) -> None:
    pair.give(1, 11, now=10.0)
    pair.give(1, 12, now=20.0)
    assert pair.worker(1).deadline == 70.0
    pair.staff.take_back(1, 11, now=65.0)
    assert pair.worker(1).deadline == 125.0
    pair.staff.take_back(1, 12, now=66.0)
    assert pair.staff.next_deadline() is None


def test_the_deadline_of_being_late_comes_before_that_of_being_killed(pair: Crew) -> None:
    pair.give(1, 11, now=10.0)
    assert pair.staff.next_deadline() == 20.0
    assert [each.worker for each in pair.staff.overdue(20.0)] == [1]
    assert pair.staff.next_deadline() == 70.0


def test_a_hung_worker_is_killed_once_and_keeps_its_tasks_until_it_is_reaped(pair: Crew) -> None:
    task = pair.give(1, 11, now=10.0)
    assert pair.tick(69.9) == []
    assert pair.tick(70.0) == [*killed(1, "did not finish task 11 within 60 s"), StartWorker(3)]
    assert pair.tick(71.0) == []
    assert pair.ownership.workers == (2,)
    gone = pair.staff.exited(1, "was killed by SIGKILL", 72.0)
    assert gone is not None
    assert gone.tasks == [task]


def test_a_report_that_comes_while_the_worker_is_being_killed_counts(pair: Crew) -> None:
    task = pair.give(1, 11, now=10.0)
    pair.tick(70.0)
    assert pair.staff.take_back(1, 11, now=70.1) is task
    assert pair.staff.take_back(1, 11, now=70.2) is None


def test_a_worker_that_is_being_killed_has_no_further_deadline(pair: Crew) -> None:
    pair.give(1, 11, now=10.0)
    pair.give(1, 12, now=10.0)
    pair.tick(70.0)
    pair.staff.take_back(1, 11, now=70.1)
    assert pair.worker(1).deadline is None
    assert [action for action in pair.tick(200.0) if isinstance(action, KillWorker) and action.worker == 1] == []


def test_a_report_of_a_task_that_the_worker_does_not_hold_is_nothing(pair: Crew) -> None:
    pair.give(1, 11, now=10.0)
    assert pair.staff.take_back(2, 11, now=11.0) is None
    assert pair.staff.take_back(77, 11, now=11.0) is None
    assert pair.worker(1).times.tasks == 0


# ---- room


def test_a_worker_has_room_for_two_tasks_of_some_size(pair: Crew) -> None:
    pair.give(1, 11, now=0.0)
    assert pair.worker(1).has_room
    pair.give(1, 12, now=0.0)
    assert not pair.worker(1).has_room


def test_a_worker_has_room_for_sixteen_small_tasks(pair: Crew) -> None:
    for task in range(16):
        assert pair.worker(1).has_room
        pair.give(1, task, now=0.0, size=100)
    assert not pair.worker(1).has_room


def test_a_worker_holds_as_many_tasks_as_it_asks_for_within_bounds(pair: Crew) -> None:
    for asked, held in ((5, 5), (0, 2), (1_000, MOST_TASKS_OUTSTANDING)):
        pair.worker(1).ask_for(asked)
        assert pair.worker(1).depth == held
    pair.worker(1).ask_for(3)
    for task in range(3):
        assert pair.worker(1).has_room
        pair.give(1, task, now=0.0)
    assert not pair.worker(1).has_room
    pair.worker(1).ask_for(4)
    assert pair.worker(1).has_room


def test_waiting_for_the_disk_makes_no_straggler(pair: Crew) -> None:
    for turn in range(12):
        for worker, seconds, waited_s in ((1, 0.1, 0.0), (2, 1.0, 0.9)):
            task = 2 * turn + worker
            pair.give(worker, task, now=float(turn))
            pair.staff.take_back(worker, task, turn + seconds, waited_s)
    assert not pair.worker(2).straggles


def test_only_a_working_worker_has_room(crew: Crew) -> None:
    for state in WorkerState:
        assert Worker(1, state, None).has_room == (state is WorkerState.WORKING)
