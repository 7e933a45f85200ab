"""Puts into words what the service is and does, for clients and people; changes nothing."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loader_service import __version__
from loader_service.catalog.columns import Catalog
from loader_service.core.scheduler import Scheduler, StreamFigures, TaskAtHand, WorkerFigures
from loader_service.daemon.clients import Clients
from loader_service.daemon.openings import Opening, StreamOpener
from loader_service.daemon.pool import Pool
from loader_service.daemon.room import others_in_shared_memory
from loader_service.daemon.segments import SegmentStore
from loader_service.daemon.stream_rows import CatalogRows
from loader_service.plan.prefetch import LEAST_SLOTS
from loader_service.protocol import messages as m
from loader_service.sizes import counted, size_text


@dataclass(frozen=True)
class Traffic:
    """Who takes part at this moment."""

    clients: Clients
    pool: Pool
    openings: Mapping[int, Opening]
    events: tuple[str, ...]
    probing: Mapping[int, float]  # seconds for which workers try a transform, by worker


class Reporter:
    """Answers questions about the service."""

    def __init__(
        self,
        endpoint: str,
        catalog: Catalog,
        segments: SegmentStore,
        opener: StreamOpener,
        *,
        heartbeat_s: float,
        transform: str,
    ) -> None:
        self._endpoint = endpoint
        self._catalog = catalog
        self._segments = segments
        self._opener = opener
        self._heartbeat_s = heartbeat_s
        self._transform = transform
        self._started = time.monotonic()

    def welcome(self) -> m.Welcome:
        """Return the answer to a hello."""
        catalog = self._catalog
        return m.Welcome(
            instance=self._segments.instance,
            pid=os.getpid(),
            fingerprint=catalog.fingerprint,
            files=catalog.file_count,
            videos=catalog.video_count,
            frames=catalog.frame_count,
            heartbeat_s=self._heartbeat_s,
            classes=tuple(
                m.FieldClasses(field.name, len(field.classes), field.classes[: m.MOST_NAMES_IN_WELCOME])
                for field in catalog.fields
                if field.classes
            ),
        )

    def summary(self, request: int) -> m.CatalogSummary:
        """Return what the files hold."""
        catalog = self._catalog
        height, width = catalog.frame_shape or (0, 0)
        return m.CatalogSummary(
            request=request,
            fingerprint=catalog.fingerprint,
            files=catalog.file_count,
            videos=catalog.video_count,
            frames=catalog.frame_count,
            frame_height=height,
            frame_width=width,
            label_dtype=self._opener.facts.label_dtype or "",
            classes=catalog.classes or (),
            skipped_files=len(catalog.skipped),
            empty_videos=catalog.empty_videos,
            kind=catalog.kind,
            fields=catalog.fields,
        )

    def status(self, request: int, scheduler: Scheduler, traffic: Traffic, refused: Mapping[str, int]) -> m.Status:
        """Return what the service is doing; `refused` counts what the scheduler never saw, by name."""
        counters = {**dataclasses.asdict(scheduler.counters), **refused}
        at_hand = scheduler.tasks_at_hand(time.monotonic())
        return m.Status(
            request=request,
            endpoint=self._endpoint,
            pid=os.getpid(),
            version=__version__,
            uptime_s=time.monotonic() - self._started,
            workers=tuple(
                self._worker(each, at_hand.get(each.worker, ()), traffic) for each in scheduler.worker_figures()
            ),
            streams=tuple(_stream(each, traffic) for each in scheduler.stream_figures()),
            counters=tuple(m.Counter(name, count) for name, count in counters.items()),
            memory_bytes=self._segments.total_bytes,
            memory_budget_bytes=self._opener.budget_bytes,
            events=traffic.events,
            serves=serves(self._catalog),
            transform=self._transform,
        )

    def _worker(self, figures: WorkerFigures, tasks: Sequence[TaskAtHand], traffic: Traffic) -> m.WorkerStatus:
        status = m.WorkerStatus(
            worker=figures.worker,
            pid=traffic.pool.pid(figures.worker),
            state=figures.state,
            files=figures.files,
            tasks_queued=figures.tasks_queued,
            tasks_done=figures.tasks_done,
        )
        if not tasks:
            busy_s = traffic.probing.get(figures.worker)
            return status if busy_s is None else dataclasses.replace(status, doing="probe", busy_s=busy_s)
        told, sample = traffic.pool.progress(figures.worker)
        at = next((each for each in tasks if each.task == told), tasks[0])
        file, video = self._place(at, sample if at.task == told else -1, traffic.openings)
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

    def _place(self, at: TaskAtHand, sample: int, openings: Mapping[int, Opening]) -> tuple[str, str]:
        """Return file and video of the sample that a worker is at: what it told itself, else the task's first one."""
        opening = openings.get(at.stream)
        source = None if opening is None else opening.event.source
        if not isinstance(source, CatalogRows) or not at.samples:
            return "", ""
        video = int(source.samples.videos(sample if sample in at.samples else at.samples[0]))
        return self._catalog.file_path(int(self._catalog.video_file[video])), _text(self._catalog.name(video))


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")


def serves(catalog: Catalog) -> str:
    """Return what a catalog has, in a few words."""
    match catalog.kind:
        case "videos":
            return f"{catalog.file_count} files, {catalog.video_count} videos, {catalog.frame_count} frames"
        case "rows":
            return f"{catalog.file_count} files, {catalog.frame_count} rows"
        case "map":
            return f"source {catalog.file_path(0)!r}, {catalog.frame_count} items"
        case "generator":
            return f"generator {catalog.file_path(0)!r}, a copy per worker: order and resume are not reproducible"


def holders(openings: Mapping[int, Opening], clients: Clients, segments: SegmentStore) -> str:
    """Return who holds how much of the shared memory: the clients of this service, and what is not its own."""
    held: dict[str, list[Opening]] = {}
    for opening in openings.values():
        held.setdefault(opening.event.client, []).append(opening)
    parts = []
    for key, theirs in held.items():
        client = clients.by_key(key)
        who = "a client that is gone" if client is None else f"client {client.name} (pid {client.pid})"
        slots = counted(sum(each.opened.slots for each in theirs), "slot")
        size = size_text(sum(each.opened.slots * each.slot_bytes for each in theirs))
        parts.append(f"{who} holds {size} in {slots} of {counted(len(theirs), 'stream')}")
    if any(each.opened.slots > LEAST_SLOTS for each in openings.values()):
        parts.append("they would hold less with a smaller prefetch")
    parts.append(others_in_shared_memory(segments.instance, segments.total_bytes))
    return "; ".join(filter(None, parts))


def _stream(figures: StreamFigures, traffic: Traffic) -> m.StreamStatus:
    client = traffic.clients.by_key(figures.client)
    opening = traffic.openings[figures.stream]
    return m.StreamStatus(
        stream=figures.stream,
        client=client.name if client else "",
        client_pid=client.pid if client else 0,
        steps_per_epoch=figures.steps_per_epoch,
        steps_done=figures.steps_done,
        slots=figures.slots,
        slots_filling=figures.slots_filling,
        slots_leased=figures.slots_leased,
        wants_waiting=figures.wants_waiting,
        slot_bytes=opening.slot_bytes,
        padded_videos=opening.padded_videos,
        samples_substituted=figures.samples_substituted,
        padding=opening.padding,
        padding_unsorted=opening.padding_unsorted,
    )
