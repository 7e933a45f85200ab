"""Tensors lie in the service's slots: nothing is copied, and a slot is free only when its tensor is gone."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loader_client
from loader_client import Clip, Connection
from loader_service.protocol.messages import StreamStatus
from loader_service.protocol.segment_files import user_directory
from tests.client.reference import Reference
from tests.support.services import Service
from tests.support.waiting import eventually

pytestmark = pytest.mark.tensorflow

_PREFETCH = 2
_SLOTS = 2 * _PREFETCH


@pytest.fixture
def dataset(tf: Any, service: Service) -> Iterator[list[Any]]:
    """Return a list of a dataset without an end, so that a test can let go of it."""
    clip = Clip(frames=4)
    made = loader_client.dataset(service.endpoint, batch_size=4, clip=clip, prefetch=_PREFETCH)
    holder = [made.repeat()]
    del made
    yield holder
    holder.clear()
    gc.collect()


@pytest.fixture
def onlooker(service: Service) -> Iterator[Connection]:
    with loader_client.connect(service.endpoint) as connection:
        yield connection


def _stream(connection: Connection) -> StreamStatus:
    (only,) = connection.status().streams
    return only


def _address(tensor: Any) -> int:
    """Return where a tensor's elements lie; `numpy()` would be a copy of them."""
    return int(np.asarray(memoryview(tensor)).ctypes.data)


def _slot_of(address: int) -> str | None:
    """Return the segment in which an address of this process lies."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        low, high = (int(end, 16) for end in line.split(" ", 1)[0].split("-"))
        if low <= address < high:
            found = re.search(rf"{user_directory()}/[0-9a-f]{{16}}/(slot-\d+)", line)
            return found[1] if found else None
    return None


def test_the_pixels_of_a_tensor_lie_in_a_slot_and_small_fields_do_not(dataset: list[Any]) -> None:
    batch = next(iter(dataset[0]))
    assert _slot_of(_address(batch["frames"]))
    assert _slot_of(_address(batch["index"])) is None


def test_slot_is_reused_only_after_its_tensor_died(dataset: list[Any], onlooker: Connection) -> None:
    iterator = iter(dataset[0])
    held = next(iterator)["frames"]
    slot, before = _slot_of(_address(held)), held.numpy().copy()
    for _ in range(6 * _SLOTS):
        assert _slot_of(_address(next(iterator)["frames"])) not in (None, slot)
    np.testing.assert_array_equal(held.numpy(), before)
    view = held[1:]  # TensorFlow may share the memory of slices
    del held
    gc.collect()
    np.testing.assert_array_equal(view.numpy(), before[1:])
    del view
    eventually(lambda: _slot_of(_address(next(iterator)["frames"])) == slot, "the slot is filled again")


def test_the_lease_of_a_dropped_tensor_ends_while_nobody_iterates(dataset: list[Any], onlooker: Connection) -> None:
    iterator = iter(dataset[0])
    held = next(iterator)
    eventually(lambda: _ahead_is_ready(onlooker), "the next steps are ready")
    before = _stream(onlooker).slots_leased
    del held
    eventually(lambda: _stream(onlooker).slots_leased < before, "the lease has ended")


def _ahead_is_ready(connection: Connection) -> bool:
    stream = _stream(connection)
    return not stream.slots_filling and stream.slots_leased == 1 + _PREFETCH


def test_a_trainer_that_keeps_every_batch_gets_copies_and_never_waits_for_ever(
    dataset: list[Any], reference: Reference
) -> None:
    batches = list(dataset[0].take(10 * _SLOTS))
    in_slots = [batch for batch in batches if _slot_of(_address(batch["frames"]))]
    assert 1 <= len(in_slots) <= _SLOTS // 2
    for batch in batches:
        reference.check({name: tensor.numpy() for name, tensor in batch.items()}, frames=4)


def test_batches_held_by_shuffle_and_prefetch_are_right(dataset: list[Any], reference: Reference) -> None:
    held = dataset[0].shuffle(2 * _SLOTS).prefetch(2 * _SLOTS).take(5 * _SLOTS)
    for batch in held.as_numpy_iterator():
        reference.check(batch, frames=4)


def test_a_tensor_outlives_its_dataset_and_its_service_connection(dataset: list[Any]) -> None:
    batch = next(iter(dataset[0]))
    expected = batch["frames"].numpy().copy()
    dataset.clear()
    gc.collect()
    np.testing.assert_array_equal(batch["frames"].numpy(), expected)


def test_tensors_dropped_in_tensorflows_threads_end_their_leases(
    tf: Any, dataset: list[Any], onlooker: Connection
) -> None:
    reduced = dataset[0].map(lambda batch: tf.reduce_sum(tf.cast(batch["frames"], tf.int64)), num_parallel_calls=2)
    for total in reduced.take(20 * _SLOTS):
        assert int(total) > 0
    eventually(lambda: _stream(onlooker).slots_leased <= _PREFETCH + 4, "leases end")
