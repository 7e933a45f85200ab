"""A step that a worker is late with is done again by others, in another slot; the first whole slot counts."""

from __future__ import annotations

import pytest

from loader_service.core import effects as a
from loader_service.core import events as e
from tests.core.desk import EVAL, Desk, announced, killed, orders, ready, send


@pytest.fixture
def desk() -> Desk:
    """Two workers that each have done a task in 0.1 s, and one stream of three slots."""
    made = Desk(workers=2)
    made.open(slots=3)
    made.want(1)
    made.now = 0.1
    made.end(1, 2)
    made.end(2, 1)
    made.release(1)
    return made


def _stop_worker_1(desk: Desk) -> list[a.Effect]:
    """Worker 1 stands still with row 1 of want 2; worker 2 has done row 0, and the time has come."""
    desk.want(2)
    desk.end(2, 3)
    desk.now += 1.0
    assert desk.scheduler.next_deadline() == desk.now
    return desk.happen(e.ClockTicked())


def test_an_idle_worker_does_all_rows_of_a_late_step_again_in_another_slot(desk: Desk) -> None:
    assert _stop_worker_1(desk) == [
        send(2, 5, (0,), slot=11),
        send(2, 6, (1,), slot=11),
    ]
    assert desk.service.counters.steps_redone == 1


def test_the_second_slot_answers_when_it_is_whole_first_and_the_first_is_not_used_before_its_worker_ended(
    desk: Desk,
) -> None:
    _stop_worker_1(desk)
    desk.end(2, 5)
    assert desk.end(2, 6) == [ready(2, slot=11, lease=2)]
    filling = [desk.streams()[0].slots_filling]
    desk.want(3)
    desk.want(4)
    filling.append(desk.streams()[0].slots_filling)
    assert filling == [1, 2], "slot 10 is not free: worker 1 may write into it"
    assert desk.streams()[0].wants_waiting == 1
    desk.exit(1)
    assert desk.streams()[0].wants_waiting == 0


def test_one_stopped_worker_of_two_is_a_pause_of_two_seconds_at_most(desk: Desk) -> None:
    stopped_at = desk.now
    again = orders(_stop_worker_1(desk))
    answers: list[a.Effect] = []
    for worker, task in again:
        desk.now += 0.1  # as long as its tasks took before
        answers = desk.end(worker, task.task)
    assert answers == [ready(2, slot=11, lease=2)]
    assert desk.now - stopped_at == pytest.approx(1.2)


def test_the_first_slot_answers_when_the_late_worker_is_first_after_all(desk: Desk) -> None:
    _stop_worker_1(desk)
    desk.end(2, 5)
    answers = desk.end(1, 4)
    assert announced(answers) == [ready(2, slot=10, lease=2).message]
    assert not announced(desk.end(2, 6)), "a want is answered once"


def test_a_late_worker_gets_nothing_until_it_has_ended_a_task_and_then_has_its_files_again(desk: Desk) -> None:
    _stop_worker_1(desk)
    assert desk.scheduler._ownership.workers == (2,)
    desk.end(2, 5)
    desk.end(2, 6)
    given = orders(desk.want(3)) + orders(desk.want(4))
    assert {worker for worker, _ in given} == {2}
    desk.end(1, 4)
    assert desk.scheduler._ownership.workers == (2, 1)


def test_nothing_is_done_again_while_the_others_are_busy(desk: Desk) -> None:
    desk.want(2)
    desk.now += 1.0
    assert desk.happen(e.ClockTicked()) == [], "both are late, and nobody is idle"
    answers = desk.end(2, 3)
    assert [worker for worker, _ in orders(answers)] == [2, 2]


def test_a_slot_is_asked_for_once_when_none_is_free_and_used_for_the_late_step(desk: Desk) -> None:
    for want in (2, 3, 4, 5):
        desk.want(want)
    for task in (3, 5, 7, 8):
        desk.end(2, task)
    desk.now += 1.0
    assert desk.happen(e.ClockTicked()) == [a.MakeSegments(1, 1, 1, 7)] * 2, (
        "one for each step that worker 1 has rows of"
    )
    answers = desk.happen(e.SegmentsMade(1, (77,)))
    assert {task.slot for _, task in orders(answers)} == {77}
    assert desk.streams()[0].slots == 4


