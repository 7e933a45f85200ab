"""What a service tells of itself, as messages: its workers and streams, and what its files hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from loader_service.protocol.fields import CatalogField


@dataclass(frozen=True)
class WorkerStatus:
    """One worker, as `status` shows it."""

    worker: int
    pid: int
    state: str
    files: int
    tasks_queued: int
    tasks_done: int
    doing: Literal["", "task", "probe"] = ""  # a probe is a transform that is tried; "": it has nothing to do
    busy_s: float = 0.0  # for how long it is at that
    stream: int = 0  # of the task, as what follows
    epoch: int = 0
    step: int = 0
    file: str = ""  # which it reads, or the user's source; "" when nobody wants the step any more
    video: str = ""
    node: str = ""  # where a remote worker is; "" for those of this host


@dataclass(frozen=True)
class StreamStatus:
    """One stream, as `status` shows it."""

    stream: int
    client: str
    client_pid: int
    steps_per_epoch: int
    steps_done: int
    slots: int
    slots_filling: int
    slots_leased: int
    wants_waiting: int
    slot_bytes: int
    padded_videos: int
    samples_substituted: int = 0
    padding: float = 0.0  # share of an epoch's frames that is padding, when whole videos are padded
    padding_unsorted: float = 0.0  # what it would be without buckets


@dataclass(frozen=True)
class Counter:
    """One thing that happened, and how often since the start."""

    name: str
    count: int


@dataclass(frozen=True)
class Status:
    """What the service is doing; all counts since its start."""

    request: int
    endpoint: str
    pid: int
    version: str
    uptime_s: float
    workers: tuple[WorkerStatus, ...]
    streams: tuple[StreamStatus, ...]
    counters: tuple[Counter, ...]
    memory_bytes: int  # of all slots
    memory_budget_bytes: int
    events: tuple[str, ...]  # the latest faults, one line each
    serves: str = ""  # what the files, or the user's own source, hold
    transform: str = ""  # of the user's own; "" without one


@dataclass(frozen=True)
class CatalogSummary:
    """What the files hold."""

    request: int
    fingerprint: str
    files: int
    videos: int
    frames: int
    frame_height: int  # 0 when the videos differ
    frame_width: int
    label_dtype: str  # "" without labels
    classes: tuple[str, ...]
    skipped_files: int
    empty_videos: int
    kind: Literal["videos", "rows", "map", "generator"] = "videos"  # what a sample is a part of
    fields: tuple[CatalogField, ...] = ()
