"""Counts the samples of each epoch that were bad and replaced, and says when they are too many; knows no stream."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TypeVar

from loader_service.errors import LoaderError

_LOG = logging.getLogger(__name__)

_Kept = TypeVar("_Kept")

#: Bad samples that are named where nobody else does.
_NAMED = 3

#: Epochs that are counted at a time: iterators side by side are in different ones, and dropped ones never end.
_KEPT_EPOCHS = 16


@dataclass
class _Epoch:
    """What was delivered of an epoch. Its size is not that of the epoch, which may have millions of steps."""

    steps: int
    first: int  # step: where a training that was resumed goes on
    end: int  # all from `first` to here were delivered
    later: set[int] = field(default_factory=set)  # delivered before one that comes before them, by threads side by side
    rows: int = 0
    bad: dict[int, int] = field(default_factory=dict)  # by step: one that is fetched again counts once

    def add(self, step: int, rows: int, bad: int) -> None:
        """Take in a delivered step; one that is delivered again adds no rows."""
        if bad:
            self.bad[step] = bad
        if self.first <= step < self.end or step in self.later:
            return
        self.rows += rows
        self.later.add(step)
        while self.end in self.later:
            self.later.remove(self.end)
            self.end += 1

    @property
    def is_over(self) -> bool:
        return self.end >= self.steps


class BadSamples:
    """The bad samples of one stream. For use under one lock.

    Parameters
    ----------
    most
        How many an epoch may have; None for any number.
    steps_per_epoch
        After how many steps an epoch has ended, unless `ends` says another number.
    endpoint
        Of the service, which lists them; None of one that is gone when people read that: the latest are named instead.
    """

    def __init__(self, most: int | None, steps_per_epoch: int, endpoint: str | None) -> None:
        self._most = most
        self._steps_per_epoch = steps_per_epoch
        self._endpoint = endpoint
        self._epochs: dict[int, _Epoch] = {}
        self._named: dict[str, None] = {}  # what was wrong with the latest ones, the last one last
        self._lengths: dict[int, int] = {}  # of epochs whose length was said before their first step

    def name(self, reason: str) -> None:
        """Take note of what was wrong with one; steps that are made ahead come with theirs."""
        self._named.pop(reason, None)
        self._named[reason] = None
        if len(self._named) > _NAMED:
            del self._named[next(iter(self._named))]

    def count(self, epoch: int, step: int, rows: int, bad: int) -> None:
        """Take note of a step that was delivered; at the end of an epoch with bad samples, log how many there were.

        Raises
        ------
        LoaderError
            When the epoch has had more than it may.
        """
        of_epoch = self._epochs.get(epoch)
        if of_epoch is None:
            of_epoch = _Epoch(self._lengths.pop(epoch, self._steps_per_epoch), step, step)
            _keep(self._epochs, epoch, of_epoch)
        of_epoch.add(step, rows, bad)
        so_far = sum(of_epoch.bad.values())
        if self._most is not None and so_far > self._most:
            raise LoaderError(
                f"epoch {epoch}, step {step}: {so_far:,} samples of this epoch were bad and replaced, more than "
                f"max_bad_samples={self._most:,}; {self._where()}: repair or remove their files, or raise "
                "max_bad_samples"
            )
        self._end_if_over(epoch, of_epoch)

    def ends(self, epoch: int, steps: int) -> None:
        """Take note how many steps an epoch has, where that comes out in its course."""
        of_epoch = self._epochs.get(epoch)
        if of_epoch is None:
            _keep(self._lengths, epoch, steps)
        else:
            of_epoch.steps = steps
            self._end_if_over(epoch, of_epoch)

    def _end_if_over(self, epoch: int, of_epoch: _Epoch) -> None:
        if not of_epoch.is_over:
            return
        del self._epochs[epoch]
        if of_epoch.bad:
            _LOG.warning(
                "epoch %d: %s of %s samples were bad and replaced; %s",
                epoch,
                f"{sum(of_epoch.bad.values()):,}",
                f"{of_epoch.rows:,}",
                self._latest() if self._endpoint is None else f"see `loader-service status {self._endpoint}`",
            )

    def _where(self) -> str:
        """Return where they are named."""
        return self._latest() if self._endpoint is None else f"`loader-service status {self._endpoint}` names them"

    def _latest(self) -> str:
        return f"the latest: {' | '.join(reversed(self._named))}"


def _keep(kept: dict[int, _Kept], epoch: int, value: _Kept) -> None:
    """Keep something of an epoch, and no more than of the latest few."""
    kept[epoch] = value
    if len(kept) > _KEPT_EPOCHS:
        del kept[next(iter(kept))]
