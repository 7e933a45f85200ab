"""Counts the samples of each epoch that were bad and replaced, and says when they are too many; knows no stream."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from loader_service.errors import LoaderError

_LOG = logging.getLogger(__name__)

#: Epochs that are counted at a time: iterators side by side are in different ones, and dropped ones never end.
_KEPT_EPOCHS = 16


@dataclass
class _Epoch:
    rows: dict[int, int] = field(default_factory=dict)  # by step: one that is fetched again counts once
    bad: dict[int, int] = field(default_factory=dict)


class BadSamples:
    """The bad samples of one stream. For use under one lock.

    Parameters
    ----------
    most
        How many an epoch may have; None for any number.
    steps_per_epoch
        After which step an epoch has ended.
    endpoint
        Of the service, which lists them.
    """

    def __init__(self, most: int | None, steps_per_epoch: int, endpoint: str) -> None:
        self._most = most
        self._steps_per_epoch = steps_per_epoch
        self._endpoint = endpoint
        self._epochs: dict[int, _Epoch] = {}

    def count(self, epoch: int, step: int, rows: int, bad: int) -> None:
        """Take note of a step that was delivered; at the end of an epoch with bad samples, log how many there were.

        Raises
        ------
        LoaderError
            When the epoch has had more than it may.
        """
        of_epoch = self._epochs.setdefault(epoch, _Epoch())
        if len(self._epochs) > _KEPT_EPOCHS:
            del self._epochs[next(iter(self._epochs))]
        of_epoch.rows[step] = rows
        if bad:
            of_epoch.bad[step] = bad
        so_far = sum(of_epoch.bad.values())
        if self._most is not None and so_far > self._most:
            raise LoaderError(
                f"epoch {epoch}, step {step}: {so_far:,} samples of this epoch were bad and replaced, more than "
                f"max_bad_samples={self._most:,}; `loader-service status {self._endpoint}` names them: "
                "repair or remove their files, or raise max_bad_samples"
            )
        if step == self._steps_per_epoch - 1:
            del self._epochs[epoch]
            if so_far:
                _LOG.warning(
                    "epoch %d: %s of %s samples were bad and replaced; see `loader-service status %s`",
                    epoch,
                    f"{so_far:,}",
                    f"{sum(of_epoch.rows.values()):,}",
                    self._endpoint,
                )
