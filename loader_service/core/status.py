"""Puts into words and numbers what the service is doing, for `status`; changes nothing. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from loader_service.core.clients import Clients
from loader_service.core.events import Sight, WorkersSeen
from loader_service.core.ledger import Ledger
from loader_service.core.scheduler import Scheduler, TaskAtHand
from loader_service.core.sizing import Sizing
from loader_service.core.sums import add
from loader_service.core.worker import Worker
from loader_service.protocol import messages as m
from loader_service.record_class import record


@record(frozen=True)
class About:
    """What the service says of itself, and never changes.

    Parameters
    ----------
    welcome, catalog, status
        Its answers, of which only what changes is replaced.
    why_no_restart
        Why it cannot begin anew by itself; "" when it can.
    path_of
        Returns the name of a file by its number.
    """

    welcome: m.Welcome
    catalog: m.CatalogSummary
    status: m.Status
    why_no_restart: str = ""
    path_of: Callable[[int], str] = str


class Reporter:
    """Answers what the service is doing.

    Parameters
    ----------
    about
        The answer with all that never changes.
    scheduler, clients, ledger
        What it is asked about.
    started_at
        When the service began.
    """

    def __init__(self, about: About, scheduler: Scheduler, clients: Clients, ledger: Ledger, started_at: float) -> None:
        self._about = about
        self._ledger = ledger
        self._scheduler = scheduler
        self._clients = clients
        self._started_at = started_at

    def status(self, seen: WorkersSeen, sizing: Sizing, now: float) -> m.Status:
        """Return how things stand."""
        open_ = list(self._scheduler.streams)
        sums, staff = self._ledger.sums, list(self._scheduler.staff)
        workers = tuple(self._worker(each, seen.workers.get(each.worker, Sight()), now) for each in staff)
        streams = tuple(each.status(*self._owner(each.client), now) for each in open_)
        return dataclasses.replace(
            self._about.status,
            request=seen.request,
            uptime_s=now - self._started_at,
            workers=workers,
            streams=streams,
            counters=tuple(m.Counter(name, count) for name, count in vars(self._ledger.counters).items()),
            memory_bytes=sum(len(each.slots.numbers) * each.plan.slot_bytes for each in open_),
            faults=seen.faults,
            workers_wanted=sizing.number,
            workers_bounds=str(sizing.bounds),
            workers_why=sizing.why,
            remote_wanted=sizing.remote_number,
            remote_bounds=sizing.remote_words,
            worker_totals=add((each.totals for each in workers), sums.workers),
            stream_totals=add((each.totals for each in streams), sums.streams),
            file_systems=sums.file_systems(each.times.spent for each in staff if each.times.spent is not None),
            files=tuple(dataclasses.replace(each, path=self._about.path_of(each.file)) for each in sums.files.worst()),
            frame_cache=seen.frames,
        )

    def recent(self, request: int) -> m.RecentSteps:
        """Return what was announced last in each stream."""
        found = (each.recent() for each in self._scheduler.streams)
        return m.RecentSteps(request, tuple(each for each in found if each is not None))

    def _owner(self, address: bytes) -> tuple[str, int]:
        client = self._clients.get(address)
        return (client.name, client.pid) if client else ("", 0)

    def _worker(self, worker: Worker, sight: Sight, now: float) -> m.WorkerStatus:
        status = self._scheduler.worker_status(worker, sight.pid, now)
        tasks = self._scheduler.tasks_at_hand(worker, now)
        if not tasks:
            return status
        at = next((each for each in tasks if each.task == sight.task), tasks[0])
        if at.is_probe:
            return dataclasses.replace(status, doing="probe", busy_s=at.busy_s)
        file, video = self._place(at, sight.sample if at.task == sight.task else -1)
        return dataclasses.replace(
            status,
            doing="task",
            busy_s=at.busy_s,
            stream=at.stream,
            epoch=at.epoch,
            step=at.step,
            file=file,
            video=video,
        )

    def _place(self, at: TaskAtHand, sample: int) -> tuple[str, str]:
        """Return file and video of the sample that a worker is at: what it told itself, else the task's first one."""
        stream = self._scheduler.streams.get(at.stream)
        if stream is None or not at.samples:
            return "", ""
        return stream.plan.source.place(sample if sample in at.samples else at.samples[0])
