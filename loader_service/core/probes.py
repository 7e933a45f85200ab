"""Streams whose fields only a user's transform knows: a worker is asked to try it before they open. Pure.

A probe is a task of a stream that is not open yet. Like any other task it is in one worker's hand at a time, has a
deadline from the moment when its worker comes to it, and goes to another worker when that one was reaped; a transform
that ends three workers is refused. It does not wait in the queues, where a stream that always has tasks would keep it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from loader_service.core.ledger import Ledger
from loader_service.core.staff import Staff
from loader_service.core.tasks import PendingTask
from loader_service.core.worker import Worker, WorkerState
from loader_service.errors import CatalogChanged, ConfigError, LoaderError, WorkerDied, from_name
from loader_service.protocol.fields import Field
from loader_service.protocol.messages import OpenStream, Probed, ProbeStream
from loader_service.record_class import record

#: Workers that may die at a probe, one after the other, before the stream is refused.
_MOST_STRIKES = 3

#: Streams of one client that may be on their way to be opened.
_MOST_OF_ONE = 64


@dataclass
class _Probe:
    client: bytes
    asked: OpenStream
    task: PendingTask
    deadline: float  # until when its client waits
    is_wanted: bool = True  # whether somebody waits for the answer; a worker may be at it even when nobody does
    worker: int | None = None  # who has it
    given_at: float = 0.0
    waits_for: int = -1  # the file that must be looked at before it is tried again; -1: none

    @property
    def waits_for_worker(self) -> bool:
        """Whether it can be given to a worker."""
        return self.worker is None and self.waits_for < 0


@record(frozen=True)
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
    staff
        Does them.
    ledger
        Gets the messages for workers.
    timeout_s
        How long one may take, and how long its client waits, though the worker be busy with other streams first.
    """

    def __init__(self, staff: Staff, ledger: Ledger, timeout_s: float) -> None:
        self._staff = staff
        self._ledger = ledger
        self._timeout_s = timeout_s
        self._last = 0
        self._open: dict[int, _Probe] = {}  # by the number of its task

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
        task = PendingTask.of_probe(ProbeStream(self._last, asked.spec, inputs))
        self._open[task.task] = _Probe(client, asked, task, now + self._timeout_s)

    def dispatch(self, now: float) -> None:
        """Give a worker the probes that none has, if there is a worker."""
        if not self._open:
            return
        for probe in self._open.values():
            worker = self._taker() if probe.waits_for_worker else None
            if worker is not None and probe.task.probe is not None:
                probe.worker, probe.given_at = worker.worker, now
                self._staff.give(worker, probe.task, now)
                self._ledger.send(worker.worker, probe.task.probe)

    def answered(self, message: Probed, now: float) -> tuple[int, Answer | None]:
        """Take a probe back from its worker; return the file that it waits for, -1 for none, and what came of it."""
        task = self._staff.take_back(message.worker, -message.probe, now)
        probe = self._open.get(task.task) if task else None
        if probe is None:  # it was never given, or taken back
            return -1, None
        if message.file >= 0 and probe.is_wanted:
            probe.worker, probe.waits_for = None, message.file
            return message.file, None
        error = from_name(message.error, message.message) if message.error else None
        answer = self._end(probe, message.fields, error)
        return -1, answer if probe.is_wanted else None

    def checked(self, file: int, message: str) -> Iterator[Answer]:
        """Let the probes be tried again that waited for a file; yield them when its content has changed."""
        for probe in list(self._open.values()):
            if probe.waits_for == file:
                probe.waits_for = -1
                if message:
                    yield self._end(probe, (), CatalogChanged(message))

    def orphaned(self, task: PendingTask, cause: str, *, guilty: bool) -> Answer | None:
        """Take back a probe of a worker that was reaped, perhaps while it was at it; return why it is given up."""
        probe = self._open.get(task.task)
        if probe is None:
            return None
        probe.worker = None
        task.strikes += guilty
        if not probe.is_wanted:
            del self._open[task.task]
        elif task.strikes >= _MOST_STRIKES:
            text = f"{_MOST_STRIKES} workers died while they tried the transform; the last one {cause}"
            return self._end(probe, (), WorkerDied(text))
        return None

    def late(self, now: float) -> list[Answer]:
        """Return the answers for clients that have waited long enough; a worker may still be at their probes."""
        due = [each for each in self._open.values() if each.is_wanted and each.deadline <= now]
        return [self._give_up(probe) for probe in due]

    def forget(self, client: bytes) -> None:
        """Answer a client that is gone no more; a worker that is at its probe is watched until it comes to an end."""
        for probe in [each for each in self._open.values() if each.client == client]:
            self._unwant(probe)

    def next_deadline(self) -> float | None:
        """Return when `late` has something to say; None while nobody waits."""
        if not self._open:
            return None
        return min((each.deadline for each in self._open.values() if each.is_wanted), default=None)

    def _taker(self) -> Worker | None:
        """Return an idle worker, or else one with room, or else any that works; None when none does."""
        vacancies = self._staff.vacancies
        number = vacancies.first_idle() or vacancies.first_with_room()
        if number is not None:
            return self._staff.get(number)
        working = [each for each in self._staff if each.state is WorkerState.WORKING]
        return min(working, key=lambda each: (each.late, len(each.tasks), each.worker), default=None)

    def _give_up(self, probe: _Probe) -> Answer:
        worker = self._staff.get(probe.worker) if probe.worker is not None else None
        at = worker.tasks[0] if worker and worker.tasks else None
        if worker is not None and at is probe.task and worker.pace.begun_at == probe.given_at:
            text = f"the transform did not return within {self._timeout_s:g} s when it was tried; make it faster"
        else:
            text = (
                f"no worker was free to try the transform within {self._timeout_s:g} s; open the stream again, or "
                "start more workers with `loader-service scale`"
            )
        self._unwant(probe)
        return Answer(probe.client, probe.asked, (), ConfigError(text))

    def _unwant(self, probe: _Probe) -> None:
        probe.is_wanted = False
        if probe.worker is None:
            del self._open[probe.task.task]

    def _end(self, probe: _Probe, fields: tuple[Field, ...], error: LoaderError | None) -> Answer:
        del self._open[probe.task.task]
        return Answer(probe.client, probe.asked, fields, error)
