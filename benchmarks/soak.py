"""Trains for as long as asked while workers and the daemon are killed at random times, and counts what went wrong.

    python -m benchmarks.soak --minutes 10 --mean-s 3
    python -m benchmarks.soak --minutes 60 --mean-s 0      # no kills: is memory flat?

Before it begins, a run without faults writes down the CRC of every field of every step. The trainer then goes through
the same epochs again and again while a killer strikes at Poisson times, and every step is compared with that log:
*lost* steps did not come, *doubled* ones came twice, *wrong* ones had other bytes. At the end it looks for what was
left behind.
"""

from __future__ import annotations

import argparse
import fcntl
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import loader_client
from benchmarks.summary import RESULTS_DIRECTORY, at_some_times, write_summary
from loader_client import Clip, Image
from loader_service.protocol.segment_files import user_directory
from tests.support.videos import make_videos, write_videos

#: Epochs of the log; long enough that slots, files and workers go round many times.
EPOCHS = 20

#: One kill in so many hits the daemon, the others a worker.
DAEMON_KILLS_ONE_IN = 5

STREAM: dict[str, Any] = {
    "batch_size": 8,
    "clip": Clip(frames=8),
    "image": Image(size=(96, 128), crop="random", flip=True),
}

#: (epoch, step) → CRC-32 of all fields
Log = dict[tuple[int, int], int]


