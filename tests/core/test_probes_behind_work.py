"""A probe that waits behind other work blames nobody for it; one that hangs is ended, whoever still waits for it."""

from __future__ import annotations

import pytest

from loader_service.core import effects as a
from tests.core.desk import Desk, killed, orders
from tests.core.probing import Probing


@pytest.fixture
def desk() -> Probing:
    """One worker that is at a task from 100 s on, and probes of two streams of two clients behind it."""
    made = Probing(workers=1)
    made.work(1, 1, 100.0)
    made.begin(b"one")
    made.begin(b"two")
    assert made.dispatch() == [(1, 1), (1, 2)]
    return made


def test_a_client_whose_probe_no_worker_came_to_is_told_so_and_no_worker_is_killed(desk: Probing) -> None:
    desk.staff.take_back(1, 1, 120.0)
    done, answers = desk.tick(125.0)
    assert [each.client for each in answers] == [b"one", b"two"]
    assert all("no worker was free to try the transform within 25 s" in str(each.error) for each in answers)
    assert done == []
    assert desk.tick(144.9) == ([], [])


def test_a_probe_that_hangs_ends_its_worker_though_its_client_waits_no_longer(desk: Probing) -> None:
    desk.staff.take_back(1, 1, 120.0)
    desk.tick(125.0)
    assert desk.tick(145.0) == (killed(1, "took too long to try the transform"), [])


def test_a_probe_of_a_client_that_is_gone_still_ends_its_worker_when_it_hangs(desk: Probing) -> None:
    desk.staff.take_back(1, 1, 100.0)
    desk.probes.forget(b"one")
    done, answers = desk.tick(125.0)
    assert done == killed(1, "took too long to try the transform")
    assert [each.client for each in answers] == [b"two"]


def test_only_the_probe_that_a_worker_was_at_is_blamed_and_the_one_behind_it_goes_to_others(desk: Probing) -> None:
    desk.staff.take_back(1, 1, 100.0)
    for worker in (1, 2):
        desk.scale(worker + 1)
        assert desk.exit(worker, "was killed by SIGKILL") == []
        assert desk.dispatch() == [(worker + 1, 1), (worker + 1, 2)]
    (answer,) = desk.exit(3, "was killed by SIGKILL")
    assert answer.client == b"one"
    desk.scale(4)
    assert desk.dispatch() == [(4, 2)]
    assert desk.answer(4, 2) is not None


def test_a_probe_that_nobody_waits_for_is_not_tried_again(desk: Probing) -> None:
    desk.probes.forget(b"one")
    desk.probes.forget(b"two")
    desk.scale(2)
    assert desk.exit(1, "was killed by SIGKILL") == []
    assert desk.dispatch() == []
    assert desk.probes.next_deadline() is None


def test_a_client_that_comes_back_with_its_request_waits_for_the_same_probe(desk: Probing) -> None:
    desk.probes.forget(b"one")
    desk.begin(b"one", now=110.0)
    assert desk.dispatch() == []
    answer = desk.answer(1, 1)
    assert answer is not None
    assert answer.client == b"one"


def test_a_worker_that_shall_go_ends_its_probe_first(desk: Probing) -> None:
    desk.staff.take_back(1, 1, 100.0)
    desk.staff.scale(0, 101.0)
    assert desk.answer(1, 1, 102.0) is not None
    assert desk.answer(1, 2, 103.0) is not None


def test_a_step_that_waits_behind_a_slow_probe_is_done_by_another_worker() -> None:
    desk = Desk(workers=2)
    desk.open(slots=3)
    desk.want(1)
    desk.now = 0.1
    desk.end(1, 2)
    desk.end(2, 1)
    desk.planner.tries_transforms = True
    desk.plan(2, slots=2)
    desk.now = 10.0
    assert [each.peer for each in desk.ask(2) if isinstance(each, a.Send)] == [1]
    given = orders(desk.want(2))
    assert {worker for worker, _ in given} == {1, 2}
    desk.end(2, next(task.task for worker, task in given if worker == 2))
    desk.now = 11.0
    assert {worker for worker, _ in orders(desk.tick(11.0))} == {2}, "all of it, in another slot"
