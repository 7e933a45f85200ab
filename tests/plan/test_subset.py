"""Parts of the samples: what is chosen, which numbers it keeps, and that parts of a split are disjoint and complete."""

from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loader_service.errors import ConfigError
from loader_service.plan.plans import make_plan
from loader_service.plan.samples import make_samples
from loader_service.plan.subset import Subset
from loader_service.plan.video_split import is_in, words_of_names, words_of_rows
from loader_service.protocol.chosen_videos import read_split
from loader_service.protocol.spec import Clip, Frame, Spec
from tests.plan.epochs import epoch_of
from tests.plan.test_interleave import interleaved

NAMES = st.lists(st.binary(max_size=30), max_size=50)
PERCENTS = st.decimals("0.001", "99.999", places=3).map(lambda number: f"{number:f}")


def part(names: list[bytes], split: str) -> list[bool]:
    return is_in(read_split(split), words_of_names(names)).tolist()


def test_the_hash_of_a_name_stays_the_same():
    words = words_of_names([b"data/demo_0", b"video_0001", b""]).tolist()
    assert words == [0x90BD89C740CFBA4E, 0xC86F919BE6F2F78D, 0xE4A6A0577479B2B4]
    table = words_of_names([b"features"])[0]
    rows = words_of_rows(table, np.array([0, 1, 2**40])).tolist()
    assert rows == [0x2055ED21DE36A2B0, 0x4C89DD751B6226AC, 0xD9B31D4015505549]


@given(names=NAMES, percent=PERCENTS)
def test_a_name_is_in_a_part_if_its_hash_as_a_fraction_is(names, percent):
    bound = Fraction(percent) / 100
    fractions = [
        Fraction(int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "big"), 2**64) for name in names
    ]
    if bound < 1:
        assert part(names, f"train[{percent}%:]") == [fraction >= bound - Fraction(1, 2**64) for fraction in fractions]


@given(names=NAMES, bounds=st.lists(PERCENTS, min_size=1, max_size=3, unique_by=Fraction))
def test_parts_that_share_their_bounds_are_disjoint_and_have_all(names, bounds):
    edges = [f"{bound}%" for bound in sorted(bounds, key=Fraction)]
    parts = [part(names, f"train[{low}:{high}]") for low, high in zip(["", *edges], [*edges, ""], strict=True)]
    assert [sum(each) for each in zip(*parts, strict=True)] == [1] * len(names)


@given(names=NAMES, others=NAMES, percent=PERCENTS.filter(lambda percent: Fraction(percent) > 0), data=st.data())
def test_more_videos_and_another_order_move_none(names, others, percent, data):
    split = f"train[:{percent}%]"
    before = dict(zip(names, part(names, split), strict=True))
    mixed = data.draw(st.permutations(names + others))
    after = dict(zip(mixed, part(mixed, split), strict=True))
    assert all(after[name] == inside for name, inside in before.items())


def test_a_part_has_about_its_share():
    names = [f"video_{number:05d}".encode() for number in range(20_000)]
    assert abs(sum(part(names, "train[:90%]")) - 18_000) < 200  # 4.7 standard deviations
    rows = words_of_rows(words_of_names([b"features"])[0], np.arange(20_000))
    assert abs(int(is_in(read_split("train[:90%]"), rows).sum()) - 18_000) < 200


@pytest.mark.parametrize(
    "text", ["", "train[", "train[:]x", "train[90:]", "train[90%:80%]", "train[:0%]", "train[:101%]", "a b", 3]
)
def test_what_is_no_part_is_refused(text):
    with pytest.raises(ConfigError, match=r"split="):
        read_split(text)


@pytest.mark.parametrize("text", ["train", "all", "mask/20%[:]", "train[:]", "train[0%:100%]"])
def test_a_part_may_be_all(text):
    assert all(part([b"a", b"b", b"c"], text))


@given(chosen=st.lists(st.booleans(), max_size=60))
def test_positions_and_numbers_of_chosen_samples_are_each_others_inverse(chosen):
    subset = Subset.where(np.array(chosen, bool))
    numbers = np.flatnonzero(chosen)
    assert subset.count == len(numbers)
    assert subset.numbers(np.arange(subset.count)).tolist() == numbers.tolist()
    assert subset.before(np.arange(len(chosen) + 1)).tolist() == [sum(chosen[:n]) for n in range(len(chosen) + 1)]


@settings(max_examples=60)
@given(
    chosen=st.lists(st.booleans(), min_size=1, max_size=80).filter(any),
    batching=st.sampled_from(["pad", "bucket"]),
    world=st.integers(1, 3),
    shuffle=st.booleans(),
)
def test_an_epoch_has_each_chosen_sample_once_and_no_other(chosen, batching, world, shuffle):
    samples = make_samples(np.arange(len(chosen)) % 7 + 1, None, 0)
    subset = Subset.where(np.array(chosen))
    seen = []
    for rank in range(world):
        spec = Spec(3, None, batching=batching, shuffle=shuffle, shard=(rank, world), drop_remainder=False)
        seen += epoch_of(make_plan(samples, np.zeros(len(chosen), int), spec, subset), 1)
    assert sorted(seen) == np.flatnonzero(chosen).tolist()


@given(data=st.data(), cycle_length=st.integers(1, 5), block_length=st.integers(1, 4))
def test_interleaved_files_are_as_if_they_held_what_was_chosen_alone(data, cycle_length, block_length):
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=6))
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=sum(sizes), max_size=sum(sizes)).filter(any)))
    samples = make_samples(np.asarray(sizes), Frame(), 0)
    spec = Spec(
        1,
        Frame(),
        order="interleave",
        cycle_length=cycle_length,
        block_length=block_length,
        shuffle=False,
        drop_remainder=False,
    )
    plan = make_plan(samples, np.arange(len(sizes)), spec, Subset.where(chosen))
    left = [int(each.sum()) for each in np.split(chosen, np.cumsum(sizes)[:-1])]
    expected = interleaved([each for each in left if each], cycle_length, block_length)
    assert epoch_of(plan, 0) == np.flatnonzero(chosen)[expected].tolist()


def test_what_is_drawn_for_a_sample_is_the_same_in_each_part():
    clips = make_samples(np.full(50, 40), Clip(8), seed=3)
    whole = clips.starts(2, np.arange(50))
    chosen = Subset.where(np.arange(50) % 3 == 0).numbers(np.arange(17))
    assert clips.starts(2, chosen).tolist() == whole[chosen].tolist()
