"""Measures what a service costs besides decoding: start-up, memory, and the pauses at an epoch's ends. Knows no peer.

`python -m benchmarks.cost memory` prints one JSON line.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

import loader_client
from benchmarks import service
from benchmarks.data import DEFAULT_DIRECTORY, Data
from benchmarks.packing import PACKING
from loader_service.protocol.segment_files import user_directory

_BATCHES_BEFORE_MEMORY = 100
_EPOCHS = 6


def start_up(data: Data) -> dict[str, float]:
    """Return seconds from the command to `ready:`, with an empty index cache and with a full one."""
    with tempfile.TemporaryDirectory(prefix="loader-bench-cache-") as cache:
        with service.running(data.videos, Path(cache)) as cold:
            pass
        with service.running(data.videos, Path(cache)) as warm:
            pass
    return {"cold_s": cold.start_s, "warm_s": warm.start_s}


def memory(data: Data) -> dict[str, float]:
    """Return the largest worker's and the daemon's own memory after 100 batches, and whether TensorFlow is in either.

    Own memory is what the process alone has in memory (USS), less its slots: those are shared memory, but count as a
    process's own for as long as no other one has touched the same page.
    """
    with service.running(data.videos, data.directory / "cache") as running:
        for _ in itertools.islice(service.numpy_batches(running.endpoint), _BATCHES_BEFORE_MEMORY):
            pass
        with loader_client.connect(running.endpoint) as connection:
            workers = [psutil.Process(worker.pid) for worker in connection.status().workers]
        daemon = psutil.Process(running.pid)
        if len(workers) != service.WORKERS:
            raise RuntimeError(f"the service has {len(workers)} workers; expected {service.WORKERS}")
        return {
            "worker_uss_mb": max(_own_memory_mb(worker) for worker in workers),
            "daemon_uss_mb": _own_memory_mb(daemon),
            "processes_with_tensorflow": sum(_has_tensorflow(process) for process in (daemon, *workers)),
        }


def _own_memory_mb(process: Any) -> float:
    maps = process.memory_maps(grouped=True)
    own = [each.private_clean + each.private_dirty for each in maps if not each.path.startswith(str(user_directory()))]
    return float(sum(own)) / 1e6


def _has_tensorflow(process: Any) -> bool:
    return any("tensorflow" in each.path for each in process.memory_maps(grouped=True))


def epochs(data: Data) -> dict[str, float]:
    """Return the time from `iter(ds)` to the first batch, and the gap between two epochs as a multiple of a step.

    Each epoch is an iterator of its own, as in `model.fit`. A step is the mean time between batches within an epoch.
    """
    dataset = service.dataset(data)
    arrivals = [_arrivals_s(dataset) for _ in range(_EPOCHS)]
    first_s = arrivals[0][1] - arrivals[0][0]
    steps = [(epoch[-1] - epoch[1]) / (len(epoch) - 2) for epoch in arrivals]
    gaps = [after[1] - before[-1] for before, after in itertools.pairwise(arrivals)]
    step_s = statistics.median(steps)
    return {
        "first_batch_s": first_s,
        "step_ms": step_s * 1e3,
        "gap_steps": statistics.median(gaps) / step_s,
        "longest_gap_steps": max(gaps) / step_s,
    }


def _arrivals_s(dataset: Any) -> list[float]:
    """Return when the iterator was asked for, and when each of its batches came."""
    return [time.perf_counter(), *(time.perf_counter() for _ in dataset)]


COSTS = {"start-up": start_up, "memory": memory, "epochs": epochs, **PACKING}


def main() -> None:
    """Measure the cost named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cost", choices=COSTS)
    parser.add_argument("--data", type=Path, default=DEFAULT_DIRECTORY, metavar="DIR")
    arguments = parser.parse_args()
    print(json.dumps(COSTS[arguments.cost](Data(arguments.data))))


if __name__ == "__main__":
    main()
