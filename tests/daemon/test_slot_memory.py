"""How many slots a stream gets of the memory that there is, and what is said when there is too little."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Iterator

import pytest

from loader_service.core.effects import MakeSegments
from loader_service.core.events import SegmentsMade, Shortage
from loader_service.daemon import segment_maker
from loader_service.daemon.room import Room
from loader_service.daemon.segment_maker import MAKING_S, SegmentMaker, choose_slots
from loader_service.daemon.segments import NoSpace, SegmentStore
from loader_service.errors import ConfigError
from loader_service.plan.prefetch import (
    DEEP_BYTES,
    DEEP_SLOTS,
    LEAST_PREFETCH,
    MOST_PREFETCH,
    PREFETCH_BYTES,
    deep_slots,
    steps_ahead,
    wanted_slots,
)

MIB = 2**20


@pytest.fixture
def store() -> Iterator[SegmentStore]:
    with SegmentStore() as store:
        yield store


@pytest.fixture
def memory(store: SegmentStore, watched: select.epoll) -> Iterator[SegmentMaker]:
    with SegmentMaker(store, 64 * MIB, watched) as memory:
        yield memory


@pytest.fixture
def walls(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[Room]], None]:
    """Sets what each wall leaves."""
    return lambda rooms: monkeypatch.setattr(segment_maker, "rooms", lambda *_: rooms)


@pytest.mark.parametrize(
    ("slot_bytes", "prefetch"),
    [(64, MOST_PREFETCH), (MIB, MOST_PREFETCH), (PREFETCH_BYTES // 8, 8), (PREFETCH_BYTES, LEAST_PREFETCH)],
)
def test_small_steps_are_filled_further_ahead(slot_bytes, prefetch):
    assert wanted_slots(slot_bytes, 0) == 2 * prefetch


def test_where_reads_are_slow_more_steps_are_filled_ahead_and_the_trainer_may_hold_no_more():
    assert deep_slots(64 * MIB, 0) == DEEP_BYTES // (64 * MIB)
    assert deep_slots(64 * MIB, 3) == 6, "a prefetch that was asked for is kept"
    assert deep_slots(PREFETCH_BYTES * 4, 0) == 2 * LEAST_PREFETCH
    assert deep_slots(64, 0) == DEEP_SLOTS
    assert [steps_ahead(slots, 8) for slots in (1, 2, 7, 8, 9, 16)] == [1, 1, 4, 4, 5, 12]


def room_of(left_bytes: int) -> list[Room]:
    return [
        Room(2**60, "in the tmpfs", "name a larger tmpfs"),
        Room(left_bytes, "of the budget", "start the service with more --memory", is_budget=True),
    ]


def test_what_was_asked_for_is_given_where_there_is_room():
    assert choose_slots(MIB, wanted_slots(MIB, 100), 2, room_of(2**40)) == 200


@pytest.mark.parametrize(("left", "slots"), [(2, 2), (3, 2), (5, 2), (6, 3), (7, 3), (20, 10), (24, 12), (99, 12)])
def test_a_stream_gets_half_of_what_is_left_but_two_slots_at_least(left, slots):
    assert choose_slots(MIB, 12, 2, room_of(left * MIB)) == slots


def test_streams_open_one_after_the_other_until_two_slots_do_not_fit():
    left, opened = 512, []
    while left >= 2 * 38:
        opened.append(choose_slots(38 * MIB, 12, 2, room_of(left * MIB)))
        left -= opened[-1] * 38
    assert opened == [6, 3, 2, 2]


@pytest.mark.parametrize("left", [2 * MIB - 1, 0, -5])
def test_too_little_memory_is_a_shortage_with_needed_and_free_bytes(left, store, walls, memory):
    walls(room_of(left))
    made = memory.make(MakeSegments(7, 8, 2, MIB), 2)
    assert (made.stream, made.slots) == (7, ())
    assert f"need {2 * MIB} bytes of shared memory, {max(0, left)} are left of the budget" in made.shortage.lack
    assert made.shortage.remedy.startswith("use a smaller batch_size")
    assert "--memory" in made.shortage.remedy


def test_a_larger_budget_is_no_remedy_where_another_wall_is_as_close(store, walls, memory):
    walls([*room_of(MIB), Room(MIB + 1, "below a limit", "raise that")])
    shortage = memory.make(MakeSegments(7, 8, 2, MIB), 2).shortage
    assert shortage.lack.endswith(f"{MIB + 1} are left below a limit")
    assert shortage.remedy.endswith(", or raise that")


def test_one_more_slot_takes_all_that_is_left():
    assert choose_slots(MIB, 1, 1, room_of(MIB)) == 1
    assert choose_slots(MIB, 1, 1, room_of(MIB - 1)) == 0


def test_who_waits_for_all_slots_gets_none_while_a_fair_share_has_fewer():
    assert choose_slots(MIB, 8, 8, room_of(16 * MIB)) == 8
    assert choose_slots(MIB, 8, 8, room_of(15 * MIB)) == 0


@pytest.mark.parametrize(("slots", "ahead"), [(2, 1), (3, 2), (4, 2), (5, 3), (12, 6)])
def test_of_an_odd_number_of_slots_one_more_is_filled_ahead_than_is_held(slots, ahead):
    assert steps_ahead(slots) == ahead


def test_room_that_somebody_else_takes_in_between_means_fewer_slots(store, monkeypatch, memory):
    create, asked = store.create, []

    def create_four(count: int, size_bytes: int) -> tuple[int, ...]:
        asked.append(count)
        if count > 4:
            raise NoSpace("full")
        return create(count, size_bytes)

    monkeypatch.setattr(store, "create", create_four)
    made = memory.make(MakeSegments(1, 16, 2, 4096), 2)
    assert asked == [16, 8, 4]
    assert len(made.slots) == 4
    assert store.total_bytes == 4 * 4096


def test_what_cannot_be_created_for_another_reason_says_so_and_leaves_nothing(store, monkeypatch, memory):
    def fail(count: int, size_bytes: int) -> tuple[int, ...]:
        raise ConfigError("cannot create a batch of 4096 bytes: no")

    monkeypatch.setattr(store, "create", fail)
    made = memory.make(MakeSegments(1, 16, 2, 4096), 2)
    assert made == SegmentsMade(1, (), Shortage("cannot create a batch of 4096 bytes: no"))


# ---- the thread


def test_slots_are_made_while_the_loop_goes_on(memory, watched, monkeypatch):
    goes_on, allocate = threading.Event(), os.posix_fallocate

    def slow(*arguments: int) -> None:
        assert goes_on.wait(60)
        allocate(*arguments)

    monkeypatch.setattr(os, "posix_fallocate", slow)
    memory.ask(MakeSegments(1, 2, 2, 4096), 2, now=100.0)
    assert memory.next_deadline() == 100.0 + MAKING_S
    assert memory.made(set(), now=101.0) == []
    goes_on.set()
    ready = {descriptor for descriptor, _ in watched.poll(60)}
    assert [(each.stream, len(each.slots)) for each in memory.made(ready, now=102.0)] == [(1, 2)]
    assert memory.next_deadline() is None


def test_slots_that_are_made_too_late_are_removed_and_their_stream_is_told_at_the_deadline(
    memory, store, watched, monkeypatch
):
    goes_on, allocate = threading.Event(), os.posix_fallocate

    def slow(*arguments: int) -> None:
        assert goes_on.wait(60)
        allocate(*arguments)

    monkeypatch.setattr(os, "posix_fallocate", slow)
    memory.ask(MakeSegments(1, 2, 2, 4096), 2, now=100.0)
    (answer,) = memory.made(set(), now=100.0 + MAKING_S)
    assert answer.slots == ()
    assert answer.shortage == Shortage("batches of 4096 bytes could not be made within 20 s")
    goes_on.set()
    ready = {descriptor for descriptor, _ in watched.poll(60)}
    assert memory.made(ready, now=130.0) == []
    assert store.total_bytes == 0


def test_a_budget_that_is_more_than_there_is_is_told_at_the_start(
    watched: select.epoll, caplog: pytest.LogCaptureFixture
) -> None:
    with SegmentStore() as store:
        for budget, warned in ((0, 0), (2**20, 0), (2**60, 1)):
            with SegmentMaker(store, budget, watched):
                assert len(caplog.messages) == warned
    (line,) = caplog.messages
    assert line.startswith("--memory allows 1048576.0 TiB, and only ")
    assert "; streams that need more are refused: give less, or " in line
