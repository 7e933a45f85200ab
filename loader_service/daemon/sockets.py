"""The daemon's two ZeroMQ sockets: messages in and out, anything else refused and counted; knows no meaning of any."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from types import UnionType
from typing import Any, Generic, NoReturn, TypeVar

import zmq

from loader_service.daemon.socket_files import (
    Listener,
    check_lock_file,
    check_replaceable,
    open_socket_folder,
    remove_stale,
)
from loader_service.endpoint import Endpoint, private_directories
from loader_service.errors import ConfigError, ProtocolError
from loader_service.flocks import Lock, is_at, lock
from loader_service.protocol import wire
from loader_service.protocol.messages import Refused

#: Payloads taken from a socket, and seconds spent on their messages, before the loop looks at anything else, so that a
#: flood on one starves nobody. What one payload brought is finished first: ZeroMQ's turns are payloads.
_BURST, _BURST_S = 64, 0.01

#: Messages that may wait for a peer that does not read; an honest client has a few per slot.
_SEND_LIMIT = 10_000

#: Payloads of a peer that wait here; more wait at its end.
_RECEIVE_LIMIT = 128

#: A plain number: with members of an enum, `&` is a call in Python.
_READABLE, _AT_ONCE, _TO_PEER = int(zmq.POLLIN), int(zmq.NOBLOCK), int(zmq.NOBLOCK | zmq.SNDMORE)

#: Questions in one payload, each of which gets an answer of its own. An honest client opens its streams together.
_QUESTIONS = 128

_M = TypeVar("_M")


@dataclass
class Received(Generic[_M]):
    """What came from a peer: a message, or why it is none; and whether more of the same payload follow."""

    peer: bytes
    message: _M | Exception
    more: bool


class Router(Generic[_M]):
    """A ROUTER socket that speaks the protocol.

    Used by the daemon's one thread. A context manager that owns its socket.

    Parameters
    ----------
    context
        Where the socket lives.
    address
        What to bind.
    accepted
        The union of messages that may come.
    group
        Which may connect, beside this user.
    """

    def __init__(
        self, context: zmq.Context[zmq.Socket[bytes]], address: str, accepted: UnionType, group: int | None = None
    ) -> None:
        self._context = context
        self._address = address
        self._accepted = accepted
        self._outgoing: dict[bytes, list[Any]] = {}
        self._listener = Listener(address, group)
        self.socket = self._open()

    def __enter__(self) -> Router[_M]:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
        self._listener.close()

    def shut(self) -> None:
        """Drop all connections, and with them what has come of unfinished messages; nobody can connect until `reopen`.

        Peers find the address as it was, and wait: ZeroMQ only gets a copy of the listening descriptor. What it binds
        itself it unlinks when it closes, some time later, by name, and by then that is the name of the next one.
        """
        self.socket.close(linger=0)

    def reopen(self) -> None:
        """Let peers connect again; honest ones do so by themselves."""
        self.socket = self._open()

    def _open(self) -> zmq.Socket[bytes]:
        opened = self._context.socket(zmq.ROUTER)
        opened.setsockopt(zmq.ROUTER_MANDATORY, 1)  # else a message to a peer that is gone vanishes silently
        opened.setsockopt(zmq.ROUTER_HANDOVER, 1)  # a peer that connects again is who it was
        opened.setsockopt(zmq.MAXMSGSIZE, wire.MAX_PAYLOAD_BYTES)
        opened.setsockopt(zmq.SNDHWM, _SEND_LIMIT)
        opened.setsockopt(zmq.RCVHWM, _RECEIVE_LIMIT)
        opened.setsockopt(zmq.LINGER, 200)
        opened.setsockopt(zmq.USE_FD, os.dup(self._listener.fileno()))
        opened.bind(self._address)
        return opened

    def receive(self) -> Iterator[Received[_M]]:
        """Yield what has come, at most one burst; the time that the caller takes for each counts."""
        deadline = time.monotonic() + _BURST_S
        for _ in range(_BURST):
            if time.monotonic() > deadline:
                return
            try:
                peer, *frames = self.socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            messages = self._decode(frames)
            last = len(messages) - 1
            for place, message in enumerate(messages):
                yield Received(peer, message, place < last)
            # To ask takes half of the time that it takes to make the error that tells of an empty socket.
            if not int(self.socket.getsockopt(zmq.EVENTS)) & _READABLE:
                return

    def post(self, peer: bytes, message: Any) -> None:
        """Send a message with the next `flush`: what one turn of the loop has to say to a peer is one payload."""
        self._outgoing.setdefault(peer, []).append(message)

    def flush(self) -> list[bytes]:
        """Send what was posted; return the peers that are gone or have stopped reading."""
        outgoing, self._outgoing = self._outgoing, {}
        return [peer for peer, messages in outgoing.items() if not self._send(peer, messages)]

    def _send(self, peer: bytes, messages: list[Any]) -> bool:
        if self.socket.closed:
            return False
        for payload in _payloads(messages):
            try:
                self.socket.send(peer, _TO_PEER)
                self.socket.send(payload, _AT_ONCE)
            except zmq.ZMQError as error:
                if error.errno in (zmq.EHOSTUNREACH, zmq.EAGAIN):
                    return False
                raise
        return True

    def _decode(self, frames: list[bytes]) -> list[Any]:
        if len(frames) != 1:
            return [ProtocolError(f"expected a message of one frame, got {len(frames)} frames")]
        try:
            messages: list[Any] = wire.decode(frames[0], self._accepted)
        except (ProtocolError, ConfigError) as error:
            return [error]
        questions = sum(hasattr(message, "request") for message in messages)
        if questions > _QUESTIONS:
            return [ProtocolError(f"a payload asks {questions} questions; at most {_QUESTIONS} are answered together")]
        return messages


def _payloads(messages: list[Any]) -> list[bytes]:
    """Encode messages into as few payloads as their bounds allow, with a refusal in place of one that is too large."""
    if len(messages) <= wire.MAX_MESSAGES:
        try:
            return [wire.encode(*messages)]
        except ProtocolError as error:
            if len(messages) == 1:
                return [wire.encode(Refused(getattr(messages[0], "request", 0), type(error).__name__, str(error)))]
    middle = len(messages) // 2
    return [*_payloads(messages[:middle]), *_payloads(messages[middle:])]


class EndpointLock:
    """Makes this process the only service at an endpoint; a context manager that removes its lock file.

    A second ``bind`` would silently steal the socket, so a lock comes first. The lock file holds the pid of its owner.
    Sockets that a killed service has left are removed.

    Raises
    ------
    ConfigError
        When another service has it: names its pid. When a file or socket in the way is no service's of this user.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._names = (endpoint.path.name, endpoint.workers.rpartition("/")[2])
        self._folder = open_socket_folder(endpoint.path.parent)
        self._descriptor = -1
        self._is_theirs = False  # an empty file was there, which may be anybody's: it is used, and stays
        try:
            for name in self._names:
                check_replaceable(self._folder, name)
            self._descriptor = self._acquire()
            for name in self._names:
                remove_stale(self._folder, name)
        except OSError as error:
            self._leave()
            raise ConfigError(f"cannot lock {endpoint}: {error}; choose another --endpoint") from error
        except BaseException:
            self._leave()
            raise

    def __enter__(self) -> EndpointLock:
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()

    def _leave(self) -> None:
        if self._descriptor >= 0:
            if self._is_theirs:
                os.ftruncate(self._descriptor, 0)
            elif is_at(self._descriptor, self._folder, self._endpoint.lock.name):
                self._folder.unlink(self._endpoint.lock.name)
            os.close(self._descriptor)
        self._folder.close()

    def _acquire(self) -> int:
        """Return a locked descriptor of the lock file that has its name still: its last owner unlinks it on leaving."""
        path = self._endpoint.lock
        private = path.parent in private_directories()
        while True:
            is_new = self._folder.status_of(path.name) is None
            descriptor = self._folder.open_file(path.name, os.O_CREAT | os.O_RDWR)
            with ExitStack() as closing:
                closing.callback(os.close, descriptor)
                match lock(descriptor, self._folder, path.name):
                    case Lock.GONE:
                        continue
                    case Lock.TAKEN:
                        self._refuse(descriptor)
                    case Lock.UNSUPPORTED:
                        raise OSError(f"{str(path)!r}: {Lock.UNSUPPORTED.value}")
                check_lock_file(descriptor, path, private=private)
                self._is_theirs = not (private or is_new or os.fstat(descriptor).st_size)
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
                closing.pop_all()
                return descriptor

    def _refuse(self, descriptor: int) -> NoReturn:
        pid = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
        if not pid.isdecimal():
            raise ConfigError(
                f"a process that is no service, or only begins to be one, has {str(self._endpoint.lock)!r} locked; "
                f"find it with `fuser {self._endpoint.lock}`, or choose another --endpoint"
            )
        raise ConfigError(
            f"a service with pid {pid} is already listening at {self._endpoint}; "
            f"stop it with `loader-service stop {self._endpoint}`, or start this one with another --endpoint"
        )
