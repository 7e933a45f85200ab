"""A command says at once that no service is there, waits for one that begins, and removes what a killed one left."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loader_service import endpoint as endpoints
from loader_service.daemon.absence import is_absent, killed_services
from loader_service.daemon.sockets import EndpointLock
from loader_service.errors import ServiceUnavailable
from loader_service.reaching import reach
from tests.support.services import command_line, new_endpoint, running_service
from tests.test_control import files_of


@contextmanager
def starting(*words: str, **variables: str) -> Iterator[None]:
    """Have a process that looks as a service does while it is being imported."""
    command = [sys.executable, "-c", "print(flush=True); input()", *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


def test_where_nothing_is_nobody_is_waited_for_and_services_elsewhere_are_named(monkeypatch):
    monkeypatch.setattr("loader_service.reaching.Connection", None)  # would wait
    other = endpoints.parse(new_endpoint())
    monkeypatch.setattr("loader_service.reaching.own_services", lambda: [(other, 7)])
    with pytest.raises(
        ServiceUnavailable, match=f"no service answers at .*; start one .*; services .* listen at {other}"
    ):
        reach(new_endpoint())


def test_one_that_has_the_lock_is_waited_for():
    place = endpoints.parse(new_endpoint())
    assert is_absent(place)
    with EndpointLock(place):
        assert not is_absent(place)
    assert is_absent(place)


@pytest.mark.parametrize(
    "command", [["loader-service"], ["-m", "loader_service"], ["boot.py", "loader_service.entry_point"]]
)
def test_one_that_has_no_lock_yet_is_known_by_its_command(command):
    place, other = endpoints.parse(new_endpoint()), endpoints.parse(new_endpoint())
    with starting(*command, "start", "a.h5", f"--endpoint={place}"):
        assert not is_absent(place)
        assert is_absent(other)
    with starting(*command, "start", "--endpoint", str(place)):
        assert not is_absent(place)
    with starting(*command, "start", "a.h5", **{endpoints.ENVIRONMENT_VARIABLE: str(place)}):
        assert not is_absent(place)
        assert is_absent(other)
    with starting(*command, "status", f"--endpoint={place}"):
        assert is_absent(place)


def test_a_socket_of_another_program_is_nobody_s_to_judge(tmp_path):
    place = endpoints.Endpoint(tmp_path / "x.sock")
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(place.path))
        other.listen()
        assert not is_absent(place)
    assert is_absent(place)


def test_what_a_killed_service_left_is_told_and_removed(small_videos: Path):
    with running_service(small_videos / "part0.h5", workers=1) as service:
        place = endpoints.parse(service.endpoint)
        service.kill()
        assert len(files_of(service.endpoint)) == 3
        if place.path.parent in endpoints.private_directories():
            assert place in killed_services()
        with pytest.raises(ServiceUnavailable, match=f"killed; `loader-service stop {place}` removes it"):
            reach(str(place))
        done = subprocess.run(command_line("stop", place), capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (
            0,
            f"the service at {place} had been killed; what it left is removed\n",
        )
        assert not files_of(service.endpoint)
