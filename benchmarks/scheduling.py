"""Measures what the scheduler itself costs a step, for any number of workers, streams and files. Starts no process.

Workers and trainers are simulated: each task takes simulated time in proportion to its bytes, each trainer keeps its
slots wanted and gives a batch back when the next one comes. What is counted is the CPU time inside the scheduler. The
table says which bars hold.

`python -m benchmarks.scheduling` prints a table; with `--results DIR` it also writes a plot there.
"""

from __future__ import annotations

import argparse
import gc
import heapq
import itertools
import json
import random
import subprocess
import sys
import time
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path
from statistics import median

import psutil  # type: ignore[import-untyped]

from loader_service.core import effects
from loader_service.core import events as e
from loader_service.core.ledger import Limits
from loader_service.core.planned import PlannedStream
from loader_service.core.service import Service
from loader_service.core.status import About
from loader_service.protocol import messages as m
from loader_service.protocol.fields import Field
from loader_service.protocol.rows import Row
from loader_service.protocol.spec import Frame, Spec

ROWS = 16
ROW_BYTES = 16 * 256 * 342 * 3  # a clip of 16 frames
SLOTS = 12
_S_PER_BYTE = 1 / (4500 * 256 * 342 * 3)  # 4,500 frames a second and worker
_STEPS_AN_EPOCH = 1_000_000
ROUNDS = 5
_PATIENCE_S = 600.0

#: A service takes no more clients; streams beyond are shared out among these.
_MOST_TRAINERS = 256

#: The most that a step may cost, in µs, by workers, streams and files.
BARS = {(2, 1, 4): 100, (16, 1, 32): 250, (1000, 1, 2000): 400, (1000, 1000, 2000): 400}

#: (workers, streams, files)
CURVES: dict[str, tuple[tuple[int, int, int], ...]] = {
    "workers": tuple((workers, 1, 2 * workers) for workers in (1, 2, 16, 128, 1000)),
    "streams": tuple((1000, streams, 2000) for streams in (1, 16, 128, 1000)),
    "files": tuple((16, 1, files) for files in (10, 1000, 100_000, 1_000_000)),
}


@dataclass(frozen=True)
class _DrawnRows:
    """An order whose rows' files were drawn evenly beforehand."""

    drawn: tuple[int, ...]

    def rows(self, epoch: int, step: int) -> tuple[Row, ...]:
        """Return the rows of a step, the same in all epochs."""
        del epoch
        first = step * ROWS % len(self.drawn)
        return tuple(Row(first + row, file) for row, file in enumerate(self.drawn[first : first + ROWS]))

    def rows_of(self, samples: tuple[int, ...], positions: tuple[int, ...]) -> tuple[Row, ...]:
        """Never asked: no stream here has an index."""
        raise NotImplementedError

    def substitute(self, epoch: int, bad: Row, attempt: int) -> Row | None:
        """Never asked: no row here is bad."""
        raise NotImplementedError

    def describe(self, sample: int) -> str:
        """Return words for a sample."""
        return f"sample {sample}"

    def place(self, sample: int) -> tuple[str, str]:
        """Return words for its file and video."""
        return "", self.describe(sample)


@dataclass(frozen=True)
class _Planner:
    """Gives every spec the same order."""

    rows: _DrawnRows
    tries_transforms: bool = False

    def inputs(self, spec: Spec) -> tuple[Field, ...]:
        """Never asked: there is no transform."""
        raise NotImplementedError

    def plan(self, spec: Spec, outputs: tuple[Field, ...] | None) -> PlannedStream:
        """Return the stream."""
        del spec, outputs
        return PlannedStream(
            source=self.rows,
            fields=(),
            steps_per_epoch=_STEPS_AN_EPOCH,
            batch_size=ROWS,
            samples=_STEPS_AN_EPOCH * ROWS,
            slot_bytes=ROWS * ROW_BYTES,
            wanted_slots=SLOTS,
            row_bytes=ROW_BYTES,
        )


