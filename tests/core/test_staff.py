"""Who is started, stopped, killed and replaced, and when."""

from __future__ import annotations

import pytest

from loader_service.core.effects import Effect, GiveUp, KillWorker, Send, StartWorker
from loader_service.core.ledger import Ledger, Limits
from loader_service.core.ownership import Ownership
from loader_service.core.staff import Staff
from loader_service.core.tasks import SMALL_TASK_BYTES, PendingTask
from loader_service.core.worker import MOST_TASKS_OUTSTANDING, Worker, WorkerState
from loader_service.core.worker_starts import FIRST_RETRY_S, LAST_RETRY_S
from loader_service.protocol.messages import Drain
from tests.core.desk import killed

LIMITS = Limits(task_timeout_s=60.0, start_timeout_s=30.0, failed_starts=3)


class Crew:
    """A staff with its ledger, at literal times."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.ownership = Ownership([100, 100, 100, 100])
        self.staff = Staff(self.ownership, LIMITS, self.ledger)

    def scale(self, count: int, now: float) -> list[Effect]:
        """Ask for a number of workers."""
        self.staff.scale(count, now)
        return self.hire(now)

    def hire(self, now: float) -> list[Effect]:
        """Let the staff do what is due."""
        self.staff.hire(now)
        self.staff.validate()
        return self.ledger.take()

    def tick(self, now: float) -> list[Effect]:
        """Let the clock strike."""
        self.staff.kill_late(now)
        return self.hire(now)

    def start(self, worker: int, now: float = 0.0) -> None:
        """Let a worker say that it waits for tasks."""
        self.staff.started(worker, now)

    def exit(self, worker: int, now: float, cause: str = "exited with 1") -> list[Effect]:
        """Reap a worker."""
        self.staff.exited(worker, cause, now)
        return self.hire(now)

    def give(self, worker: int, task: int, now: float, size: int = SMALL_TASK_BYTES) -> PendingTask:
        """Give a worker a task."""
        given = PendingTask(task=task, stream=1, slot=1, rows=(0,), size_bytes=size, file=0)
        self.staff.give(self.worker(worker), given, now)
        return given

    def work(self, worker: int, task: int, now: float, seconds: float) -> float:
        """Have a worker do a task; return when it is done."""
        self.give(worker, task, now)
        assert self.staff.take_back(worker, task, now + seconds) is not None
        self.staff.validate()
        return now + seconds

    def worker(self, number: int) -> Worker:
        """Return a worker that is there."""
        found = self.staff.get(number)
        assert found is not None
        return found

    def states(self) -> dict[int, WorkerState]:
        """Return who is there."""
        return {worker.worker: worker.state for worker in self.staff}


@pytest.fixture
def crew() -> Crew:
    return Crew()


@pytest.fixture
def pair() -> Crew:
    """Two workers that work."""
    made = Crew()
    assert made.scale(2, 0.0) == [StartWorker(1), StartWorker(2)]
    made.start(1)
    made.start(2)
    assert made.hire(1.0) == []
    return made


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


def test_a_worker_has_room_for_eight_small_tasks(pair: Crew) -> None:
    for task in range(8):
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


# ---- leaving


def test_scaling_one_to_four_to_two_lets_the_last_two_drain(crew: Crew) -> None:
    assert crew.scale(1, 0.0) == [StartWorker(1)]
    crew.start(1)
    assert crew.scale(4, 1.0) == [StartWorker(2), StartWorker(3), StartWorker(4)]
    for worker in (2, 3, 4):
        crew.start(worker)
    crew.give(3, 31, now=2.0)
    assert crew.scale(2, 3.0) == [Send(4, Drain())]
    assert crew.states()[3] is WorkerState.DRAINING
    assert crew.ownership.workers == (1, 2)
    crew.staff.take_back(3, 31, now=4.0)
    assert crew.hire(4.0) == [Send(3, Drain())]
    assert [crew.exit(worker, 5.0) for worker in (4, 3)] == [[], []]
    assert crew.ledger.counters.workers_lost == 0


def test_a_worker_that_is_not_wanted_any_more_before_it_started_is_stopped(crew: Crew) -> None:
    crew.scale(2, 0.0)
    assert crew.scale(1, 1.0) == [KillWorker(2)], "it cannot hear yet"
    crew.start(2)
    assert crew.states() == {1: WorkerState.STARTING, 2: WorkerState.STOPPING}
    assert crew.exit(2, 2.0) == []
    assert crew.staff.next_deadline() == 30.0  # of worker 1; the exit of worker 2 was no failure


def test_a_draining_worker_that_dies_is_not_replaced(pair: Crew) -> None:
    pair.give(2, 11, now=0.0)
    pair.scale(1, 1.0)
    assert pair.exit(2, 2.0) == []
    assert pair.ledger.counters.workers_lost == 1


def test_a_draining_worker_that_hangs_is_killed(pair: Crew) -> None:
    pair.give(2, 11, now=0.0)
    pair.scale(1, 1.0)
    assert pair.tick(60.0) == [*killed(2, "did not finish task 11 within 60 s")]


def test_a_worker_that_does_not_stop_is_killed(pair: Crew) -> None:
    pair.scale(1, 1.0)
    assert pair.staff.next_deadline() == 31.0
    assert pair.tick(31.0) == [*killed(2, "was stopping for more than 30 s")]
    assert pair.tick(99.0) == []


def test_scaling_up_while_others_drain_starts_new_ones(pair: Crew) -> None:
    pair.give(2, 11, now=0.0)
    pair.scale(1, 1.0)
    assert pair.scale(2, 2.0) == [StartWorker(3)]


def test_a_heavy_worker_leaves_when_another_has_started_in_its_place(pair: Crew) -> None:
    assert pair.staff.replace(1)
    assert not pair.staff.replace(1)
    assert pair.hire(1.0) == [StartWorker(3)]
    assert pair.ownership.workers == (1, 2)
    pair.start(3, 2.0)
    assert pair.hire(2.0) == [Send(1, Drain())]
    assert pair.ownership.workers == (2, 3)
    assert pair.exit(1, 3.0) == []
    assert pair.ledger.counters.workers_lost == 0


def test_a_heavy_worker_that_dies_before_it_is_replaced_costs_no_second_replacement(pair: Crew) -> None:
    pair.staff.replace(1)
    pair.hire(1.0)
    assert pair.exit(1, 2.0) == []
    assert pair.states() == {2: WorkerState.WORKING, 3: WorkerState.STARTING}


def test_scaling_to_the_same_number_changes_nothing(pair: Crew) -> None:
    assert pair.scale(2, 1.0) == []


def test_scaling_to_none_leaves_no_owner(pair: Crew) -> None:
    assert pair.scale(0, 1.0) == [Send(2, Drain()), Send(1, Drain())]
    assert pair.ownership.owner(0) is None


# ---- who leaves when there are too many


def test_the_worker_that_is_late_with_its_task_leaves_and_not_a_healthy_one(pair: Crew) -> None:
    pair.give(1, task=1, now=5.0)
    assert pair.scale(1, 35.0) == []  # it has not done what it holds
    assert pair.states() == {1: WorkerState.DRAINING, 2: WorkerState.WORKING}
    assert pair.ownership.workers == (2,)
    assert pair.tick(65.0) == [*killed(1, "did not finish task 1 within 60 s")]


def test_of_two_late_workers_the_one_that_is_longest_at_its_task_leaves_first() -> None:
    crew = Crew()
    crew.scale(3, 0.0)
    for worker in (1, 2, 3):
        crew.start(worker)
    crew.give(1, task=1, now=10.0)
    crew.give(2, task=2, now=5.0)
    crew.scale(2, 30.0)
    assert [each for each, state in crew.states().items() if state is WorkerState.DRAINING] == [2]
    crew.scale(1, 31.0)
    assert [each for each, state in crew.states().items() if state is WorkerState.DRAINING] == [1, 2]


def test_a_worker_whose_tasks_take_long_is_not_late_for_that(pair: Crew) -> None:
    for number in range(1, 7):
        pair.give(1, task=number, now=10.0 * number)
        pair.staff.take_back(1, number, 10.0 * number + 9.0)
    pair.give(1, task=9, now=100.0)
    assert pair.worker(1).busy_s(109.0) == 9.0
    assert pair.worker(1).late_s(109.0) == 0.0
    assert pair.worker(1).late_s(137.0) == 37.0
    assert pair.scale(1, 109.0) == [Send(2, Drain())]


def test_a_straggler_leaves_before_a_faster_one(pair: Crew) -> None:
    pair.worker(1).straggles = True
    pair.ownership.leave(1)
    assert pair.scale(1, 10.0) == [Send(1, Drain())]


def test_those_that_start_leave_before_those_that_are_late(pair: Crew) -> None:
    pair.scale(3, 1.0)
    pair.give(1, task=1, now=2.0)
    assert pair.scale(2, 50.0) == [KillWorker(3)]


def test_a_task_that_waits_behind_another_is_not_what_a_worker_is_at(pair: Crew) -> None:
    pair.give(1, task=1, now=5.0)
    pair.give(1, task=2, now=6.0)
    assert pair.worker(1).busy_s(9.0) == 4.0
    pair.staff.take_back(1, 1, 10.0)
    assert pair.worker(1).busy_s(12.0) == 2.0
    pair.staff.take_back(1, 2, 13.0)
    assert pair.worker(1).busy_s(20.0) == 0.0
