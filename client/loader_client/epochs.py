"""Tells which epoch an iterator is from the mark that it drew; knows no TensorFlow, and nothing of batches.

Each iterator of a dataset is to be the next epoch, also when a training was restored in a new process. How far it is in
its epoch, an iterator's checkpoint says. Which epoch comes after that one, nothing of it says: `repeat` makes a new
iterator of its input for each epoch, and a counter of ours is not saved. But one counter of tf.data is saved: how many
iterators a random dataset that is drawn anew for each has had. What such an iterator draws first is the epoch's *mark*.
All marks follow from a seed, so the number of an epoch is the place of its mark in their sequence.

That counter is saved with iterators that have begun. One that was saved before has the mark of its place among all
iterators that were *made*, of which a second dataset keeps count. If the iterator of that place has begun here, it is
the same epoch again. In another process the place is taken as the number of its epoch, which is right unless some of
those before it were never used. The counter itself cannot be set, so what is restored gives a *shift*: what is added to
the place of a mark from then on. An iterator keeps its own with it, as one number.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from loader_client.forks import FORKS
from loader_service.errors import LoaderError

#: Epochs after which a mark counts as unknown; to look through all takes some ten seconds.
MOST_EPOCHS = 2**20

#: Added to what an iterator keeps where that is the number of its epoch, and no shift.
_IS_NUMBER = 2**32


@dataclass
class _Run:
    """Iterators that were made one after the other, and began epochs that follow each other."""

    made: int  # place of the first among those made
    epoch: int  # its number
    length: int = 1


class _Begun:
    """Which epochs the iterators that were made here have begun, the last one last; kept as runs, which are few."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []

    def add(self, made: int, epoch: int) -> None:
        """Note the epoch of an iterator; none that is noted is as late."""
        last = self._runs[-1] if self._runs else None
        if last is not None and (made - last.made, epoch - last.epoch) == (last.length, last.length):
            last.length += 1
        else:
            self._runs.append(_Run(made, epoch))

    def epoch_of(self, made: int) -> int | None:
        """Return the epoch of an iterator, None when it has not begun."""
        within = (each for each in reversed(self._runs) if 0 <= made - each.made < each.length)
        return next((each.epoch + made - each.made for each in within), None)

    def forget_from(self, epoch: int) -> None:
        """Forget that an epoch, and those after it, were begun, in a training that goes back."""
        while self._runs and self._runs[-1].epoch >= epoch:
            self._runs.pop()
        if self._runs:
            self._runs[-1].length = min(self._runs[-1].length, epoch - self._runs[-1].epoch)


class EpochNumbers:
    """The numbers of marks. Any thread may use it.

    Parameters
    ----------
    marks
        Blocks of ``(epochs, values) int64``: the marks of all epochs, in order.
    """

    def __init__(self, marks: Iterator[NDArray[Any]]) -> None:
        self._lock = threading.RLock()
        FORKS.watch(self._lock)
        self._marks = marks
        self._numbers: dict[bytes, int] = {}
        self._shift = 0
        self._begun = _Begun()

    def begin(self, made_as: NDArray[Any], *, made_here: bool) -> int:
        """Return what an iterator that begins is to keep, of which `number` makes the number of its epoch.

        Parameters
        ----------
        made_as
            Its mark among the iterators that were made, ``(values,) int64``.
        made_here
            Whether that was in this process, of this dataset.

        Raises
        ------
        LoaderError
            As `number`.
        """
        with self._lock:
            made = self._find(made_as)
            epoch = self._begun.epoch_of(made) if made_here else made
            return self._shift if epoch is None else epoch + _IS_NUMBER

    def number(self, kept: int, mark: NDArray[Any], made_as: NDArray[Any] | None) -> int:
        """Return the number of an epoch, from 0; the iterators that begin after it follow from it.

        Parameters
        ----------
        kept
            What `begin` returned, in this process or another.
        mark
            What the epoch drew, ``(values,) int64``.
        made_as
            The iterator's mark among those that were made, None if that was not in this process.

        Raises
        ------
        LoaderError
            When it is none of the first `MOST_EPOCHS`.
        """
        with self._lock:
            place = self._find(mark)
            epoch = kept - _IS_NUMBER if kept > _IS_NUMBER // 2 else place + kept
            self._shift = epoch - place
            self._begun.forget_from(epoch)
            if made_as is not None:
                self._begun.add(self._find(made_as), epoch)
            return epoch

    def _find(self, mark: NDArray[Any]) -> int:
        key = mark.tobytes()
        while key not in self._numbers:
            if len(self._numbers) >= MOST_EPOCHS:
                raise LoaderError(
                    f"the iterator was restored from a checkpoint of another kind of dataset: its mark {mark!r} "
                    f"is that of none of {MOST_EPOCHS} epochs; begin anew, without the iterator's checkpoint"
                )
            for each in next(self._marks):
                self._numbers[each.tobytes()] = len(self._numbers)
        return self._numbers[key]
