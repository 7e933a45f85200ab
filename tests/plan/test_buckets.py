"""Steps of similar lengths: complete, pure, and what they save."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loader_service.plan.buckets import BUCKET_BATCHES, MEASURED_SAMPLES, BucketPlan, padding_share
from loader_service.plan.epoch import Plan
from loader_service.protocol.spec import Spec
from tests.plan.epochs import epoch_of

LENGTHS = np.random.default_rng(0).integers(5, 180, 40_000)


def buckets(count: int, batch_size: int, lengths=LENGTHS, **options) -> BucketPlan:
    spec = Spec(batch_size, None, batching="bucket", **options)
    return BucketPlan(count, spec, lambda samples: lengths[samples])


@settings(max_examples=60)
@given(
    count=st.integers(0, 2000),
    batch_size=st.integers(1, 40),
    world=st.integers(1, 4),
    shuffle=st.booleans(),
    epoch=st.integers(0, 3),
)
def test_shards_together_have_every_sample_once(count, batch_size, world, shuffle, epoch):
    shards = [
        buckets(count, batch_size, shuffle=shuffle, shard=(rank, world), drop_remainder=False) for rank in range(world)
    ]
    assert sorted(sample for plan in shards for sample in epoch_of(plan, epoch)) == list(range(count))


@settings(max_examples=60)
@given(count=st.integers(1, 2000), batch_size=st.integers(1, 40), shuffle=st.booleans())
def test_all_steps_but_the_last_are_full(count, batch_size, shuffle):
    plan = buckets(count, batch_size, shuffle=shuffle, drop_remainder=False)
    sizes = [len(plan.samples(0, step)) for step in range(plan.steps_per_epoch)]
    assert sizes == [batch_size] * (count // batch_size) + [count % batch_size] * (count % batch_size > 0)


def test_a_step_hangs_on_nothing_that_was_asked_before():
    plan = buckets(40_000, 16, seed=2)
    steps = [0, 2499, 17, 64, 63, 1200]
    for step in steps:
        for epoch in (3, 0):
            fresh = buckets(40_000, 16, seed=2)
            assert plan.samples(epoch, step).tolist() == fresh.samples(epoch, step).tolist()


def test_steps_are_those_of_earlier_versions():
    plan = buckets(6000, 8, seed=1, lengths=np.arange(6000) % 97)
    assert plan.samples(0, 0).tolist() == [2797, 4252, 2506, 1051, 1342, 5320, 5223, 664]
    assert plan.samples(4, 749).tolist() == [1142, 1724, 657, 4538, 3083, 77, 2793, 1436]


def test_a_block_has_the_samples_that_it_has_without_buckets():
    plan, plain = buckets(40_000, 16), Plan(40_000, Spec(16, None))
    for block in (0, 1, 20):
        steps = range(block * BUCKET_BATCHES, (block + 1) * BUCKET_BATCHES)
        mine, theirs = (np.concatenate([each.samples(1, step) for step in steps]) for each in (plan, plain))
        assert sorted(mine.tolist()) == sorted(theirs.tolist())
        assert mine.tolist() != theirs.tolist()


def test_batches_do_not_come_in_the_order_of_their_lengths():
    plan = buckets(40_000, 16)
    means = np.asarray([LENGTHS[plan.samples(0, step)].mean() for step in range(BUCKET_BATCHES)])
    rises = int((np.diff(means) > 0).sum())
    assert 20 <= rises <= 43  # half of 63, within three standard deviations of a random order
    other = np.asarray([LENGTHS[plan.samples(1, step)].mean() for step in range(BUCKET_BATCHES)])
    assert np.argsort(means).tolist() != np.argsort(other).tolist()


def test_without_shuffling_a_block_goes_from_short_to_long():
    plan = buckets(2048, 16, shuffle=False)
    lengths = LENGTHS[plan.samples(0, 0)], LENGTHS[plan.samples(0, 63)]
    assert lengths[0].max() <= lengths[1].min()
    assert (np.diff(LENGTHS[np.concatenate([plan.samples(0, step) for step in range(64)])]) >= 0).all()


def test_the_share_of_padding_is_counted_in_frames():
    lengths = np.asarray([1, 4, 2, 2, 3])
    plan = Plan(5, Spec(2, None, shuffle=False, drop_remainder=False))
    assert padding_share(plan, 2, lambda samples: lengths[samples]) == pytest.approx(1 - 12 / (8 + 4 + 3))


def test_buckets_save_nearly_all_padding():
    plain = padding_share(Plan(40_000, Spec(16, None)), 16, lambda samples: LENGTHS[samples])
    sorted_ = padding_share(buckets(40_000, 16), 16, lambda samples: LENGTHS[samples])
    assert plain > 0.4
    assert sorted_ < 0.03


def test_the_share_of_padding_of_a_huge_catalog_is_measured_on_a_part_of_it():
    seen = 0

    def lengths_of(samples):
        nonlocal seen
        seen += len(samples)
        return LENGTHS[np.asarray(samples) % len(LENGTHS)]

    share = padding_share(Plan(10**9, Spec(16, None)), 16, lengths_of)
    assert seen == MEASURED_SAMPLES
    assert share == pytest.approx(padding_share(Plan(40_000, Spec(16, None)), 16, lambda each: LENGTHS[each]), abs=0.01)
