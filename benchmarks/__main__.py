"""Runs all sides and costs in alternating rounds and reports them; knows neither how they work nor how figures look."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.bars import Round
from benchmarks.cost import COSTS
from benchmarks.data import DEFAULT_DIRECTORY, prepare
from benchmarks.kinds import KINDS
from benchmarks.report import RESULTS_DIRECTORY, Report
from benchmarks.side import SIDES

_ROOT = Path(__file__).parent.parent

#: TensorFlow's greetings say nothing here, and a GPU would be started for each side in vain.
_ENVIRONMENT = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}

#: How long one measurement may take, in seconds, before the run is given up.
_PATIENCE_S = 180.0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = [*SIDES, *KINDS, *COSTS]
    parser.add_argument("--rounds", type=int, default=5, help="how often each side runs; default: 5")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each side runs in a round; default: 5")
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--quick", action="store_true", help="two rounds of two seconds: a look, no measurement")
    parser.add_argument("--data", type=Path, default=DEFAULT_DIRECTORY, metavar="DIR", help="where the data is kept")
    parser.add_argument("--results", type=Path, default=RESULTS_DIRECTORY, metavar="DIR", help="where results go")
    arguments = parser.parse_args()
    if arguments.rounds < 1 or arguments.seconds <= 0:
        parser.error(f"--rounds {arguments.rounds} --seconds {arguments.seconds}: give 1 or more, and more than 0")
    if arguments.quick:
        arguments.rounds, arguments.seconds = 2, 2.0
    return arguments


def _run_round(names: Sequence[str], seconds: float, data: Path) -> Round:
    return {name: _run(name, seconds, data) for name in names}


def _run(name: str, seconds: float, data: Path) -> dict[str, float]:
    """Measure one side, kind or cost in a process of its own, so that no thread or cache of another is in its way."""
    print(f"  {name} ...", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", f"benchmarks.{_module(name)}", name, "--data", str(data)]
    if name not in COSTS:
        command += ["--seconds", str(seconds)]
    done = subprocess.run(
        command,
        cwd=_ROOT,
        env={**os.environ, **_ENVIRONMENT},
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"measuring {name} failed with code {done.returncode}:\n{done.stderr}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _module(name: str) -> str:
    """Return which module of this package measures what is called so."""
    if name in SIDES:
        return "side"
    return "kinds" if name in KINDS else "cost"


def main() -> None:
    """Prepare the data, measure, print the tables, write the results."""
    arguments = _arguments()
    directory = arguments.data.resolve()
    data = prepare(directory)
    rounds = []
    for number in range(arguments.rounds):
        print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr, flush=True)
        names = arguments.only if number % 2 == 0 else arguments.only[::-1]  # what drifts, drifts for all alike
        rounds.append(_run_round(names, arguments.seconds, directory))
    report = Report(rounds, data.facts(), " ".join(["python -m benchmarks", *sys.argv[1:]]))
    print(report.markdown())
    report.write(arguments.results)
    print(f"written to {arguments.results}", file=sys.stderr)


if __name__ == "__main__":
    main()
