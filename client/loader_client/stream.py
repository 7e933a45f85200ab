"""One open stream, as users have it: steps by number in, batches out; outlives restarts of the service.

Nothing that a stream holds refers back to it, so it ends with the last reference to it, and no cycle collector has to
find it. Its session is told of its end by a finalizer.
"""

from __future__ import annotations

import time
import weakref
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from loader_client.forms import LENGTH, Batch, alone, hidden_names, shaped
from loader_client.indexes import ENDLESS
from loader_client.rank_state import RankState, order_of
from loader_client.request import Request
from loader_client.session.delivery import StreamAtService
from loader_client.session.pending import anew
from loader_client.session.session import Session
from loader_client.session.session_effects import Effect
from loader_client.session.stream_wants import StreamWants
from loader_client.session_thread import SessionThread
from loader_client.shortage import shortage
from loader_client.starts import MAX_EPOCH, start_within
from loader_client.stream_figures import StreamFigures
from loader_service.errors import ConfigError
from loader_service.protocol.fields import Field
from loader_service.protocol.numbers import whole_number
from loader_service.protocol.spec import Clip
from loader_service.protocol.totals import TrainerTimes


class StreamOpener(Protocol):
    """What opens another stream beside one: the connection."""

    def open(self, request: Request) -> Stream:
        """Open a stream."""


