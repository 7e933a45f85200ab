"""How samples are shared among files: pure arithmetic."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from loader_service.unpack.sample_plan import cut

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
