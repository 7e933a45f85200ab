"""What happened between two looks at a service, as shares of the time and as rates. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TypeVar

from loader_service.protocol.messages import Status
from loader_service.protocol.totals import FileSystemTotals, StreamTotals, WorkerTotals

#: A trainer that waits for less than this share of its time is not held up.
HELD_UP = 0.05

_Totals = TypeVar("_Totals", WorkerTotals, StreamTotals)


@dataclass(frozen=True)
class WorkerRates:
    """One worker, or several together.

    Parameters
    ----------
    working, waiting_slot
        Shares of the time, of 1 for each worker.
    reading, decoding, transforming, sending
        Shares of the work, which of remote workers has the time until their rows have arrived; 0 where none was told.
    rows_per_s, bytes_per_s
        What was made.
    s_per_byte
        Seconds of work for a byte of output; 0 where none was made.
    """

    working: float
    waiting_slot: float
    reading: float
    decoding: float
    transforming: float
    sending: float
    rows_per_s: float
    bytes_per_s: float
    s_per_byte: float


@dataclass(frozen=True)
class StreamRates:
    """One stream.

    Parameters
    ----------
    waiting
        Share of the time in which the trainer waited for a step; None where it has told nothing.
    full, waiting_slot
        Shares of the time in which all that was wanted lay ready, and in which a want had no slot.
    steps_per_s, rows_per_s, frames_per_s, bytes_per_s
        What was delivered.
    open_s
        Seconds for which it was open.
    """

    waiting: float | None
    full: float
    waiting_slot: float
    steps_per_s: float
    rows_per_s: float
    frames_per_s: float
    bytes_per_s: float
    open_s: float


@dataclass(frozen=True)
class Rates:
    """What happened between two looks.

    Parameters
    ----------
    seconds
        Between them.
    workers, streams
        By number; those of the later look.
    all_workers
        Those together, each as one.
    remote_workers
        Those of other hosts together; None without one.
    receiver
        Share of a core that taking in the rows of remote workers took.
    open_s
        Seconds for which streams were open, all together, those that were closed meanwhile too.
    file_systems
        What was read between the looks, the one that took most time first.
    """

    seconds: float
    workers: Mapping[int, WorkerRates]
    streams: Mapping[int, StreamRates]
    all_workers: WorkerRates
    file_systems: tuple[FileSystemTotals, ...]
    remote_workers: WorkerRates | None = None
    receiver: float = 0.0
    open_s: float = 0.0


def rates(before: Status | None, after: Status) -> Rates:
    """Return what happened between two looks at one service.

    Parameters
    ----------
    before
        The earlier look; None, or one at an earlier run of the service, stands for the start of this run.
    after
        The later one.
    """
    if before is not None and not is_earlier(before, after):
        before = None
    seconds = after.uptime_s - (0.0 if before is None else before.uptime_s)
    workers_then = {each.worker: each.totals for each in before.workers} if before else {}
    streams_then = {each.stream: each.totals for each in before.streams} if before else {}
    made = {
        each.worker: _difference(each.totals, workers_then.get(each.worker, WorkerTotals())) for each in after.workers
    }
    delivered = {
        each.stream: _difference(each.totals, streams_then.get(each.stream, StreamTotals())) for each in after.streams
    }
    remote = [made[each.worker] for each in after.workers if each.node]
    return Rates(
        seconds=seconds,
        workers={number: _worker_rates([each]) for number, each in made.items()},
        streams={number: _stream_rates(each) for number, each in delivered.items()},
        all_workers=_worker_rates(list(made.values())),
        file_systems=_reads(before, after),
        remote_workers=_worker_rates(remote) if remote else None,
        open_s=after.stream_totals.open_seconds_total - (before.stream_totals.open_seconds_total if before else 0.0),
        receiver=(count_of(after, "receiver_cpu_ms") - count_of(before, "receiver_cpu_ms")) / 1000 / max(seconds, 1e-9),
    )


def is_earlier(before: Status, after: Status) -> bool:
    """Return whether a look is an earlier one at the same run of a service."""
    return before.pid == after.pid and before.uptime_s <= after.uptime_s


def _difference(now: _Totals, then: _Totals) -> _Totals:
    return type(now)(**{each.name: getattr(now, each.name) - getattr(then, each.name) for each in fields(now)})


def _worker_rates(workers: list[WorkerTotals]) -> WorkerRates:
    """Return the rates of workers together, over the time in which each was there."""
    reading = sum(each.reading_seconds_total for each in workers)
    decoding = sum(each.decoding_seconds_total for each in workers)
    transforming = sum(each.transforming_seconds_total for each in workers)
    sending = sum(each.sending_seconds_total for each in workers)
    told = reading + decoding + transforming + sending
    time = sum(each.up_seconds_total for each in workers)
    seconds = max((each.up_seconds_total for each in workers), default=0.0)
    idle = sum(each.waiting_task_seconds_total for each in workers)
    short = sum(each.waiting_slot_seconds_total for each in workers)
    working = min(1.0, max(0.0, 1 - (idle + short) / time)) if time else 0.0
    size_bytes = sum(each.bytes_total for each in workers)
    return WorkerRates(
        working=working,
        waiting_slot=min(1.0, short / time) if time else 0.0,
        reading=reading / told if told else 0.0,
        decoding=decoding / told if told else 0.0,
        transforming=transforming / told if told else 0.0,
        sending=sending / told if told else 0.0,
        rows_per_s=sum(each.rows_total for each in workers) / max(seconds, 1e-9),
        bytes_per_s=size_bytes / max(seconds, 1e-9),
        s_per_byte=working * time / size_bytes if size_bytes else 0.0,
    )


def _stream_rates(stream: StreamTotals) -> StreamRates:
    seconds = max(stream.open_seconds_total, 1e-9)
    observed = stream.trainer_observed_seconds_total
    return StreamRates(
        waiting=stream.trainer_waiting_seconds_total / observed if observed > 0 else None,
        full=min(1.0, stream.slots_full_seconds_total / seconds),
        waiting_slot=min(1.0, stream.waiting_slot_seconds_total / seconds),
        steps_per_s=stream.steps_total / seconds,
        rows_per_s=stream.rows_total / seconds,
        frames_per_s=stream.frames_total / seconds,
        bytes_per_s=stream.bytes_total / seconds,
        open_s=stream.open_seconds_total,
    )


def count_of(status: Status | None, name: str) -> int:
    """Return a counter; 0 of a service that does not have it, and of none."""
    return sum(each.count for each in status.counters if each.name == name) if status else 0


def _reads(before: Status | None, after: Status) -> tuple[FileSystemTotals, ...]:
    then = {each.file_system: each for each in before.file_systems} if before else {}
    found = []
    for now in after.file_systems:
        known = then.get(now.file_system, FileSystemTotals(now.file_system, 0.0, 0, 0))
        found.append(
            FileSystemTotals(
                now.file_system,
                now.reading_seconds_total - known.reading_seconds_total,
                now.read_bytes_total - known.read_bytes_total,
                now.slow_reads_total - known.slow_reads_total,
            )
        )
    return tuple(sorted(found, key=lambda each: (-each.reading_seconds_total, each.file_system)))
