"""Who waits for a service is told what is to be seen there; who may not go there is told at once, and whose it is."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import loader_client
from loader_client import ServiceUnavailable
from loader_client.whereabouts import refusal_at
from tests.support.machine import at_most
from tests.support.services import running_service
from tests.support.waiting import eventually

#: A user that nobody is.
_STRANGER = 54_321


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="ls-seen-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def _unanswered(path: Path, message: str = "no service answers at .* start one with") -> str:
    with pytest.raises(ServiceUnavailable, match=message) as caught:
        loader_client.connect(f"ipc://{path}", timeout_s=0.2)
    return str(caught.value)


def test_a_folder_that_is_missing_is_named(place: Path) -> None:
    assert _unanswered(place / "a" / "b" / "x.sock").endswith(f"there is no folder '{place}/a'")


def test_a_socket_that_is_missing_is_named_with_its_folder(place: Path) -> None:
    assert _unanswered(place / "x.sock").endswith(f"no socket in '{place}' has the name 'x.sock'")


def test_what_is_no_socket_is_named(place: Path) -> None:
    (place / "x.sock").write_text("mine")
    assert _unanswered(place / "x.sock").endswith(f"'{place}/x.sock' is no socket")


def test_nobody_waits_for_a_service_where_none_can_begin(place: Path) -> None:
    (place / "x.sock").write_text("mine")
    began = time.monotonic()
    with pytest.raises(ServiceUnavailable, match=r"no service answers at .*'/tmp/.*/x.sock' is no socket"):
        loader_client.connect(f"ipc://{place}/x.sock", timeout_s=60)
    assert time.monotonic() - began < 30


def test_a_socket_that_nobody_listens_at_and_one_of_another_program_are_told_apart(place: Path) -> None:
    path = place / "x.sock"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        said = _unanswered(path, "no service has answered at .*")
        assert "takes connections: a service there is busy, starts or is halted, or it is another program's" in said
        assert "see which with `loader-service ps`" in said
        assert "or wait longer: connect(…, timeout_s=…)" in said
        assert "start one with" not in said
    assert "has nobody behind it, as when its service was killed; `loader-service stop" in _unanswered(path)


def test_who_waits_longer_is_told_what_for(place: Path, small_videos: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = place / "later" / "x.sock"
    connected: list[int] = []

    def connect() -> None:
        with loader_client.connect(f"ipc://{path}", timeout_s=60) as connection:
            connected.append(connection.catalog.videos)

    waiting = threading.Thread(target=connect)
    waiting.start()
    eventually(lambda: caplog.messages, "a line that says so")
    assert caplog.messages == [
        f"no service answers at ipc://{path} yet: there is no folder '{place}/later'; waiting up to 60 s"
    ]
    with running_service(small_videos / "*.h5", endpoint=f"ipc://{path}"):
        waiting.join(60)
    assert connected == [12]


# ---- other users


def _as_stranger(*arguments: str) -> tuple[int, str, float]:
    """Return what a command says as another user: exit code, standard error, and how long it took."""
    become = f"import os; os.setgroups([]); os.setgid({_STRANGER}); os.setuid({_STRANGER}); "
    command = f"import sys; sys.argv = ['loader-service', *{arguments!r}]; from loader_service.cli import cli, main; "
    begun = time.monotonic()
    done = subprocess.run(
        # Imported as root: another user may not be able to read this Python.
        [sys.executable, "-c", f"import pwd, encodings.idna; {command}cli.every_command(); {become}main()"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return done.returncode, done.stderr, time.monotonic() - begun


@pytest.mark.skipif(os.getuid() != 0, reason="needs the right to become another user")
@pytest.mark.parametrize("command", [("status",), ("scale", "2"), ("stop",)])
def test_another_users_folder_or_socket_is_named_at_once_with_its_owner(
    place: Path, small_videos: Path, command: tuple[str, ...]
) -> None:
    path = place / "run" / "x.sock"
    with running_service(small_videos / "*.h5", endpoint=f"ipc://{path}"):
        code, said, took_s = _as_stranger(*command, f"ipc://{path}")
        assert (code, said.count("\n")) == (1, 1)
        assert f"user {_STRANGER}" in said
        assert re.search(rf"'{path.parent}', which belongs to user 0 \(root\) and has mode 0700; .* run as that", said)
        assert took_s < at_most(5.0)  # most of it to start
        path.parent.chmod(0o755)
        code, said, took_s = _as_stranger(*command, f"ipc://{path}")
        assert code == 1
        assert "socket, which belongs to user 0 (root) and has mode 0600" in said
        assert took_s < at_most(5.0)


def test_nothing_is_in_the_way_of_the_user_itself(place: Path) -> None:
    assert refusal_at(f"ipc://{place}/x.sock") is None
    assert refusal_at(f"ipc://{place}/a/x.sock") is None
    with socket.socket(socket.AF_UNIX) as own:
        own.bind(str(place / "x.sock"))
        assert refusal_at(f"ipc://{place}/x.sock") is None
