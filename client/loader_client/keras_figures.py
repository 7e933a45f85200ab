"""A Keras callback that says how long the training waited for data. Alone with `keras` and `resume` imports Keras."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import keras

from loader_client.places import feeds_in
from loader_client.stream_figures import StreamFigures
from loader_service.errors import ConfigError
from loader_service.protocol.numbers import whole_number

if TYPE_CHECKING:
    from loader_client.tensorboard import FigureWriter


class WaitingShare(keras.callbacks.Callback):  # type: ignore[misc] # Keras has no types
    """Tells after each epoch which share of its time the training waited for data, and how many frames came a second.

    Both are among the metrics of the epoch, as ``waiting_share`` and ``frames_per_s``: in the history, in the progress
    bar's line, and for all callbacks that come after this one, such as `CSVLogger` and `TensorBoard`.

    Parameters
    ----------
    data
        What `fit` gets: a dataset that is made of that of `loader_client.dataset`, or a `LoaderSequence`.
    log_dir
        Folder for TensorBoard, which gets both every so many batches too; needs TensorFlow.
    every
        How many batches.

    Raises
    ------
    ConfigError
        When the data is not of this package.

    Examples
    --------
    >>> model.fit(train, callbacks=[WaitingShare(train, log_dir="logs")])  # doctest: +SKIP
    """

    def __init__(self, data: Any, log_dir: str | PathLike[str] | None = None, every: int = 100) -> None:
        super().__init__()
        self._sources = _sources_of(data)
        if not self._sources:
            raise ConfigError(
                f"WaitingShare({type(data).__name__}): no dataset of loader_client and no LoaderSequence; "
                "give what `fit` gets"
            )
        self._every = whole_number("every", every, 1, 2**31)
        self._writer = None if log_dir is None else _writer(log_dir)
        self._batches = 0
        self._epoch_began = self._written = StreamFigures()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002 - Keras's parameters
        """Begin an epoch; called by Keras."""
        self._epoch_began = self._now()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        """Write what the last batches were like; called by Keras."""
        self._batches += 1
        if self._writer is not None and self._batches % self._every == 0:
            now = self._now()
            self._writer.write(now.since(self._written), self._batches)
            self._written = now

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        """Add both figures to those of the epoch; called by Keras."""
        figures = self._now().since(self._epoch_began)
        if logs is not None:
            logs["waiting_share"] = figures.waiting_share
            logs["frames_per_s"] = figures.frames_per_s

    def on_train_end(self, logs: Any = None) -> None:  # noqa: ARG002
        """Write what is left; called by Keras."""
        if self._writer is not None:
            self._writer.flush()

    def _now(self) -> StreamFigures:
        return sum((each.figures for each in self._sources), StreamFigures())


def _writer(log_dir: str | PathLike[str]) -> FigureWriter:
    from loader_client.tensorboard import FigureWriter  # noqa: PLC0415 - loads TensorFlow, which Keras may do without

    return FigureWriter(log_dir)


def _sources_of(data: Any) -> list[Any]:
    """Return what has figures of all that data is made of."""
    is_one = getattr(data, "figures", None) is not None
    return [data] if is_one else list(dict.fromkeys(feed for feed, _ in feeds_in(data)))
