"""Which metrics there are, and what of a `Status` each says; knows no library that serves them. Pure.

Names have base units and, where they only grow, ``_total``. No label has more values than a few: neither workers,
streams, clients nor files are labels, since their numbers grow with time.
"""

from __future__ import annotations

import typing
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from loader_service.protocol.messages import Status
from loader_service.watching.rates import count_of
from loader_service.watching.verdict import Kind, StreamVerdict

#: Before all names.
PREFIX = "loader_service_"

#: File systems that are told apart; the others together are one more.
_MOST_FILE_SYSTEMS = 16

#: What a worker can be.
_STATES = ("starting", "working", "draining", "stopping", "killed")

#: Counters of the local copy, and what their blocks are called; "" for bytes.
_COPY = {"copy_hits": "hit", "copy_misses": "miss", "copy_hit_bytes": ""}

#: Counters of what came from remote workers: sums with units, and no events.
_RECEIVED = frozenset({"receiver_cpu_ms", "received_bytes"})

#: One value for each value of the label; without a label, one under "".
Values = Mapping[str, float]


@dataclass(frozen=True)
class Metric:
    """One metric.

    Parameters
    ----------
    name
        Without the prefix.
    kind
        Whether it only grows.
    text
        What it says, for people.
    values
        Returns it.
    label
        What its values are told apart by; "" when there is one.
    """

    name: str
    kind: Literal["counter", "gauge"]
    text: str
    values: Callable[[Status, tuple[StreamVerdict, ...]], Values]
    label: str = ""

    @property
    def full_name(self) -> str:
        """Its name as Prometheus knows it."""
        return PREFIX + self.name


def _of_workers(name: str) -> Callable[[Status, tuple[StreamVerdict, ...]], Values]:
    return lambda status, _: {"": getattr(status.worker_totals, name)}


def _of_streams(name: str) -> Callable[[Status, tuple[StreamVerdict, ...]], Values]:
    return lambda status, _: {"": getattr(status.stream_totals, name)}


def _activities(status: Status, _: object) -> Values:
    totals = status.worker_totals
    names = ("reading", "decoding", "transforming", "sending", "waiting_task", "waiting_slot")
    return {name: getattr(totals, f"{name}_seconds_total") for name in names}


def _of_file_systems(name: str) -> Callable[[Status, tuple[StreamVerdict, ...]], Values]:
    def values(status: Status, _: object) -> Values:
        # By name: the order by time changes, and what is told apart must stay so.
        ranked = sorted(status.file_systems, key=lambda each: each.file_system)
        found: Counter[str] = Counter()
        for place, each in enumerate(ranked):
            found[each.file_system if place < _MOST_FILE_SYSTEMS else "others"] += getattr(each, name)
        return found

    return values


def _states(status: Status, _: object) -> Values:
    counts = Counter(each.state for each in status.workers)
    return {state: counts[state] for state in _STATES}


def _verdicts(_: Status, verdicts: tuple[StreamVerdict, ...]) -> Values:
    counts = Counter(each.kind for each in verdicts)
    return {kind: counts[kind] for kind in typing.get_args(Kind)}


def _most(values: Iterable[float]) -> Values:
    return {"": max(values, default=0.0)}


