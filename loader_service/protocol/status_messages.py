"""What a service tells of itself, as messages: its workers and streams, and what its files hold."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from loader_service.html_text import paragraph, table
from loader_service.protocol.fields import CatalogField
from loader_service.protocol.later_fields import later
from loader_service.protocol.totals import FileSystemTotals, FileTotals, StreamTotals, WorkerTotals
from loader_service.record_class import record
from loader_service.sizes import counted


@record(frozen=True)
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
    straggles: bool = False  # it is far slower than the usual one, so it owns no files for now
    totals: WorkerTotals = field(default_factory=WorkerTotals)
    decoder: str = ""  # what decodes parts of JPEGs; "" while it starts
    node: str = ""  # where a remote worker is; "" for those of this host


@record(frozen=True)
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
    slots_wanted: int = 0  # that it would have if there were memory for them
    oldest_want_s: float = 0.0  # age of the want that has been open longest; 0 without one
    first_batch_s: float = 0.0  # from the request for the stream to its first batch; 0 before there was one
    frame_shape: tuple[int, ...] = ()  # of the first field of pictures in a batch: height, width, channels
    totals: StreamTotals = field(default_factory=StreamTotals)


@record(frozen=True)
class Counter:
    """One thing that happened, and how often since the start."""

    name: str
    count: int


@record(frozen=True)
class CachedForm:
    """Decoded frames of one size and kind, as far as they are kept."""

    title: str  # field, sizes and channels
    frames: int
    kept_frames: int  # that have a place
    taken_bytes: int  # of the file system


@record(frozen=True)
class FrameCacheStatus:
    """The cache of decoded frames; counts since the start."""

    folder: str
    budget_bytes: int
    frames_found: int
    frames_decoded: int
    frames_added: int
    forms: tuple[CachedForm, ...]


@record(frozen=True)
class Fault:
    """Something that went wrong, once or several times."""

    at_s: float  # the latest time, in seconds since the start of the service
    count: int
    line: str  # for people


@record(frozen=True)
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
    faults: tuple[Fault, ...]  # the latest ones, the latest last
    serves: str = ""  # what the files, or the user's own source, hold
    transform: str = ""  # of the user's own; "" without one
    workers_wanted: int = 0
    workers_bounds: str = ""  # as `--workers` has them
    workers_why: str = ""  # there are so many; "" while that is not known, or the number is fixed
    cores: int = 0  # that the service may use
    stored_frame: tuple[int, ...] = ()  # height and width of the pictures in the files; empty where they differ
    worker_totals: WorkerTotals = field(
        default_factory=WorkerTotals
    )  # of all workers since the start, those that ended too
    stream_totals: StreamTotals = field(
        default_factory=StreamTotals
    )  # of all streams since the start, those that were closed too
    file_systems: tuple[FileSystemTotals, ...] = ()  # the one that took most time first
    files: tuple[FileTotals, ...] = ()  # that gave trouble, the worst first
    frame_cache: FrameCacheStatus | None = None  # None without one
    remote_wanted: int = later(0)  # remote workers that there should be; those of this host are `workers_wanted`
    remote_bounds: str = later("")  # as `--ray-workers` has them; "" without a cluster

    @property
    def events(self) -> tuple[str, ...]:
        """The latest faults, a line each, with when it happened last."""
        return tuple(
            f"{fault.at_s:.1f} s: {fault.line}" + (f" ({fault.count} times)" if fault.count > 1 else "")
            for fault in self.faults
        )


@record(frozen=True)
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

    def _repr_html_(self) -> str:
        """Return what a notebook shows of it."""
        numbers = ((self.files, "file"), (self.videos, "video"), (self.frames, "frame"))
        counts = ", ".join(counted(count, what, ",") for count, what in numbers)
        rows = [
            (each.name, each.kind, each.dtype, " x ".join(map(str, each.shape)), ", ".join(each.classes[:10]))
            for each in self.fields
        ]
        return paragraph(counts) + table(("field", "kind", "dtype", "shape", "classes"), rows)
