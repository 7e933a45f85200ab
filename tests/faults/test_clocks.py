"""A wall clock that jumps is nobody's concern: no part of the project looks at it, nor what the project is built on."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.training import Entry, Log
from tests.support import processes
from tests.support.services import running_service

_ROOT = Path(__file__).parents[2]
_SOURCES = sorted([*(_ROOT / "loader_service").rglob("*.py"), *(_ROOT / "client").rglob("*.py")])

#: How long the trainer may take, in seconds, on a busy machine.
_PATIENCE_S = 300.0

#: Which tell people the time of day, and decide nothing by it.
_TELL_THE_TIME = {"loader_service/commands/log_lines.py", "loader_service/commands/watch_commands.py"}

#: What tells the time of day, by module.
_WALL_CLOCKS = {
    "time": {"time", "time_ns", "localtime", "gmtime", "ctime", "asctime", "strftime", "CLOCK_REALTIME"},
    "datetime": {"datetime", "date"},
}


def looks_at_the_clock(source: str) -> Iterator[str]:
    """Yield each use of a wall clock in a source text."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if name in _WALL_CLOCKS.get(module, ()):
                yield f"line {node.lineno}: {module}.{name}"
            case ast.ImportFrom(module=str(module)):
                yield from (
                    f"line {node.lineno}: from {module} import {each.name}"
                    for each in node.names
                    if each.name in _WALL_CLOCKS.get(module, ())
                )


def test_files_know_monotonic_time_only_but_for_those_that_tell_it_to_people() -> None:
    found = {str(path.relative_to(_ROOT)): list(looks_at_the_clock(path.read_text())) for path in _SOURCES}
    assert {path for path, uses in found.items() if uses} == _TELL_THE_TIME, found


@pytest.mark.parametrize("text", ["import time; time.time()", "from time import time", "from datetime import datetime"])
def test_a_wall_clock_would_be_found(text: str) -> None:
    assert list(looks_at_the_clock(text))


@pytest.fixture(scope="module")
def jumping_clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the library that makes a process's wall clock jump by a day, twice a second."""
    library = tmp_path_factory.mktemp("clock") / "jumping_clock.so"
    source = Path(__file__).with_name("jumping_clock.c")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


#: Trains, writes each step down, and then how often the clock has gone back meanwhile.
_TRAINING = """
import sys, time
from tests.faults import training
seen = [time.time()]
train = getattr(training, sys.argv[2])
for entry in train(sys.argv[1]):
    print(entry)
    seen.append(time.time())
    time.sleep(0.2)  # the trainer's own slowness: there are four jumps in two seconds
print(sum(new < old - 80_000 for old, new in zip(seen, seen[1:])))
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("train_numpy", marks=pytest.mark.soak),
        pytest.param("train_tf_data", marks=pytest.mark.tensorflow),
    ],
)
def test_a_training_under_a_clock_that_jumps_by_a_day_sees_the_same_bytes(
    videos: str, undisturbed: Log, jumping_clock: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Service, workers and trainer have that clock; what the tests wait for goes by theirs."""
    monkeypatch.setenv("LD_PRELOAD", str(jumping_clock))
    with running_service(videos, workers=2) as service:
        for pid in (service.pid, *service.worker_pids):
            assert str(jumping_clock) in processes.mapped_files(pid)
        # A Python of its own, since one that is kept warm was loaded with the true clock.
        trainer = [sys.executable, "-c", _TRAINING, service.endpoint, kind]
        done = subprocess.run(trainer, cwd=_ROOT, capture_output=True, text=True, timeout=_PATIENCE_S, check=False)
        assert done.returncode == 0, done.stderr
        *lines, went_back = done.stdout.splitlines()
        said = service.log
    assert [eval(line, {"Entry": Entry}) for line in lines] == undisturbed
    assert int(went_back) >= 3
    assert not re.search("WARNING|ERROR", said), said
