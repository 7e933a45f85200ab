"""Sums since the start, as `Status` carries them: they only grow, and their names say their units.

The names are those of `status --json` and, with a prefix, of the metrics: ``_seconds_total``, ``_bytes_total`` and
counts in ``_total``.
"""

from __future__ import annotations

from loader_service.protocol.later_fields import later
from loader_service.record_class import record


@record(frozen=True)
class WorkerTotals:
    """What one worker, or several together, spent their time on and made."""

    up_seconds_total: float = 0.0  # since it was ready
    reading_seconds_total: float = 0.0  # files, stores, or the user's own source, as far as it was waited for
    decoding_seconds_total: float = 0.0  # the rest of its work: decoding, scaling, cropping, writing
    transforming_seconds_total: float = 0.0  # in the user's own transform
    waiting_task_seconds_total: float = 0.0  # with nothing to do, since nothing was wanted that was not under way
    waiting_slot_seconds_total: float = 0.0  # with nothing to do, while what was wanted had no slot
    tasks_total: int = 0
    rows_total: int = 0
    bytes_total: int = 0  # of output
    slow_reads_total: int = 0  # that took longer than bytes in memory do
    sending_seconds_total: float = later(0.0)  # of remote workers: they had tasks, and all waited for rows to arrive


@record(frozen=True)
class StreamTotals:
    """What one stream, or several together, delivered, and how long who waited."""

    open_seconds_total: float = 0.0
    trainer_waiting_seconds_total: float = 0.0  # in which at least one thread of the trainer waited for a step
    trainer_observed_seconds_total: float = 0.0  # of which the trainer has told whether it waited
    slots_full_seconds_total: float = 0.0  # in which all that was wanted lay ready in slots
    waiting_slot_seconds_total: float = 0.0  # in which a want had no slot
    steps_total: int = 0
    rows_total: int = 0
    frames_total: int = 0  # 0 for streams without frames
    bytes_total: int = 0  # of delivered steps
    failed_steps_total: int = 0


@record(frozen=True)
class FileSystemTotals:
    """What was read from one file system, store or source, by all workers since the start."""

    file_system: str  # such as "nfs4 at /data", "s3://bucket", "source"
    reading_seconds_total: float
    read_bytes_total: int
    slow_reads_total: int


@record(frozen=True)
class FileTotals:
    """What went wrong with one file since the start."""

    file: int  # its number in the catalog
    path: str
    bad_samples_total: int
    slow_reads_total: int


@record(frozen=True)
class TrainerTimes:
    """What a trainer says of one of its streams, since that opened."""

    stream: int
    waiting_s: float  # in which at least one thread of it waited for a step
    observed_s: float  # since the stream opened


@record(frozen=True)
class FileSystemReads:
    """What one worker read from one file system since its start."""

    file_system: str
    seconds: float
    size_bytes: int
    slow: int


@record(frozen=True)
class SlowReads:
    """How many reads of a file were slow since the worker's last report."""

    file: int
    count: int


@record(frozen=True)
class TimeSpent:
    """What a worker's time went into since its start, said now and then beside what it has done."""

    worker: int
    work_s: float  # in tasks, with all that follows
    read_s: float
    transform_s: float
    file_systems: tuple[FileSystemReads, ...] = ()
    slow: tuple[SlowReads, ...] = ()