def test_a_slot_that_was_made_when_nobody_is_late_any_more_goes_to_what_waits(desk: Desk) -> None:
    for want in (2, 3, 4, 5):
        desk.want(want)
    for task in (3, 5, 7, 8):
        desk.end(2, task)
    desk.now += 1.0
    desk.happen(e.ClockTicked())
    for task in (4, 6):
        desk.end(1, task)
    answers = desk.happen(e.SegmentsMade(1, (77,)))
    assert {task.slot for _, task in orders(answers)} == {77}, "want 5"
    assert desk.service.counters.steps_redone == 0


def test_a_slot_that_was_made_for_a_stream_that_is_gone_is_removed(desk: Desk) -> None:
    desk.close(1)
    assert desk.happen(e.SegmentsMade(1, (77,))) == [a.RemoveSegments((77,))]


def test_a_step_is_done_again_once_and_then_its_deadline_decides(desk: Desk) -> None:
    _stop_worker_1(desk)
    desk.now += 30.0
    assert not orders(desk.happen(e.ClockTicked()))
    assert desk.service.counters.steps_redone == 1


def test_a_straggler_with_nothing_to_do_does_the_late_step_again_when_nobody_else_can(desk: Desk) -> None:
    _stop_worker_1(desk)
    desk.end(2, 5)
    desk.end(2, 6)
    desk.scheduler.staff._workers[1].straggles = True
    desk.release(2)
    desk.now += 60.0
    desk.end(1, 4)
    straggler = desk.scheduler.staff._workers[1]
    desk.scheduler.staff._disown(straggler)
    straggler.straggles = True
    desk.scheduler.staff.vacancies.update(straggler)
    desk.want(3)
    desk.now += 20.0
    assert {worker for worker, _ in orders(desk.happen(e.ClockTicked()))} == {1}


def test_no_row_is_done_again_by_another_worker_that_is_late_too() -> None:
    desk = Desk(workers=3, files=3)
    desk.open(slots=3, files=(0, 1, 2))
    desk.want(1)
    desk.now = 0.1
    tasks = {task.task: each.worker for each in desk.scheduler.staff for task in each.tasks}
    for task, worker in tasks.items():
        desk.end(worker, task)
    desk.release(1)
    (idle,) = (task for worker, task in orders(desk.want(2)) if worker == 1)
    desk.end(1, idle.task)
    desk.now += 2.0
    assert {worker for worker, _ in orders(desk.happen(e.ClockTicked()))} == {1}, "2 and 3 stand still"


def test_a_worker_that_is_late_is_killed_early_where_there_is_no_slot_to_do_its_step_again(desk: Desk) -> None:
    for want in (2, 3, 4, 5):
        desk.want(want)
    for task in (3, 5, 7, 8):
        desk.end(2, task)
    desk.now += 1.0
    desk.happen(e.ClockTicked())
    for _ in range(2):
        desk.happen(e.SegmentsMade(1, (), e.Shortage("none left")))
    deadline = desk.scheduler.next_deadline()
    assert deadline == pytest.approx(desk.now + 0.4)
    desk.now = deadline or 0.0
    assert desk.happen(e.ClockTicked())[:2] == killed(1, "did not finish task 4 within 1.4 s")


def test_a_bad_row_is_replaced_in_each_slot_by_the_same_sample() -> None:
    desk = Desk(workers=2)
    desk.open(slots=3, substitutes=2)
    desk.want(1)
    desk.now = 0.1
    desk.end(1, 2)
    ((_, first),) = orders(desk.end(2, 1, 0))
    assert first.rows.samples == (100,)
    desk.now = 20.0  # worker 2 has row 0, and is late with what takes its place
    again = {task.rows.numbers: task for _, task in orders(desk.happen(e.ClockTicked()))}
    assert again[0,].slot == 11
    assert again[0,].rows.samples == (0,), "as planned, and not as it was replaced before"
    (second,) = (task for _, task in orders(desk.end(1, again[0,].task, 0)) if task.rows.numbers == (0,))
    assert (second.slot, second.rows.samples) == (11, first.rows.samples)


def _busy_with_another_stream(desk: Desk) -> None:
    """Worker 1 stands still with wants 2 and 3, two slots are asked for, and worker 2 gets another stream's step."""
    desk.open(2, EVAL, files=(0,))
    for want in (2, 3, 4, 5, 6):
        desk.want(want)
    for task in (3, 5, 7, 8):
        desk.end(2, task)
    desk.now += 1.0
    assert desk.happen(e.ClockTicked()) == [a.MakeSegments(1, 1, 1, 7)] * 2
    ((worker, _),) = orders(desk.want(1, stream=2, client=EVAL))
    assert worker == 2


