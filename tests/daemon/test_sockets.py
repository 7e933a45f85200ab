"""The daemon's sockets, and the lock that makes a service the only one at its endpoint."""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import zmq

from loader_service import endpoint as endpoints
from loader_service.daemon.socket_files import open_socket_folder
from loader_service.daemon.sockets import EndpointLock, Router
from loader_service.errors import ConfigError, ProtocolError
from loader_service.private_folders import Folder
from loader_service.protocol import messages as m
from loader_service.protocol import wire
from tests.support.services import new_endpoint
from tests.support.waiting import eventually


@pytest.fixture
def endpoint():
    return endpoints.parse(new_endpoint())


@pytest.fixture
def context():
    with zmq.Context() as context:
        yield context


@pytest.fixture
def router(context, endpoint):
    with EndpointLock(endpoint), Router(context, str(endpoint), m.FromClient) as router:
        yield router


@pytest.fixture
def dealer(context, endpoint, router):
    with context.socket(zmq.DEALER) as dealer:
        dealer.setsockopt(zmq.LINGER, 0)
        dealer.setsockopt(zmq.RCVTIMEO, 10_000)
        dealer.connect(str(endpoint))
        yield dealer


def received_by(router):
    assert router.socket.poll(60_000)
    return list(router.receive())


def test_messages_come_with_their_peer_and_answers_go_to_it(router, dealer):
    dealer.send(wire.encode(m.GetStatus(1), m.Heartbeat()))
    one, other = received_by(router)
    assert (one.message, other.message) == (m.GetStatus(1), m.Heartbeat())
    assert (one.more, other.more) == (True, False)
    router.post(one.peer, m.Done(1, "x"))
    router.post(one.peer, m.Heartbeat())
    assert router.flush() == []
    assert wire.decode(dealer.recv(), m.ToClient) == [m.Done(1, "x"), m.Heartbeat()]


def test_what_is_no_message_comes_as_the_reason(router, dealer):
    dealer.send(b"nonsense")
    (received,) = received_by(router)
    assert isinstance(received.message, ProtocolError)


def test_messages_of_one_turn_that_exceed_a_payload_travel_in_several(router, dealer):
    dealer.send(wire.encode(m.Heartbeat()))
    (received,) = received_by(router)
    failures = [m.Failed(1, want, "DecodeError", "x" * 60_000) for want in range(100)]
    for failure in failures:
        router.post(received.peer, failure)
    assert router.flush() == []
    arrived = []
    while len(arrived) < len(failures):
        arrived += wire.decode(dealer.recv(), m.ToClient)
    assert arrived == failures


def test_a_message_that_exceeds_a_payload_is_answered_with_a_refusal(router, dealer):
    dealer.send(wire.encode(m.Heartbeat()))
    (received,) = received_by(router)
    router.post(received.peer, m.CatalogSummary(5, "f", 1, 1, 1, 1, 1, "", ("x" * 60_000,) * 80, 0, 0))
    router.post(received.peer, m.Heartbeat())
    assert router.flush() == []
    (refused,) = wire.decode(dealer.recv(), m.ToClient)
    assert (refused.request, refused.error) == (5, "ProtocolError")
    assert refused.message.startswith("CatalogSummary take 48")
    assert wire.decode(dealer.recv(), m.ToClient) == [m.Heartbeat()]


def test_more_messages_than_a_payload_may_hold_travel_in_several(router, dealer):
    dealer.send(wire.encode(m.Heartbeat()))
    (received,) = received_by(router)
    for want in range(2500):
        router.post(received.peer, m.Ready(1, want, 1, 1, 1))
    assert router.flush() == []
    arrived = []
    while len(arrived) < 2500:
        arrived += wire.decode(dealer.recv(), m.ToClient)
    assert [each.want for each in arrived] == list(range(2500))


def test_a_peer_that_is_gone_is_reported(router, dealer):
    dealer.send(wire.encode(m.Heartbeat()))
    (received,) = received_by(router)
    dealer.close()

    def gone():
        router.post(received.peer, m.Heartbeat())
        return router.flush()

    assert eventually(gone, "the peer counts as gone") == [received.peer]


def test_one_burst_leaves_room_for_others(router, dealer):
    for _ in range(100):
        dealer.send(wire.encode(m.Heartbeat()))
    seen = len(received_by(router))
    assert seen <= 64
    while seen < 100:
        seen += len(received_by(router))


def test_a_socket_is_its_owners_alone(router, endpoint):
    assert stat.S_IMODE(endpoint.path.stat().st_mode) & 0o077 == 0
    assert stat.S_IMODE(endpoint.path.parent.stat().st_mode) & 0o077 == 0


def test_an_address_that_cannot_be_bound_is_a_config_error(context, tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match=r"cannot listen at ipc://.*choose another --endpoint"):
        Router(context, f"ipc://{tmp_path / 'folder'}", m.FromClient)


# ---- the lock


def test_a_second_lock_is_refused_naming_the_first_ones_pid(endpoint):
    with EndpointLock(endpoint):
        with pytest.raises(ConfigError, match=rf"a service with pid {os.getpid()} is already listening at {endpoint}"):
            EndpointLock(endpoint)
        assert endpoint.lock.read_text() == f"{os.getpid()}\n"


@pytest.mark.parametrize("content", ["", "of a package manager\n"])
def test_a_lock_that_no_service_holds_is_not_said_to_be_one(endpoint, content):
    endpoint.lock.parent.mkdir(parents=True, exist_ok=True)
    endpoint.lock.write_text(content)
    with endpoint.lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(ConfigError, match=r"that is no service, or only begins to be one, has .* locked; find it"):
            EndpointLock(endpoint)
    assert endpoint.lock.read_text() == content
    endpoint.lock.unlink()


