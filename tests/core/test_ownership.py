"""Files are spread evenly, and move as little as evenness allows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from loader_service.core.ownership import MOST_GROUPS, Ownership

_SIZES = st.lists(st.one_of(st.integers(0, 10), st.integers(0, 10**9)), max_size=40)
#: Each number joins when it is away, and leaves when it is there.
_TURNS = st.lists(st.integers(1, 8), max_size=24)


def _owners(ownership: Ownership, files: int) -> list[int | None]:
    return [ownership.owner(file) for file in range(files)]


def _after(sizes: list[int], turns: list[int]) -> Ownership:
    ownership = Ownership(sizes)
    for worker in turns:
        (ownership.leave if worker in ownership.workers else ownership.join)(worker)
    return ownership


@given(_SIZES, _TURNS)
def test_each_file_has_one_owner_while_there_are_workers(sizes: list[int], turns: list[int]) -> None:
    ownership = _after(sizes, turns)
    by_worker = {file: worker for worker in ownership.workers for file in ownership.files(worker)}
    assert len(by_worker) == sum(len(ownership.files(worker)) for worker in ownership.workers)
    assert _owners(ownership, len(sizes)) == [by_worker.get(file) for file in range(len(sizes))]
    assert set(by_worker) == (set(range(len(sizes))) if ownership.workers else set())


@given(_SIZES, _TURNS)
def test_no_two_loads_differ_by_more_than_the_largest_file(sizes: list[int], turns: list[int]) -> None:
    ownership = _after(sizes, turns)
    loads = [sum(sizes[file] for file in ownership.files(worker)) for worker in ownership.workers]
    assert max(loads, default=0) - min(loads, default=0) <= max(sizes, default=0)


@given(_SIZES, _TURNS)
def test_a_join_moves_files_to_the_new_worker_only(sizes: list[int], turns: list[int]) -> None:
    ownership = _after(sizes, turns)
    before = _owners(ownership, len(sizes))
    ownership.join(99)
    after = _owners(ownership, len(sizes))
    assert all(new == 99 for old, new in zip(before, after, strict=True) if old != new)


@given(_SIZES, _TURNS)
def test_a_leave_moves_the_files_of_the_leaver_only(sizes: list[int], turns: list[int]) -> None:
    ownership = _after(sizes, turns)
    before = _owners(ownership, len(sizes))
    for worker in ownership.workers[:1]:
        ownership.leave(worker)
        after = _owners(ownership, len(sizes))
        assert all(old == worker for old, new in zip(before, after, strict=True) if old != new)


@given(st.integers(1, 60), st.integers(1, 8))
def test_of_equal_files_a_join_moves_no_more_than_a_fair_share(files: int, workers: int) -> None:
    ownership = _after([5] * files, list(range(1, workers + 1)))
    ownership.join(99)
    assert len(ownership.files(99)) == files // (workers + 1)


def test_empty_files_are_not_moved_for_nothing() -> None:
    ownership = Ownership([0, 0, 8])
    ownership.join(1)
    ownership.join(2)
    assert _owners(ownership, 3) == [1, 1, 1]


def test_the_file_moves_that_evens_the_loads_out_best() -> None:
    ownership = Ownership([10, 40, 50, 100])
    ownership.join(1)
    ownership.join(2)
    assert _owners(ownership, 4) == [1, 1, 1, 2]


def test_more_workers_than_files_leaves_some_without() -> None:
    ownership = _after([5, 5], [1, 2, 3])
    assert [len(ownership.files(worker)) for worker in (1, 2, 3)] == [1, 1, 0]


def test_files_have_no_owner_when_the_last_worker_left() -> None:
    ownership = _after([5, 5], [1, 2, 1, 2])
    assert _owners(ownership, 2) == [None, None]
    assert ownership.workers == ()


def test_the_same_comings_and_goings_give_the_same_owners() -> None:
    turns = [1, 2, 3, 2, 4, 1, 2]
    sizes = [7, 3, 9, 9, 1, 4, 4, 8]
    assert _owners(_after(sizes, turns), 8) == _owners(_after(sizes, turns), 8)


def test_each_join_and_leave_counts_as_a_change() -> None:
    ownership = Ownership([5])
    seen = [ownership.changes]
    for worker in (1, 2, 1, 2):
        (ownership.leave if worker in ownership.workers else ownership.join)(worker)
        seen.append(ownership.changes)
    assert seen == sorted(set(seen))


def test_very_many_files_move_in_groups_of_nearly_the_same_bytes() -> None:
    sizes = [1 + file * 7919 % 1000 for file in range(3 * MOST_GROUPS)]
    ownership = _after(sizes, [1, 2, 3])
    counts = [ownership.file_count(worker) for worker in ownership.workers]
    loads = [sum(sizes[file] for file in ownership.files(worker)) for worker in ownership.workers]
    assert sum(counts) == len(sizes)
    assert counts == [len(ownership.files(worker)) for worker in ownership.workers]
    assert max(loads) - min(loads) < 3000, "three of the largest files"
    assert all(ownership.owner(file) == worker for worker in ownership.workers for file in ownership.files(worker))


@given(_SIZES, _TURNS, st.lists(st.tuples(st.integers(1, 8), st.integers(1, 3)), max_size=8))
def test_files_move_by_cost_and_each_has_an_owner(
    sizes: list[int], turns: list[int], costs: list[tuple[int, int]]
) -> None:
    ownership = _after(sizes, turns)
    of = dict.fromkeys(ownership.workers, 1)
    for worker, cost in costs:
        if worker in of:
            of[worker] = cost
            ownership.weigh(worker, cost)
    owned = {worker: sum(sizes[file] for file in ownership.files(worker)) for worker in of}
    assert sum(owned.values()) == (sum(sizes) if of else 0)
    assert not of or None not in _owners(ownership, len(sizes))
    for worker in list(of):
        ownership.leave(worker)
    assert ownership.workers == ()


def test_a_worker_of_twice_the_cost_has_half_the_bytes_and_gets_them_back() -> None:
    ownership = Ownership([1] * 60)
    for worker in (1, 2):
        ownership.join(worker)
    ownership.weigh(2, 2)
    assert [ownership.file_count(worker) for worker in (1, 2)] == [40, 20]
    ownership.join(3)
    assert [ownership.file_count(worker) for worker in (1, 2, 3)] == [24, 12, 24]
    ownership.weigh(2, 1)
    assert [ownership.file_count(worker) for worker in (1, 2, 3)] == [20, 20, 20]
