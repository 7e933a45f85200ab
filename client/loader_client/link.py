"""Keeps in touch with the service: one thread that owns the socket, greets, beats, and greets again after a restart.

A *generation* is one acquaintance with one service: it ends when the service says that it does not know us (it was
restarted, or had given us up). What was said in an earlier generation means nothing in this one, lease 5 there is not
lease 5 here, so every message is sent in the generation that it was written for, or not at all.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
import weakref
from collections import deque
from typing import Any, Protocol

import zmq

from loader_service.errors import ProtocolError
from loader_service.protocol import wire
from loader_service.protocol.messages import Goodbye, Heartbeat, Hello, Stranger, ToClient, Welcome

_LOG = logging.getLogger(__name__)

#: How often the service is greeted while it does not answer, in seconds.
_GREET_EVERY_S = 0.5

#: Beats missed before the service counts as away.
_MISSED_BEATS = 4

#: Plain numbers: with members of an enum, each `&` is a call in Python.
_READABLE, _WRITABLE = int(zmq.POLLIN), int(zmq.POLLOUT)


class Listener(Protocol):
    """Who is told what the link hears; called from the link's thread."""

    def welcomed(self, welcome: Welcome, generation: int) -> None:
        """Take note that a new generation begins."""

    def heard(self, message: Any) -> None:
        """Take in a message."""

    def broken(self, error: BaseException) -> None:
        """Take note that the link has ended by an error, and nothing will come or go any more."""


