"""What the page says of a service as it is now, from its status; knows no socket and no page."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from loader_service.protocol import messages as m
from loader_service.watching.rates import Rates, rates
from loader_service.watching.status_text import wanted_words
from loader_service.watching.verdict import StreamVerdict, verdicts
from loader_service.web.recording import RecordedSums

#: A trainer that waits for more than this share of its time is badly off.
_BAD = 0.3

#: Workers, streams and faults that are shown: what fits on a page. The sums count all.
_MOST_WORKERS, _MOST_STREAMS, _MOST_FAULTS, _MOST_FILE_SYSTEMS, _MOST_VERDICTS = 256, 64, 50, 8, 8


def moment_of(status: m.Status, at_s: float) -> RecordedSums:
    """Return the sums of a status, at a time of the recorder's clock."""
    workers, streams = status.worker_totals, status.stream_totals
    return RecordedSums(
        at_s=at_s,
        up_s=status.uptime_s,
        steps=streams.steps_total,
        frames=streams.frames_total,
        size_bytes=streams.bytes_total,
        waiting_s=streams.trainer_waiting_seconds_total,
        observed_s=streams.trainer_observed_seconds_total,
        reading_s=workers.reading_seconds_total,
        decoding_s=workers.decoding_seconds_total,
        transforming_s=workers.transforming_seconds_total,
        sending_s=workers.sending_seconds_total,
        idle_s=workers.waiting_task_seconds_total + workers.waiting_slot_seconds_total,
        workers=len(status.workers),
        memory_bytes=status.memory_bytes,
    )


def describe(before: m.Status | None, status: m.Status) -> dict[str, Any]:
    """Return what the page shows, as plain data of what JSON can say.

    Parameters
    ----------
    before
        The service as it was some seconds ago; None: rates are over all the time since the start.
    status
        As it is now.
    """
    found = rates(before, status)
    streams = status.streams[:_MOST_STREAMS]
    return {
        "service": {
            "endpoint": status.endpoint,
            "pid": status.pid,
            "version": status.version,
            "up_s": status.uptime_s,
            "serves": status.serves,
            "transform": status.transform,
            "memory_bytes": status.memory_bytes,
            "memory_budget_bytes": status.memory_budget_bytes,
            "workers_wanted": status.workers_wanted,
            "workers_sized": f"{wanted_words(status)}: {status.workers_why}" if status.workers_why else "",
            "cores": status.cores,
        },
        "verdicts": [_verdict(each, status) for each in verdicts(before, status, status.endpoint)[:_MOST_VERDICTS]],
        "rates": _of_all(found),
        "streams": [{**asdict(each), "rates": asdict(found.streams[each.stream])} for each in streams],
        "workers": [
            {**asdict(each), "rates": asdict(found.workers[each.worker])} for each in status.workers[:_MOST_WORKERS]
        ],
        "file_systems": [asdict(each) for each in found.file_systems[:_MOST_FILE_SYSTEMS]],
        "files": [asdict(each) for each in status.files[:_MOST_FAULTS]],
        "counters": {each.name: each.count for each in status.counters if each.count},
        "faults": [asdict(each) for each in status.faults[-_MOST_FAULTS:]],
    }


def _of_all(found: Rates) -> dict[str, float | None]:
    """Return what all workers and streams did together; shares of a worker's time, and of the slowest trainer's."""
    work = found.all_workers
    told = [each.waiting for each in found.streams.values() if each.waiting is not None]
    return {
        "reading": work.working * work.reading,
        "decoding": work.working * work.decoding,
        "transforming": work.working * work.transforming,
        "sending": work.working * work.sending,
        "idle": 1 - work.working if found.workers else None,
        "waiting": max(told, default=None),
        "steps": sum(each.steps_per_s for each in found.streams.values()),
        "frames": sum(each.frames_per_s for each in found.streams.values()),
        "size_bytes": sum(each.bytes_per_s for each in found.streams.values()),
    }


def _verdict(verdict: StreamVerdict, status: m.Status) -> dict[str, Any]:
    client = next(each.client for each in status.streams if each.stream == verdict.stream)
    # Its share stands beside it as a bar, and a sentence begins with a capital.
    words = verdict.summary
    return {
        "stream": verdict.stream,
        "kind": verdict.kind,
        "tone": _tone(verdict),
        "who": f"stream {verdict.stream}: {client}",
        "head": words[:1].upper() + words[1:],
        "advice": verdict.advice,
        "waiting": verdict.waiting,
    }


def _tone(verdict: StreamVerdict) -> str:
    """Return whether all is well: bad is a trainer that waits most of its time."""
    if verdict.kind in ("idle", "unknown", "starting"):
        return ""
    if verdict.kind == "trainer":
        return "good"
    return "bad" if (verdict.waiting or 0.0) > _BAD else "warn"
