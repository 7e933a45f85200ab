"""The face towards code that wants a Keras `PyDataset`: batches by number, each epoch the next; imports Keras."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import keras

from loader_client.connecting import ServiceOrFiles, connection_to, with_ray
from loader_client.forks import FORKS
from loader_client.keras_figures import WaitingShare
from loader_client.patience import Patience
from loader_client.resume import Resume
from loader_client.resumption import StartChoice
from loader_client.starts import FROM_THE_BEGINNING, MAX_EPOCH
from loader_client.stream import Stream
from loader_client.stream_figures import StreamFigures
from loader_client.stream_options import ClipChoice, StreamChoice
from loader_client.typed_options import ServiceOptions, StreamOptions
from loader_service.errors import ConfigError, LoaderError, ServiceUnavailable
from loader_service.protocol.numbers import whole_number
from loader_service.protocol.spec import Image
from loader_service.worker_bounds import WorkersGiven

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["LoaderSequence", "Resume", "WaitingShare"]


class LoaderSequence(keras.utils.PyDataset):  # type: ignore[misc] # Keras has no types
    """Batches of a service as a `keras.utils.PyDataset`, for `fit`, `evaluate` and `predict` with any backend.

    `loader_client.dataset` is faster with TensorFlow; this is for code that wants a sequence. An item is a tuple of the
    fields' arrays, such as ``(x, y)``. Keras shuffles the numbers of the batches that it asks for; with `shuffle`, of
    which the default is True, the samples are shuffled already, so the batch that is asked for first in an epoch is the
    epoch's first step, and so on: the order is that of all other clients. With ``shuffle=False``, item `i` is step `i`.
    One asked for twice is the same one, until the epoch ends.

    Threads may ask for items side by side. Processes may not: the service has processes of its own.

    Parameters
    ----------
    source, batch_size, clip, image, index, workers, ray_workers, service, patience
        As in `loader_client.dataset`.
    fields
        Names of the fields of an item, in order.
    start
        Epoch and step of the first batch, for a training that goes on there: ``(initial_epoch, 0)``; or states, as in
        `loader_client.dataset`. An epoch that begins in its middle has fewer batches, and those that it lacks
        raise `IndexError`.
    first_epoch
        The same, for a training that goes on at the beginning of an epoch.
    threads
        That Keras asks with.
    **options
        As in `loader_client.dataset`; whole videos need a `batching` that pads.

    Raises
    ------
    ConfigError, CatalogError
        When the service cannot give what is asked for.
    ServiceUnavailable
        When no service answers.

    Examples
    --------
    >>> train = LoaderSequence("data/*.h5", batch_size=16, shard=(rank, world))  # doctest: +SKIP
    >>> model.fit(train, epochs=10)  # doctest: +SKIP
    """

    def __init__(  # noqa: PLR0913 - as in `dataset`
        self,
        source: ServiceOrFiles = None,
        *,
        batch_size: int,
        clip: ClipChoice = "auto",
        image: Image | None = None,
        fields: Sequence[str] = ("frames", "label"),
        workers: WorkersGiven | None = None,
        ray_workers: WorkersGiven | None = None,
        service: ServiceOptions | None = None,
        patience: Patience | None = None,
        start: StartChoice = FROM_THE_BEGINNING,
        first_epoch: int = 0,
        threads: int = 1,
        index: Any = None,
        **options: Unpack[StreamOptions],
    ) -> None:
        super().__init__(workers=threads, use_multiprocessing=False)
        if options.get("batching") == "ragged":
            raise ConfigError("batching='ragged' makes no arrays that Keras takes; give 'pad' or 'bucket'")
        if first_epoch and start != FROM_THE_BEGINNING:
            raise ConfigError(f"start={start!r} and first_epoch={first_epoch!r} both say where to begin; leave one out")
        if first_epoch:
            start = (whole_number("first_epoch", first_epoch, 0, MAX_EPOCH), 0)
        choice = StreamChoice(batch_size, clip, image, fields=fields, index=index, start=start, **options)
        if choice.spec.fields is None:
            raise ConfigError(
                "fields=None names none, and Keras takes a tuple; give names, such as ('frames', 'label')"
            )
        self._fields = choice.spec.fields
        self._lock = threading.RLock()
        FORKS.watch(self._lock)
        self._steps: dict[int, int] = {}  # of the items that were asked for in this epoch
        opened = ExitStack()
        try:
            connection = connection_to(opened, source, workers, with_ray(service, ray_workers), patience)
            request = choice.request(connection)
            stream = connection.open(request)
            opened.callback(connection.drop, stream)
            begin = choice.place(stream)
        except BaseException:
            opened.close()
            raise
        self._stream: Stream | None = stream
        self._shuffle = stream.spec.shuffle
        self.steps_per_epoch = stream.steps_per_epoch
        self.part = stream.spec.part
        self._finalizer = weakref.finalize(self, opened.close)
        self.begin_at(*begin)
        self._is_running = False

    def __len__(self) -> int:
        # Keras asks before an epoch for how many batches all epochs have, and in an epoch for how many it has.
        return self.steps_per_epoch - (self._first_step if self._is_running else 0)

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        batches = self.steps_per_epoch - self._first_step
        if not 0 <= index < batches:
            raise IndexError(f"batch {index!r} of {batches}")
        stream = self._stream
        if stream is None:
            raise ServiceUnavailable("the sequence was closed")
        batch = stream.fetch(*self._place(index))
        return tuple(batch[name] for name in self._fields)

    def __reduce__(self) -> tuple[Any, ...]:
        raise LoaderError(
            "a LoaderSequence cannot be pickled, since its connection is this process's own; make it in the process "
            "that uses it, or give Keras threads (`threads=…`) instead of processes"
        )

    def begin_at(self, epoch: int, step: int) -> None:
        """Go on at a step; the one after an epoch's last is the next epoch's first."""
        with self._lock:
            further, self._first_step = divmod(step, self.steps_per_epoch)
            self.epoch = epoch + further
            self._steps.clear()
            self._is_running = True

    def on_epoch_begin(self) -> None:
        """Tell from now on how many batches this epoch has; called by Keras."""
        self._is_running = True

    def on_epoch_end(self) -> None:
        """Go on to the next epoch, if all of this one was asked for; called by Keras.

        Which also calls it after it has looked at a few batches to see their shapes, and with `steps_per_epoch` in the
        middle of an epoch.
        """
        with self._lock:
            self._is_running = False
            if len(self._steps) == self.steps_per_epoch - self._first_step:
                self.epoch += 1
                self._first_step = 0
                self._steps.clear()

    @property
    def figures(self) -> StreamFigures:
        """What was fetched, and how long that was waited for; nothing after `close`."""
        return StreamFigures() if self._stream is None else self._stream.figures

    def close(self) -> None:
        """End the connection, and the private service if there is one; arrays that were fetched stay valid.

        TensorFlow keeps what `fit` has made of a sequence until the process ends, so nothing else ends it before.
        """
        self._finalizer()
        self._stream = None

    def _place(self, index: int) -> tuple[int, int]:
        with self._lock:
            step = len(self._steps) if self._shuffle else index
            return self.epoch, self._steps.setdefault(index, self._first_step + step)
