"""Who can be given a task is known without looking at all workers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from loader_service.core.tasks import SMALL_TASK_BYTES, PendingTask
from loader_service.core.vacancies import Vacancies
from loader_service.core.worker import Worker, WorkerState

_WORKERS = range(1, 6)
_STATES = st.sampled_from(list(WorkerState))

#: A worker, its state, how many tasks it has, whether it straggles, and whether somebody asks then.
_Change = tuple[int, WorkerState, int, bool, bool]
_CHANGES = st.lists(
    st.tuples(st.sampled_from(_WORKERS), _STATES, st.integers(0, 3), st.booleans(), st.booleans()), max_size=60
)


def _tasks(count: int) -> list[PendingTask]:
    size = SMALL_TASK_BYTES
    return [PendingTask(task=each, stream=1, slot=1, rows=(0,), size_bytes=size, file=0) for each in range(count)]


@given(_CHANGES)
def test_it_knows_what_looking_at_all_workers_would_tell(
    changes: list[_Change],
) -> None:
    vacancies, workers = Vacancies(), {number: Worker(number, WorkerState.STARTING, None) for number in _WORKERS}
    for number, state, tasks, straggles, asks in changes:
        worker = workers[number]
        worker.state, worker.tasks, worker.straggles = state, _tasks(tasks), straggles
        worker.bytes_given = tasks * SMALL_TASK_BYTES
        vacancies.update(worker)
        free = [each for each in workers.values() if each.has_room]
        with_room = [each.worker for each in free if not each.straggles]
        idle = [each.worker for each in free if not each.tasks and not each.straggles]
        idle_stragglers = [each.worker for each in free if not each.tasks and each.straggles]
        if asks:
            assert vacancies.all() == (*with_room, *idle_stragglers)
            assert vacancies.first_with_room() == min(with_room, default=None)
            assert vacancies.first_idle() == min(idle, default=None)
            assert vacancies.first_idle_straggler() == min(idle_stragglers, default=None)
            rests = min((workers[each].pace.rested_at for each in idle_stragglers), default=None)
            assert vacancies.next_rest_ends == rests
        assert vacancies.take_freed() == ({number} if worker.has_room else set())


def test_a_straggler_is_told_when_it_has_rested() -> None:
    vacancies, worker = Vacancies(), Worker(7, WorkerState.WORKING, None, straggles=True)
    worker.pace.begun(100.0)
    worker.pace.ended(SMALL_TASK_BYTES, 102.0)  # ten times two seconds
    vacancies.update(worker)
    assert vacancies.next_rest_ends == 122.0
    assert vacancies.rested(121.9) is None
    assert vacancies.rested(122.0) == 7
    vacancies.forget(worker)
    assert vacancies.rested(200.0) is None
