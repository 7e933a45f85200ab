"""Measures what it costs to count where time goes: each call that counts is recorded, and timed by itself.

A difference of 1 % between two trees is lost in the noise of whole runs. So the calls that one step makes are
recorded in the core, in a worker and in a client, and made again in a loop; what the loop takes without them is
subtracted. That is compared with the CPU of all processes a step. `python -m benchmarks.measuring` prints a table.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import h5py
import numpy as np

import loader_client
from benchmarks.data import prepare
from benchmarks.scheduling import ROWS, Simulation
from loader_client import Clip, Frame, Image
from loader_client.session.trainer_times import TrainerWatch
from loader_service.catalog.scan.catalog_scan import scan
from loader_service.core.stream_clock import StreamClock
from loader_service.core.stream_state import StreamState
from loader_service.core.sums import Sums
from loader_service.core.worker_times import WorkerTimes
from loader_service.daemon.planner import CatalogPlanner
from loader_service.protocol import messages as m
from loader_service.protocol import wire
from loader_service.protocol.rows import Rows
from loader_service.protocol.spec import Spec
from loader_service.protocol.totals import TimeSpent
from loader_service.remote.private_slots import PrivateSlots
from loader_service.scan_options import ScanOptions
from loader_service.stopwatch import Stopwatch
from loader_service.worker.main import WorkerProcess
from loader_service.worker.task_reads import TaskReads
from loader_service.worker.time_spent import TimeSpentSums
from loader_service.worker_options import WorkerOptions

#: The most that counting may cost, as a share of the CPU of a step.
BAR = 0.01

WORKERS = 2
_STEPS, _REPEATS = 200, 50
_WARM_UP_S = 1.5

#: Messages that tell sums, a second: of each worker, and of a client.
_TOLD_BY_WORKERS, _TOLD_BY_CLIENTS = 2 * WORKERS, 1

KINDS: dict[str, dict[str, Any]] = {
    "clips": {"batch_size": 16, "clip": Clip(16, sampling="random"), "image": Image(), "fields": ("frames", "label")},
    "rows": {"batch_size": 64, "clip": Frame(), "fields": ("features",)},
    "tiny": {"batch_size": 4, "clip": Frame(), "fields": ("features",)},
}

#: What counts in the core: whole methods, which would not be there without it.
_IN_CORE: tuple[tuple[type, str], ...] = (
    (WorkerTimes, "rest"),
    (WorkerTimes, "work"),
    (WorkerTimes, "done"),
    (StreamState, "take_time"),
    (StreamClock, "delivered"),
    (Sums, "shortage"),
    (Stopwatch, "seconds"),
)

Call = tuple[Callable[..., object], tuple[Any, ...]]


class Cost(NamedTuple):
    """What counting costs one kind of work: µs a step by place, and the CPU of a step."""

    core_us: float
    worker_us: float
    client_us: float
    told_us: float
    step_us: float

    @property
    def share(self) -> float:
        """All of it, as a share of the CPU of a step."""
        return sum(self[:4]) / self.step_us


@contextmanager
def recorded(methods: Sequence[tuple[type, str]]) -> Iterator[list[Call]]:
    """Record the calls of methods, without those that they make of each other."""
    calls: list[Call] = []
    kept = [(owner, name, getattr(owner, name)) for owner, name in methods]
    depth = [0]

    def recording(plain: Callable[..., object]) -> Callable[..., object]:
        @wraps(plain)
        def call(*arguments: Any) -> object:
            if not depth[0]:
                calls.append((plain, arguments))
            depth[0] += 1
            try:
                return plain(*arguments)
            finally:
                depth[0] -= 1

        return call

    for owner, name, plain in kept:
        setattr(owner, name, recording(plain))
    try:
        yield calls
    finally:
        for owner, name, plain in kept:
            setattr(owner, name, plain)


def replayed_s(calls: Sequence[Call]) -> float:
    """Return what calls take, in seconds, without the loop around them: the least of many times."""

    def once(act: Callable[[Sequence[Call]], None]) -> float:
        began = time.perf_counter()
        act(calls)
        return time.perf_counter() - began

    return max(0.0, min(once(_make) for _ in range(_REPEATS)) - min(once(_pass_by) for _ in range(_REPEATS)))


def _make(calls: Sequence[Call]) -> None:
    for call, arguments in calls:
        call(*arguments)


def _pass_by(calls: Sequence[Call]) -> None:
    for _, _ in calls:
        pass


def core_us() -> float:
    """Return what the core counts in a step of 16 rows for two workers, in µs."""
    simulation = Simulation(WORKERS, 1)
    simulation.begin([100] * 4, tuple(random.Random(0).choices(range(4), k=4096 * ROWS)))
    simulation.run(_STEPS)
    with recorded(_IN_CORE) as calls:
        simulation.run(_STEPS)
    return replayed_s(calls) / _STEPS * 1e6


def worker_us(kind: str, files: list[str], cache: Path) -> float:
    """Return what workers count in a step, in µs: real tasks, of which the calls that count are made again."""
    catalog = scan(files, ScanOptions(), cache_dir=cache, processes=0)
    spec = Spec(**{**KINDS[kind], "shuffle": True})
    planned = CatalogPlanner(catalog).plan(spec)
    slots = PrivateSlots()
    worker = WorkerProcess(WorkerOptions(1, "", "", ""), catalog, slots)
    worker.prepare(m.PrepareStream(1, spec, planned.fields))
    steps = min(_STEPS, planned.steps_per_epoch, 2000 // spec.batch_size)
    with recorded([(TimeSpentSums, "turn_to"), (TaskReads, "timed"), (TaskReads, "counted")]) as calls:
        for step in range(steps):
            rows = planned.source.rows(0, step)
            told = Rows.of(tuple(range(len(rows))), rows, indexed=False, offsets=(), room=0)
            done = worker.execute(m.Task(step, 1, 0, 1, told))
            if done.bad:
                raise RuntimeError(f"bad rows: {done.bad}")
            slots.give_back(cast(Any, slots.take()))
    worker.close()
    sums = TimeSpentSums(str)
    counting: list[Call] = []
    for call, arguments in calls:  # a read is timed whether it counts or not: what counts is that it is added
        adds = call.__name__ != "turn_to"
        counting.append((_add_read, (sums, 1e-5, 100)) if adds else (TimeSpentSums.turn_to, (sums, arguments[1])))
    return replayed_s(counting) / steps * 1e6


def _add_read(sums: TimeSpentSums, seconds: float, size: int) -> None:
    sums.read_s += seconds
    sums.read_bytes += size


def told_us() -> tuple[float, float]:
    """Return what it takes to tell what a worker counted, and what a client did, with all that hears it, in µs."""
    sums, times = TimeSpentSums(str), WorkerTimes(ready_at=0.0)

    def worker_tells() -> None:
        for file in (0, 1):
            sums.turn_to(file)
            _add_read(sums, 1e-5, 100)
        for each in cast(list[TimeSpent], wire.decode(wire.encode(sums.message(1, 0.0)), m.FromWorker)):
            times.told(each, 1.0)

    watch, stream = TrainerWatch(), cast(Any, SimpleNamespace(key=1, awaited=True))
    watch.opened(stream, 1, 0.0)

    def client_tells() -> None:
        wire.decode(wire.encode(m.Heartbeat(watch.times(1.0))), m.FromClient)

    return (
        replayed_s([(worker_tells, ())] * 100) * 1e4,
        replayed_s([(client_tells, ())] * 100) * 1e4,
    )


def client_us(calls_a_step: float) -> float:
    """Return what a client counts in a step, in µs: each call finds that the trainer waits now, or not any more."""
    watch = TrainerWatch()
    streams = [cast(Any, SimpleNamespace(key=1, awaited=waits)) for waits in (True, False)]
    watch.opened(streams[0], 1, 0.0)
    calls: list[Call] = [(watch.noted, (streams[number % 2], None, float(number))) for number in range(1000)]
    return replayed_s(calls) / len(calls) * calls_a_step * 1e6


def run(kind: str, files: list[str], seconds: float, cache: Path) -> tuple[float, float, float]:
    """Return steps a second, CPU of all processes a step in µs, and calls of a client that count a step."""
    calls = [0]
    plain = TrainerWatch.noted

    def counting(self: TrainerWatch, stream: Any, effects: Any, now: float) -> Any:
        calls[0] += 1
        return plain(self, stream, effects, now)

    with loader_client.connect(files, workers=WORKERS, service={"cache_dir": str(cache)}) as connection:
        status = connection.status()
        pids = [status.pid, *(each.pid for each in status.workers)]
        batches = connection.batches(epochs=None, **KINDS[kind])
        _take(batches, _WARM_UP_S)
        before = _cpu_s(pids)
        steps = _take(batches, seconds)
        cpu_us = (_cpu_s(pids) - before) / steps * 1e6
        TrainerWatch.noted = counting  # type: ignore[method-assign]
        try:
            counted = _take(batches, _WARM_UP_S)
        finally:
            TrainerWatch.noted = plain  # type: ignore[method-assign]
    return steps / seconds, cpu_us, calls[0] / counted


def _take(batches: Iterator[Any], seconds: float) -> int:
    end, steps = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        next(batches)
        steps += 1
    return steps


def _cpu_s(pids: Sequence[int]) -> float:
    """Return the CPU of processes and of this one, in seconds."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK") + sum(os.times()[:2])