class Link:
    """The connection to one service.

    Parameters
    ----------
    endpoint
        ``ipc://`` address.
    name
        Who we are, for people.
    listener
        Gets what comes in; not kept alive.
    """

    def __init__(self, endpoint: str, name: str, listener: Listener) -> None:
        self._endpoint = endpoint
        self._hello = Hello(name, os.getpid())
        self._identity = b"client-" + secrets.token_bytes(16)  # the same after a reconnect, and nobody else's
        self._listener = weakref.ref(listener)  # its end is what ends the link
        self._outbox: deque[tuple[int, Any]] = deque()  # (generation, message)
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        # Not closed by the thread when it ends: a finalizer may be about to write to it, and the number could be
        # another file's by then. Whoever can still call `send` keeps the link alive.
        weakref.finalize(self, os.close, self._wake).atexit = False
        self._closing = False
        self._disowned = False
        self._greeting = True
        self._blocked = False  # something could not be sent, since no connection stands
        self._generation = 0
        self._heartbeat_s = 1.0
        self._last_heard = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="loader-service-link", daemon=True)
        self._thread.start()

    @property
    def silent_s(self) -> float:
        """Seconds since the service was last heard, 0 while it answers."""
        silence = time.monotonic() - self._last_heard
        return silence if self._greeting or silence > _MISSED_BEATS * self._heartbeat_s else 0.0

    def send(self, message: Any, generation: int, *, urgent: bool = True) -> None:
        """Send a message in its generation; takes no lock, so a finalizer may call it from any thread.

        One that is not urgent goes with the next that is, or at the next beat. Waking the thread costs 50 µs, so a
        stream of small batches would be nothing but that.
        """
        if self._disowned:
            return
        self._outbox.append((generation, message))
        if urgent:
            self.hurry()

    def hurry(self) -> None:
        """Send what is waiting now."""
        if self._outbox:
            self._wake_up()

    def disown(self) -> None:
        """Leave the service to the parent, in a forked child: the thread and its socket are not here."""
        self._disowned = True
        self._outbox.clear()

    def close(self) -> None:
        """Send what is waiting, and end the thread."""
        if self._disowned:
            return
        self._closing = True
        self._wake_up()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=5.0)

    def _wake_up(self) -> None:
        os.eventfd_write(self._wake, 1)

    def _run(self) -> None:
        try:
            self._keep_in_touch()
        except BaseException as error:
            listener = self._listener()
            if listener is not None:
                listener.broken(error)
            raise

    def _keep_in_touch(self) -> None:
        with zmq.Context(io_threads=1) as context, context.socket(zmq.DEALER) as socket:
            socket.setsockopt(zmq.ROUTING_ID, self._identity)
            socket.setsockopt(zmq.LINGER, 200)
            socket.setsockopt(zmq.IMMEDIATE, 1)  # a message waits here, not for a service that may never come
            socket.setsockopt(zmq.RECONNECT_IVL, 50)
            socket.setsockopt(zmq.RECONNECT_IVL_MAX, 500)
            socket.setsockopt(zmq.MAXMSGSIZE, wire.MAX_PAYLOAD_BYTES)
            socket.connect(self._endpoint)
            poller = zmq.Poller()
            poller.register(socket, _READABLE)
            poller.register(self._wake, _READABLE)
            self._serve(socket, poller)

    def _serve(self, socket: zmq.Socket[bytes], poller: zmq.Poller) -> None:
        next_beat = time.monotonic()
        while not self._disowned:
            now = time.monotonic()
            if now >= next_beat:
                self._beat(socket)
                next_beat = now + (_GREET_EVERY_S if self._greeting else self._heartbeat_s)
            sent = self._empty_outbox(socket)
            if self._closing and (sent or self._blocked or self._greeting):
                self._try_send(socket, Goodbye())
                return
            # What could not be sent goes as soon as a connection stands, which for a living service takes 1 ms.
            poller.modify(socket, _READABLE | (_WRITABLE if self._blocked else 0))
            ready = dict(poller.poll(max(0, int((next_beat - time.monotonic()) * 1000) + 1)))
            if self._wake in ready:
                os.eventfd_read(self._wake)
            if ready.get(socket, 0) & _WRITABLE:
                next_beat = time.monotonic()
            if ready.get(socket, 0) & _READABLE:
                self._receive(socket)
                if self._greeting:
                    next_beat = min(next_beat, time.monotonic() + _GREET_EVERY_S)

    def _beat(self, socket: zmq.Socket[bytes]) -> None:
        self._try_send(socket, self._hello if self._greeting else Heartbeat())

    def _empty_outbox(self, socket: zmq.Socket[bytes]) -> bool:
        """Send what is waiting; return whether nothing is left."""
        if self._greeting:
            return False
        most = wire.MAX_MESSAGES
        while self._outbox:
            waiting = [self._outbox[place] for place in range(min(len(self._outbox), most))]
            messages = [message for generation, message in waiting if generation == self._generation]
            try:
                if messages and not self._try_send(socket, *messages):
                    return False
            except ProtocolError:
                if len(messages) == 1:
                    raise
                most = len(waiting) // 2  # wants that name their samples may be too large together
                continue
            for _ in waiting:
                self._outbox.popleft()
        return True

    def _receive(self, socket: zmq.Socket[bytes]) -> None:
        # Not until `zmq.Again`: to make that error takes five times as long as to ask.
        while socket.getsockopt(zmq.EVENTS) & _READABLE:  # type: ignore[operator] # of this option it is a number
            payload = socket.recv(zmq.NOBLOCK)
            try:
                messages: list[Any] = wire.decode(payload, ToClient)
            except ProtocolError as error:
                _LOG.warning("the service at %s sent something that is no message: %s", self._endpoint, str(error))
                continue
            self._last_heard = time.monotonic()
            for message in messages:
                self._take_in(socket, message)

    def _take_in(self, socket: zmq.Socket[bytes], message: Any) -> None:
        listener = self._listener()
        if listener is None:
            return
        match message:
            case Welcome():
                if self._greeting:
                    self._greeting = False
                    self._generation += 1
                    self._heartbeat_s = max(0.01, message.heartbeat_s)
                    listener.welcomed(message, self._generation)
            case Stranger():
                if not self._greeting:
                    self._greeting = True
                    self._beat(socket)
            case Heartbeat():
                pass  # being heard was its whole meaning
            case _:
                listener.heard(message)

    def _try_send(self, socket: zmq.Socket[bytes], *messages: Any) -> bool:
        try:
            socket.send(wire.encode(*messages), zmq.NOBLOCK)
        except zmq.Again:
            self._blocked = True
        else:
            self._blocked = False
        return not self._blocked
