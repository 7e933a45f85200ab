"""Who is fast, who is far slower than the others, and what a straggler may do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loader_service.core.effects import Effect
from loader_service.core.pace import Pace, Paces
from loader_service.core.worker import SMALL_TASKS_OUTSTANDING
from loader_service.protocol.messages import Task, Want
from tests.core.desk import TRAIN, Desk, announced, orders
from tests.core.test_staff import Crew

MIB = 2**20


def _after(*durations: float, size: int = MIB) -> Pace:
    pace, now = Pace(), 0.0
    pace.begun(now)
    for duration in durations:
        now += duration
        pace.ended(size, now)
    return pace


def test_a_pace_is_not_believed_before_four_tasks() -> None:
    assert _after(1.0, 1.0, 1.0).s_per_byte is None
    assert _after(1.0, 1.0, 1.0, 1.0).s_per_byte == pytest.approx(1.0 / MIB)


def test_tiny_tasks_say_nothing_about_a_pace() -> None:
    assert _after(*[1.0] * 10, size=100).s_per_byte is None


def test_a_pace_follows_the_latest_tasks() -> None:
    slowed, steady = _after(*[1.0] * 8, *[10.0] * 8).s_per_byte, _after(*[1.0] * 16).s_per_byte
    assert slowed is not None
    assert steady is not None
    assert slowed > 9 * steady


def _stragglers(paces: dict[int, float], before: frozenset[int] = frozenset()) -> set[int]:
    """Return who is a straggler when the paces of all are known and all are judged."""
    known = Paces()
    for worker, pace in paces.items():
        known.put(worker, pace)
    return {worker for worker in paces if known.is_straggler(worker, before=worker in before)}


def test_three_times_the_usual_is_a_straggler_until_it_is_nearly_usual_again() -> None:
    assert _stragglers({1: 1.0, 2: 1.1, 3: 2.9}) == set()
    assert _stragglers({1: 1.0, 2: 1.1, 3: 3.4}) == {3}
    assert _stragglers({1: 1.0, 2: 1.1, 3: 2.9}, frozenset({3})) == {3}
    assert _stragglers({1: 1.0, 2: 1.1, 3: 1.5}, frozenset({3})) == set()


def test_one_task_that_takes_for_ever_makes_nobody_a_straggler_and_two_do() -> None:
    usual, once, twice = (_after(*[1.0] * 8, *[1000.0] * often).s_per_byte or 0.0 for often in range(3))
    assert _stragglers({1: usual, 2: once}) == set()
    assert _stragglers({1: usual, 2: twice}) == {2}


def test_reports_that_lay_unread_together_say_how_long_all_of_them_took_and_not_each() -> None:
    assert _after(*[1.0] * 8, 2.0, 0.0).s_per_byte == pytest.approx(1.0 / MIB)
    assert _after(*[1.0] * 8, 8.0, *[0.0] * 7).s_per_byte == pytest.approx(1.0 / MIB)


@pytest.mark.parametrize("together", [1, 4, 8, 9, 12, SMALL_TASKS_OUTSTANDING])
def test_a_pace_is_the_same_however_many_small_tasks_are_reported_together(together: int) -> None:
    report = [0.002 * together, *[0.0] * (together - 1)]
    assert _after(*report * 20).s_per_byte == pytest.approx(0.002 / MIB)


@given(st.dictionaries(st.integers(1, 9), st.floats(0, 100), min_size=1), st.frozensets(st.integers(1, 9)))
def test_the_workers_are_never_all_stragglers(paces: dict[int, float], before: frozenset[int]) -> None:
    assert _stragglers(paces, before) < set(paces)


@given(st.lists(st.tuples(st.integers(1, 9), st.floats(0, 100) | st.none()), max_size=60))
def test_the_usual_pace_is_the_lower_median_of_the_latest(reports: list[tuple[int, float | None]]) -> None:
    known, latest = Paces(), dict[int, float]()
    for worker, pace in reports:
        if pace is None:
            known.forget(worker)
            latest.pop(worker, None)
        else:
            known.put(worker, pace)
            latest[worker] = pace
        if latest:
            assert latest[known.usual] == sorted(latest.values())[(len(latest) - 1) // 2]


def test_the_worker_with_the_usual_pace_is_judged_too_when_another_one_reports() -> None:
    crew = Crew()
    crew.scale(2, 0.0)
    crew.start(1)
    crew.start(2)
    tasks = iter(range(1, 100))
    slow, now = {1: 1.0, 2: 10.0}, 0.0
    for worker, often in ((1, 8), (2, 8), (1, 0)):
        for _ in range(often):
            now = crew.work(worker, next(tasks), now, slow[worker])
    assert crew.worker(2).straggles
    for _ in range(30):  # now it is the first one that is slow, and the second one does nothing
        now = crew.work(1, next(tasks), now, 100.0)
    assert (crew.worker(1).straggles, crew.worker(2).straggles) == (True, False)


def test_a_straggler_owns_no_files_and_gets_single_rows_of_what_is_needed_last() -> None:
    desk = Desk(workers=2, files=2)
    desk.open(slots=10, files=(0, 0, 1, 1))  # rows 0 and 1 are worker 2's, rows 2 and 3 worker 1's
    tasks = {1: [2], 2: [1]}
    desk.want(0)
    for want in range(1, 10):
        _collect(desk.want(want), tasks)
    for _ in range(4):
        desk.now += 1.0
        _collect(desk.end(1, tasks[1].pop(0)), tasks)
    for _ in range(4):
        desk.now += 10.0
        answers = desk.end(2, tasks[2].pop(0))
        _collect(answers, tasks)
    assert desk.scheduler._ownership.workers == (1,)
    while tasks[2]:
        answers = desk.end(2, tasks[2].pop(0))
        _collect(answers, tasks)
        rows = [task.rows.numbers for worker, task in orders(answers) if worker == 2]
        if rows:
            assert [len(each) for each in rows] == [1]
            break
    else:
        pytest.fail("the straggler got nothing to do, though much waits")


def test_a_straggler_to_whom_the_others_leave_nothing_is_tried_again_after_a_rest() -> None:
    desk = Desk(workers=2, files=2)
    desk.open(slots=2, files=(0, 0, 1, 1))
    answers, busy, free = desk.want(1), list[tuple[float, int, Task]](), {1: 0.0, 2: 0.0}
    want, tried = 1, []
    while want < 1000:
        straggles = desk.scheduler._ownership.workers == (1,)
        for worker, task in orders(answers):
            slow = worker == 2 and not straggles  # and from then on it is as fast as the other one
            free[worker] = max(free[worker], desk.now) + len(task.rows.numbers) * (20.0 if slow else 1.0)
            busy.append((free[worker], worker, task))
            if worker == 2 and straggles:
                tried.append(task.rows.numbers)
        if tried and not straggles:
            break
        desk.now, worker, task = busy.pop(busy.index(min(busy, key=lambda each: each[0])))
        answers = desk.end(worker, task.task)
        for ready in announced(answers):
            want += 1
            answers = answers + desk.release(ready.lease) + desk.hear(TRAIN, Want(1, want, 0, 0))
    assert {len(rows) for rows in tried} == {1}
    assert desk.scheduler._ownership.workers == (1, 2)
    assert len(tried) < want / 4


def _collect(answers: list[Effect], tasks: dict[int, list[int]]) -> None:
    for worker, task in orders(answers):
        tasks[worker].append(task.task)
