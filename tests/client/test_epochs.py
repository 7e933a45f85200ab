"""A mark tells the number of an epoch: its place among all marks, however many were asked for before."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray

from loader_client import LoaderError, epochs
from loader_client.epochs import EpochNumbers


def _blocks(size: int = 4) -> Iterator[NDArray[np.int64]]:
    """Yield blocks of marks: of epoch n, n and the square of n."""
    for first in itertools.count(0, size):
        numbers = np.arange(first, first + size)
        yield np.stack([numbers, numbers**2], axis=1)


def _mark(epoch: int) -> NDArray[np.int64]:
    return np.array([epoch, epoch**2])


def test_marks_are_numbered_in_the_order_in_which_they_are_drawn() -> None:
    numbers = EpochNumbers(_blocks())
    assert [numbers.number(_mark(epoch)) for epoch in (0, 1, 9, 5, 9, 100)] == [0, 1, 9, 5, 9, 100]


def test_a_mark_of_no_epoch_is_an_error_and_not_an_endless_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epochs, "MOST_EPOCHS", 10)
    with pytest.raises(LoaderError, match=r"mark array\(\[-1, *0\]\).* is that of none of 10 epochs; begin anew"):
        EpochNumbers(_blocks()).number(np.array([-1, 0]))


def test_many_threads_may_ask_at_once() -> None:
    numbers = EpochNumbers(_blocks())
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda epoch: numbers.number(_mark(epoch)), range(200))) == list(range(200))


def test_an_iterator_that_was_restored_before_it_began_leaves_out_those_made_before_it() -> None:
    numbers = EpochNumbers(_blocks())
    assert [numbers.begin(None), numbers.begin(None)] == [0, 0]
    assert numbers.begin(_mark(5)) == 3  # two have begun here
    assert numbers.begin(_mark(6)) == 0
    assert numbers.number(_mark(9)) == 9  # of one that was restored after it had begun
    assert numbers.begin(_mark(12)) == 2
    assert numbers.begin(_mark(1)) == 0
