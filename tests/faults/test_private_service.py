"""A private service that dies is started again by its trainer, which goes on at the same step; not for ever."""

from __future__ import annotations

import itertools
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import loader_client
from loader_client import CatalogError, Clip, Patience, ServiceUnavailable, Spec
from tests.faults.training import Log, Train, train_numpy
from tests.support import processes
from tests.support.machine import at_most
from tests.support.waiting import eventually

pytestmark = pytest.mark.usefixtures("warm_children")


def private_services() -> set[int]:
    """Return the private services of this process."""
    return {pid for pid, command in processes.children().items() if "--embedded" in command}


def the_service() -> int:
    """Return the only private service of this process, when there is one."""
    return eventually(lambda: private_services() or None, "there is a private service").pop()


def kill(number: int = signal.SIGKILL) -> int:
    """Kill the only private service; return its pid."""
    pid = the_service()
    os.kill(pid, number)
    eventually(lambda: not processes.is_alive(pid), "it has ended")
    return pid


def test_a_private_service_killed_three_times_is_a_pause_at_the_same_step(
    videos: str, undisturbed: Log, train: Train, caplog: pytest.LogCaptureFixture
) -> None:
    steps = train(videos)
    log: Log = []
    for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGKILL):
        log += itertools.islice(steps, 3)
        workers = processes.children(the_service())
        kill(number)
        soon_s = at_most(2.0)
        eventually(lambda left=workers: not any(map(processes.is_alive, left)), "its workers end", within_s=soon_s)
    log += steps
    assert log == undisturbed
    told = [record.getMessage() for record in caplog.records if "started again" in record.getMessage()]
    assert len(told) == 3
    assert "was killed by SIGSEGV; it is started again (2 of 3 times)" in told[1]
    assert "was killed by SIGKILL; it is started again (3 of 3 times)" in told[2]


