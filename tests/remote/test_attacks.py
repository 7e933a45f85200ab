"""What strangers and wrong peers do to the receiver's port: it stays small, hears none of them, and others go on."""

from __future__ import annotations

import itertools
import os
import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import psutil
import pytest
import zmq

from loader_service.protocol import messages as m
from loader_service.protocol import remote_messages as r
from loader_service.protocol import wire
from loader_service.remote.link import Link, LinkEnd
from loader_service.remote.remote_options import own_versions
from loader_service.remote.row_frames import MOST_FRAME_BYTES, row_head
from loader_service.remote.run_keys import RunKeys, identify
from tests.remote.receiver_scene import CATALOG, ReceiverScene

#: A handshake may take two seconds; ZeroMQ and a busy machine have some of their own.
CLOSED_S = 60.0
MECHANISMS = {True: b"CURVE", False: b"PLAIN"}


class Scene(ReceiverScene):
    """A receiver, and what is asked after each attack."""

    def __init__(self, stack: ExitStack, *, encrypt: bool) -> None:
        super().__init__(stack, encrypt=encrypt, rows=2, row_bytes=1000)
        self.encrypt = encrypt
        self.last_task = 0
        self.process = psutil.Process(self.child.pid)

    def goes_on(self) -> None:
        """Check that the honest worker's rows arrive, in the same process, and that nobody else was let in."""
        for received in self.router.receive():
            assert not isinstance(received.message, r.RemoteArrived)
        self.last_task += 1
        assert self.task(self.last_task) < CLOSED_S
        assert self.child.code is None

    def raw(self) -> socket.socket:
        host, port = self.address.removeprefix("tcp://").split(":")
        return socket.create_connection((host, int(port)), CLOSED_S)

    def greeting(self) -> bytes:
        """Return what a peer of ZMTP 3.1 sends first."""
        return b"\xff" + bytes(8) + b"\x7f\x03\x01" + MECHANISMS[self.encrypt].ljust(20, b"\0") + bytes(32)

    @contextmanager
    def keyed(self) -> Iterator[zmq.Socket[bytes]]:
        """Yield a connection that has the run's keys."""
        with zmq.Context() as context, context.socket(zmq.DEALER) as made:
            made.setsockopt(zmq.LINGER, 0)
            identify(made, self.worker.keys)
            made.connect(self.address)
            yield made


@pytest.fixture(scope="module", params=[True, False], ids=["curve", "plain"])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    with ExitStack() as stack:
        yield Scene(stack, encrypt=request.param)


def is_closed(stranger: socket.socket) -> bool:
    """Wait until the other end has closed a connection; return whether it has, in time."""
    stranger.settimeout(CLOSED_S)
    try:
        while stranger.recv(4096):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


def test_connections_that_say_little_are_closed_when_a_handshake_has_had_its_time(scene: Scene) -> None:
    beginnings = [b"", b"\xff", scene.greeting()[:20], scene.greeting(), scene.greeting() + b"\x04\x20\x05HE"] * 12
    with ExitStack() as stack:
        strangers = [stack.enter_context(scene.raw()) for _ in beginnings]
        for stranger, begin in zip(strangers, beginnings, strict=True):
            stranger.sendall(begin)
        scene.goes_on()
        assert all(map(is_closed, strangers))
    scene.goes_on()


@pytest.mark.parametrize("size", [MOST_FRAME_BYTES + 1, 2**40, 2**63])
def test_a_stranger_s_frame_that_is_larger_than_a_piece_of_rows_is_not_waited_for(scene: Scene, size: int) -> None:
    with scene.raw() as stranger:
        stranger.sendall(scene.greeting() + b"\x06" + size.to_bytes(8, "big") + b"x" * 1000)
        assert is_closed(stranger)
    scene.goes_on()


def test_frames_that_strangers_only_announce_take_no_memory(scene: Scene) -> None:
    before = scene.process.memory_info().rss
    with ExitStack() as stack:
        strangers = [stack.enter_context(scene.raw()) for _ in range(100)]
        for stranger in strangers:
            stranger.sendall(scene.greeting() + b"\x06" + (2**20).to_bytes(8, "big") + b"x" * 1000)
        scene.goes_on()
        assert scene.process.memory_info().rss - before < 32 * 2**20
        assert all(map(is_closed, strangers))
    scene.goes_on()


def test_strangers_that_take_all_descriptors_wait_for_each_other_and_stop_nobody(scene: Scene) -> None:
    _, most = resource.prlimit(scene.process.pid, resource.RLIMIT_NOFILE)
    few = scene.process.num_fds() + 20
    before = resource.prlimit(scene.process.pid, resource.RLIMIT_NOFILE, (few, most))
    try:
        with ExitStack() as stack:
            strangers = [stack.enter_context(scene.raw()) for _ in range(50)]
            scene.goes_on()
            assert all(map(is_closed, strangers))
    finally:
        resource.prlimit(scene.process.pid, resource.RLIMIT_NOFILE, before)
    scene.goes_on()