def test_a_lock_is_free_again_and_leaves_no_file(context, endpoint):
    for _ in range(2):
        with EndpointLock(endpoint), Router(context, endpoint.workers, m.FromWorker):
            assert endpoint.lock.exists()
        assert list(endpoint.path.parent.glob(f"{endpoint.path.name}*")) == []


def test_a_lock_file_without_an_owner_is_taken_over(endpoint):
    endpoint.path.parent.mkdir(parents=True, exist_ok=True)
    endpoint.lock.write_text("999999999 and more than the next pid\n")
    with EndpointLock(endpoint):
        assert endpoint.lock.read_text() == f"{os.getpid()}\n"


def test_a_lock_file_that_vanishes_meanwhile_is_made_anew(endpoint, monkeypatch):
    open_file = Folder.open_file
    seen = []

    def open_then_lose(self, name, flags):
        descriptor = open_file(self, name, flags)
        if not seen:
            endpoint.lock.unlink()  # as its last owner does on leaving
        seen.append(name)
        return descriptor

    monkeypatch.setattr(Folder, "open_file", open_then_lose)
    with EndpointLock(endpoint):
        assert len(seen) == 2
        with pytest.raises(ConfigError, match="already listening"):
            EndpointLock(endpoint)


def test_a_stale_socket_is_replaced(context, endpoint):
    endpoint.path.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(endpoint.path))
    address = str(endpoint)
    with EndpointLock(endpoint), Router(context, address, m.FromClient) as router, context.socket(zmq.DEALER) as dealer:
        dealer.connect(address)
        dealer.send(wire.encode(m.Heartbeat()))
        assert [received.message for received in received_by(router)] == [m.Heartbeat()]


@pytest.mark.parametrize("suffix", ["", ".workers"])
def test_a_users_file_is_never_taken_for_a_socket(tmp_path, suffix):
    precious = tmp_path / f"data.h5{suffix}"
    precious.write_text("years of work")
    with pytest.raises(ConfigError, match=r"exists and is no socket; choose another --endpoint"):
        EndpointLock(endpoints.Endpoint(tmp_path / "data.h5"))
    assert precious.read_text() == "years of work"


@pytest.mark.parametrize("folder", ["/proc", "/sys"])
def test_a_folder_that_takes_no_files_is_a_config_error(folder):
    with pytest.raises(ConfigError, match=r"cannot lock ipc://.*choose another --endpoint"):
        EndpointLock(endpoints.Endpoint(Path(folder) / "x.sock"))


# ---- endpoints


def test_the_default_endpoint_is_below_the_runtime_directory(monkeypatch):
    assert str(endpoints.parse()) == f"ipc://{os.environ['XDG_RUNTIME_DIR']}/loader-service/default.sock"
    monkeypatch.setenv("LOADER_SERVICE_ENDPOINT", "ipc:///elsewhere/x.sock")
    assert str(endpoints.parse()) == "ipc:///elsewhere/x.sock"
    assert str(endpoints.parse("ipc:///given.sock")) == "ipc:///given.sock"


@pytest.mark.parametrize("given", ["here", "{folder}/file", "{folder}/nowhere"])
def test_a_runtime_directory_that_is_no_folder_by_its_full_path_is_none(monkeypatch, tmp_path, given):
    (tmp_path / "here").mkdir()
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", given.format(folder=tmp_path))
    assert endpoints.parse().path == Path(f"/tmp/loader-service-{os.getuid()}/default.sock")


def test_without_a_runtime_directory_the_endpoint_is_below_tmp(monkeypatch):
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert str(endpoints.parse()) == f"ipc:///tmp/loader-service-{os.getuid()}/default.sock"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tcp://localhost:5555", "is not of the form ipc:///path/to/socket"),
        (
            "/run/x.sock",
            "is not of the form ipc:///path/to/socket; the service serves its own host only; give ipc:///run/x.sock",
        ),
        (".", "; give ipc:///"),
        ("http://localhost:80", "is not of the form ipc:///path/to/socket; the service serves its own host only"),
        ("ipc://x.sock", "needs an absolute path, as in ipc:///"),
        ("ipc://", "needs an absolute path"),
        ("ipc:///", "names no file"),
        ("ipc:///" + "x" * 99, "is 100 bytes long; a Unix socket's path may have 99: give a shorter one"),
        ("ipc:///" + "ä" * 50, "is 101 bytes long"),
    ],
)
def test_a_malformed_endpoint_says_what_is_wrong(text, said):
    with pytest.raises(ConfigError) as caught:
        endpoints.parse(text)
    assert said in str(caught.value)


def test_the_longest_endpoint_can_be_bound_for_workers_too(context):
    folder = endpoints.runtime_directory()
    name = "x" * (99 - len(str(folder)) - 1)
    endpoint = endpoints.parse(f"ipc://{folder / name}")
    with EndpointLock(endpoint), Router(context, endpoint.workers, m.FromWorker):
        pass


def test_a_folder_of_another_user_is_refused(tmp_path):
    if os.getuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(tmp_path, 12_345, 12_345)
    tmp_path.chmod(0o1777)
    with pytest.raises(ConfigError, match="belongs to user 12345, not to you"):
        open_socket_folder(tmp_path)


def test_a_new_folder_is_private_whatever_the_umask(tmp_path):
    code = (
        "import os, pathlib, sys; from loader_service.daemon.socket_files import open_socket_folder; os.umask(0); "
        "open_socket_folder(pathlib.Path(sys.argv[1]))"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "a"], check=True)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700