@contextmanager
def service(folder: Path, workers: int, *flags: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a service, and yield its process and endpoint; stop it at the end."""
    endpoint = f"ipc://{folder}/soak.sock"
    command = [sys.executable, "-m", "loader_service", "start", f"{folder}/*.h5", f"--workers={workers}"]
    command += [f"--endpoint={endpoint}", f"--cache-dir={folder}/cache", *flags]
    with (folder / "service.log").open("a") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("ready: "):
            raise RuntimeError(f"the service did not start: {line!r}; see {folder}/service.log")
        yield process, endpoint
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def write_data(folder: Path) -> None:
    """Write six files of videos of different length."""
    for number in range(6):
        lengths = [8 + (number * 7 + video * 5) % 40 for video in range(20)]
        videos = make_videos(lengths, height=120, width=160, seed=number)
        write_videos(folder / f"{number}.h5", "group_vlen", videos, {name: i % 4 for i, name in enumerate(videos)})


def crc(batch: dict[str, Any]) -> int:
    """Return one number for all bytes of a batch."""
    value = 0
    for name in sorted(batch):
        array = np.asarray(batch[name])
        # TensorFlow's strings are Python objects in NumPy; ours are bytes of fixed width.
        data = b"\0".join(array.tolist()) if array.dtype.kind in "OS" else np.ascontiguousarray(array).tobytes()
        value = zlib.crc32(data, value)
    return value


def write_log(folder: Path) -> Log:
    """Return what every step holds, from a run in which nothing fails."""
    with service(folder, 2) as (_, endpoint), loader_client.connect(endpoint) as connection:
        batches = connection.batches(epochs=EPOCHS, **STREAM)
        crcs = [crc(batch) for batch in batches]
    steps = len(crcs) // EPOCHS
    return {divmod(number, steps): value for number, value in enumerate(crcs)}


class Killer(threading.Thread):
    """Kills processes of the service at Poisson times."""

    def __init__(self, supervisor: int, mean_s: float, seed: int) -> None:
        super().__init__(daemon=True)
        self._supervisor = psutil.Process(supervisor)
        self._mean_s = mean_s
        self._random = random.Random(seed)
        self._over = threading.Event()
        self.kills: Counter[str] = Counter()

    def run(self) -> None:
        """Strike until told to stop."""
        while not self._over.wait(self._random.expovariate(1 / self._mean_s)):
            self._strike()

    def stop(self) -> None:
        """Strike no more."""
        self._over.set()
        self.join()

    def _strike(self) -> None:
        try:
            daemons = self._supervisor.children()
            workers = [worker for daemon in daemons for worker in daemon.children()]
            kind = "daemon" if self._random.randrange(DAEMON_KILLS_ONE_IN) == 0 else "worker"
            victims = daemons if kind == "daemon" else workers
            if victims:
                self._random.choice(victims).send_signal(signal.SIGKILL)
                self.kills[kind] += 1
        except psutil.NoSuchProcess:
            pass  # it was faster


class Meter(threading.Thread):
    """Writes down the memory of daemon, workers and trainer every few seconds."""

    def __init__(self, supervisor: int, every_s: float = 5.0) -> None:
        super().__init__(daemon=True)
        self._supervisor = psutil.Process(supervisor)
        self._every_s = every_s
        self._over = threading.Event()
        self.samples: list[dict[str, float]] = []

    def run(self) -> None:
        """Measure until told to stop."""
        begun = time.monotonic()
        while not self._over.wait(self._every_s):
            try:
                daemons = self._supervisor.children()
                workers = [worker for daemon in daemons for worker in daemon.children()]
                self.samples.append(
                    {
                        "s": time.monotonic() - begun,
                        "daemon": sum(map(own_mib, daemons)),
                        "worker": max(map(own_mib, workers), default=0.0),
                        "trainer": own_mib(psutil.Process()),
                    }
                )
            except psutil.NoSuchProcess:
                continue  # one was killed while it was measured

    def stop(self) -> None:
        """Measure no more."""
        self._over.set()
        self.join()


def own_mib(process: psutil.Process) -> float:
    """Return a process's anonymous memory in MiB: what it does not share with anybody."""
    memory = process.memory_info()
    return float(memory.rss - memory.shared) / 2**20


def dataset_steps(endpoint: str) -> Iterator[tuple[int, int, int]]:
    """Yield (epoch, step, CRC) as tf.data delivers them: one pass through the epochs of the log."""
    dataset = loader_client.dataset(endpoint, patience=loader_client.Patience(reconnect_timeout_s=120), **STREAM)
    for epoch in range(EPOCHS):
        for step, batch in enumerate(dataset):
            yield epoch, step, crc({name: tensor.numpy() for name, tensor in batch.items()})


def train(endpoint: str, log: Log, until: float) -> Counter[str]:
    """Go through the epochs of the log again and again; return the counts."""
    counts: Counter[str] = Counter()
    while time.monotonic() < until:
        seen: Counter[tuple[int, int]] = Counter()
        for epoch, step, value in dataset_steps(endpoint):
            counts["steps"] += 1
            seen[epoch, step] += 1
            counts["wrong"] += log[epoch, step] != value
            if time.monotonic() >= until:
                last = (epoch, step)
                break
        else:
            last = max(log)
        counts["lost"] += sum(place not in seen for place in log if place <= last)
        counts["doubled"] += sum(count - 1 for count in seen.values())
    return counts


def train_steadily(endpoint: str, until: float) -> Counter[str]:
    """Go on with one dataset, epoch after epoch, as a training does; what is right, a second client says.

    `train` makes a new dataset for each pass, and TensorFlow keeps some 35 KB of each for good.
    """
    counts: Counter[str] = Counter()
    dataset = loader_client.dataset(endpoint, **STREAM)
    with loader_client.connect(endpoint) as connection:
        stream = connection.open(loader_client.Spec(**STREAM))
        for epoch in itertools.count():
            for step, batch in enumerate(dataset):
                counts["steps"] += 1
                delivered = crc({name: tensor.numpy() for name, tensor in batch.items()})
                counts["wrong"] += delivered != crc(stream.fetch(epoch, step))
                if time.monotonic() >= until:
                    return counts
            counts["lost"] += stream.steps_per_epoch - (step + 1)
    raise AssertionError("unreachable: there is always another epoch")


def leaked(folder: Path) -> list[str]:
    """Return what is left of the service: processes, socket files, segments of a service that is dead."""
    mine = [p.pid for p in psutil.process_iter(["cmdline"]) if str(folder) in " ".join(p.info["cmdline"] or ())]
    left = [f"process {pid}" for pid in mine if pid != os.getpid()]
    return [*left, *map(str, folder.glob("*.sock*")), *map(str, dead_segments())]


def dead_segments() -> Iterator[Path]:
    """Yield the folders of segments that no living service has locked."""
    for path in user_directory().glob("*"):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield path
        except BlockingIOError:
            continue  # another service's
        finally:
            os.close(descriptor)


def plot(samples: list[dict[str, float]], path: Path) -> None:
    """Draw memory over time."""
    from matplotlib import pyplot as plt  # noqa: PLC0415 - only when there is something to draw

    figure, axes = plt.subplots(figsize=(8, 3.5), layout="constrained")
    for name in ("trainer", "worker", "daemon"):
        axes.plot([each["s"] / 60 for each in samples], [each[name] for each in samples], label=name)
    axes.set(xlabel="minutes", ylabel="own memory, MiB", ylim=(0, None))
    axes.legend()
    figure.savefig(path, dpi=120)


def main() -> int:
    """Print one line with all counts; exit code 1 when anything was lost, doubled, wrong or left behind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--mean-s", type=float, default=3.0, help="mean time between kills; 0: none")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--name", default="soak", help="of the files in benchmarks/results/")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder = Path(name)
        write_data(folder)
        log = write_log(folder) if options.mean_s else {}
        with service(folder, options.workers, "--supervise") as (supervisor, endpoint):
            meter = Meter(supervisor.pid)
            meter.start()
            killer = Killer(supervisor.pid, options.mean_s or 1e9, options.seed)
            until = time.monotonic() + 60 * options.minutes
            if options.mean_s:
                killer.start()
                counts = train(endpoint, log, until)
                killer.stop()
            else:
                counts = train_steadily(endpoint, until)
            meter.stop()
        left = leaked(folder)
    report = {
        "minutes": options.minutes,
        **{f"{kind}_kills": killer.kills[kind] for kind in ("worker", "daemon")},
        **{kind: counts[kind] for kind in ("steps", "lost", "doubled", "wrong")},
        "leaked": left,
    }
    memory = {"memory_mib": at_some_times(meter.samples)}
    write_summary(RESULTS_DIRECTORY / f"{options.name}.json", {**report, **memory})
    plot(meter.samples, RESULTS_DIRECTORY / f"{options.name}.png")
    print(json.dumps(report))
    return int(bool(left) or any(counts[kind] for kind in ("lost", "doubled", "wrong")))


if __name__ == "__main__":
    sys.exit(main())