#: What the service says of itself; nobody asks here.
ABOUT = About(
    m.Welcome("0" * 16, 0, "", 0, 0, 0, 1.0),
    m.CatalogSummary(0, "", 0, 0, 0, 0, 0, "", (), 0, 0),
    m.Status(0, "", 0, "", 0.0, (), (), (), 0, 0, ()),
)


@dataclass
class Simulation:
    """A scheduler between simulated workers and trainers.

    Parameters
    ----------
    workers, streams
        How many of each.
    """

    workers: int
    streams: int
    steps: int = 0
    cpu_s: float = 0.0
    _now: float = 0.0
    _queues: dict[int, deque[m.Task]] = field(default_factory=lambda: defaultdict(deque))
    _done: list[tuple[float, int]] = field(default_factory=list)  # when each busy worker ends the task that it is at
    _held: dict[int, int] = field(default_factory=dict)  # of each stream: the lease of its latest batch
    _last_want: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    def begin(self, file_bytes: Sequence[int], drawn: tuple[int, ...]) -> None:
        """Start all workers, open all streams, and want the first steps, whose rows' files were drawn before."""
        rows = _DrawnRows(drawn)
        self._service = Service(ABOUT, _Planner(rows), file_bytes, Limits(client_timeout_s=inf), self.workers, 0.0)
        self._happen(e.ClockTicked())
        for worker in range(1, self.workers + 1):
            self._hear(worker, m.WorkerReady(worker))
        for stream in range(1, self.streams + 1):
            if stream <= _MOST_TRAINERS:
                self._hear(_trainer(stream), m.Hello(f"trainer-{stream}", 0))
            self._hear(_trainer(stream), m.OpenStream(stream, Spec(ROWS, Frame())))
            self._happen(e.SegmentsMade(stream, tuple(range(stream * SLOTS, (stream + 1) * SLOTS))))
        for stream in range(1, self.streams + 1):
            for _ in range(SLOTS // 2):
                self._want(stream)
        opened = sum(1 for _ in self._service.scheduler.streams)
        if opened != self.streams:
            raise RuntimeError(f"{opened} of {self.streams} streams are open")

    def run(self, steps: int) -> float:
        """Return the scheduler's CPU for each of the next steps, in µs."""
        self.steps, self.cpu_s = 0, 0.0
        while self.steps < steps:
            self._now, worker = heapq.heappop(self._done)
            task = self._queues[worker].popleft()
            if self._queues[worker]:
                self._begin_task(worker)
            self._hear(worker, m.TaskDone(worker, task.task, ()))
        return self.cpu_s / self.steps * 1e6

    def _want(self, stream: int) -> None:
        self._last_want[stream] += 1
        want = self._last_want[stream]
        self._hear(_trainer(stream), m.Want(stream, want, 0, (stream * 7919 + want) % _STEPS_AN_EPOCH))

    def _hear(self, peer: effects.Peer, message: m.FromClient | m.FromWorker) -> None:
        begun = time.thread_time()
        answers = self._service.receive(peer, message, self._now)
        self._service.next_deadline()
        self.cpu_s += time.thread_time() - begun
        self._act(answers)

    def _happen(self, event: e.Event) -> None:
        begun = time.thread_time()
        answers = self._service.happened(event, self._now)
        self.cpu_s += time.thread_time() - begun
        self._act(answers)

    def _act(self, answers: list[effects.Effect]) -> None:
        for effect in answers:
            match effect:
                case effects.Send(int() as worker, m.Task() as task):
                    self._queues[worker].append(task)
                    if len(self._queues[worker]) == 1:
                        self._begin_task(worker)
                case effects.Send(_, m.Ready() as ready):
                    self._take(ready)

    def _begin_task(self, worker: int) -> None:
        seconds = len(self._queues[worker][0].rows.numbers) * ROW_BYTES * _S_PER_BYTE * random.uniform(0.9, 1.1)
        heapq.heappush(self._done, (self._now + seconds, worker))

    def _take(self, ready: m.Ready) -> None:
        self.steps += 1
        held = self._held.pop(ready.stream, None)
        self._held[ready.stream] = ready.lease
        if held is not None:
            self._hear(_trainer(ready.stream), m.Release(ready.stream, held))
        self._want(ready.stream)


def _trainer(stream: int) -> bytes:
    return b"trainer-%d" % (stream % _MOST_TRAINERS)


@dataclass(frozen=True)
class Cost:
    """What one size costs."""

    workers: int
    streams: int
    files: int
    us_a_step: float  # median of the rounds
    begin_s: float  # from the first event to the last stream's first wants
    memory_mb: float  # of the scheduler, its files and its streams


def measure(workers: int, streams: int, files: int) -> Cost:
    """Return what a size costs; to be called once in a process, whose memory it compares."""
    random.seed(workers)
    drawn = tuple(random.randrange(files) for _ in range(4096 * ROWS))
    sizes = [100 + file % 100 for file in range(files)]
    before_mb = _own_memory_mb()
    simulation = Simulation(workers, streams)
    begun = time.thread_time()
    simulation.begin(sizes, drawn)
    begin_s = time.thread_time() - begun
    steps = max(400, 2 * streams)
    simulation.run(steps)
    us_a_step = median(simulation.run(steps) for _ in range(ROUNDS))
    return Cost(workers, streams, files, us_a_step, begin_s, _own_memory_mb() - before_mb)


def _own_memory_mb() -> float:
    gc.collect()
    return float(psutil.Process().memory_full_info().uss) / 1e6


def measure_apart(workers: int, streams: int, files: int) -> Cost:
    command = [sys.executable, "-m", "benchmarks.scheduling", "--size", str(workers), str(streams), str(files)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_PATIENCE_S)
    return Cost(**json.loads(done.stdout))


def _table(curves: Mapping[str, Sequence[Cost]]) -> str:
    lines = [
        "| workers | streams | files | CPU of the scheduler a step | at most | all that begins | own memory |",
        "|---|---|---|---|---|---|---|",
    ]
    seen = {cost for costs in curves.values() for cost in costs}
    lines += [_line(cost) for cost in sorted(seen, key=lambda each: (each.workers, each.streams, each.files))]
    return "\n".join(lines) + "\n"


def _line(cost: Cost) -> str:
    size = f"| {cost.workers:,} | {cost.streams:,} | {cost.files:,} "
    bar = BARS.get((cost.workers, cost.streams, cost.files))
    verdict = f"{bar} µs: {'held' if cost.us_a_step <= bar else 'missed'}" if bar else ""
    return size + f"| {cost.us_a_step:.0f} µs | {verdict} | {cost.begin_s:.2f} s | {cost.memory_mb:.1f} MB |"


def _plot(curves: Mapping[str, Sequence[Cost]], file: Path) -> None:
    import matplotlib as mpl  # noqa: PLC0415  # only a plot needs it

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(1, len(curves), figsize=(12, 3.5), sharey=True, constrained_layout=True)
    for axis, (name, costs) in zip(axes, curves.items(), strict=True):
        axis.semilogx([getattr(each, name) for each in costs], [each.us_a_step for each in costs], marker="o")
        axis.set_xlabel(name)
        axis.set_ylim(bottom=0)
        axis.grid(visible=True, alpha=0.3)
    axes[0].set_ylabel("CPU of the scheduler, µs a step")
    figure.savefig(file, dpi=100)
    plt.close(figure)


def main() -> None:
    """Measure one size, or all curves."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scheduling", description=__doc__)
    parser.add_argument("--size", nargs=3, type=int, metavar=("WORKERS", "STREAMS", "FILES"), help="one size, as JSON")
    parser.add_argument("--results", type=Path, metavar="DIR", help="where scheduling.md and scheduling.png go")
    arguments = parser.parse_args()
    if arguments.size:
        print(json.dumps(asdict(measure(*arguments.size))))
        return
    measured = {size: measure_apart(*size) for size in dict.fromkeys(itertools.chain(*CURVES.values()))}
    curves = {name: [measured[size] for size in sizes] for name, sizes in CURVES.items()}
    table = _table(curves)
    print(table)
    if arguments.results:
        arguments.results.mkdir(parents=True, exist_ok=True)
        (arguments.results / "scheduling.md").write_text(table)
        _plot(curves, arguments.results / "scheduling.png")


if __name__ == "__main__":
    main()
