"""What is left of an epoch is shared by a world of any size, each sample once, however far the ranks were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loader_service.errors import ConfigError
from loader_service.plan.buckets import BucketPlan
from loader_service.plan.epoch import Plan
from loader_service.plan.interleave import InterleavedPlan
from loader_service.plan.remainder import Remainder
from loader_service.plan.subset import Subset
from loader_service.protocol.consumed import Consumed, ResumedEpoch
from loader_service.protocol.spec import Frame, Spec

_EPOCH = 3


def _lengths(samples: Any) -> Any:
    return np.asarray(samples) * 7919 % 13


def _make(kind: str, count: int, spec: Spec) -> Plan:
    if kind == "interleave":
        firsts = np.unique(np.minimum([0, 3, 4, 11, 30, count], count))
        return InterleavedPlan(firsts, spec)
    if kind == "bucket":
        return BucketPlan(count, spec, _lengths)
    if kind == "subset":
        return Plan(count, spec, Subset([0, 2 * count], [count // 2, 3 * count - count // 2]))
    return Plan(count, spec)


def _spec(kind: str, world: int, rank: int, batch_size: int, drop: bool, consumed: tuple[Consumed, ...]) -> Spec:
    return Spec(
        batch_size,
        None if kind == "bucket" else Frame(),
        shard=(rank, world),
        drop_remainder=drop,
        order="interleave" if kind == "interleave" else "global",
        cycle_length=3,
        block_length=2,
        batching="bucket" if kind == "bucket" else "pad",
        resumed=ResumedEpoch(_EPOCH, consumed) if consumed else None,
    )


def _taken(plan: Plan, steps: int) -> list[int]:
    """Return the samples of the first steps that a rank has left of the epoch."""
    return [int(each) for n in range(steps) for each in plan.samples(_EPOCH, plan.first_step + n)]


@settings(max_examples=60)
@given(
    kind=st.sampled_from(["global", "interleave", "bucket", "subset"]),
    count=st.integers(40, 700),
    worlds=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 5)), min_size=2, max_size=4),
    drop=st.booleans(),
    alike=st.booleans(),
    data=st.data(),
)
def test_each_sample_comes_once_an_epoch_over_worlds_of_any_size(
    kind: str, count: int, worlds: list[tuple[int, int]], drop: bool, alike: bool, data: st.DataObject
) -> None:
    consumed: tuple[Consumed, ...] = ()
    seen: list[int] = []
    for number, (world, batch_size) in enumerate(worlds):
        plans = [_make(kind, count, _spec(kind, world, rank, batch_size, drop, consumed)) for rank in range(world)]
        left = [plan.steps_per_epoch - plan.first_step for plan in plans]
        if number == len(worlds) - 1:
            steps = left
        elif alike:
            steps = [data.draw(st.integers(0, min(left)))] * world
        else:
            steps = [data.draw(st.integers(0, each)) for each in left]
        for plan, each in zip(plans, steps, strict=True):
            seen += _taken(plan, each)
        consumed = (*consumed, Consumed(world, batch_size, tuple(steps[:1] if len(set(steps)) == 1 else steps)))
    all_samples = set(_taken(_make(kind, count, _spec(kind, 1, 0, 1, False, ())), count))
    assert len(all_samples) == count
    assert len(seen) == len(set(seen))
    assert set(seen) <= all_samples
    missing = count - len(seen)
    last_world, last_batch = worlds[-1]
    assert missing == 0 if not drop else missing < last_world * last_batch


@pytest.mark.parametrize("kind", ["global", "interleave", "subset"])
def test_as_many_ranks_as_before_go_on_as_if_nothing_had_been(kind: str) -> None:
    for rank in range(3):
        whole = _make(kind, 500, _spec(kind, 3, rank, 4, True, ()))
        rest = _make(kind, 500, _spec(kind, 3, rank, 4, True, (Consumed(3, 4, (17,)),)))
        assert rest.first_step == 17
        for step in range(17, whole.steps_per_epoch):
            np.testing.assert_array_equal(rest.samples(_EPOCH, step), whole.samples(_EPOCH, step))
        for epoch in (0, _EPOCH + 1):
            np.testing.assert_array_equal(rest.samples(epoch, 0), whole.samples(epoch, 0))


def test_a_rest_of_nothing_is_the_end_of_the_epoch() -> None:
    plan = Plan(48, _spec("global", 2, 1, 4, True, (Consumed(4, 4, (3,)),)))
    assert plan.first_step == plan.steps_per_epoch == 6


def test_steps_before_the_rest_are_refused_by_name() -> None:
    plan = Plan(48, _spec("global", 2, 1, 4, True, (Consumed(4, 4, (1,)),)))
    assert plan.first_step == 2
    with pytest.raises(ConfigError, match=r"step 1 of epoch 3.*those from 2 on are left"):
        plan.samples(_EPOCH, 1)
    assert len(plan.samples(_EPOCH + 1, 1)) == 4


@pytest.mark.parametrize("consumed", [Consumed(4, 4, (4,)), Consumed(4, 4, (3, 3, 3, 4)), Consumed(2, 2**16, (2**62,))])
def test_more_than_the_epoch_has_cannot_have_been_consumed(consumed: Consumed) -> None:
    with pytest.raises(ConfigError, match=r"rank \d of \d had taken \d+ steps of epoch 3, of which it had"):
        Plan(48, _spec("global", 2, 0, 4, True, (consumed,)))


@given(
    count=st.integers(0, 200),
    world=st.integers(1, 12),
    data=st.data(),
)
def test_what_is_left_are_the_places_that_nobody_took(count: int, world: int, data: st.DataObject) -> None:
    taken = np.asarray([data.draw(st.integers(0, max(0, -(-(count - rank) // world)))) for rank in range(world)])
    left = [place for place in range(count) if place // world >= taken[place % world]]
    remainder = Remainder(count, world, taken)
    assert remainder.count == len(left)
    assert remainder(np.arange(len(left))).tolist() == left


def test_a_million_ranks_that_are_alike_cost_nothing() -> None:
    plan = Plan(2**40, _spec("global", 2, 1, 16, True, (Consumed(1_000_000, 16, (1000,)),)))
    assert plan.steps_per_epoch - plan.first_step == (2**40 - 16_000_000_000) // 2 // 16
    assert len(plan.samples(_EPOCH, plan.first_step)) == 16


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((4, 4, (1, 2)), "2 numbers for 4 ranks"),
        ((0, 4, (1,)), "Consumed.world"),
        ((4, 0, (1,)), "Consumed.batch_size"),
        ((4, 4, (-1,)), "Consumed.steps"),
        ((100_000, 4, tuple(range(100_000))), "resume from a place where all had taken as many"),
    ],
)
def test_numbers_out_of_range_are_refused(arguments: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Consumed(*arguments)
