"""Where iterators begin: as they come, at a start, and where a training that goes on says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loader_client import ConfigError
from loader_client.starts import Starts, check_start, start_within


def test_iterator_n_is_epoch_n() -> None:
    starts = Starts(5)
    assert [starts.steps_of(n) for n in (0, 1, 7)] == [(0, 5), (5, 10), (35, 40)]


def test_the_first_iterator_begins_at_the_start_and_ends_with_its_epoch() -> None:
    starts = Starts(5, (3, 2))
    assert [starts.steps_of(n) for n in (0, 1, 2)] == [(17, 20), (20, 25), (25, 30)]


def test_the_end_of_an_epoch_is_the_beginning_of_the_next() -> None:
    starts = Starts(5, (3, 5))
    assert [starts.steps_of(n) for n in (0, 1)] == [(20, 25), (25, 30)]


def test_the_next_iterator_to_draw_begins_where_it_is_told_to() -> None:
    starts = Starts(5)
    assert starts.steps_of(0) == (0, 5)
    starts.begin_at(31)
    assert starts.steps_of(0) == (0, 5)
    assert [starts.steps_of(n) for n in (1, 2, 3)] == [(31, 35), (35, 40), (40, 45)]
    assert [starts.steps_of(n) for n in (1, 0)] == [(31, 35), (0, 5)]


def test_what_is_told_last_before_an_iterator_draws_counts() -> None:
    starts = Starts(5)
    starts.begin_at(10)
    starts.begin_at(20)
    assert [starts.steps_of(n) for n in (0, 1)] == [(20, 25), (25, 30)]


def test_iterators_that_cross_epochs_are_as_long_as_one_each() -> None:
    starts = Starts(5)
    starts.begin_at(13, crosses=True)
    assert [starts.steps_of(n) for n in (0, 1, 2)] == [(13, 18), (18, 23), (23, 28)]


def test_saying_what_comes_anyway_takes_no_memory() -> None:
    starts = Starts(5)
    for epoch in range(1000):
        starts.begin_at(epoch * 5)
        assert starts.steps_of(epoch) == (epoch * 5, epoch * 5 + 5)
    assert len(starts._turns) == 1


def test_a_start_is_two_whole_numbers() -> None:
    assert check_start([np.int64(2), np.int32(1)]) == (2, 1)
    assert start_within((2, 5), 5) == (2, 5)


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (3, r"start=3 is not a pair; give \(epoch, step\)"),
        ((1, 2, 3), "is not a pair"),
        (None, "is not a pair"),
        ((-1, 0), "start epoch=-1 is out of range"),
        ((0, -1), "start step=-1 is out of range; give 0 to 5"),
        ((0, 6), "start step=6 is out of range; give 0 to 5"),
        ((0.0, 0), r"start epoch=0\.0 is not a whole number"),
        ((0, 1.5), r"start step=1\.5 is not a whole number; give 0 to"),
        ((True, 0), "start epoch=True is not a whole number"),
        (("1", 0), "start epoch='1' is not a whole number"),
        ((2**62, 0), "is out of range"),
    ],
)
def test_a_start_that_is_none_is_refused(start: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        start_within(start, 5)
