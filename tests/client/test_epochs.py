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
    assert [numbers.number(0, _mark(epoch), None) for epoch in (0, 1, 9, 5, 9, 100)] == [0, 1, 9, 5, 9, 100]


def test_a_mark_of_no_epoch_is_an_error_and_not_an_endless_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epochs, "MOST_EPOCHS", 10)
    with pytest.raises(LoaderError, match=r"mark array\(\[-1, *0\]\).* is that of none of 10 epochs; begin anew"):
        EpochNumbers(_blocks()).number(0, np.array([-1, 0]), None)


def test_many_threads_may_ask_at_once() -> None:
    numbers = EpochNumbers(_blocks())
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda epoch: numbers.number(0, _mark(epoch), None), range(200))) == list(range(200))


class _Dataset:
    """A dataset's iterators as tf.data has them: it counts those made and those begun, and saves what each keeps."""

    def __init__(self) -> None:
        self.numbers = EpochNumbers(_blocks())
        self.made = self.begun = 0

    def iterator(self) -> int:
        self.made += 1
        return self.made - 1

    def begin(self, made_as: int, *, made_here: bool = True) -> tuple[int, tuple[int, int, int]]:
        """Return the epoch that an iterator begins, and what is saved with it then."""
        kept = self.numbers.begin(_mark(made_as), made_here=made_here)
        place, self.begun = self.begun, self.begun + 1
        epoch = self.numbers.number(kept, _mark(place), _mark(made_as) if made_here else None)
        return epoch, (made_as, kept, place)

    def restore(self, saved: tuple[int, int, int], *, made_here: bool = True) -> int:
        made_as, kept, place = saved
        self.numbers.begin(_mark(made_as), made_here=made_here)
        self.made, self.begun = made_as + 1, place + 1
        return self.numbers.number(kept, _mark(place), _mark(made_as) if made_here else None)


def test_an_iterator_that_was_restored_before_it_began_is_of_the_epoch_of_its_place() -> None:
    here = _Dataset()
    assert [here.begin(here.iterator())[0] for _ in range(2)] == [0, 1]
    assert here.begin(5, made_here=False)[0] == 5
    assert here.begin(here.iterator())[0] == 6
    assert here.begin(1, made_here=False)[0] == 1  # back, though that many have begun here
    assert [here.begin(here.iterator())[0] for _ in range(2)] == [2, 3]


def test_an_iterator_that_had_begun_goes_on_in_another_process_with_its_epoch_and_those_after_it() -> None:
    first = _Dataset()
    first.begin(7, made_here=False)
    epoch, saved = first.begin(first.iterator())
    second = _Dataset()
    assert (epoch, second.restore(saved, made_here=False)) == (8, 8)
    assert [second.begin(second.iterator())[0] for _ in range(2)] == [9, 10]


def test_a_training_that_goes_back_where_it_is_has_the_same_epochs_again() -> None:
    here = _Dataset()
    here.iterator()  # made and never used
    made = [here.iterator() for _ in range(4)]
    lives = [here.begin(each) for each in made]
    assert [epoch for epoch, _ in lives] == [0, 1, 2, 3]
    assert [here.begin(each)[0] for each in made[1:]] == [1, 2, 3]  # saved before they began
    assert here.restore(lives[0][1]) == 0  # saved after it had
    assert [here.begin(here.iterator())[0] for _ in range(2)] == [1, 2]
    assert here.begin(here.iterator())[0] == 3
