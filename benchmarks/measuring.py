"""Measures what it costs to measure: this tree against an older one that counts nothing, alternating.

`python -m benchmarks.measuring` takes both through the same work in turn, each in processes of its own, and prints
steps a second and CPU a step of all processes together. The bar: 1 % of either, by the medians. CPU a step is steadier
than throughput where the machine has other things to do.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from statistics import median

import h5py
import numpy as np

from benchmarks.data import prepare

#: The last tree without the counters.
BEFORE = "8d8e86e"

#: The most that they may cost.
BAR = 0.01

ROUNDS = 7
_PATIENCE_S = 300.0

#: Run with a tree's folders first in `PYTHONPATH`; prints what it measured as JSON.
_SIDE = """
import json, os, sys, time
import loader_client
from loader_client import Clip, Frame, Image
kind, files, seconds, workers, cache = json.loads(sys.argv[1])
KINDS = {
    "frames": dict(batch_size=16, clip=Clip(16, sampling="random"), image=Image(), fields=("frames", "label")),
    "rows": dict(batch_size=64, clip=Frame(), fields=("features",)),
    "tiny": dict(batch_size=4, clip=Frame(), fields=("features",)),
}
TICKS = os.sysconf("SC_CLK_TCK")

def cpu_s(pids):
    total = 0.0
    for pid in pids:
        fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / TICKS
    return total + sum(os.times()[:2])

connection = loader_client.connect(files, workers=workers, service={"cache_dir": cache})
with connection:
    status = connection.status()
    pids = [status.pid, *(each.pid for each in status.workers)]
    batches = connection.batches(epochs=None, **KINDS[kind])
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        next(batches)
    began, cpu, steps = time.monotonic(), cpu_s(pids), 0
    while time.monotonic() - began < seconds:
        next(batches)
        steps += 1
    took = time.monotonic() - began
    print(json.dumps({"steps_per_s": steps / took, "cpu_ms": (cpu_s(pids) - cpu) / steps * 1e3,
                      "from": loader_client.__file__}))
    batches.close()
"""


def measure(tree: Path, kind: str, files: list[str], seconds: float, cache: Path) -> dict[str, float]:
    """Return steps a second and CPU in ms a step of one tree."""
    arguments = json.dumps([kind, files, seconds, 2, str(cache)])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tree), str(tree / "client")])}
    done = subprocess.run(
        [sys.executable, "-c", _SIDE, arguments],
        env=environment,
        cwd=tempfile.gettempdir(),
        capture_output=True,
        text=True,
        check=True,
        timeout=_PATIENCE_S,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    if not str(found.pop("from")).startswith(str(tree)):
        raise RuntimeError(f"{tree} was not what ran")
    return found


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.measuring", description=__doc__)
    parser.add_argument("--before", default=BEFORE, help="commit to compare with")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each measurement")
    parser.add_argument("--kinds", nargs="+", default=["frames", "rows", "tiny"])
    given = parser.parse_args()
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        archive = subprocess.run(["git", "archive", given.before], cwd=root, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            packed.extractall(place / "before", filter="data")
        with h5py.File(place / "rows.h5", "w") as file:
            file["features"] = np.random.default_rng(0).normal(size=(4000, 4096)).astype("f4")
        files = {kind: [str(place / "rows.h5")] for kind in ("rows", "tiny")}
        if "frames" in given.kinds:
            files["frames"] = prepare().videos
        print("| work | | before | after | cost |\n|---|---|---|---|---|")
        for kind in given.kinds:
            rounds = [
                [measure(tree, kind, files[kind], given.seconds, place / name) for name, tree in _trees(root, place)]
                for _ in range(given.rounds)
            ]
            for what, sign in (("steps_per_s", -1), ("cpu_ms", 1)):
                before, after = (median(each[side][what] for each in rounds) for side in (0, 1))
                cost = sign * (after - before) / before
                held = "held" if cost <= BAR else "missed"
                print(f"| {kind} | {what} | {before:.2f} | {after:.2f} | {cost:+.1%}, {BAR:.0%}: {held} |", flush=True)


def _trees(root: Path, place: Path) -> list[tuple[str, Path]]:
    return [("cache-before", place / "before"), ("cache-after", root)]


if __name__ == "__main__":
    main()
