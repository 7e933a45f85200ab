"""Who may connect: who has the keys of the run. An unknown peer costs a handshake, and nobody else hears it."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest
import zmq

from loader_service.cluster_options import ListenAddress
from loader_service.config import ServiceConfig
from loader_service.daemon.remote_port import open_port
from loader_service.errors import ConfigError
from loader_service.protocol import remote_messages as r
from loader_service.protocol import wire
from loader_service.remote.link import Link, LinkEnd
from loader_service.remote.listening import listen
from loader_service.remote.remote_options import RemoteWorkerOptions
from loader_service.remote.run_keys import Gatekeeper, RunKeys, open_door

HELLO = r.RemoteHello("1", "d", "f", "n", 1)


class Door:
    """A listening socket with its gatekeeper, in a thread: welcomes whom ZeroMQ lets in."""

    def __init__(self, keys: RunKeys, proof_of: RunKeys | None = None) -> None:
        self.gate = Gatekeeper(keys)
        self.heard: list[object] = []
        self._keys, self._proof_of = keys, proof_of or keys
        self._port = listen(ListenAddress("127.0.0.1"))
        self.address = self._port.address
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()
        self._port.socket.close()

    def _run(self) -> None:
        with zmq.Context() as context, context.socket(zmq.REP) as gate, context.socket(zmq.ROUTER) as door:
            gate.bind("inproc://zeromq.zap.01")
            open_door(door, self._keys)
            door.setsockopt(zmq.LINGER, 0)
            door.setsockopt(zmq.USE_FD, os.dup(self._port.socket.fileno()))  # ZeroMQ closes it
            door.bind(self.address)
            poller = zmq.Poller()
            for each in (gate, door):
                poller.register(each, zmq.POLLIN)
            while not self._over.is_set():
                ready = dict(poller.poll(20))
                if gate in ready:
                    gate.send_multipart(self.gate.answer(gate.recv_multipart()))
                if door in ready:
                    peer = door.recv()
                    frame = door.recv(copy=False)
                    self.heard += wire.decode(frame.bytes, r.FromRemote)
                    proof = "" if self._keys.encrypt else self._proof_of.proof("receiver", frame.get("User-Id"))
                    door.send_multipart((peer, wire.encode(r.RemoteWelcome(proof), r.ReceiverBeat())))


@contextmanager
def door(keys, **more):
    made = Door(keys, **more)
    try:
        yield made
    finally:
        made.close()


def outcome(address, keys):
    """Return how an attempt to connect ends, or that it was welcome."""
    options = RemoteWorkerOptions(address, keys, "1", "d", "f")
    with Link(options, HELLO) as link:
        for _ in range(100):
            if link.was_welcome or link.over.wait(0.05):
                break
        return "welcome" if link.was_welcome and link.end is None else (link.end, link.why)


@pytest.mark.parametrize("encrypt", [True, False], ids=["curve", "plain"])
def test_who_has_the_keys_of_the_run_is_let_in_and_nobody_else(encrypt):
    keys, others = (RunKeys.make(encrypt=encrypt) for _ in range(2))
    with door(keys) as it:
        assert outcome(it.address, keys.without_receiver_secret()) == "welcome"
        assert outcome(it.address, keys.without_receiver_secret()) == "welcome"  # each connection proves itself anew
        known = len(it.heard)
        wrong = replace(others, receiver_public=keys.receiver_public)
        assert outcome(it.address, wrong) == (
            LinkEnd.REFUSED,
            f"the receiver at {it.address} refused the key: it is of another run",
        )
        assert it.gate.turned_away == 1
        assert len(it.heard) == known


def test_a_connection_without_encryption_cannot_be_repeated_by_who_has_seen_it():
    keys = RunKeys.make(encrypt=False)
    once = "0" * 32
    request = [b"1.0", b"7", b"d", b"127.0.0.1", b"", b"PLAIN", once.encode(), keys.proof("worker", once).encode()]
    gate = Gatekeeper(keys)
    assert gate.answer(request)[2] == b"200"
    assert gate.answer(request)[2] == b"400"


def test_a_receiver_without_the_key_gets_nothing_from_a_worker():
    keys = RunKeys.make(encrypt=False)
    with door(keys, proof_of=RunKeys.make(encrypt=False)) as it:
        end, why = outcome(it.address, keys)
        assert end is LinkEnd.REFUSED
        assert "has no key of this run itself" in why


@pytest.mark.parametrize("encrypt", [True, False], ids=["curve", "plain"])
def test_a_peer_without_a_mechanism_is_heard_by_nobody(encrypt):
    with door(RunKeys.make(encrypt=encrypt)) as it, zmq.Context() as context, ExitStack() as stack:
        bare = stack.enter_context(context.socket(zmq.DEALER))
        bare.setsockopt(zmq.LINGER, 0)
        bare.connect(it.address)
        bare.send(wire.encode(HELLO))
        raw = stack.enter_context(socket.create_connection(it.address.removeprefix("tcp://").split(":")))
        raw.sendall(b"GET / HTTP/1.0\r\n\r\n" * 1000)
        assert not bare.poll(300)
        assert it.heard == []


@pytest.mark.parametrize("credentials", [[], [b"x"], [b"", b""], [b"\xff" * 32, b"y"], [b"0" * 32, b"z"]])
def test_nonsense_is_turned_away(credentials):
    for encrypt in (False, True):
        for mechanism in (b"PLAIN", b"CURVE", b"NULL", b""):
            gate = Gatekeeper(RunKeys.make(encrypt=encrypt))
            assert gate.answer([b"1.0", b"7", b"d", b"a", b"", mechanism, *credentials])[2] == b"400"


def test_what_a_worker_is_given_has_no_secret_of_the_receiver():
    keys = RunKeys.make(encrypt=True)
    assert keys.receiver_secret
    assert keys.receiver_secret not in repr(keys.without_receiver_secret())


@pytest.mark.parametrize("text", ["", ":1", "a b", "10.0.0.1:x", "10.0.0.1:99999", "[::1", "[::1]70", "[::1]:", "h:"])
def test_an_address_that_is_none_is_refused_by_name_before_anything_starts(text):
    with pytest.raises(ConfigError, match="listen="):
        ServiceConfig(("a.h5",), ray="auto", listen=text)


@pytest.mark.parametrize("text", ["0.0.0.0", "0", "::", "[::]:7000", "0::0", "::ffff:0.0.0.0"])
def test_all_interfaces_are_refused_however_they_are_written(text):
    with pytest.raises(ConfigError, match="would open all interfaces"):
        listen(ListenAddress.parse(text))


def test_sockets_are_made_for_both_families():
    assert ListenAddress.parse("[::1]:70") == ListenAddress("::1", 70)
    assert ListenAddress.parse("[::1]") == ListenAddress.parse("::1") == ListenAddress("::1")
    assert ListenAddress.parse("10.0.0.5:7000") == ListenAddress("10.0.0.5", 7000)


@pytest.mark.parametrize(("known_as", "warns"), [("192.0.2.5", True), ("127.0.0.1", False), ("::1", False)])
def test_an_address_that_no_other_host_reaches_is_warned_of_where_there_are_others(known_as, warns, caplog):
    config = ServiceConfig(("a.h5",), ray="auto", listen="localhost")
    with ExitStack() as stack:
        open_port(stack, known_as, config, "ipc:///none", "i", SimpleNamespace(fingerprint="f", file_count=1))
    assert ("no other host reaches" in caplog.text) is warns


@pytest.mark.parametrize("text", ["", "10.0.0.5", "local", "host:", ":6379", "host:0", "host:99999", "http://h:1"])
def test_a_cluster_s_address_that_is_none_is_refused_before_anything_starts(text):
    with pytest.raises(ConfigError, match=r"is no address of a cluster; give HOST:PORT.*ray://HOST:10001"):
        ServiceConfig(("a.h5",), ray=text)


@pytest.mark.parametrize("text", ["auto", "10.0.0.5:6379", "[::1]:6379", "head:6379", "ray://head:10001", "processes"])
def test_a_cluster_s_address_is_taken(text):
    assert ServiceConfig(("a.h5",), ray=text).ray == text
