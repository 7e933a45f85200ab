"""Numbers the marks that iterators draw, and so their epochs; knows no TensorFlow, and nothing of batches.

Each iterator of a dataset is to be the next epoch, also when a training was restored in a new process. How far it is in
its epoch, an iterator's checkpoint says. Which epoch comes after that one, nothing of it says: `repeat` makes a new
iterator of its input for each epoch, and a counter of ours is not saved. But one counter of tf.data is saved: how many
iterators a random dataset that is drawn anew for each has had. What such an iterator draws first is its *mark*. All
marks follow from a seed, so their number is their place in the sequence, and an epoch's number follows from its mark's.

That counter is saved with iterators that have begun. One that was saved before, and restored in another process, has
the mark of its place among all iterators that were *made*, of which a second dataset keeps count. Taken as the number
of its epoch, that is right unless some of those before it were never used.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from loader_client.forks import FORKS
from loader_service.errors import LoaderError

#: Marks after which one counts as unknown; to look through all takes some ten seconds.
MOST_MARKS = 2**20


class EpochNumbers:
    """The numbers of marks. Any thread may use it.

    Parameters
    ----------
    marks
        Blocks of ``(marks, values) int64``, in the order in which they are drawn.
    """

    def __init__(self, marks: Iterator[NDArray[Any]]) -> None:
        self._lock = threading.RLock()
        FORKS.watch(self._lock)
        self._marks = marks
        self._numbers: dict[bytes, int] = {}

    def number(self, mark: NDArray[Any]) -> int:
        """Return the number of a mark, from 0.

        Parameters
        ----------
        mark
            ``(values,) int64``.

        Raises
        ------
        LoaderError
            When it is none of the first `MOST_MARKS`.
        """
        key = mark.tobytes()
        with self._lock:
            while key not in self._numbers:
                if len(self._numbers) >= MOST_MARKS:
                    raise LoaderError(
                        f"the iterator was restored from a checkpoint of another kind of dataset: its mark {mark!r} "
                        f"is none of the first {MOST_MARKS}; begin anew, without the iterator's checkpoint"
                    )
                for each in next(self._marks):
                    self._numbers[each.tobytes()] = len(self._numbers)
            return self._numbers[key]
