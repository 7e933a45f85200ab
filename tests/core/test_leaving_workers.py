"""Which workers leave when fewer are wanted, or better ones come, and how."""

from __future__ import annotations

from loader_service.core.effects import KillWorker, Send, StartWorker
from loader_service.core.worker import WorkerState
from loader_service.protocol.messages import Drain
from tests.core.crew import Crew
from tests.core.desk import killed

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
