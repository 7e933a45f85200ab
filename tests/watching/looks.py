"""Made-up looks at a service: what has happened by a time, said in a few words."""

from __future__ import annotations

from typing import Any

from loader_service.protocol.messages import Counter, Fault, Status, StreamStatus, WorkerStatus
from loader_service.protocol.totals import FileSystemTotals, StreamTotals, WorkerTotals

#: What a worker's work consists of beside decoding, as shares of it.
_PARTS = (("reading", 0.05), ("transforming", 0.0), ("sending", 0.0))


def worker(number: int, up_s: float, *, working: float = 1.0, short: float = 0.0, **more: Any) -> WorkerStatus:
    """Return a worker that worked and was without a slot for such shares of its time, and had no task for the rest.

    `reading`, `transforming` and `sending` are shares of its work, `row_bytes` what it made in a second of it.
    """
    work_s = up_s * working
    reading, transforming, sending = (more.pop(name, usual) for name, usual in _PARTS)
    made = int(work_s * more.pop("bytes_per_s", 10_000_000))
    totals = WorkerTotals(
        up_seconds_total=up_s,
        reading_seconds_total=work_s * reading,
        decoding_seconds_total=work_s * (1 - reading - transforming - sending),
        transforming_seconds_total=work_s * transforming,
        sending_seconds_total=work_s * sending,
        waiting_task_seconds_total=up_s * (1 - working - short),
        waiting_slot_seconds_total=up_s * short,
        tasks_total=int(10 * up_s),
        rows_total=made // 1_000_000,
        bytes_total=made,
    )
    known = {"state": "working", "files": 3, "tasks_queued": 2, "tasks_done": totals.tasks_total, "pid": 100 + number}
    return WorkerStatus(number, **{**known, **more}, totals=totals)


def stream(number: int, up_s: float, *, waiting: float | None = 0.5, steps_per_s: float = 10.0, **more: Any) -> Any:
    """Return a stream whose trainer waited for such a share of its time; None: it has told nothing."""
    totals = StreamTotals(
        open_seconds_total=up_s,
        trainer_waiting_seconds_total=up_s * (waiting or 0.0),
        trainer_observed_seconds_total=0.0 if waiting is None else up_s,
        slots_full_seconds_total=up_s * more.pop("full", 0.0),
        waiting_slot_seconds_total=up_s * more.pop("short", 0.0),
        steps_total=int(up_s * steps_per_s),
        rows_total=int(up_s * steps_per_s) * 16,
        frames_total=int(up_s * steps_per_s) * 256,
        bytes_total=int(up_s * steps_per_s * 38_535_168),
    )
    known = {
        "client": "train.py@host",
        "client_pid": 4711,
        "steps_per_epoch": 100,
        "steps_done": totals.steps_total,
        "slots": 12,
        "slots_filling": 2,
        "slots_leased": 3,
        "wants_waiting": 0,
        "slot_bytes": 38_535_168,
        "padded_videos": 0,
        "slots_wanted": 12,
        "frame_shape": (224, 224, 3),
    }
    return StreamStatus(number, **{**known, **more}, totals=totals)


def look(up_s: float, workers: list[WorkerStatus], streams: list[StreamStatus], **more: Any) -> Status:
    """Return a look at a service of so many workers and streams."""
    known: dict[str, Any] = {
        "counters": (Counter("workers_lost", 0), Counter("samples_bad", 3)),
        "memory_bytes": 2**28,
        "memory_budget_bytes": 2**29,
        "faults": (Fault(1.0, 1, "worker 9 was killed by SIGKILL"),),
        "serves": "3 files, 12 videos, 345 frames",
        "workers_wanted": len(workers),
        "cores": 8,
        "stored_frame": (256, 342),
        "file_systems": (FileSystemTotals("ext4 at /", 0.1 * up_s, int(2e7 * up_s), 0),),
    }
    return Status(
        1, "ipc:///here.sock", 41, "1.0", up_s, workers=tuple(workers), streams=tuple(streams), **{**known, **more}
    )