def test_killed_at_any_point_of_a_step_it_comes_back_with_the_same_endpoint_and_options(
    videos: str, undisturbed: Log, train: Train, once: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = once("daemon.step_wanted=kill@4", "daemon.task_reported=kill@6", "daemon.step_ready=kill@3")  # type: ignore[operator]
    for name, value in points.items():
        monkeypatch.setenv(name, value)
    assert list(train(videos)) == undisturbed


def test_a_private_service_keeps_its_endpoint_and_its_options(videos: str) -> None:
    with loader_client.connect(videos, workers=2, service={"task_timeout": 33}) as connection:
        before = kill()
        after = the_service()
        assert after != before
        command = processes.children()[after]
        assert "--task-timeout=33" in command
        assert f"--endpoint={connection.endpoint}" in command
        assert len(connection.status().workers) == 2


def test_the_fourth_death_is_an_error_at_once_that_tells_the_signal_and_the_last_words(videos: str) -> None:
    with loader_client.connect(videos, workers=1) as connection:
        stream = connection.open(Spec(4, Clip(2)))
        for step in range(3):
            stream.fetch(0, step)
            kill()
            stream.fetch(0, step)
        kill(signal.SIGABRT)
        begun = time.monotonic()
        with pytest.raises(ServiceUnavailable, match="was killed by SIGABRT") as caught:
            stream.fetch(9, 0)  # no step that was made ahead
        assert time.monotonic() - begun < at_most(10.0)
        for told in ("start one", "loader-service start", connection.endpoint, "\n"):
            assert told not in str(caught.value)
        with pytest.raises(ServiceUnavailable, match="was killed by SIGABRT"):
            connection.status()
    assert not private_services()


_LAST_WORDS = """
import os, sys
from loader_service.core.sizing import Sizing
def loud(*_):
    os.write(2, b"first line\\nterminate called: out of luck\\n")
    os.abort()
Sizing.scale = loud
from loader_service.cli import main
main()
"""


def test_the_last_words_of_a_service_that_crashes_are_told_and_also_written(
    videos: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "python"
    program.write_text(
        f'#!/bin/sh\nwhile [ "$1" != start ]; do shift; done\nexec {sys.executable} -c "$LAST_WORDS" "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("LAST_WORDS", _LAST_WORDS)
    real = sys.executable
    monkeypatch.setattr(sys, "executable", str(program))
    connection = loader_client.connect(videos, workers=1, patience=Patience(ask_again_s=0.2))
    monkeypatch.setattr(sys, "executable", real)
    with connection, pytest.raises(ServiceUnavailable) as caught:
        connection.scale(2)  # which is asked again of each that takes its place
    assert "was killed by SIGABRT; its last words: terminate called: out of luck;" in str(caught.value)
    assert capfd.readouterr().err.count("terminate called: out of luck\n") == 4


def test_a_service_that_cannot_start_again_fails_at_once_with_its_reason(videos: str, tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    shutil.copy(videos.replace("*", "0"), path)
    with loader_client.connect(path, workers=1) as connection:
        stream = connection.open(Spec(4, Clip(2)))
        stream.fetch(0, 0)
        path.write_bytes(b"no HDF5 file")
        kill()
        begun = time.monotonic()
        with pytest.raises(CatalogError, match=r"was killed by SIGKILL, and could not be started again: .*a\.h5"):
            [stream.fetch(epoch, 0) for epoch in range(3, 300)]  # beyond all that was made ahead
        assert time.monotonic() - begun < at_most(10.0)


def test_several_private_services_are_started_again_each_by_itself(videos: str, undisturbed: Log) -> None:
    one, other = train_numpy(videos), train_numpy(videos)
    logs: list[Log] = [[next(one)], [next(other)]]
    first, second = private_services()
    for _ in range(2):
        for pid in private_services():
            os.kill(pid, signal.SIGKILL)
        logs[0] += itertools.islice(one, 2)
        logs[1] += itertools.islice(other, 2)
    assert not {first, second} & private_services()
    assert logs[0] + list(one) == logs[1] + list(other) == undisturbed


def test_several_streams_of_one_connection_go_on(videos: str) -> None:
    with loader_client.connect(videos, workers=1) as connection:
        streams = [connection.open(Spec(4, Clip(2), seed=seed)) for seed in range(3)]
        before = [stream.fetch(0, 1) for stream in streams]
        kill()
        for stream, batch in zip(streams, before, strict=True):
            again = stream.fetch(0, 1)
            assert all((again[name] == batch[name]).all() for name in batch)


def test_a_restart_takes_no_patience_of_the_trainers(videos: str, monkeypatch: pytest.MonkeyPatch) -> None:
    patience = Patience(reconnect_timeout_s=3.0)
    with loader_client.connect(videos, workers=1, patience=patience) as connection:
        stream = connection.open(Spec(4, Clip(2), prefetch=1))
        stream.fetch(0, 0)
        monkeypatch.setenv("LOADER_SERVICE_FAILPOINTS", "worker.starting=" + ";worker.starting=".join(["delay"] * 40))
        kill()
        stream.fetch(3, 3)


def test_a_trainer_that_closes_while_its_service_starts_again_waits_for_nothing(videos: str) -> None:
    connection = loader_client.connect(videos, workers=1)
    pid = the_service()
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: private_services() - {pid}, "it is started again")
    begun = time.monotonic()
    connection.close()
    assert time.monotonic() - begun < at_most(10.0)
    assert not private_services()


def test_one_closed_before_it_is_ready_again_leaves_nothing_of_its_last_life(
    videos: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, second, begun = (tmp_path / name for name in ("python", "second", "begun"))
    waits = f"trap 'exit 0' TERM; touch {begun}; while true; do sleep 0.05; done"
    program.write_text(f'#!/bin/sh\n[ -e {second} ] && {{ {waits}; }}\nexec {sys.executable} "$@"\n')
    program.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", str(program))
        connection = loader_client.connect(videos, workers=1)
    socket = Path(connection.endpoint.removeprefix("ipc://"))
    second.touch()
    kill()
    eventually(begun.exists, "it is started again")
    assert socket.exists()
    connection.close()
    assert not socket.exists()


_FORKING = """
import os, signal, sys, time
import loader_client

connection = loader_client.connect(sys.argv[1], workers=1)
stream = connection.open(loader_client.Spec(4, loader_client.Clip(frames=2)))
service = int(open(f"/proc/self/task/{os.getpid()}/children").read().split()[0])
child = os.fork()
if child == 0:
    time.sleep(3600)
os.kill(service, signal.SIGKILL)
stream.fetch(5, 0)
lists = [open(f"/proc/self/task/{each}/children").read() for each in os.listdir("/proc/self/task")]
mine = " ".join(lists).split()
its = open(f"/proc/{child}/task/{child}/children").read().split()
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
print(len(mine), len(its), flush=True)
other = os.fork()
if other == 0:
    connection.close()
    sys.exit(0)
os.waitpid(other, 0)
stream.fetch(6, 0)
connection.close()
"""


def test_a_forked_child_neither_starts_its_parents_service_again_nor_ends_it(videos: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FORKING, videos], capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stdout.split()) == (0, ["2", "0"]), done.stderr


def test_a_service_that_was_given_up_can_be_made_anew(videos: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    make: Callable[[], loader_client.Connection] = lambda: loader_client.connect(videos, workers=1)  # noqa: E731
    with make() as connection:
        for _ in range(4):
            kill()
        eventually(lambda: not private_services(), "it is given up")
        with pytest.raises(ServiceUnavailable, match="3 times in a row"):
            connection.open(Spec(4, Clip(2)))
        with make() as another:
            assert another.catalog.files == 4
