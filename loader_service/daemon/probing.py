"""Streams whose fields only a user's transform knows: a worker is asked to try it before they open. Keeps no clock.

A probe goes to one worker, as a message like any other, and is answered between two tasks. A worker that ends before it
answers takes its probes along, and they go to another; a transform that ends three workers is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from loader_service.errors import ConfigError, LoaderError, WorkerDied, from_name
from loader_service.protocol.fields import Field
from loader_service.protocol.messages import OpenStream, Probed, ProbeStream

#: Workers that a probe is given to, one after the other, before the stream is refused.
_MOST_WORKERS = 3

#: Streams of one client that may be on their way to be opened.
_MOST_OF_ONE = 64


@dataclass
class _Probe:
    client: str
    asked: OpenStream
    message: ProbeStream
    deadline: float
    worker: int | None = None  # who has it; None while there is no worker to give it to
    workers_lost: int = 0


@dataclass(frozen=True)
class Answer:
    """What came of a probe: the transform's fields, or why the stream cannot open."""

    client: str
    asked: OpenStream
    fields: tuple[Field, ...]
    error: LoaderError | None


class Probes:
    """The probes that are not answered yet.

    Parameters
    ----------
    send
        Called with a worker's number and the message for it.
    timeout_s
        How long one may take.
    """

    def __init__(self, send: Callable[[int, ProbeStream], None], timeout_s: float) -> None:
        self._send = send
        self._timeout_s = timeout_s
        self._last = 0
        self._open: dict[int, _Probe] = {}

    def begin(self, client: str, asked: OpenStream, inputs: tuple[Field, ...], now: float) -> None:
        """Begin to find out what a stream's fields are; one that is asked for again is found out once.

        Raises
        ------
        ConfigError
            When as many streams wait already as may.
        """
        mine = [each for each in self._open.values() if each.client == client]
        if any(each.asked.request == asked.request for each in mine):
            return
        if len(mine) >= _MOST_OF_ONE:
            raise ConfigError(f"{len(mine)} streams of this client are being opened; wait for them first")
        self._last += 1
        message = ProbeStream(self._last, asked.spec, inputs)
        self._open[self._last] = _Probe(client, asked, message, now + self._timeout_s)

    def dispatch(self, workers: Iterable[int]) -> None:
        """Give probes that no worker has to the first of these workers."""
        worker = min(workers, default=None)
        if worker is None:
            return
        for probe in self._open.values():
            if probe.worker is None:
                probe.worker = worker
                self._send(worker, probe.message)

    def answered(self, message: Probed) -> Answer | None:
        """Return what came of a probe; None when it was given up meanwhile."""
        probe = self._open.get(message.probe)
        if probe is None or probe.worker != message.worker:
            return None
        error = from_name(message.error, message.message) if message.error else None
        return self._end(message.probe, message.fields, error)

    def lost(self, worker: int, cause: str) -> Iterator[Answer]:
        """Take the probes of a worker that has ended back; yield those that have ended too many."""
        for number, probe in list(self._open.items()):
            if probe.worker == worker:
                probe.worker = None
                probe.workers_lost += 1
                if probe.workers_lost >= _MOST_WORKERS:
                    text = f"{_MOST_WORKERS} workers died while they tried the transform; the last one {cause}"
                    yield self._end(number, (), WorkerDied(text))

    def late(self, now: float) -> Iterator[tuple[int | None, Answer]]:
        """Yield the probes that have had their time, each with the worker that is still at it."""
        for number, probe in list(self._open.items()):
            if probe.deadline <= now:
                text = f"the transform did not return within {self._timeout_s:g} s when it was tried; make it faster"
                yield probe.worker, self._end(number, (), ConfigError(text))

    def forget(self, client: str) -> None:
        """Drop the probes of a client that is gone."""
        self._open = {number: each for number, each in self._open.items() if each.client != client}

    def next_deadline(self) -> float | None:
        """Return when `late` has something to say; None while nothing is open."""
        return min((each.deadline for each in self._open.values()), default=None)

    def _end(self, number: int, fields: tuple[Field, ...], error: LoaderError | None) -> Answer:
        probe = self._open.pop(number)
        return Answer(probe.client, probe.asked, fields, error)
