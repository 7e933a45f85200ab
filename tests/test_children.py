"""Child processes: what they are told, what they say, how they end, and that nothing of them is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from loader_service.children import Child, command, environment, readable
from loader_service.config import ServiceConfig
from loader_service.lifeline import arguments_for
from loader_service.oom import OomWatch
from loader_service.start_command import read_option, start_words
from tests.support import processes
from tests.support.waiting import eventually

SLEEP = "import time; time.sleep(600)"


def python(program: str, oom: OomWatch | None = None) -> Child:
    """Start a program in Python."""
    return Child([sys.executable, "-c", program], environment(), oom=oom)


def ended(child: Child, within_s: float = 60.0) -> str:
    """Return the cause of a child's end."""
    assert child.wait(within_s)
    return child.cause()


def test_one_that_exits_says_its_code_and_its_last_line_of_errors() -> None:
    with python("import sys; print('a print'); sys.stderr.write('first\\nlast words  \\n\\n'); sys.exit(3)") as child:
        assert ended(child) == "exited with code 3: last words"
        assert child.code == 3
        assert child.out.read() == b"a print\n"
        assert child.cause(child.out.last_line) == "exited with code 3: a print"


def test_one_that_says_nothing_has_a_code_only() -> None:
    with python("import os; os._exit(0)") as child:
        assert ended(child) == "exited with code 0"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGRTMIN + 2])
def test_one_that_is_killed_says_the_signal(number: int) -> None:
    with python(SLEEP) as child:
        child.send(number)
        name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
        assert ended(child) == f"was killed by {name}"


