"""A receiver that has too much to do lowers how many tasks remote workers hold, and raises it again."""

from __future__ import annotations

from loader_service.remote.throttle import LOOK_S, USUAL, Throttle


def looks(throttle, shares, wanted, begin=0.0):
    """Return what each worker may hold after each look; the receiver took such shares of a core."""
    now, cpu, tasks = begin, begin, dict.fromkeys(wanted, USUAL)
    for share in shares:
        now, cpu = now + LOOK_S, cpu + share * LOOK_S
        tasks = {**tasks, **throttle.look(now, cpu, wanted)}
        yield dict(tasks)


def test_nothing_changes_while_the_receiver_has_time():
    throttle = Throttle(0.0, 0.0)
    assert all(each == {1: 2, 2: 2} for each in looks(throttle, [0.1, 0.6, 0.8], {1: 2, 2: 2}))


def test_a_saturated_receiver_gets_one_task_of_each_worker_and_two_again_when_it_has_room():
    throttle = Throttle(0.0, 0.0)
    *_, least = looks(throttle, [0.95] * 8, {1: 2, 2: 2})
    assert least == {1: 1, 2: 1}
    *_, again = looks(throttle, [0.3] * 4, {1: 2, 2: 2}, begin=4 * 1.0)
    assert again == {1: 2, 2: 2}


def test_workers_that_ask_for_many_tasks_give_most_of_them_back():
    throttle = Throttle(0.0, 0.0)
    shrunk = [each[1] for each in looks(throttle, [0.95] * 12, {1: 64})]
    assert shrunk == sorted(shrunk, reverse=True)
    assert shrunk[-1] < 10