def test_a_worker_for_which_no_descriptor_is_left_is_told_to_come_again(scene: Scene) -> None:
    hello = r.RemoteHello(**own_versions(), catalog=CATALOG, node="n", pid=5)
    before = resource.prlimit(scene.process.pid, resource.RLIMIT_NOFILE)
    with Link(scene.worker, hello) as link:
        arrival = scene.hear(r.RemoteArrived).arrival
        try:
            taken = set(map(int, os.listdir(f"/proc/{scene.process.pid}/fd")))
            lowest = next(number for number in itertools.count() if number not in taken)
            resource.prlimit(scene.process.pid, resource.RLIMIT_NOFILE, (lowest, before[1]))
            scene.say(b"receiver-1", r.AdmitArrival(arrival, 2))
            assert "no descriptor is left" in scene.hear(r.RemoteEnded).cause
            assert link.over.wait(CLOSED_S)
            assert link.end is LinkEnd.LOST
        finally:
            resource.prlimit(scene.process.pid, resource.RLIMIT_NOFILE, before)
    scene.goes_on()


def test_noise_ends_its_connection_and_nothing_else(scene: Scene) -> None:
    for begin in (b"", b"GET / HTTP/1.0\r\n\r\n", scene.greeting(), scene.greeting() + b"\x04\xff"):
        with scene.raw() as stranger:
            try:
                stranger.sendall(begin + os.urandom(2**20))
            except ConnectionError:  # it was closed before all was sent
                continue
            assert is_closed(stranger)
    scene.goes_on()


def test_who_has_another_key_is_refused_and_counted(scene: Scene) -> None:
    wrong = replace(RunKeys.make(encrypt=scene.encrypt), receiver_public=scene.keys.receiver_public)
    hello = r.RemoteHello(**own_versions(), catalog=CATALOG, node="n", pid=2)
    with Link(replace(scene.worker, keys=wrong), hello) as link:
        assert link.over.wait(CLOSED_S)
        assert (link.end, link.was_welcome) == (LinkEnd.REFUSED, False)
    assert "1 connections" in scene.hear(r.RemoteRejected).line
    scene.goes_on()


def test_what_an_honest_worker_has_sent_lets_nobody_in_who_repeats_it(scene: Scene) -> None:
    hello = r.RemoteHello(**own_versions(), catalog=CATALOG, node="n", pid=3)
    with recorded(scene) as (address, sent), Link(replace(scene.worker, address=address), hello) as link:
        arrival = scene.hear(r.RemoteArrived).arrival
        scene.say(b"receiver-1", r.DismissArrival(arrival))
        assert link.over.wait(CLOSED_S)
    assert len(sent) > 64
    with scene.raw() as stranger:
        stranger.sendall(bytes(sent))
        assert is_closed(stranger)
    scene.goes_on()


@pytest.mark.parametrize(
    "frames",
    [
        [b"no message"],
        [b"\xdf\xff\xff\xff\xff"],
        [b"a", b"b", b"c"],
        [b"short", b"rows"],
        [row_head(1, 0), b"rows"],
        [row_head(2**64 - 1, 2**64 - 1), b"rows"],
        [b"x" * (MOST_FRAME_BYTES + 1)],
        [row_head(1, 0), b"x" * (MOST_FRAME_BYTES + 1)],
        [wire.encode(m.TaskDone(1, 1, ()))],
        [wire.encode(m.WorkerReady(1))],
        [b""],
    ],
    ids=[
        *("noise", "huge map", "three frames", "short head", "rows of no task", "far rows", "too large"),
        *("too large rows", "report of no task", "another role", "empty"),
    ],
)
def test_who_has_the_key_and_says_what_cannot_be_is_let_go(scene: Scene, frames: list[bytes]) -> None:
    with scene.keyed() as peer:
        peer.send_multipart(frames)
        scene.goes_on()


def test_a_flood_of_messages_from_who_has_the_key_holds_nobody_up(scene: Scene) -> None:
    beats = wire.encode(*[r.RemoteBeat()] * 100)
    with scene.keyed() as peer:
        peer.setsockopt(zmq.SNDTIMEO, 100)
        over = threading.Event()

        def flood() -> None:
            while not over.is_set():
                try:
                    peer.send(beats)
                except zmq.Again:
                    continue

        thread = threading.Thread(target=flood)
        thread.start()
        try:
            for _ in range(5):
                scene.goes_on()
        finally:
            over.set()
            thread.join()
    scene.goes_on()


def test_keys_are_in_no_command_line_environment_or_text_of_the_options(scene: Scene) -> None:
    keys = scene.keys
    secrets = [each for each in (keys.receiver_secret, keys.worker_secret, keys.key) if each]
    assert secrets
    shown = " ".join([*scene.process.cmdline(), *scene.process.environ().values(), repr(scene.worker), repr(keys)])
    assert not [each for each in secrets if each in shown]


@contextmanager
def recorded(scene: Scene) -> Iterator[tuple[str, bytearray]]:
    """Yield the address of a proxy for one connection, and what was sent through it to the receiver."""
    sent = bytearray()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(CLOSED_S)

        def forward(source: socket.socket, to: socket.socket, kept: bytearray | None) -> None:
            try:
                while data := source.recv(65_536):
                    if kept is not None:
                        kept += data
                    to.sendall(data)
            except OSError:  # the other way has ended
                return

        def run() -> None:
            near, _ = listener.accept()
            with near, scene.raw() as far:
                back = threading.Thread(target=forward, args=(far, near, None))
                back.start()
                forward(near, far, sent)
                far.shutdown(socket.SHUT_RDWR)
                back.join()

        thread = threading.Thread(target=run)
        thread.start()
        yield f"tcp://127.0.0.1:{listener.getsockname()[1]}", sent
        thread.join()
