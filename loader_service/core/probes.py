"""Streams whose fields only a user's transform knows: a worker is asked to try it before they open. Pure.

A probe goes to one worker, as a message like any other, and is answered between two tasks. A worker that ends before it
answers takes its probes along, and they go to another; a transform that ends three workers is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from loader_service.core.ledger import Ledger
from loader_service.errors import CatalogChanged, ConfigError, LoaderError, WorkerDied, from_name
from loader_service.protocol.fields import Field
from loader_service.protocol.messages import OpenStream, Probed, ProbeStream

#: Workers that a probe is given to, one after the other, before the stream is refused.
_MOST_WORKERS = 3

#: Streams of one client that may be on their way to be opened.
_MOST_OF_ONE = 64


@dataclass
class _Probe:
    client: bytes
    asked: OpenStream
    message: ProbeStream
    deadline: float  # of the answer
    busy_until: float  # when its worker was last known to be at something else
    given_at: float = 0.0  # to its worker
    worker: int | None = None  # who has it; None while there is no worker to give it to
    is_wanted: bool = True  # whether somebody waits for the answer; a worker may be at it even when nobody does
    workers_lost: int = 0
    waits_for: int = -1  # the file that must be looked at before it is tried again; -1: none


@dataclass(frozen=True)
class Answer:
    """What came of a probe: the transform's fields, None without one; or why the stream cannot open."""

    client: bytes
    asked: OpenStream
    fields: tuple[Field, ...] | None
    error: LoaderError | None


class Probes:
    """The probes that are not answered yet.

    Parameters
    ----------
    ledger
        Gets the messages for workers.
    timeout_s
        How long one may take, and how long its client waits, though the worker be busy with other streams first.
    """

    def __init__(self, ledger: Ledger, timeout_s: float) -> None:
        self._ledger = ledger
        self._timeout_s = timeout_s
        self._last = 0
        self._open: dict[int, _Probe] = {}

    def begin(self, client: bytes, asked: OpenStream, inputs: tuple[Field, ...], now: float) -> None:
        """Begin to find out what a stream's fields are; one that is asked for again is found out once.

        Raises
        ------
        ConfigError
            When as many streams wait already as may.
        """
        mine = [each for each in self._open.values() if each.client == client]
        for probe in mine:
            if probe.asked.request == asked.request:
                if not probe.is_wanted:  # it was gone, and waits from now
                    probe.is_wanted, probe.deadline = True, now + self._timeout_s
                return
        if len(mine) >= _MOST_OF_ONE:
            raise ConfigError(f"{len(mine)} streams of this client are being opened; wait for them first")
        self._last += 1
        message = ProbeStream(self._last, asked.spec, inputs)
        self._open[self._last] = _Probe(client, asked, message, now + self._timeout_s, now)

    @property
    def wait_for_worker(self) -> bool:
        """Whether a probe is to be given to a worker."""
        return bool(self._open) and any(each.worker is None and each.waits_for < 0 for each in self._open.values())

    def dispatch(self, workers: Iterable[int], now: float) -> None:
        """Give probes that no worker has to the first of these workers."""
        worker = min(workers, default=None)
        if worker is None:
            return
        for probe in self._open.values():
            if probe.worker is None and probe.waits_for < 0:
                probe.worker, probe.given_at, probe.busy_until = worker, now, now
                self._ledger.send(worker, probe.message)

    def heard(self, worker: int, now: float) -> None:
        """Take note that a worker has said something else: until then it was not at its probes."""
        for probe in self._open.values():
            if probe.worker == worker:
                probe.busy_until = now

    def postpone(self, message: Probed) -> bool:
        """Keep a probe until a file was looked at again; return whether somebody waits for it."""
        probe = self._open.get(message.probe)
        if probe is None or probe.worker != message.worker or not probe.is_wanted:
            return False
        probe.worker, probe.waits_for = None, message.file
        return True

    def checked(self, file: int, message: str) -> Iterator[Answer]:
        """Let the probes be tried again that waited for a file; yield them when its content has changed."""
        for number, probe in list(self._open.items()):
            if probe.waits_for == file:
                probe.waits_for = -1
                if message:
                    yield self._end(number, (), CatalogChanged(message))

    def answered(self, message: Probed) -> Answer | None:
        """Return what came of a probe; None when it was given up meanwhile."""
        probe = self._open.get(message.probe)
        if probe is None or probe.worker != message.worker:
            return None
        error = from_name(message.error, message.message) if message.error else None
        answer = self._end(message.probe, message.fields, error)
        return answer if probe.is_wanted else None

    def lost(self, worker: int, cause: str) -> Iterator[Answer]:
        """Take the probes of a worker that has ended back; yield those that have ended too many."""
        for number, probe in list(self._open.items()):
            if probe.worker == worker:
                if not probe.is_wanted:
                    del self._open[number]
                    continue
                probe.worker = None
                probe.workers_lost += 1
                if probe.workers_lost >= _MOST_WORKERS:
                    text = f"{_MOST_WORKERS} workers died while they tried the transform; the last one {cause}"
                    yield self._end(number, (), WorkerDied(text))

    def late(self, now: float) -> Iterator[tuple[int | None, Answer | None]]:
        """Yield the workers that do not come to an end with a probe, and the answers that clients wait for no longer.

        Yields
        ------
        int or None
            The worker, when it was at this probe for all of the time.
        Answer or None
            What to say; None when nobody waits for it.
        """
        for number, probe in list(self._open.items()):
            if probe.worker is not None and probe.busy_until + self._timeout_s <= now:
                answer = self._end(number, (), ConfigError(self._too_slow))
                self.heard(probe.worker, now)  # those behind it were not begun, and go to another worker
                yield probe.worker, answer if probe.is_wanted else None
            elif probe.is_wanted and probe.deadline <= now:
                yield None, self._give_up(number, probe)

    @property
    def _too_slow(self) -> str:
        return f"the transform did not return within {self._timeout_s:g} s when it was tried; make it faster"

    def _give_up(self, number: int, probe: _Probe) -> Answer:
        """Return an answer for a client that has waited long enough; a worker may still come to the probe."""
        if probe.worker is not None and probe.busy_until == probe.given_at:  # it was at nothing else meanwhile
            text = self._too_slow
        else:
            text = (
                f"no worker was free to try the transform within {self._timeout_s:g} s; open the stream again, or "
                "start more workers with `loader-service scale`"
            )
        if probe.worker is None:
            del self._open[number]
        probe.is_wanted = False
        return Answer(probe.client, probe.asked, (), ConfigError(text))

    def forget(self, client: bytes) -> None:
        """Answer a client that is gone no more; a worker that is at its probe is watched until it comes to an end."""
        for number, probe in list(self._open.items()):
            if probe.client == client:
                probe.is_wanted = False
                if probe.worker is None:
                    del self._open[number]

    def at(self, now: float) -> dict[int, float]:
        """Return for how long each worker that has a probe may be at it, by worker."""
        begun: dict[int, float] = {}
        for probe in self._open.values():
            if probe.worker is not None:
                begun[probe.worker] = max(0.0, now - probe.busy_until)
        return begun

    def next_deadline(self) -> float | None:
        """Return when `late` has something to say; None while nothing is open."""
        if not self._open:
            return None
        times = [each.deadline for each in self._open.values() if each.is_wanted]
        times += [each.busy_until + self._timeout_s for each in self._open.values() if each.worker is not None]
        return min(times, default=None)

    def _end(self, number: int, fields: tuple[Field, ...], error: LoaderError | None) -> Answer:
        probe = self._open.pop(number)
        return Answer(probe.client, probe.asked, fields, error)
