"""The iterator over the batches of a stream, for loops without tf.data, and how far it is; loads no TensorFlow."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

from loader_client.forms import Batch
from loader_client.rank_state import RankState
from loader_client.starts import MAX_EPOCH
from loader_client.stream import Stream

#: Opens a stream, and says where it begins.
Open = Callable[[], tuple[Stream, tuple[int, int]]]


@dataclass
class _IteratorPlace:
    """Where an iterator is; apart from it, so that its generator does not keep it."""

    begin: RankState | None = None
    epoch: int = 0
    step: int = 0
    given: int = 0  # 1 from when a step is given until the next one is asked for


class Batches(Iterator[Batch]):
    """Batches, one after the other. The stream opens with the first, and ends with the last or with the iterator.

    For use by one thread.

    Parameters
    ----------
    open_stream
        Called once.
    epochs
        How many.
    """

    def __init__(self, open_stream: Open, epochs: int) -> None:
        self._place = _IteratorPlace()
        self._steps = _steps(open_stream, epochs, self._place)

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Batch:
        self._begin()
        batch = next(self._steps)
        self._place.given = 1
        return batch

    def state(self) -> RankState:
        """Return how far this is: all batches that were given count as consumed, and no other.

        Raises
        ------
        LoaderError
            When the stream cannot be opened, if that was not done yet, or the connection has failed.
        """
        self._begin()
        place = self._place
        assert place.begin is not None  # noqa: S101 - the first thing that the generator does
        return dataclasses.replace(place.begin, epoch=place.epoch, step=place.step + place.given)

    def close(self) -> None:
        """End the stream; arrays that were given stay valid."""
        self._steps.close()

    def _begin(self) -> None:
        if self._place.begin is None:
            next(self._steps)


def _steps(open_stream: Open, epochs: int, place: _IteratorPlace) -> Generator[Batch]:
    """Yield nothing when the stream is open, and then its batches, which it does not keep while they are in use."""
    stream, (place.epoch, place.step) = open_stream()
    try:
        place.begin = stream.state_at(place.epoch, place.step)
        yield {}
        last = min(MAX_EPOCH, place.epoch + epochs)
        stream.end(last)
        while place.epoch < last:
            while place.step < stream.steps_per_epoch:
                yield stream.fetch(place.epoch, place.step)
                place.step, place.given = place.step + 1, 0
            place.epoch, place.step = place.epoch + 1, 0
    finally:
        stream.close()
