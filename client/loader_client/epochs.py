"""Tells which epoch an iterator is from the mark that it drew; knows no TensorFlow, and nothing of batches.

Each iterator of a dataset is to be the next epoch, also when a training was restored in a new process. How far it is in
its epoch, an iterator's checkpoint says. Which epoch comes after that one, nothing of it says: `repeat` makes a new
iterator of its input for each epoch, and a counter of ours is not saved. But one counter of tf.data is saved: how many
iterators a random dataset that is drawn anew for each has had. What such an iterator draws first is the epoch's *mark*.
All marks follow from a seed, so the number of an epoch is the place of its mark in their sequence.

That counter is saved with iterators that have begun. One that was saved before, and restored in another process, has
the mark of its place among all iterators that were *made*, of which a second dataset keeps count. Taken as the number
of its epoch, that is right unless some of those before it were never used.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from loader_service.errors import LoaderError

#: Epochs after which a mark counts as unknown; to look through all takes some ten seconds.
MOST_EPOCHS = 2**20


class EpochNumbers:
    """The numbers of marks. Any thread may use it.

    Parameters
    ----------
    marks
        Blocks of ``(epochs, values) int64``: the marks of all epochs, in order.
    """

    def __init__(self, marks: Iterator[NDArray[Any]]) -> None:
        self._lock = threading.Lock()
        self._marks = marks
        self._numbers: dict[bytes, int] = {}
        self._begun = 0  # epochs, in this process and, as far as is known, in those before it

    def number(self, mark: NDArray[Any]) -> int:
        """Return the number of an epoch, from 0.

        Parameters
        ----------
        mark
            ``(values,) int64``.

        Raises
        ------
        LoaderError
            When it is none of the first `MOST_EPOCHS`.
        """
        with self._lock:
            number = self._find(mark)
            self._begun = max(self._begun, number + 1)
            return number

    def begin(self, made_as: NDArray[Any] | None) -> int:
        """Return how many epochs to leave out before the one that an iterator begins.

        Parameters
        ----------
        made_as
            Its mark among the iterators that were made, if that was in another process, or of another dataset.

        Raises
        ------
        LoaderError
            As `number`.
        """
        with self._lock:
            left_out = 0 if made_as is None else max(0, self._find(made_as) - self._begun)
            self._begun += left_out + 1
            return left_out

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
