"""Whatever lies at an endpoint, a start replaces only what a service of this user has left, and leaves no file."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import loader_client
from loader_service import endpoint as endpoints
from loader_service.daemon import socket_files
from loader_service.daemon.socket_files import Listener, open_socket_folder
from loader_service.daemon.sockets import EndpointLock
from loader_service.errors import ConfigError, ServiceUnavailable
from tests.support.services import command_line, running_service
from tests.support.users import STRANGER, as_root, command_as, give


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder whose path is short enough for a socket in it, also where several tests run at a time."""
    with tempfile.TemporaryDirectory(prefix="ls-") as made:
        yield Path(made)


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that everybody can write to, as /tmp is; its path is short enough for sockets."""
    folder = Path(tempfile.mkdtemp(prefix="ls-", dir="/tmp"))
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


def bound(path: Path, kind: socket.SocketKind = socket.SOCK_STREAM) -> socket.socket:
    """Return a listening socket at a path."""
    made = socket.socket(socket.AF_UNIX, kind)
    made.bind(str(path))
    if kind != socket.SOCK_DGRAM:
        made.listen()
    return made


def start(endpoint: Path, files: Path) -> subprocess.CompletedProcess[str]:
    command = command_line("start", f"--endpoint=ipc://{endpoint}", "--workers=1", files / "part0.h5")
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def is_refused(done: subprocess.CompletedProcess[str], said: str) -> None:
    lines = done.stderr.strip().splitlines()
    assert done.returncode == 2, done.stderr
    assert lines[-1].startswith("loader-service: ")
    assert said in lines[-1]
    assert "choose another --endpoint" in lines[-1]
    assert "Traceback" not in done.stderr


# ---- sockets


@as_root
@pytest.mark.parametrize("suffix", ["", ".workers"])
@pytest.mark.parametrize("owner", [0, STRANGER])
def test_a_socket_of_another_user_is_named_and_no_file_is_left(
    shared: Path, small_videos: Path, owner: int, suffix: str
) -> None:
    with bound(shared / f"x.sock{suffix}"):
        give(shared / f"x.sock{suffix}", owner)
        if owner:
            done = start(shared / "x.sock", small_videos)
        else:
            done = command_as(STRANGER, "start", f"--endpoint=ipc://{shared}/x.sock", small_videos / "part0.h5")
        is_refused(done, f"the socket '{shared}/x.sock{suffix}' belongs to user {owner}, not to you")
        assert os.listdir(shared) == [f"x.sock{suffix}"]


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET])
def test_a_socket_at_which_another_program_listens_is_left_to_it(
    shared: Path, small_videos: Path, kind: socket.SocketKind
) -> None:
    with bound(shared / "agent", kind) as agent:
        is_refused(start(shared / "agent", small_videos), f"another program listens at '{shared}/agent'")
        assert os.listdir(shared) == ["agent"]
        with socket.socket(socket.AF_UNIX, kind) as client:
            client.connect(str(shared / "agent"))
        assert agent.fileno() >= 0


def test_a_socket_that_its_killed_service_is_still_closing_is_waited_for(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listening = bound(shared / "x.sock")
    look = socket_files._is_alive
    looks = []

    def look_and_close(path: Path) -> bool:
        looks.append(path)
        if len(looks) == 3:
            listening.close()
        return look(path)

    monkeypatch.setattr(socket_files, "_is_alive", look_and_close)
    with EndpointLock(endpoints.Endpoint(shared / "x.sock")):
        assert not (shared / "x.sock").exists()


def test_a_socket_that_took_the_place_of_ours_stays_when_the_service_ends(shared: Path) -> None:
    with closing(Listener(f"ipc://{shared}/x.sock")):
        (shared / "x.sock").unlink()
        other = bound(shared / "x.sock")
    assert (shared / "x.sock").is_socket()
    other.close()


def test_a_start_that_fails_later_leaves_no_file(shared: Path, tmp_path: Path) -> None:
    done = start(shared / "x.sock", tmp_path)
    assert done.returncode == 2
    assert os.listdir(shared) == []


# ---- who connects


@as_root
def test_a_trainer_of_another_user_is_told_whose_service_it_is_at_once(shared: Path, small_videos: Path) -> None:
    with running_service(small_videos / "part0.h5", endpoint=f"ipc://{shared}/x.sock") as service:
        done = command_as(STRANGER, "status", service.endpoint)
        assert done.returncode == 1
        assert f"user {STRANGER} may not connect to its socket, which belongs to user 0" in done.stderr
        shared.chmod(0o700)
        done = command_as(STRANGER, "status", service.endpoint)
        assert f"user {STRANGER} may not enter the folder {str(shared)!r}, which belongs to user 0" in done.stderr


@as_root
def test_a_service_that_another_user_put_at_the_default_endpoint_is_not_talked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "loader-service").mkdir()
    with bound(tmp_path / "loader-service" / "default.sock"):
        give(tmp_path / "loader-service", STRANGER)
        with pytest.raises(ServiceUnavailable, match=f"belongs to user {STRANGER}, not to you"):
            loader_client.connect()


def test_a_link_to_a_service_at_the_default_endpoint_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "loader-service").symlink_to(tmp_path)
    with pytest.raises(ServiceUnavailable, match="is a link; remove it, or name another endpoint"):
        loader_client.connect()


# ---- lock files


@pytest.mark.parametrize("content", ["name = 'numpy'\n", "12 apples\n", "\n", "1234\nmore\n", "x" * 100])
def test_a_users_file_with_the_name_of_the_lock_is_not_written_to(
    shared: Path, small_videos: Path, content: str
) -> None:
    """As ``poetry.lock`` beside an endpoint ``poetry``."""
    (shared / "poetry.lock").write_text(content)
    is_refused(start(shared / "poetry", small_videos), "exists and is no lock file of a service")
    assert (shared / "poetry.lock").read_text() == content
    assert os.listdir(shared) == ["poetry.lock"]


@pytest.mark.parametrize("kind", ["link", "second name", "pipe", "folder"])
def test_what_is_no_file_of_its_own_is_not_taken_for_a_lock(shared: Path, small_videos: Path, kind: str) -> None:
    (shared / "precious").write_text("1234\n")
    lock = shared / "x.sock.lock"
    match kind:
        case "link":
            lock.symlink_to(shared / "precious")
        case "second name":
            os.link(shared / "precious", lock)
        case "pipe":
            os.mkfifo(lock)
        case "folder":
            lock.mkdir()
    is_refused(start(shared / "x.sock", small_videos), "cannot lock ipc://")
    assert (shared / "precious").read_text() == "1234\n"
    assert sorted(os.listdir(shared)) == ["precious", "x.sock.lock"]


@as_root
def test_a_lock_file_of_another_user_is_named(shared: Path, small_videos: Path) -> None:
    (shared / "x.sock.lock").write_text("1234\n")
    give(shared / "x.sock.lock", STRANGER)
    is_refused(start(shared / "x.sock", small_videos), f"belongs to user {STRANGER}, not to you")
    assert (shared / "x.sock.lock").read_text() == "1234\n"


def test_an_empty_file_with_the_name_of_the_lock_is_still_there_afterwards(shared: Path) -> None:
    (shared / "x.sock.lock").touch()
    with EndpointLock(endpoints.Endpoint(shared / "x.sock")):
        pass
    assert (shared / "x.sock.lock").read_text() == ""


# ---- folders


def test_a_link_as_the_folder_for_sockets_is_refused_and_nothing_is_made_where_it_leads(
    tmp_path: Path, small_videos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "loader-service").symlink_to(tmp_path / "home")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with pytest.raises(
        ConfigError, match="is a link or no folder; remove it, set XDG_RUNTIME_DIR to a folder of yours, or choose"
    ):
        EndpointLock(endpoints.parse())
    assert os.listdir(tmp_path / "home") == []


@as_root
def test_a_folder_for_sockets_that_another_user_has_made_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loader-service").mkdir()
    give(tmp_path / "loader-service", STRANGER)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with pytest.raises(ConfigError, match=f"belongs to user {STRANGER}, not to you"):
        EndpointLock(endpoints.parse())


def test_the_folder_for_sockets_is_closed_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "loader-service").mkdir(mode=0o777)
    (tmp_path / "loader-service").chmod(0o777)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with EndpointLock(endpoints.parse()):
        assert stat.S_IMODE((tmp_path / "loader-service").stat().st_mode) == 0o700


@as_root
def test_a_runtime_folder_of_another_user_as_sudo_hands_it_on_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(give(tmp_path, STRANGER)))
    assert str(endpoints.parse()) == "ipc:///tmp/loader-service-0/default.sock"


@as_root
def test_a_folder_that_a_user_names_is_not_reached_by_a_link_that_another_has_planted(
    shared: Path, tmp_path: Path, small_videos: Path
) -> None:
    (shared / "mine").symlink_to(tmp_path)
    give(shared / "mine", STRANGER)
    is_refused(start(shared / "mine" / "x.sock", small_videos), f"is a link that user {STRANGER} has planted")
    assert os.listdir(tmp_path) == []


def test_a_folder_in_which_anybody_could_replace_a_socket_is_refused(shared: Path) -> None:
    shared.chmod(0o777)
    with pytest.raises(ConfigError, match="anybody could replace a socket in"):
        open_socket_folder(shared)


def test_a_folder_that_a_user_names_keeps_its_mode_and_its_files(shared: Path, small_videos: Path) -> None:
    (shared / "thesis").write_text("years of work")
    with running_service(small_videos / "part0.h5", endpoint=f"ipc://{shared}/x.sock"):
        assert stat.S_IMODE(shared.stat().st_mode) == 0o1777
    assert os.listdir(shared) == ["thesis"]


def test_links_of_the_user_lead_to_an_endpoint(tmp_path: Path, shared: Path) -> None:
    (shared / "link").symlink_to(tmp_path)
    with EndpointLock(endpoints.Endpoint(shared / "link" / "x.sock")):
        assert (tmp_path / "x.sock.lock").exists()
    assert os.listdir(tmp_path) == []
