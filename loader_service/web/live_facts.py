"""What the page says of a service as it is now, from its status; knows no socket and no page."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from loader_service.protocol import messages as m
from loader_service.web.recording import Moment, Recording, rates

#: Over how long the rates are taken that stand beside the charts, in seconds.
_LATELY_S = 10.0

#: Workers, streams and faults that are shown: what fits on a page. The sums count all.
_MOST_WORKERS, _MOST_STREAMS, _MOST_FAULTS = 256, 64, 50


def moment_of(status: m.Status, at_s: float) -> Moment:
    """Return the sums of a status, at a time of the recorder's clock."""
    return Moment(
        at_s=at_s,
        up_s=status.uptime_s,
        steps=sum(each.steps_done for each in status.streams),
        workers=len(status.workers),
        memory_bytes=status.memory_bytes,
    )


def describe(status: m.Status, recording: Recording) -> dict[str, Any]:
    """Return what the page shows, as plain data of what JSON can say."""
    lately = recording.lately(_LATELY_S)
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
        },
        "verdicts": [],
        "rates": {} if lately is None else rates(*lately),
        "streams": [asdict(each) for each in status.streams[:_MOST_STREAMS]],
        "workers": [asdict(each) for each in status.workers[:_MOST_WORKERS]],
        "counters": {each.name: each.count for each in status.counters if each.count},
        "faults": [{"line": each} for each in status.events[-_MOST_FAULTS:]],
    }
