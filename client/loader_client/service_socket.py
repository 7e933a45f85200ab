"""The socket to a service: messages in batches, out and in; knows no meaning of theirs."""

from __future__ import annotations

import logging
import os
import secrets
import select
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import zmq

from loader_client.doorbell import Doorbell
from loader_service.errors import ProtocolError
from loader_service.protocol import wire
from loader_service.protocol.messages import FromClient, ToClient

_LOG = logging.getLogger(__name__)

#: Plain numbers: with members of an enum, each `&`, and each question, is a call in Python or several.
_READABLE, _WRITABLE, _EVENTS, _NOW = int(zmq.POLLIN), int(zmq.POLLOUT), int(zmq.EVENTS), int(zmq.NOBLOCK)


@dataclass
class Outgoing:
    """What is to be sent. Any thread may append; the socket's takes away."""

    messages: deque[FromClient] = field(default_factory=deque)
    beats: deque[FromClient] = field(default_factory=deque)  # go before the others, or never


class ServiceSocket:
    """A connection that comes back by itself; a context manager.

    Any thread may use it, one at a time, but for the two that wait, `wait` and `listen`. ZeroMQ tells of news once:
    a thread that sends may have been told of a message that came, so it has to look into `received` afterwards.

    Parameters
    ----------
    endpoint
        ``ipc://`` address.
    doorbell
        Ends a wait.
    outgoing
        What is to be sent.
    """

    def __init__(self, endpoint: str, doorbell: Doorbell, outgoing: Outgoing) -> None:
        self.is_blocked = False  # something could not be sent, since no connection stands
        self._endpoint = endpoint
        self._doorbell = doorbell
        self._outgoing = outgoing
        self._is_called = False
        self._opened = ExitStack()
        self._listened = select.poll()

    def __enter__(self) -> ServiceSocket:
        context = self._opened.enter_context(zmq.Context(io_threads=1))
        self._socket = socket = self._opened.enter_context(context.socket(zmq.DEALER))
        socket.setsockopt(zmq.ROUTING_ID, b"client-" + secrets.token_bytes(16))  # stays, and is nobody else's
        socket.setsockopt(zmq.LINGER, 200)
        socket.setsockopt(zmq.IMMEDIATE, 1)  # a message waits here, not for a service that may never come
        socket.setsockopt(zmq.RECONNECT_IVL, 50)
        socket.setsockopt(zmq.RECONNECT_IVL_MAX, 500)
        socket.setsockopt(zmq.MAXMSGSIZE, wire.MAX_PAYLOAD_BYTES)
        socket.connect(self._endpoint)
        self._news = int(socket.getsockopt(zmq.FD))
        self._watched = self._opened.enter_context(select.epoll())
        self._watched.register(self._news, select.EPOLLIN)
        self._watched.register(self._doorbell, select.EPOLLIN)
        self._call = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._opened.callback(os.close, self._call)
        for each in (self._news, self._call):
            self._listened.register(each, select.POLLIN)
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def send_outgoing(self) -> bool:
        """Send what is waiting; return whether nothing is left."""
        beats, waiting = self._outgoing.beats, self._outgoing.messages
        while beats:
            self.send(beats.popleft())
        most = wire.MAX_MESSAGES
        while waiting:
            messages = [waiting[place] for place in range(min(len(waiting), most))]
            try:
                if not self.send(*messages):
                    return False
            except ProtocolError:
                if len(messages) == 1:
                    raise
                most = len(messages) // 2  # wants that name their samples may be too large together
                continue
            for _ in messages:
                waiting.popleft()
        return True

    def send(self, *messages: FromClient) -> bool:
        """Send messages together, if a connection stands; return whether one does."""
        try:
            self._socket.send(wire.encode(*messages), _NOW)
        except zmq.Again:
            self.is_blocked = True
        else:
            self.is_blocked = False
        return not self.is_blocked

    @property
    def stands_again(self) -> bool:
        """Whether a connection stands after a message found none."""
        return self.is_blocked and bool(self._events() & _WRITABLE)

    def wait(self, for_s: float) -> None:
        """Wait for news or the doorbell; news are left to who listens."""
        for number, _ in self._watched.poll(max(0.0, for_s)):
            if number == self._doorbell.fileno():
                self._doorbell.quiet()

    def take_over(self) -> None:
        """Have `wait` leave news to `listen`, without being woken for that."""
        self._watched.modify(self._news, 0)

    def listen(self, for_s: float) -> bool:
        """Wait for news, or for `call`, in another thread than `wait` does; return whether there may be news.

        The socket may be closed meanwhile.
        """
        return bool(self._listened.poll(for_s * 1000))

    def call(self) -> None:
        """End a `listen`."""
        os.eventfd_write(self._call, 1)
        self._is_called = True

    def give_back(self) -> None:
        """Have `wait` see to news again."""
        self._watched.modify(self._news, select.EPOLLIN)
        if self._is_called:
            os.eventfd_read(self._call)
            self._is_called = False

    def _events(self) -> Any:
        return self._socket.getsockopt(_EVENTS)

    def received(self, *, has_news: bool = False) -> Iterator[list[Any]]:
        """Yield the messages that have come, in batches; nobody asks for the first one where there is news."""
        # Not until `zmq.Again`: to make that error takes five times as long as to ask.
        while has_news or self._events() & _READABLE:
            try:
                payload = self._socket.recv(_NOW)
            except zmq.Again:
                continue
            finally:
                has_news = False
            try:
                messages: list[Any] = wire.decode(payload, ToClient)
            except ProtocolError as error:
                _LOG.warning("the service at %s sent something that is no message: %s", self._endpoint, str(error))
                continue
            yield messages