#: All of them, in the order in which they are served and documented.
METRICS: tuple[Metric, ...] = (
    Metric(
        "trainer_waiting_seconds_total", "counter",
        "Seconds in which trainers waited for a step, all streams together.",
        _of_streams("trainer_waiting_seconds_total"),
    ),
    Metric(
        "trainer_observed_seconds_total", "counter",
        "Seconds of which trainers have told whether they waited.",
        _of_streams("trainer_observed_seconds_total"),
    ),
    Metric(
        "streams", "gauge", "Open streams, by what their trainer waits for.", _verdicts, "verdict",
    ),
    Metric(
        "steps_total", "counter", "Steps that were delivered.", _of_streams("steps_total"),
    ),
    Metric(
        "failed_steps_total", "counter", "Steps that could not be delivered.", _of_streams("failed_steps_total"),
    ),
    Metric(
        "delivered_rows_total", "counter", "Samples in delivered steps.", _of_streams("rows_total"),
    ),
    Metric(
        "frames_total", "counter", "Frames in delivered steps.", _of_streams("frames_total"),
    ),
    Metric(
        "delivered_bytes_total", "counter", "Bytes of delivered steps.", _of_streams("bytes_total"),
    ),
    Metric(
        "stream_open_seconds_total", "counter", "Seconds for which streams were open.",
        _of_streams("open_seconds_total"),
    ),
    Metric(
        "slots_full_seconds_total", "counter", "Seconds in which all that a stream wanted lay ready in slots.",
        _of_streams("slots_full_seconds_total"),
    ),
    Metric(
        "slot_shortage_seconds_total", "counter", "Seconds in which wants of a stream had no slot.",
        _of_streams("waiting_slot_seconds_total"),
    ),
    Metric(
        "oldest_want_seconds", "gauge", "Age of the want that has been open longest.",
        lambda status, _: _most(each.oldest_want_s for each in status.streams),
    ),
    Metric(
        "first_batch_seconds", "gauge", "From the request for a stream to its first batch, the longest of those open.",
        lambda status, _: _most(each.first_batch_s for each in status.streams),
    ),
    Metric(
        "worker_seconds_total", "counter", "Seconds of workers, by what they went into.", _activities, "activity",
    ),
    Metric(
        "worker_up_seconds_total", "counter", "Seconds for which workers were ready.",
        _of_workers("up_seconds_total"),
    ),
    Metric(
        "worker_rows_total", "counter", "Rows that workers wrote, those done again included.",
        _of_workers("rows_total"),
    ),
    Metric(
        "worker_tasks_total", "counter", "Tasks that workers have done.", _of_workers("tasks_total"),
    ),
    Metric(
        "workers", "gauge", "Workers, by state.", _states, "state",
    ),
    Metric(
        "workers_wanted", "gauge", "Workers that there should be, remote ones included.",
        lambda status, _: {"": status.workers_wanted + status.remote_wanted},
    ),
    Metric(
        "read_seconds_total", "counter", "Seconds that workers waited for reads, by file system.",
        _of_file_systems("reading_seconds_total"), "file_system",
    ),
    Metric(
        "read_bytes_total", "counter", "Bytes that were read, by file system.",
        _of_file_systems("read_bytes_total"), "file_system",
    ),
    Metric(
        "slow_reads_total", "counter", "Reads that took longer than bytes in memory do, by file system.",
        _of_file_systems("slow_reads_total"), "file_system",
    ),
    Metric(
        "memory_bytes", "gauge", "Shared memory of all slots.", lambda status, _: {"": status.memory_bytes},
    ),
    Metric(
        "memory_budget_bytes", "gauge", "Shared memory that slots may take.",
        lambda status, _: {"": status.memory_budget_bytes},
    ),
    Metric(
        "events_total", "counter", "What happened that is no ordinary step, by what it is.",
        lambda status, _: {
            each.name: each.count for each in status.counters if each.name not in _COPY and each.name not in _RECEIVED
        },
        "event",
    ),
    Metric(
        "local_copy_blocks_total", "counter", "Blocks of objects that were read, by whether the local copy had them.",
        lambda status, _: {_COPY[each.name]: each.count for each in status.counters if _COPY.get(each.name)}, "outcome",
    ),
    Metric(
        "local_copy_bytes_total", "counter", "Bytes of objects that came from the local copy.",
        lambda status, _: {"": count_of(status, "copy_hit_bytes")},
    ),
    Metric(
        "receiver_cpu_seconds_total", "counter", "CPU that taking in the rows of remote workers took on this host.",
        lambda status, _: {"": count_of(status, "receiver_cpu_ms") / 1000},
    ),
    Metric(
        "received_bytes_total", "counter", "Bytes of rows that came from remote workers.",
        lambda status, _: {"": count_of(status, "received_bytes")},
    ),
    Metric(
        "uptime_seconds", "gauge", "Since the start of the service.", lambda status, _: {"": status.uptime_s},
    ),
)  # fmt: skip
