"""How samples are shared among files: pure arithmetic."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loader_service.errors import ConfigError
from loader_service.unpack.sample_plan import cut
from loader_service.unpack.unpack_options import UnpackOptions

SIZES = st.lists(st.integers(1, 1000), min_size=1, max_size=60)


@given(SIZES, st.integers(1, 3000))
def test_no_file_is_empty_or_larger_than_asked_but_for_one_large_sample(sizes: list[int], most: int) -> None:
    bounds = cut(np.array(sizes), most)
    assert bounds[0] == 0
    assert bounds[-1] == len(sizes)
    for first, stop in pairwise(bounds.tolist()):
        assert first < stop
        assert sum(sizes[first:stop]) <= most or stop == first + 1


@given(SIZES, st.integers(1, 3000))
def test_no_sample_could_have_gone_into_the_file_before(sizes: list[int], most: int) -> None:
    bounds = cut(np.array(sizes), most).tolist()
    for first, stop in pairwise(bounds[:-1]):
        assert sum(sizes[first : stop + 1]) > most


@given(SIZES, st.integers(1, 80))
def test_so_many_files_as_asked_and_none_without_a_sample(sizes: list[int], count: int) -> None:
    bounds = cut(np.array(sizes), 1, count)
    assert len(bounds) - 1 == min(count, len(sizes))
    assert bounds[0] == 0
    assert bounds[-1] == len(sizes)
    assert (np.diff(bounds) > 0).all()


def test_files_are_of_about_one_size() -> None:
    sizes = np.random.default_rng(0).integers(1, 100, 10_000)
    bounds = cut(sizes, 1, 7).tolist()
    shares = [int(sizes[first:stop].sum()) for first, stop in pairwise(bounds)]
    assert max(shares) - min(shares) < 300


def test_no_sample_makes_no_file() -> None:
    assert cut(np.array([], np.int64), 100).tolist() == [0]


def test_a_check_takes_what_it_does_not_say_from_the_run_that_wrote_the_place() -> None:
    written = UnpackOptions(output="a", shard_size=2**20, shuffle=3, sample="frame")
    before = json.loads(written.key())
    assert UnpackOptions(output="a").as_written(before).key() == written.key()
    by_count = UnpackOptions(output="a", shards=4).as_written(before)
    assert (by_count.shards, by_count.shard_size, by_count.shuffle) == (4, 0, 3)
    assert UnpackOptions(output="a", to="mp4").as_written(before) == UnpackOptions(output="a", to="mp4")
    assert UnpackOptions(output="a").as_written({"to": "tfrecord", "shards": "many"}) == UnpackOptions(output="a")


def test_the_usual_size_of_shards_is_the_same_work_when_it_is_given_in_words() -> None:
    assert UnpackOptions(output="a").key() == UnpackOptions(output="a", shard_size=2**28).key()


def test_a_place_in_a_store_is_refused_with_what_to_do() -> None:
    with pytest.raises(ConfigError, match="-o 's3://box/out': unpack writes to local disks; give a folder"):
        UnpackOptions(output="s3://box/out")
