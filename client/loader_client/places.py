"""The places in the data of a `fit`: told which epoch and batch of it begin, they find the step; load no TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from loader_client.indexes import AnnouncedIndex
from loader_client.starts import Starts
from loader_service.errors import ConfigError

#: Stages of tf.data that give one element for each that they get, by the name of their class without what is around it.
_ONE_FOR_ONE = frozenset({"Options", "Map", "ParallelMap", "Prefetch", "Repeat", "AssertCardinality", "AssertNext"})


def place_of(data: Any) -> DatasetPlace | SequencePlace:
    """Return the place in what `fit` gets.

    Raises
    ------
    ConfigError
        When no data of this package is in it.
    """
    if hasattr(data, "begin_at") and hasattr(data, "steps_per_epoch"):
        return SequencePlace(data)
    starts = _starts_in(data)
    if not starts:
        raise ConfigError(
            f"there is no data of loader_client in {type(data).__name__} {data!r}; give the dataset or LoaderSequence "
            "that fit gets, and where that is made in a function, what loader_client.dataset returned"
        )
    return DatasetPlace(data, starts)


class SequencePlace:
    """The place in a `LoaderSequence`."""

    #: What a short epoch ends with: Keras takes it for an epoch that ran out, which is right.
    ends_with_error = False

    def __init__(self, sequence: Any) -> None:
        self._sequence = sequence
        self.steps_per_epoch: int = sequence.steps_per_epoch
        self.part: str = sequence.part

    def begin(self, epoch: int, batch: int, batches: int | None, *, is_first: bool) -> None:
        """Have the data go on with a batch of an epoch of `fit`; see `DatasetPlace.begin`."""
        if batches is None or batches == self.steps_per_epoch:
            self._sequence.begin_at(epoch, batch)
        elif is_first:
            self._sequence.begin_at(*divmod(epoch * batches + batch, self.steps_per_epoch))

    def is_read(self) -> bool:
        """Return True: who reads a sequence is not known."""
        return True

    def a_batch(self) -> Any:
        """Return some batch, to see what it looks like; `begin` comes later."""
        return self._sequence[0]

    def check_batches_are_steps(self, _why: str) -> None:
        """Return: a batch of `fit` is a step."""


class DatasetPlace:
    """The place in a `tf.data.Dataset`.

    Parameters
    ----------
    dataset
        What `fit` gets.
    starts
        Where the iterators begin of each dataset of `loader_client` that it is made of, and how many iterators of that
        one of its own makes: its epochs in an epoch of `fit`.
    """

    #: What a short epoch ends with: an error, since tf.data was promised as many elements as in the others.
    ends_with_error = True

    def __init__(self, dataset: Any, starts: dict[Starts, int]) -> None:
        self._dataset = dataset
        self._starts = starts
        self.steps_per_epoch = next(iter(starts)).steps_per_epoch
        self.part = ", ".join(sorted({each.part for each in starts}))
        self._elements = int(dataset.cardinality())  # negative: endless or unknown

    def begin(self, epoch: int, batch: int, batches: int | None, *, is_first: bool) -> None:
        """Have the data go on with a batch of an epoch of `fit`.

        Parameters
        ----------
        epoch, batch
            As `fit` counts them, from 0.
        batches
            In an epoch of `fit`; None: as many as there are.
        is_first
            Whether this `fit` begins here; only then does a dataset that goes on through the epochs begin anew.
        """
        if not self._goes_on(batches):
            for starts, times in self._starts.items():
                starts.begin_at(epoch * times * starts.steps_per_epoch + batch)
        elif is_first and batches is not None:
            position = epoch * batches + batch
            if position:
                self.check_batches_are_steps(f"steps_per_epoch={batches}, resumed at batch {position},")
            for starts in self._starts:
                starts.begin_at(position, crosses=True)

    def is_read(self) -> bool:
        """Return whether an iterator has drawn since `begin`."""
        return not all(starts.is_awaited for starts in self._starts)

    def a_batch(self) -> Any:
        """Return some batch, to see what it looks like; `begin` comes later."""
        return next(iter(self._dataset))

    def check_batches_are_steps(self, why: str) -> None:
        """Check that the number of a batch is that of a step.

        Raises
        ------
        ConfigError
            When the pipeline makes other batches of the steps, or leaves some out.
        """
        stages, dataset = [], self._dataset
        while getattr(dataset, "loader_feed", None) is None:
            stages.append(type(dataset).__name__.strip("_").removesuffix("V2").removesuffix("Dataset"))
            inputs = dataset._inputs()  # noqa: SLF001 - nothing public says what a dataset is made of
            if len(inputs) != 1:
                break
            dataset = inputs[0]
        others = [each for each in stages if each not in _ONE_FOR_ONE]
        if others or self._elements not in (-1, self.steps_per_epoch):
            raise ConfigError(
                f"{why} needs a place in the middle of the data, and the pipeline does not give one batch for each of "
                f"its {self.steps_per_epoch} steps ({', '.join(others) or f'it gives {self._elements}'}); resume at "
                "whole epochs, without steps_per_epoch and with save_freq='epoch', or batch by batch_size="
            )

    def _goes_on(self, batches: int | None) -> bool:
        """Return whether an iterator lasts longer than an epoch of `fit`."""
        if batches is None:
            return False
        return self._elements == -1 or 0 <= batches < self._elements  # -1: tf.data.INFINITE_CARDINALITY


def _starts_in(dataset: Any) -> dict[Starts, int]:
    """Return the starts of the datasets that one is made of, and how many iterators of each one of its own makes."""
    found: dict[Starts, int] = {}
    for feed, times in feeds_in(dataset):
        if isinstance(feed.request.index, AnnouncedIndex):
            raise ConfigError(
                "index= is a tf.data.Dataset, whose order is its own and begins anew in a new process; give index= "
                "as an array, or keep the iterator in a tf.train.Checkpoint"
            )
        found[feed.starts] = found.get(feed.starts, 0) + times
    return found


def feeds_in(dataset: Any) -> Iterator[tuple[Any, int]]:
    """Yield the `Feed` of each dataset of `loader_client` that one is made of, and how often that is gone through."""
    left = [(dataset, 1)]
    while left:
        each, times = left.pop()
        feed = getattr(each, "loader_feed", None)
        if feed is not None:
            yield feed, times
        elif hasattr(each, "_inputs"):
            times *= max(1, int(getattr(each, "_count", 1))) if type(each).__name__ == "_RepeatDataset" else 1
            left.extend((one, times) for one in each._inputs())  # noqa: SLF001 - as above
