"""Steps: batches, shards, remainders, and that what is kept never changes an answer."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loader_service.errors import ConfigError
from loader_service.plan.epoch import BLOCK_POSITIONS, KEPT_BLOCKS, Plan
from loader_service.plan.order import Permutation
from loader_service.protocol.spec import Clip, Spec
from tests.plan.epochs import epoch_of
from tests.plan.uniformity import share_p


def plan_of(sample_count: int, batch_size: int = 4, **options) -> Plan:
    return Plan(sample_count, Spec(batch_size=batch_size, clip=Clip(16), **options))


def test_steps_are_those_of_earlier_versions():
    plan = plan_of(6000, batch_size=8, seed=1)
    assert plan.samples(0, 0).tolist() == [557, 1417, 1372, 5629, 5592, 2489, 923, 5543]
    assert plan.samples(4, 749).tolist() == [2111, 3322, 348, 5691, 4051, 214, 995, 294]


@settings(max_examples=60)
@given(
    count=st.integers(0, 300),
    batch_size=st.integers(1, 40),
    world=st.integers(1, 7),
    shuffle=st.booleans(),
    epoch=st.integers(0, 3),
)
def test_shards_are_disjoint_and_cover_every_sample(count, batch_size, world, shuffle, epoch):
    shards = [
        plan_of(count, batch_size, shuffle=shuffle, shard=(rank, world), drop_remainder=False) for rank in range(world)
    ]
    everything = [sample for plan in shards for sample in epoch_of(plan, epoch)]
    assert sorted(everything) == list(range(count))
    assert [len(epoch_of(plan, epoch)) for plan in shards] == [plan.samples_per_epoch for plan in shards]
    assert max(plan.steps_per_epoch for plan in shards) - min(plan.steps_per_epoch for plan in shards) <= 1


@settings(max_examples=60)
@given(
    count=st.integers(0, 300),
    batch_size=st.integers(1, 40),
    world=st.integers(1, 7),
    shuffle=st.booleans(),
)
def test_shards_that_drop_remainders_have_equally_many_full_steps(count, batch_size, world, shuffle):
    shards = [plan_of(count, batch_size, shuffle=shuffle, shard=(rank, world)) for rank in range(world)]
    assert {plan.steps_per_epoch for plan in shards} == {count // world // batch_size}
    everything = [sample for plan in shards for sample in epoch_of(plan, 1)]
    assert len(everything) == len(set(everything)) == world * batch_size * (count // world // batch_size)
    assert {plan.samples_per_epoch for plan in shards} == {len(everything) // world}


@pytest.mark.parametrize("batch_size", [1, 3, 16, 4095, 4096, 4097, 9000])
@pytest.mark.parametrize("shuffle", [True, False])
def test_steps_are_slices_of_the_shard_across_blocks(batch_size, shuffle):
    count, rank, world = 30_000, 1, 3
    plan = plan_of(count, batch_size, shuffle=shuffle, seed=7, shard=(rank, world), drop_remainder=False)
    positions = np.arange(count)[rank::world]
    order = Permutation(count, 7, 2)(positions) if shuffle else positions
    for step in {0, 1, plan.steps_per_epoch // 2, plan.steps_per_epoch - 1} & set(range(plan.steps_per_epoch)):
        assert plan.samples(2, step).tolist() == order[step * batch_size : (step + 1) * batch_size].tolist()


def test_unshuffled_epoch_is_the_catalog_in_order():
    assert epoch_of(plan_of(10, 3, shuffle=False, drop_remainder=False), 5) == list(range(10))


def test_last_step_is_short_only_when_the_remainder_is_kept():
    assert plan_of(10, 4, drop_remainder=False).samples(0, 2).shape == (2,)
    assert plan_of(10, 4).steps_per_epoch == 2


def test_remainder_differs_from_epoch_to_epoch():
    plan = plan_of(10, 4)
    left_out = {frozenset(range(10)) - frozenset(epoch_of(plan, epoch)) for epoch in range(10)}
    assert len(left_out) > 5


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 61)), max_size=60))
def test_answers_depend_on_nothing_asked_before(wishes):
    reused = plan_of(8000, 128, seed=3)
    for epoch, step in wishes:
        assert np.array_equal(reused.samples(epoch, step), plan_of(8000, 128, seed=3).samples(epoch, step))
    assert len(reused._kept) <= KEPT_BLOCKS


def test_two_epochs_at_once_compute_each_block_once(monkeypatch):
    made = []
    monkeypatch.setattr("loader_service.plan.epoch.Permutation", lambda *key: made.append(key) or Permutation(*key))
    plan = plan_of(20_000, 16)
    for step, epoch in itertools.product(range(plan.steps_per_epoch), (0, 1)):
        plan.samples(epoch, step)
    assert len(made) == 2 * math.ceil(20_000 / BLOCK_POSITIONS)


def test_changing_a_step_changes_no_later_answer():
    plan = plan_of(100)
    before = plan.samples(0, 0).copy()
    plan.samples(0, 0)[:] = -1
    assert np.array_equal(plan.samples(0, 0), before)


def test_plans_of_two_to_the_forty_samples_work():
    count = 2**40
    plan = plan_of(count, 16, shard=(3, 8))
    assert plan.steps_per_epoch == 2**33
    last = plan.samples(0, plan.steps_per_epoch - 1)
    positions = 3 + 8 * np.arange(2**37 - 16, 2**37)
    assert np.array_equal(last, Permutation(count, 0, 0)(positions))


@pytest.mark.parametrize(("count", "batch_size", "world"), [(0, 1, 1), (3, 4, 1), (7, 4, 2)])
def test_too_few_samples_make_no_steps(count, batch_size, world):
    plan = plan_of(count, batch_size, shard=(0, world))
    assert (plan.steps_per_epoch, plan.samples_per_epoch, plan.sample_count) == (0, 0, count)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_tiny_plans_deliver_each_sample(count):
    plan = plan_of(count, 1)
    assert sorted(epoch_of(plan, 0)) == list(range(count))


@pytest.mark.parametrize(("epoch", "step"), [(0, 2), (0, -1), (-1, 0)])
def test_step_that_is_none_is_refused_with_what_there_is(epoch, step):
    with pytest.raises(ConfigError, match=f"step {step} of epoch {epoch}: an epoch of 10 samples has 2 steps"):
        plan_of(10, 4).samples(epoch, step)


@pytest.mark.parametrize("count", [-1, 2**62 + 1])
def test_a_count_out_of_range_is_refused(count):
    with pytest.raises(ConfigError, match=f"planning steps of {count} samples"):
        plan_of(count)


def test_three_unequal_files_appear_in_proportion_in_every_part_of_an_epoch():
    """Files of 1000, 2000 and 3000 samples: shares of 1/6, 1/3 and 1/2 in each batch, not only in the long run."""
    file_ends, batch_size = np.cumsum([1000, 2000, 3000]), 60
    plan = plan_of(6000, batch_size, seed=11)
    epochs = np.array([epoch_of(plan, epoch) for epoch in range(30)])
    files = np.searchsorted(file_ends, epochs, side="right")
    shares = np.stack([(files == file).mean(axis=0) for file in range(3)])  # over the epochs, at each position
    by_tenth = shares.reshape(3, 10, -1).mean(axis=2)
    assert np.abs(by_tenth - np.array([[1 / 6], [1 / 3], [1 / 2]])).max() < 0.015  # four standard deviations
    in_batches = np.stack([(files.reshape(-1, batch_size) == file).sum(axis=1) for file in range(3)])
    assert in_batches.mean(axis=1).tolist() == pytest.approx([10, 20, 30])
    assert share_p(epochs, batch_size, 1000) > 1e-4
    assert share_p(5999 - epochs, batch_size, 3000) > 1e-4
