"""A slot is handed back once, after the last array made of it has died, wherever that happens."""

from __future__ import annotations

import functools
import gc
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from loader_client.forms import Batch
from loader_client.session.delivery import COPY_BELOW_BYTES, Delivery, StreamAtService
from loader_client.session.lease_book import LeaseBook
from loader_client.session.session_effects import MapSlot, SlotMissing
from loader_client.slot_memory import SlotMemory
from loader_service.daemon.segments import SegmentStore
from loader_service.errors import ServiceUnavailable
from loader_service.protocol.fields import ALIGNMENT_BYTES, Field, SlotLayout
from loader_service.protocol.messages import Opened, Ready
from loader_service.protocol.segment_files import map_segment

_ROWS = 4
_LAYOUT = SlotLayout(
    (
        Field("frames", "uint8", (COPY_BELOW_BYTES // _ROWS + 1,)),
        Field("label", "int64", ()),
        Field("depth", "float32", (COPY_BELOW_BYTES // 4 // _ROWS,)),
        Field("video", "S7", ()),
    ),
    _ROWS,
)
_SMALL = SlotLayout((Field("label", "int64", ()),), _ROWS)


class Bench:
    """What a session does of leases, over real segments; `released` is what was handed back so far."""

    def __init__(self, store: SegmentStore, layout: SlotLayout, slots: int) -> None:
        self.released: list[int] = []
        self.copied_batches = 0
        self.numbers = store.create(slots, layout.size_bytes)
        self.instance = store.instance
        self.at = StreamAtService(1, store.instance, Opened(1, 1, layout.fields, 10, slots, slots // 2), layout)
        self.book = LeaseBook(self.at)
        self.slots = SlotMemory(functools.partial(_end, self.book, self.released), owner=lambda: None)
        self._layout = layout

    def take(self, lease: int, rows: int = _ROWS, slot: int | None = None) -> Batch:
        """Return the batch of a lease; its number chooses the slot."""
        ready = Ready(1, lease, slot or self.numbers[(lease - 1) % len(self.numbers)], lease, rows)
        mapped = self.slots.mapped(MapSlot(self.at, ready.slot, ready.want))
        if isinstance(mapped, SlotMissing):
            raise mapped.error
        self.book.take(ready)
        delivery = Delivery(self.at, ready, self.book.lend(lease))
        self.copied_batches += bool(self.at.large) and not delivery.lent
        return self.slots.arrays_of(delivery, self.slots.of(delivery))

    def memory(self, place: int) -> Any:
        """Return a slot's memory as the service sees it."""
        return map_segment(self.instance, self.numbers[place], self._layout.size_bytes)


def _end(book: LeaseBook, released: list[int], _at: StreamAtService, lease: int) -> None:
    if book.end(lease):
        released.append(lease)


@pytest.fixture
def store() -> Iterator[SegmentStore]:
    with SegmentStore() as made:
        yield made


@pytest.fixture
def bench(store: SegmentStore) -> Bench:
    return Bench(store, _LAYOUT, slots=8)


def test_a_large_field_lies_in_the_slot_and_a_small_one_is_a_copy(bench):
    batch = bench.take(1)
    slot = bench.memory(0)
    for name in ("frames", "depth", "label"):
        _LAYOUT.view(name, slot)[...] = 7
    assert (batch["frames"] == 7).all()
    assert (batch["depth"] == 7).all()
    assert (batch["label"] == 0).all()


def test_the_lease_ends_when_the_last_of_its_arrays_dies(bench):
    batch = bench.take(1)
    assert bench.book.lent == 1
    del batch["depth"], batch["label"], batch["video"]
    assert bench.released == []
    del batch["frames"]
    assert bench.released == [1]
    assert bench.book.lent == 0


def test_a_small_field_holds_no_lease(bench):
    label = bench.take(1)["label"]
    assert bench.released == [1]
    assert label.tolist() == [0] * _ROWS


@pytest.mark.parametrize(
    "derive",
    [
        lambda array: array[1:][0:1][0],
        lambda array: array.reshape(2, -1).T.view(np.int8),
        lambda array: memoryview(array)[1:],
        np.from_dlpack,
        lambda array: array.__dlpack__(),
        lambda array: np.asarray(np.ma.masked_array(array).data[:1]),
        lambda array: iter([array]),
    ],
    ids=["slices", "view", "memoryview", "dlpack import", "dlpack capsule", "masked", "iterator"],
)
def test_whatever_is_made_of_an_array_holds_the_lease(bench, derive):
    derived = derive(bench.take(1)["frames"])
    gc.collect()
    assert bench.released == []
    del derived
    assert bench.released == [1]


def test_a_lease_in_a_reference_cycle_ends_with_the_cycle(bench):
    cycle: list[Any] = [bench.take(1)]
    cycle.append(cycle)
    del cycle
    assert bench.released == []
    gc.collect()
    assert bench.released == [1]


def test_each_lease_ends_once_though_its_arrays_die_in_many_threads(bench):
    leases = range(1, 401)
    with ThreadPoolExecutor(8) as threads:
        for lease in leases:
            batch = bench.take(lease)
            for name in list(batch):
                threads.submit([batch.pop(name)].clear)
            del batch
    assert sorted(bench.released) == list(leases)
    assert bench.book.lent == 0


def test_the_death_of_an_array_takes_no_lock_so_it_may_happen_inside_one(store):
    lock = threading.Lock()
    released: list[int] = []

    def release(_at: StreamAtService, lease: int) -> None:
        assert lock.locked()
        released.append(lease)

    bench = Bench(store, _LAYOUT, slots=2)
    bench.slots = SlotMemory(release, owner=lambda: None)
    cycle: list[Any] = [bench.take(1)]
    cycle.append(cycle)
    del cycle
    with lock:
        gc.collect()
    assert released == [1]


def test_half_of_the_slots_may_be_held_and_what_comes_then_is_copied(bench):
    held = [bench.take(lease) for lease in range(1, 5)]
    assert bench.book.lent == 4
    assert bench.released == []
    slot = bench.memory(4)
    _LAYOUT.view("frames", slot)[...] = 9
    copy = bench.take(5)
    assert bench.released == [5]
    assert bench.copied_batches == 1
    _LAYOUT.view("frames", slot)[...] = 1
    assert (copy["frames"] == 9).all()
    held.pop()
    assert bench.take(6) is not None
    assert bench.copied_batches == 1


def test_a_stream_of_a_single_slot_still_leases_it(store):
    bench = Bench(store, _LAYOUT, slots=1)
    held = bench.take(1)
    assert bench.book.lent == 1
    assert held["frames"].flags.writeable


def test_every_array_is_aligned_whether_it_is_a_copy_or_not(bench):
    batches = [bench.take(lease) for lease in range(1, 8)]
    assert bench.copied_batches == 3
    assert {array.ctypes.data % ALIGNMENT_BYTES for batch in batches for array in batch.values()} == {0}


def test_an_incomplete_batch_has_as_many_rows_as_it_says(bench):
    batch = bench.take(1, rows=3)
    assert {name: array.shape[0] for name, array in batch.items()} == dict.fromkeys(batch, 3)


def test_a_batch_without_large_fields_holds_no_lease(store):
    bench = Bench(store, _SMALL, slots=2)
    batch = bench.take(1)
    assert bench.released == [1]
    assert bench.copied_batches == 0
    assert batch["label"].dtype == np.int64


def test_arrays_outlive_the_segment_and_the_leases(store):
    bench = Bench(store, _LAYOUT, slots=2)
    frames = bench.take(1)["frames"]
    frames[...] = 3
    store.remove(bench.numbers)
    released, gone = bench.released, weakref.ref(bench.slots)
    del bench
    assert gone() is None  # without the cycle collector
    assert (frames == 3).all()
    del frames
    assert released == []  # the service took it back with the stream


def test_a_slot_that_is_not_there_is_named(bench):
    with pytest.raises(
        ServiceUnavailable,
        match=r"cannot map slot 99: .*/slot-99: .*must share /dev/shm.*LOADER_SERVICE_SHM.*`loader-service restart`",
    ):
        bench.take(1, slot=99)
    assert bench.released == []
    assert bench.book.lent == 0