def test_words_of_a_killed_one_are_its_last_only_when_they_are_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import os; os.write(2, b'out of luck\\n'); os.abort()"
    with python(program) as child:
        assert ended(child) == "was killed by SIGABRT; its last words: out of luck"
        heard_at = child.errors.heard_at
        monkeypatch.setattr(time, "monotonic", lambda: heard_at + 6.0)
        assert child.cause() == "was killed by SIGABRT"


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """A tree with one group of control, of 64 MiB, in which nothing was killed."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/job\n")
    mount = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
    (tmp_path / "proc/self/mountinfo").write_text(mount)
    group = tmp_path / "sys/fs/cgroup/job"
    group.mkdir(parents=True)
    for name, text in {"memory.max": 2**26, "memory.current": 2**25, "memory.events": "oom_kill 0"}.items():
        (group / name).write_text(f"{text}\n")
    return tmp_path


def test_one_that_the_kernel_killed_for_want_of_memory_names_the_limit_once(kernel: Path) -> None:
    oom = OomWatch(kernel)
    with (
        python(SLEEP, oom=oom) as child,
        python(SLEEP, oom=oom) as other,
    ):
        (kernel / "sys/fs/cgroup/job/memory.events").write_text("oom_kill 1\n")
        child.kill()
        cause = ended(child)
        assert cause.startswith("was killed by SIGKILL, by the kernel, since its control group was out of memory: ")
        assert "64.0 MiB (/sys/fs/cgroup/job/memory.max)" in cause
        assert child.cause() == cause
        other.kill()
        assert ended(other) == "was killed by SIGKILL"


def test_one_that_has_ended_before_it_can_be_watched_is_reaped_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    open_pidfd = os.pidfd_open

    def late(pid: int) -> int:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        return open_pidfd(pid)

    monkeypatch.setattr(os, "pidfd_open", late)
    with python("raise SystemExit('gone')") as child:
        assert child.pidfd in child.listen(0.0)
        assert ended(child, 0.0) == "exited with code 1: gone"
    assert child.pid not in processes.children()


def test_one_that_cannot_be_watched_is_not_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(_pid: int) -> int:
        raise OSError(24, "Too many open files")

    before, open_before = set(processes.children()), set(processes.descriptors())
    monkeypatch.setattr(os, "pidfd_open", none_left)
    with pytest.raises(OSError, match="Too many open files"):
        python(SLEEP)
    assert set(processes.children()) == before
    assert set(processes.descriptors()) == open_before


def test_closing_ends_one_that_is_stopped_and_leaves_no_descriptor() -> None:
    before = set(processes.descriptors())
    with python(SLEEP) as child:
        child.send(signal.SIGSTOP)
        assert not child.wait(0.05)
        assert child.code is None
        assert child.cause() == "says nothing more, and has not ended"
    assert not processes.is_alive(child.pid)
    child.close()
    assert set(processes.descriptors()) == before


def test_one_that_says_more_than_a_pipe_holds_comes_to_its_end_when_it_is_heard() -> None:
    with python("import os; [os.write(1, b'x' * 1000) for _ in range(2000)]; os.write(2, b'done')") as child:
        said = b""
        while child.code is None or child.outputs:
            assert child.listen(60.0)
            said += child.out.read()
            child.errors.read()
        assert said == b"x" * 2_000_000
        assert ended(child) == "exited with code 0: done"


def test_a_wait_ends_at_its_deadline_or_with_another_descriptor() -> None:
    with python(SLEEP) as child:
        begun = time.monotonic()
        assert child.listen(0.1) == set()
        assert 0.1 <= time.monotonic() - begun < 10.0
        wake = os.eventfd(1)
        assert child.listen(60.0, wake) == {wake}
        os.close(wake)
    assert readable([], 0.0) == set()


def test_a_forked_child_of_this_process_neither_signals_nor_reaps_it() -> None:
    with python(SLEEP) as child:
        forked = os.fork()
        if not forked:
            child.close()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]) == 0
        assert child.code is None
        assert processes.is_alive(child.pid)


@dataclass(frozen=True)
class Told:
    """What the program below is told."""

    number: int
    path: str
    more: tuple[str, ...] = ()
    inner: ServiceConfig | None = None


PROGRAM = """
import json, sys, time
from loader_service.lifeline import told
print(json.dumps(told(dict)), flush=True)
if "--wait" in sys.orig_argv[-1]: time.sleep(600)
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A child program that prints what it is told, and waits when that holds ``--wait``."""
    (tmp_path / "prints_what_it_is_told.py").write_text(PROGRAM)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    return "prints_what_it_is_told"


def test_what_a_program_is_told_arrives_as_it_was(program: str) -> None:
    odd = Told(7, "/with space/\udce9\n日本 '\"", ("--embedded", ""), ServiceConfig(files=("a.h5",)))
    with Child(command(program, *arguments_for(odd)), environment()) as child:
        assert ended(child) == "exited with code 0"
        told = json.loads(child.out.read())
    assert (told["number"], told["path"], told["more"]) == (7, odd.path, ["--embedded", ""])
    assert told["inner"]["files"] == ["a.h5"]


def test_a_program_ends_with_the_process_that_started_it(program: str) -> None:
    parent = (
        "import sys, time; from loader_service.children import *; from loader_service.lifeline import arguments_for\n"
        "from tests.test_children import Told\n"
        f"child = Child(command({program!r}, *arguments_for(Told(1, '--wait'))), environment())\n"
        "child.listen(60.0); print(child.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        assert processes.is_alive(pid)
        starter.kill()
    eventually(lambda: not processes.is_alive(pid), "the program ends")


def test_a_program_whose_parent_ended_first_ends_at_once(program: str) -> None:
    words = command(program, "1", json.dumps({"path": "--wait"}))  # of which this process is no child
    done = subprocess.run(words, env=environment(), capture_output=True, timeout=300, check=True)
    assert done.stdout == b""


def test_a_program_that_a_person_starts_says_so() -> None:
    words = command("loader_service.worker.main", "--help")
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (1, "this program is started by the service; it is not for people\n")


def test_the_command_line_of_a_start_is_read_as_it_is_written() -> None:
    options = {"embedded": "True", "supervise": "False", "label": ["a", "b=c"], "lifeline_pid": "17"}
    words = start_words(options, ["--workers=2"], ["--terminal", "x.h5"])
    assert words[-8:] == [
        "--embedded",
        "--label=a",
        "--label=b=c",
        "--lifeline-pid=17",
        "--workers=2",
        "--",
        "--terminal",
        "x.h5",
    ]
    names = ("embedded", "supervise", "terminal", "label", "lifeline_pid", "workers", "memory")
    assert [read_option(words, each) for each in names] == ["True", None, None, "b=c", "17", "2", None]
