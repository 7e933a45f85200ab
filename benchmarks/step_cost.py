"""Measures what a small batch costs in several checkouts, all processes' CPU, in turns of a few hundred.

    python -m benchmarks.step_cost ../first . --turns 40
    python -m benchmarks.step_cost ../first . --look-up --steps 150

A batch is one 8 x 8 frame, through tf.data, or 128 looked-up rows of 16 KiB, through the NumPy client.
Each checkout has a `.venv` of its own. Its service and its trainer stay up; the checkouts take turns, so that a busy
machine is as busy for each of them. What is printed are medians, and the median of the ratios to the first checkout.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.data import DEFAULT_DIRECTORY, prepare
from benchmarks.kinds import features

_WARM_UP_S = 2.0

#: After a turn, until what was wanted ahead in it is made.
_SETTLING_S = 0.06

#: Runs in each checkout, with its own packages: files, folder of the cache and steps a turn are its arguments.
_SIDE = """
import json, sys, time
from pathlib import Path
import numpy, psutil, loader_client
from loader_client import Clip, Image

*files, cache, steps, kind = sys.argv[1:]
private = dict(workers=2, service={"cache_dir": cache})
if kind == "look-up":
    rows = numpy.random.default_rng(0).integers(0, 100_000, 1_000_000)
    batches = loader_client.connect(files, **private).batches(
        128, index=rows, fields=("features", "position"), epochs=None)
else:
    batches = iter(loader_client.dataset(files, batch_size=1, clip=Clip(frames=1, sampling="every"), image=Image(),
        fields=("frames", "label"), **private).repeat())
began = time.monotonic()
while time.monotonic() - began < WARM_UP_S:
    next(batches)
me = psutil.Process()
others = me.children(recursive=True)
of = {"trainer": [me], "service": others[:1], "workers": others[1:]}

def cpu_us(process):
    tasks = Path(f"/proc/{process.pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e3

print("ready", flush=True)
for _ in sys.stdin:
    before = {name: sum(map(cpu_us, some)) for name, some in of.items()}
    for _ in range(int(steps)):
        next(batches)
    time.sleep(SETTLING_S)
    used = {name: (sum(map(cpu_us, some)) - before[name]) / int(steps) for name, some in of.items()}
    print(json.dumps({"all": sum(used.values()), **used}), flush=True)
"""


def _started(tree: Path, files: list[str], cache: Path, steps: int, kind: str) -> subprocess.Popen[str]:
    code = _SIDE.replace("WARM_UP_S", str(_WARM_UP_S)).replace("SETTLING_S", str(_SETTLING_S))
    command = [str(tree / ".venv/bin/python"), "-c", code, *files, str(cache), str(steps), kind]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    pipe, silent = subprocess.PIPE, subprocess.DEVNULL
    return subprocess.Popen(command, cwd=tree, stdin=pipe, stdout=pipe, stderr=silent, text=True, env=environment)


def _answer(side: subprocess.Popen[str], question: str = "") -> str:
    assert side.stdin is not None
    assert side.stdout is not None
    side.stdin.write(question)
    side.stdin.flush()
    answer = side.stdout.readline().strip()
    if not answer:
        raise RuntimeError(f"the side in {side.args!r:.80} has ended; run it alone to see why")
    return answer


def main() -> None:
    """Let the checkouts take turns, and print their medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--steps", type=int, default=400, help="in a turn")
    parser.add_argument("--look-up", action="store_true", help="rows of a table, and not a frame")
    parser.add_argument("--data", type=Path, default=DEFAULT_DIRECTORY, metavar="DIR")
    given = parser.parse_args()
    files = [str(features(given.data))] if given.look_up else prepare(given.data).tiny
    kind = "look-up" if given.look_up else "tiny"
    with tempfile.TemporaryDirectory() as folder:
        sides = [
            _started(tree.resolve(), files, Path(folder) / str(number), given.steps, kind)
            for number, tree in enumerate(given.trees)
        ]
        for side in sides:
            _answer(side)
        found: list[list[dict[str, Any]]] = [[] for _ in sides]
        for turn in range(given.turns):
            for number in sorted(range(len(sides)), reverse=turn % 2 == 1):
                found[number].append(json.loads(_answer(sides[number], "\n")))
        for side in sides:
            side.communicate(timeout=60)
    for tree, turns in zip(given.trees, found, strict=True):
        for name in turns[0]:
            ratio = statistics.median(ours[name] / first[name] for ours, first in zip(turns, found[0], strict=True))
            print(f"{tree} {name}: {statistics.median(each[name] for each in turns):.0f} µs a step, {ratio:.3f}")


if __name__ == "__main__":
    sys.exit(main())