def _finish(desk: Desk, number: int) -> list[a.Effect]:
    """Let a worker end all that it holds and gets."""
    answers: list[a.Effect] = []
    while (worker := desk.scheduler.staff.get(number)) and worker.tasks:
        answers += desk.end(number, worker.tasks[0].task)
    return answers


def test_a_slot_that_was_made_for_a_late_step_is_not_given_to_a_later_one_when_the_idle_worker_became_busy(
    desk: Desk,
) -> None:
    _busy_with_another_stream(desk)
    for slot in (77, 78):
        desk.happen(e.SegmentsMade(1, (slot,)))
    assert desk.service.counters.steps_redone == 2
    answered = [each.want for each in announced(_finish(desk, 2)) if each.stream == 1]
    assert answered == [2, 3]
    assert desk.scheduler.staff.get(1).deadline == pytest.approx(desk.now - 1.0 + 60.0), "its full time"


def test_a_slot_that_nobody_could_use_for_the_late_step_is_asked_for_again_before_the_worker_is_given_up(
    desk: Desk,
) -> None:
    _busy_with_another_stream(desk)
    desk.now += 2.0  # both are late
    for slot in (77, 78):
        desk.happen(e.SegmentsMade(1, (slot,)))
    assert desk.service.counters.steps_redone == 0
    answers = _finish(desk, 2)
    assert a.MakeSegments(1, 1, 1, 7) in answers
    desk.happen(e.SegmentsMade(1, (79,)))
    assert desk.service.counters.steps_redone == 1


def test_a_worker_whose_late_step_gets_a_slot_after_all_has_its_full_time_again(desk: Desk) -> None:
    for want in (2, 3, 4):
        desk.want(want)
    for task in (3, 5, 7, 8):
        desk.end(2, task)
    begun_at = desk.now
    desk.now += 1.0
    desk.happen(e.ClockTicked())
    for _ in range(2):
        desk.happen(e.SegmentsMade(1, (), e.Shortage("none left")))
    worker = desk.scheduler.staff.get(1)
    assert worker.deadline == pytest.approx(desk.now + 0.4)
    for _ in range(2):
        desk.release(2)
        _finish(desk, 2)
        desk.release(3)
        _finish(desk, 2)
    assert desk.service.counters.steps_redone == 2
    assert worker.deadline == pytest.approx(begun_at + 60.0)


def test_slots_that_were_made_for_late_steps_go_when_nobody_is_late_any_more(desk: Desk) -> None:
    _busy_with_another_stream(desk)
    for slot in (77, 78):
        desk.happen(e.SegmentsMade(1, (slot,)))
    _finish(desk, 2)
    assert desk.streams()[0].slots == 5
    answers = _finish(desk, 1)
    for lease in range(2, 7):
        answers += desk.release(lease)
    assert desk.streams()[0].slots == 3
    assert any(isinstance(each, a.RemoveSegments) for each in answers)


def test_a_worker_is_not_given_up_for_a_second_late_step_while_the_first_is_on_its_way() -> None:
    desk = Desk(workers=4)  # of which the last ones have no files
    desk.open(slots=3)
    desk.want(1)
    desk.now = 0.1
    desk.end(1, 2)
    desk.end(2, 1)
    desk.release(1)
    for want in (2, 3):
        desk.want(want)
    for task in (4, 6):
        desk.end(1, task)
    late = desk.scheduler.staff.get(2)
    assert late is not None
    full_time = late.deadline
    desk.now += 1.0
    again = orders(desk.happen(e.ClockTicked()))
    assert {task.slot for _, task in again} == {12}, "want 2, and there is no slot for want 3"
    desk.happen(e.SegmentsMade(1, (), e.Shortage("none left")))
    assert late.deadline == full_time, "want 2 is on its way, and a worker is idle"
    for worker, task in again:
        answers = desk.end(worker, task.task)
    assert [each.want for each in announced(answers)] == [2]
    assert late.deadline == pytest.approx(desk.now + 0.4), "its client now waits for want 3"
    desk.release(2)
    assert desk.service.counters.steps_redone == 2
    assert late.deadline == full_time, "want 3 has the slot that came free"
