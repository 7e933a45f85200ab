"""The socket to a service: messages in batches, out and in; knows no meaning of theirs."""

from __future__ import annotations

import logging
import secrets
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

#: Plain numbers: with members of an enum, each `&` is a call in Python.
_READABLE, _WRITABLE = int(zmq.POLLIN), int(zmq.POLLOUT)


@dataclass
class Outgoing:
    """What is to be sent. Any thread may append; the socket's takes away."""

    messages: deque[FromClient] = field(default_factory=deque)
    beats: deque[FromClient] = field(default_factory=deque)  # go before the others, or never


class ServiceSocket:
    """A connection that comes back by itself; a context manager, for one thread.

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
        self._opened = ExitStack()
        self._poller = zmq.Poller()

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
        self._poller.register(socket, _READABLE)
        self._poller.register(self._doorbell, _READABLE)
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
            self._socket.send(wire.encode(*messages), zmq.NOBLOCK)
        except zmq.Again:
            self.is_blocked = True
        else:
            self.is_blocked = False
        return not self.is_blocked

    def wait(self, for_s: float) -> tuple[Iterator[list[Any]], bool]:
        """Wait for messages, the doorbell, or a connection for what is blocked.

        Returns
        -------
        tuple of iterator and bool
            Messages, in batches; and whether a connection stands again.
        """
        # What could not be sent goes as soon as a connection stands, which for a living service takes 1 ms.
        self._poller.modify(self._socket, _READABLE | (_WRITABLE if self.is_blocked else 0))
        ready = dict(self._poller.poll(max(0, int(for_s * 1000) + 1)))
        if self._doorbell.fileno() in ready:
            self._doorbell.quiet()
        events = ready.get(self._socket, 0)
        return self._received() if events & _READABLE else iter(()), bool(events & _WRITABLE)

    def _received(self) -> Iterator[list[Any]]:
        # Not until `zmq.Again`: to make that error takes five times as long as to ask.
        while self._socket.getsockopt(zmq.EVENTS) & _READABLE:  # type: ignore[operator] # of this option it is a number
            payload = self._socket.recv(zmq.NOBLOCK)
            try:
                messages: list[Any] = wire.decode(payload, ToClient)
            except ProtocolError as error:
                _LOG.warning("the service at %s sent something that is no message: %s", self._endpoint, str(error))
                continue
            yield messages