def measure(kind: str, files: list[str], seconds: float, cache: Path) -> Cost:
    """Return what counting costs one kind of work."""
    steps_per_s, step_us, calls = run(kind, files, seconds, cache)
    by_worker, by_client = told_us()
    told = (_TOLD_BY_WORKERS * by_worker + _TOLD_BY_CLIENTS * by_client) / steps_per_s
    return Cost(core_us(), worker_us(kind, files, cache), client_us(calls), told, step_us)


def _apart(kind: str, files: list[str], seconds: float, cache: Path) -> Cost:
    """Measure in a process of its own."""
    arguments = json.dumps([kind, files, seconds, str(cache)])
    command = [sys.executable, "-m", "benchmarks.measuring", "--one", arguments]
    return Cost(*json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout))


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.measuring", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each run")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=[*KINDS])
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        kind, files, seconds, cache = json.loads(given.one)
        print(json.dumps(measure(kind, files, seconds, Path(cache))))
        return
    with tempfile.TemporaryDirectory() as folder:
        tables = [str(Path(folder) / f"rows-{number}.h5") for number in range(4)]
        for table in tables:
            with h5py.File(table, "w") as file:
                file["features"] = np.random.default_rng(0).normal(size=(1000, 4096)).astype("f4")
        print("| work | core | workers | client | messages | CPU of a step | share |\n|---|---|---|---|---|---|---|")
        for kind in given.kinds:
            files = prepare().videos if kind == "clips" else tables
            rounds = [_apart(kind, files, given.seconds, Path(folder) / "cache") for _ in range(given.rounds)]
            cost = Cost(*(median(each[place] for each in rounds) for place in range(len(Cost._fields))))
            held = "held" if cost.share <= BAR else "missed"
            cells = [f"{each:.1f} µs" for each in cost[:4]] + [f"{cost.step_us:,.0f} µs"]
            print(f"| {kind} | {' | '.join(cells)} | {cost.share:.2%}, {BAR:.0%}: {held} |", flush=True)


if __name__ == "__main__":
    main()
