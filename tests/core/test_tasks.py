"""How steps are cut into tasks, and whose turn it is."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loader_service.core.ownership import Ownership
from loader_service.core.tasks import LEAST_PIECES, SMALL_TASK_BYTES, PendingTask, TaskQueues, cut
from loader_service.protocol.rows import Row

MIB = 2**20


def _owned(files: int, workers: int) -> Ownership:
    ownership = Ownership([100] * files)
    for worker in range(1, workers + 1):
        ownership.join(worker)
    return ownership


def _rows(files: list[int]) -> list[Row]:
    return [Row(number, file) for number, file in enumerate(files)]


# ---- cutting


@given(st.lists(st.integers(0, 9), min_size=1, max_size=200), st.integers(0, 12), st.integers(1, 8 * MIB))
def test_each_row_is_in_exactly_one_piece(files: list[int], workers: int, row_bytes: int) -> None:
    pieces = cut(_rows(files), _owned(10, workers), row_bytes)
    assert sorted(itertools.chain.from_iterable(pieces)) == list(range(len(files)))
    assert all(pieces)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=200), st.integers(1, 12), st.integers(1, 8 * MIB))
def test_a_piece_of_a_cut_step_is_of_one_owner(files: list[int], workers: int, row_bytes: int) -> None:
    ownership = _owned(10, workers)
    if len(files) * row_bytes <= SMALL_TASK_BYTES:
        return
    for piece in cut(_rows(files), ownership, row_bytes):
        assert len({ownership.owner(files[row]) for row in piece}) == 1


@given(st.lists(st.integers(0, 9), min_size=1, max_size=200), st.integers(1, 12), st.integers(1, 8 * MIB))
def test_the_pieces_of_an_owner_differ_by_one_row_at_most(files: list[int], workers: int, row_bytes: int) -> None:
    ownership = _owned(10, workers)
    sizes: dict[int | None, list[int]] = {}
    for piece in cut(_rows(files), ownership, row_bytes):
        sizes.setdefault(ownership.owner(files[piece[0]]), []).append(len(piece))
    assert all(max(each) - min(each) <= 1 for each in sizes.values())


def test_a_step_of_little_work_stays_whole() -> None:
    assert cut(_rows([0, 1, 2, 3]), _owned(4, 4), SMALL_TASK_BYTES // 4) == [(0, 1, 2, 3)]


def test_a_step_of_much_work_is_cut_by_owner() -> None:
    ownership = _owned(2, 2)
    assert sorted(cut(_rows([0, 1, 0, 1]), ownership, 4 * MIB)) == [(0, 2), (1, 3)]


def test_rows_of_one_file_are_cut_so_that_each_worker_can_have_a_piece() -> None:
    assert cut(_rows([0] * 8), _owned(1, 4), 4 * MIB) == [(0, 1), (2, 3), (4, 5), (6, 7)]


def test_no_piece_is_too_small_for_a_message() -> None:
    pieces = cut(_rows([0] * 64), _owned(1, 64), SMALL_TASK_BYTES // 8)
    assert {len(piece) for piece in pieces} == {8}


def test_rows_of_several_owners_are_one_task_when_more_tasks_gain_nothing() -> None:
    owned, rows = _owned(16, 16), _rows(list(range(16)))
    assert {len(piece) for piece in cut(rows, owned, 4 * MIB, steps=1)} == {1}
    joined = cut(rows, owned, 5 * MIB, steps=6)  # two a worker make six a step
    assert [len(piece) for piece in joined] == [3, 3, 3, 3, 3, 1], "of 17 MiB at most"
    assert sorted(itertools.chain.from_iterable(joined)) == list(range(16))


@given(st.lists(st.integers(0, 30), min_size=1, max_size=64), st.integers(1, 32), st.integers(1, 12))
def test_joining_leaves_enough_pieces_and_loses_no_row(files: list[int], workers: int, steps: int) -> None:
    owned, rows = _owned(31, workers), _rows(files)
    pieces = cut(rows, owned, 3 * MIB, steps=steps)
    assert sorted(itertools.chain.from_iterable(pieces)) == list(range(len(files)))
    owners = len({owned.owner(file) for file in files})
    assert len(pieces) >= min(owners, max(LEAST_PIECES, 2 * workers // steps))


def test_a_step_is_cut_even_while_there_is_no_worker() -> None:
    assert cut(_rows([0, 1]), Ownership([5, 5]), 4 * MIB) == [(0, 1)]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 500)), min_size=1, max_size=100), st.integers(1, 6))
def test_pieces_of_rows_of_different_length_are_about_a_fair_share(rows: list[tuple[int, int]], workers: int) -> None:
    ownership = _owned(4, workers)
    made = [Row(number, file, frames=frames) for number, (file, frames) in enumerate(rows)]
    pieces = cut(made, ownership, row_bytes=1, frame_bytes=MIB)
    assert sorted(itertools.chain.from_iterable(pieces)) == list(range(len(rows)))
    sizes = [sum(rows[row][1] for row in piece) for piece in pieces]
    # Half as much again, since pieces of an owner are rounded to whole ones, and a row is never cut.
    share = max(sum(frames for _, frames in rows) / workers, 2)
    assert max(sizes) <= 1.5 * share + max(frames for _, frames in rows) + 1


# ---- turns


class _Line:
    """Queues with tasks numbered as they come."""

    def __init__(self, ownership: Ownership) -> None:
        self.queues = TaskQueues(ownership)
        self._numbers = itertools.count(1)

    def put(self, stream: int, size: int = MIB, file: int = 0, want: int = 1) -> PendingTask:
        task = PendingTask(task=next(self._numbers), stream=stream, slot=want, rows=(0,), size_bytes=size, file=file)
        self.queues.put(task)
        return task

    def streams_taken(self, count: int, worker: int = 1) -> list[int]:
        taken = [self.queues.take_own(worker) for _ in range(count)]
        return [task.stream for task in taken if task is not None]


@pytest.fixture
def line() -> _Line:
    made = _Line(_owned(1, 1))
    made.queues.open(1)
    made.queues.open(2)
    return made


def test_streams_take_turns(line: _Line) -> None:
    for stream in (1, 1, 1, 2, 2, 2):
        line.put(stream)
    assert line.streams_taken(7) == [1, 2, 1, 2, 1, 2]


def test_turns_are_counted_in_bytes_not_in_tasks(line: _Line) -> None:
    for _ in range(2):
        line.put(1, size=3 * MIB)
    for _ in range(6):
        line.put(2, size=MIB)
    assert line.streams_taken(8) == [1, 2, 2, 2, 1, 2, 2, 2]


def test_the_tasks_of_a_stream_keep_their_order(line: _Line) -> None:
    tasks = [line.put(1) for _ in range(4)]
    assert [line.queues.take_own(1) for _ in range(5)] == [*tasks, None]


def test_a_stream_that_joins_late_has_no_arrears_to_collect(line: _Line) -> None:
    for _ in range(50):
        line.put(1)
    line.streams_taken(40)
    line.queues.open(3)
    for _ in range(10):
        line.put(3)
    assert Counter(line.streams_taken(10)) in ({1: 5, 3: 5}, {1: 4, 3: 6})


def test_a_stream_that_was_idle_has_no_arrears_to_collect(line: _Line) -> None:
    line.put(2)
    for _ in range(50):
        line.put(1)
    line.streams_taken(41)
    for _ in range(10):
        line.put(2)
    assert Counter(line.streams_taken(10)) in ({1: 5, 2: 5}, {1: 4, 2: 6})


def test_a_stream_served_much_by_another_worker_does_not_wait_until_all_others_had_as_much() -> None:
    ownership = _owned(2, 2)
    line = _Line(ownership)
    alone, shared = (ownership.files(worker)[0] for worker in (1, 2))
    for stream in (1, 2):
        line.queues.open(stream)
    for _ in range(1000):  # stream 1 reads file `alone`, with a worker for itself
        line.put(1, file=alone)
        assert line.streams_taken(1, worker=1) == [1]
    for _ in range(4):  # then it goes on to the file that stream 2 has been reading all the time
        line.put(2, file=shared)
    line.put(1, file=shared)
    assert 1 in line.streams_taken(5, worker=2)
    for _ in range(20):
        line.put(2, file=shared)
        line.put(1, file=shared)
    assert Counter(line.streams_taken(20, worker=2)) == {1: 10, 2: 10}


def test_what_comes_back_is_done_in_its_old_turn(line: _Line) -> None:
    first = line.put(1)
    for _ in range(3):
        line.put(1)
        line.put(2)
    assert line.queues.take_own(1) is first
    line.queues.put(first)
    assert line.queues.take_own(1) is first


@given(
    st.lists(st.integers(1, 5 * MIB), min_size=30, max_size=60),
    st.lists(st.integers(1, 5 * MIB), min_size=30, max_size=60),
    st.integers(1, 8),
)
def test_streams_that_always_wait_get_the_same_within_one_task_each(
    first: list[int], second: list[int], depth: int
) -> None:
    line = _Line(_owned(1, 1))
    sizes = {1: iter(first), 2: iter(second)}
    for stream in (1, 2):
        line.queues.open(stream)
        for _ in range(depth):
            line.put(stream, size=next(sizes[stream]))
    served = {1: 0, 2: 0}
    while task := line.queues.take_own(1):
        served[task.stream] += task.size_bytes
        assert abs(served[1] - served[2]) <= max(first) + max(second)
        following = next(sizes[task.stream], None)
        if following is None:
            return  # from here on one does not always wait
        line.put(task.stream, size=following)


# ---- owners


def test_a_worker_takes_the_tasks_of_its_own_files() -> None:
    ownership = _owned(2, 2)
    line = _Line(ownership)
    line.queues.open(1)
    tasks = {file: line.put(1, file=file) for file in (0, 1)}
    for worker in (2, 1):
        assert line.queues.take_own(worker) is tasks[ownership.files(worker)[0]]
        assert line.queues.take_own(worker) is None


def test_tasks_follow_their_files_to_a_new_owner() -> None:
    ownership = _owned(4, 1)
    line = _Line(ownership)
    line.queues.open(1)
    tasks = [line.put(1, file=file) for file in range(4)]
    ownership.join(2)
    moved = [task for task in tasks if ownership.owner(task.file) == 2]
    assert len(moved) == line.queues.waiting_for(2) == 2
    assert [line.queues.take_own(2), line.queues.take_own(2), line.queues.take_own(2)] == [*moved, None]
    ownership.leave(1)
    assert line.queues.waiting_for(2) == 2


def test_tasks_of_files_without_an_owner_are_for_anyone() -> None:
    line = _Line(Ownership([5]))
    line.queues.open(1)
    task = line.put(1)
    assert line.queues.take_own(9) is task


def test_help_goes_to_the_worker_with_most_bytes_waiting() -> None:
    ownership = _owned(3, 3)
    line = _Line(ownership)
    line.queues.open(1)
    files = {worker: ownership.files(worker)[0] for worker in (1, 2, 3)}
    for size in (1, 1, 1):
        line.put(1, size=size, file=files[1])
    large = line.put(1, size=10, file=files[2])
    assert line.queues.take_from_longest() is large
    assert [line.queues.take_from_longest() is None for _ in range(4)] == [False, False, False, True]


def test_tasks_are_dropped_by_number_and_those_that_do_not_wait_are_passed_over(line: _Line) -> None:
    mine = [line.put(1, want=7), line.put(1, want=7)]
    others = [line.put(2, want=7), line.put(1, want=8)]
    assert line.queues.drop([each.task for each in mine] + [10**6]) == mine
    assert list(line.queues) == others


def test_a_closed_stream_takes_its_tasks_along(line: _Line) -> None:
    mine = line.put(1)
    other = line.put(2)
    line.queues.close(1, [mine.task])
    assert list(line.queues) == [other]
    assert len(line.queues) == 1
