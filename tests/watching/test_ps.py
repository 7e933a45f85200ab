"""`loader-service ps` lists this user's services, wherever they listen, and nothing that only looks like one."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import loader_client
from loader_service.commands.watch_commands import ps_lines
from loader_service.daemon.memory import tree_bytes
from loader_service.daemon.own_services import own_services
from tests.support.services import command_line, new_endpoint, running_service
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
def service(small_videos: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    endpoint = f"ipc://{tmp_path_factory.mktemp('place')}/of my own.sock"
    with running_service(small_videos / "*.h5", endpoint=endpoint, workers=2) as service:
        yield service


def listed(*options: str) -> str:
    return subprocess.run(command_line("ps", *options), capture_output=True, text=True, check=True).stdout


def test_a_service_anywhere_is_listed_with_files_workers_and_memory(service: Any) -> None:
    with loader_client.connect(service.endpoint) as connection:
        batches = connection.batches(4, clip=loader_client.Clip(1))
        next(batches)
        (row,) = eventually(
            lambda: [
                each
                for each in json.loads(listed("--json"))
                if each["endpoint"] == service.endpoint and each["answers"]
            ],
            "it answers within two seconds",
        )
        batches.close()
    assert (row["pid"], row["workers"], row["streams"]) == (service.pid, 2, 1)
    assert row["serves"] == "3 files, 12 videos, 146 frames"
    assert 0 < row["memory_bytes"] <= row["memory_budget_bytes"]
    assert row["own_memory_bytes"] > 30e6, "of three processes"
    holds = re.escape(service.endpoint) + r" +3 files, 12 videos, 146 frames$"
    (line,) = eventually(lambda: [each for each in listed().splitlines() if re.search(holds, each)], "it answers again")
    assert line.split()[0] == str(service.pid)


def test_one_that_does_not_answer_is_listed_as_such(service: Any) -> None:
    os.kill(service.pid, signal.SIGSTOP)
    try:
        (line,) = (each for each in listed().splitlines() if service.endpoint in each)
        assert line.endswith("does not answer")
        assert line.split()[1] == "?"
    finally:
        os.kill(service.pid, signal.SIGCONT)


def test_a_lock_of_another_program_or_of_the_dead_is_no_service(tmp_path: Path) -> None:
    mine, dead = tmp_path / "mine.sock.lock", tmp_path / "dead.sock.lock"
    dead.write_text("1\n")
    mine.write_text("4194304\n")  # no process has this pid
    with mine.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert not [place for place, _ in own_services() if place.path.parent == tmp_path]


def test_without_any_it_says_how_to_start_one(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr("loader_service.commands.watch_commands.own_services", list)
    from loader_service.commands.watch_commands import ps_command  # noqa: PLC0415

    ps_command.main([], standalone_mode=False)
    assert capsys.readouterr().out.startswith("none of your services runs on this host; start one with `loader-service")


def test_services_are_lined_up_whatever_they_are_called() -> None:
    row = {"pid": 7, "answers": False, "own_memory_bytes": 2**20, "endpoint": "ipc:///a/long/one.sock"}
    lines = ps_lines([row, {**row, "pid": 123456, "endpoint": "ipc:///b.sock"}])
    assert len({line.index("ipc://") for line in lines[1:]}) == 1
    assert {line.index("does not answer") for line in lines[1:]} == {lines[0].index("serves")}


def test_memory_of_a_process_that_is_gone_is_none() -> None:
    assert tree_bytes(2**22) == 0
    assert tree_bytes(os.getpid()) > 0


def test_an_endpoint_of_default_place_is_found_too(small_videos: Path) -> None:
    with running_service(small_videos / "*.h5", endpoint=new_endpoint()) as service:
        assert service.endpoint in [str(place) for place, _ in own_services()]