class Stream:
    """Batches of one spec, by epoch and step. Any thread may use it.

    Parameters
    ----------
    thread
        Of the session.
    wants
        Of this stream, in the session.
    request
        What was asked for.
    connection
        Is not to end before the stream does.
    """

    def __init__(self, thread: SessionThread, wants: StreamWants, request: Request, connection: StreamOpener) -> None:
        self.spec = request.spec
        self._batched = request.batched
        self._is_shaped = self.spec.varies or self.spec.batching == "ragged"
        self._request = request
        self._steps = self._rows = self._frames = 0  # fetched, for people: two threads may lose a count
        self._thread = thread
        self._wants = wants
        self._connection = connection
        self._finalizer = weakref.finalize(self, thread.dropper(wants.key))
        self._finalizer.atexit = False  # the connection says goodbye then

    @property
    def fields(self) -> tuple[Field, ...]:
        """Fields of a batch, in order."""
        fields = self._at.opened.fields
        hidden = hidden_names(fields, self.spec)
        return tuple(field for field in fields if field.name not in hidden)

    @property
    def slot_fields(self) -> tuple[Field, ...]:
        """Fields of its slots: those of a batch, and lengths by which the client takes rows apart."""
        return self._at.opened.fields

    @property
    def steps_per_epoch(self) -> int:
        """Steps in an epoch; `ENDLESS` when an index is announced step by step."""
        return self._wants.steps_per_epoch if self._at else ENDLESS

    @property
    def first_step(self) -> int:
        """The first step that is left of the epoch that ranks of another world had begun; 0 without one."""
        index = self._wants.index
        return index.first_step if index is not None else self._at.opened.first_step

    @property
    def order(self) -> tuple[tuple[str, Any], ...]:
        """What decides which sample comes when, as `RankState.order` has it."""
        index = self._wants.index
        return order_of(self.spec, self._at.opened.samples, b"" if index is None else index.entries)

    def state_at(self, epoch: int, step: int) -> RankState:
        """Return the state in which a step is the next one.

        Parameters
        ----------
        epoch, step
            Counted from 0; ``step == steps_per_epoch`` is the end of the epoch.

        Raises
        ------
        ConfigError
            When there is no such place, or the order is that of an index dataset.
        """
        if self.steps_per_epoch == ENDLESS:
            raise ConfigError(
                "index= is a tf.data.Dataset, whose order is its own: keep its iterator in a tf.train.Checkpoint"
            )
        epoch, step = start_within((epoch, step), self.steps_per_epoch)
        return RankState(
            epoch=epoch,
            step=step,
            shard=self.spec.shard,
            batch_size=self.spec.batch_size,
            steps_per_epoch=self.steps_per_epoch,
            order=self.order,
            resumed=self.spec.resumed,
            first_step=self.first_step,
        )

    @property
    def prefetch(self) -> int:
        """Steps that are wanted ahead."""
        return self._at.opened.prefetch

    @property
    def leases_out(self) -> int:
        """Batches whose memory the trainer holds."""
        self._thread.tell(lambda _: [])
        return self._wants.lent

    def shortage(self) -> str:
        """Return what is to be said of too few slots, "" when there are enough."""
        at = self._at
        return shortage(at.opened.slots, at.layout.size_bytes, self.spec.prefetch)

    def announce(self, epoch: int, step: int, samples: NDArray[Any], first: int) -> None:
        """Say what a step of an announced index holds, and have it made; harmless when it was said before.

        Parameters
        ----------
        epoch, step, samples, first
            See `AnnouncedIndex.announce`.

        Raises
        ------
        ConfigError
            When an entry is no sample's number.
        """
        key = self._at.key
        self._thread.tell(lambda session: session.announce(key, (epoch, step), samples, first))

    def announce_end(self, epoch: int) -> None:
        """Say that all steps of an epoch of an announced index were announced; harmless when it was said before."""
        self._thread.tell(lambda session: session.announce_end(self._wants.key, epoch))

    def end(self, epochs: int) -> None:
        """Have no step made ahead from an epoch on, counted from 0: nobody will ask for it."""
        self._thread.tell(lambda _: self._wants.end(epochs))

    def fetch(self, epoch: int, step: int) -> Batch:
        """Return the batch of a step, and have the following ones made.

        Parameters
        ----------
        epoch, step
            Counted from 0; ``step < steps_per_epoch``.

        Returns
        -------
        dict of str to numpy.ndarray
            ``(rows, *shape)`` by field; fields of whole videos as `forms.shaped` makes them. Large arrays lie in shared
            memory; the slot is free again when they are all gone.

        Raises
        ------
        ConfigError
            When there is no such epoch or step.
        LoaderError
            What the service said was wrong with the step, under the class it had there; or that the epoch has had
            more bad samples than it may.
        ServiceUnavailable
            When no service answered for ``reconnect_timeout_s``, or the step took longer than ``step_timeout_s``.
        """
        at = self._at
        epoch = whole_number("epoch", epoch, 0, MAX_EPOCH)
        step = whole_number("step", step, 0, self._wants.steps_per_epoch - 1)
        batch: Batch = self._thread.fetch(at.key, (epoch, step))
        self._count(batch)
        if self._is_shaped:
            batch = shaped(batch, at.opened.fields, self.spec)
        return batch if self._batched else alone(batch)

    def first_samples(self, rows: int) -> Batch:
        """Return the first samples of the first epoch, through a stream of their own: no iterator of this one moves.

        Parameters
        ----------
        rows
            How many at most; of an index, and of buckets, as many as the first step has.

        Raises
        ------
        ConfigError
            When an index is announced step by step, so that nobody knows its first ones.
        LoaderError
            As `fetch`.
        """
        request = self._request
        if request.index is not None and self.steps_per_epoch == ENDLESS:
            raise ConfigError("the index says its samples step by step; show a batch of an iterator instead")
        if request.index is None and request.batched and request.spec.batching != "bucket":
            spec = replace(request.spec, batch_size=min(rows, request.spec.batch_size), drop_remainder=False)
            request = replace(request, spec=spec)
        request = replace(request, spec=replace(request.spec, prefetch=1))
        stream = self._connection.open(request)
        try:
            batch = stream.fetch(0, 0)
        finally:
            stream.close()
        return batch if request.batched else {name: _as_batch(value) for name, value in batch.items()}

    @property
    def figures(self) -> StreamFigures:
        """What was fetched, and how long that was waited for, since the stream was opened."""
        found: list[TrainerTimes | None] = []

        def look(session: Session) -> list[Effect]:
            found.append(session.watch.of(self._wants.key, time.monotonic()))
            return []

        self._thread.tell(look)
        times = found[0] if found else None
        seconds = (times.waiting_s, times.observed_s) if times is not None else (0.0, 0.0)
        return StreamFigures(self._steps, self._rows, self._frames, *seconds)

    def _count(self, batch: Batch) -> None:
        clip = self.spec.clip
        rows = len(next(iter(batch.values()))) if clip is not None or LENGTH not in batch else len(batch[LENGTH])
        self._steps += 1
        self._rows += rows
        if clip is None:
            self._frames += int(batch[LENGTH].sum()) if LENGTH in batch else rows
        else:
            self._frames += rows * clip.frames if isinstance(clip, Clip) else rows

    def close(self) -> None:
        """Give the stream up; arrays that were fetched stay valid. Harmless when it has failed or was closed."""
        if self._finalizer.detach() is not None:
            self._thread.tell(lambda session: session.close(self._wants.key))

    @property
    def _at(self) -> StreamAtService:
        self._thread.check()
        if self._wants.failure is not None:
            raise anew(self._wants.failure)
        assert self._wants.at is not None  # noqa: S101 - a stream that users have was open once
        return self._wants.at


def _as_batch(value: Any) -> Any:
    return value[np.newaxis] if isinstance(value, np.ndarray) else value
