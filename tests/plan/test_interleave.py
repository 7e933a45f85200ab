"""Interleaved files: the order of tf.data, at any place of it, in shards, and with files shuffled."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loader_service.plan.interleave import Interleaving
from loader_service.plan.plans import make_plan
from loader_service.plan.samples import make_samples
from loader_service.protocol.spec import Frame, Spec
from tests.plan.epochs import epoch_of

SIZES = st.lists(st.integers(0, 30), min_size=1, max_size=12)
CYCLES = st.integers(1, 14)
BLOCKS = st.integers(1, 9)


def plan_of(sizes, cycle_length: int, block_length: int, batch_size: int = 1, **options):
    """Return the plan over files of one video each."""
    samples = make_samples(np.asarray(sizes), Frame(), seed=0)
    options = {"shuffle": False, "drop_remainder": False, **options}
    spec = Spec(
        batch_size, Frame(), order="interleave", cycle_length=cycle_length, block_length=block_length, **options
    )
    return make_plan(samples, np.arange(len(sizes)), spec)


def interleaved(sizes, cycle_length: int, block_length: int) -> list[int]:
    """Return the order by playing it out, as tf.data does."""
    firsts = np.cumsum([0, *sizes])
    waiting, order = list(range(len(sizes))), []
    places: list[list[int]] = []
    while waiting or any(place for place in places):
        if len(places) < cycle_length and waiting:
            places += [[] for _ in range(cycle_length - len(places))]
        for place, rest in enumerate(places):
            if not rest and waiting:
                file = waiting.pop(0)
                rest += [*range(firsts[file], firsts[file + 1]), None]
            taken = rest[:block_length]
            places[place] = [] if None in taken else rest[block_length:]
            order += [each for each in taken if each is not None]
    return order


@settings(max_examples=100)
@given(sizes=SIZES, cycle_length=CYCLES, block_length=BLOCKS)
def test_the_order_is_that_of_files_read_in_turn(sizes, cycle_length, block_length):
    expected = interleaved(sizes, cycle_length, block_length)
    assert epoch_of(plan_of(sizes, cycle_length, block_length)) == expected


@pytest.mark.tensorflow
@pytest.mark.parametrize("block_length", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("cycle_length", [1, 2, 3, 5, 16])
@pytest.mark.parametrize(
    "sizes",
    [(5,), (4, 4, 4), (3, 1, 4, 1, 5, 9, 2, 6), (0, 0, 7, 0, 2), (12, 6, 3, 30, 1, 1, 2), (6,) * 20, (21, 0, 14, 7)],
)
def test_the_order_is_that_of_tf_data(tf, sizes, cycle_length, block_length):
    firsts = np.cumsum([0, *sizes]).astype(np.int64)
    files = tf.data.Dataset.from_tensor_slices((firsts[:-1], firsts[1:]))
    reference = files.interleave(tf.data.Dataset.range, cycle_length=cycle_length, block_length=block_length)
    assert epoch_of(plan_of(sizes, cycle_length, block_length)) == [int(each) for each in reference.as_numpy_iterator()]


@settings(max_examples=100)
@given(sizes=SIZES.filter(sum), cycle_length=CYCLES, block_length=BLOCKS, data=st.data())
def test_any_place_is_found_without_the_places_before_it(sizes, cycle_length, block_length, data):
    whole = plan_of(sizes, cycle_length, block_length)
    position = data.draw(st.integers(0, sum(sizes) - 1))
    assert plan_of(sizes, cycle_length, block_length).samples(0, position).tolist() == [epoch_of(whole)[position]]


@settings(max_examples=100)
@given(sizes=SIZES, cycle_length=CYCLES, block_length=BLOCKS, world=st.integers(1, 5), batch_size=st.integers(1, 6))
def test_shards_take_turns_in_the_order(sizes, cycle_length, block_length, world, batch_size):
    whole = epoch_of(plan_of(sizes, cycle_length, block_length))
    for rank in range(world):
        shard = plan_of(sizes, cycle_length, block_length, batch_size, shard=(rank, world))
        assert epoch_of(shard) == whole[rank::world]
        full = plan_of(sizes, cycle_length, block_length, batch_size, shard=(rank, world), drop_remainder=True)
        assert epoch_of(full) == whole[rank::world][: len(whole) // world // batch_size * batch_size]


def test_shuffling_permutes_the_files_and_not_what_is_in_them():
    sizes = [10] * 30
    plan = plan_of(sizes, cycle_length=1, block_length=1, shuffle=True, seed=3)
    epochs = [epoch_of(plan, epoch) for epoch in range(4)]
    files = [tuple(sample // 10 for sample in order[::10]) for order in epochs]
    assert len(set(files)) == 4
    for order, opened in zip(epochs, files, strict=True):
        assert sorted(opened) == list(range(30))
        assert order == [10 * file + number for file in opened for number in range(10)]
    assert epoch_of(plan_of(sizes, 1, 1, shuffle=True, seed=3), 2) == epochs[2]
    assert epoch_of(plan_of(sizes, 1, 1, shuffle=True, seed=4), 2) != epochs[2]


def test_files_without_videos_have_no_turn():
    samples = make_samples(np.asarray([2, 2, 3]), Frame(), seed=0)
    spec = Spec(1, Frame(), order="interleave", cycle_length=2, shuffle=False, drop_remainder=False)
    plan = make_plan(samples, np.asarray([0, 0, 5]), spec)  # files 1 to 4 have none
    assert epoch_of(plan) == [0, 4, 1, 5, 2, 6, 3]


def test_large_files_take_no_memory():
    sizes = np.asarray([2**55, 3, 2**54])
    interleaving = Interleaving(sizes, cycle_length=2, block_length=4)
    files, numbers = interleaving(np.asarray([0, 4, 7, 11, 2**55 + 2**54 + 2]))
    assert files.tolist() == [0, 1, 0, 2, 0]
    assert numbers.tolist() == [0, 0, 4, 0, 2**55 - 1]
