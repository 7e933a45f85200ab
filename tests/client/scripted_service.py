"""A service that does what a test says, word by word: real socket, real bytes, real segments, no mind of its own."""

from __future__ import annotations

import os
import time
from types import TracebackType
from typing import Any, TypeVar

import zmq

from loader_service.daemon.segments import SegmentStore
from loader_service.protocol import messages as m
from loader_service.protocol import wire
from loader_service.protocol.fields import Field, SlotLayout
from loader_service.protocol.segment_files import map_segment
from tests.support.services import new_endpoint

_M = TypeVar("_M")

#: How long a message of the client may take to come, in seconds.
_PATIENCE_S = 60.0

FIELDS = (Field("frames", "uint8", (20_000,)), Field("index", "int64", ()))


class ScriptedService:
    """Plays one run of a service for one client; a context manager that owns socket and segments.

    Parameters
    ----------
    endpoint
        Where to listen; by default somewhere new.
    fingerprint, steps_per_epoch, prefetch, samples
        What `welcome` and `open_stream` say.
    heartbeat_s
        How often the client is to be heard.
    """

    def __init__(
        self,
        endpoint: str | None = None,
        *,
        fingerprint: str = "f" * 16,
        steps_per_epoch: int = 100,
        prefetch: int = 2,
        heartbeat_s: float = 0.05,
        samples: int = 200,
    ) -> None:
        self.endpoint = endpoint or new_endpoint()
        self.steps_per_epoch = steps_per_epoch
        self.prefetch = prefetch
        self.samples = samples
        self._fingerprint = fingerprint
        self._heartbeat_s = heartbeat_s
        self._layout = SlotLayout(FIELDS, 2)
        self._inbox: list[Any] = []
        self._peer = b""
        self.heartbeats = True  # whether they are answered

    def __enter__(self) -> ScriptedService:
        self._segments = SegmentStore()
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.LINGER, 100)
        path = self.endpoint.removeprefix("ipc://")
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        self._socket.bind(self.endpoint)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()
        self._context.term()
        self._segments.__exit__(kind, error, trace)
        path = self.endpoint.removeprefix("ipc://")
        if os.path.exists(path):
            os.unlink(path)

    # ---- hearing

    def expect(self, kind: type[_M], *, within_s: float = _PATIENCE_S) -> _M:
        """Return the next message of a kind, leaving those of other kinds for later."""
        deadline = time.monotonic() + within_s
        while True:
            for place, message in enumerate(self._inbox):
                if isinstance(message, kind):
                    del self._inbox[place]
                    return message
            assert time.monotonic() < deadline, f"no {kind.__name__} came; these did: {self._inbox}"
            self._hear(20)

    def answers_heartbeats(self, for_s: float) -> None:
        """Answer heartbeats for a while, leaving all other messages for later."""
        deadline = time.monotonic() + for_s
        while time.monotonic() < deadline:
            self._hear(20)

    def _hear(self, timeout_ms: int) -> None:
        if not self._socket.poll(timeout_ms):
            return
        self._peer, payload = self._socket.recv_multipart()
        received: list[Any] = wire.decode(payload, m.FromClient)
        for message in received:
            if not isinstance(message, (m.Heartbeat, m.Goodbye)):
                self._inbox.append(message)
            elif self.heartbeats:
                self.say(message)

    # ---- speaking

    def say(self, *messages: Any) -> None:
        """Send messages, together."""
        self._socket.send_multipart((self._peer, wire.encode(*messages)))

    def say_bytes(self, payload: bytes) -> None:
        """Send what need not be a message."""
        self._socket.send_multipart((self._peer, payload))

    def welcome(self) -> None:
        """Answer a greeting."""
        self.expect(m.Hello)
        self.say(m.Welcome(self._segments.instance, os.getpid(), self._fingerprint, 3, 12, 146, self._heartbeat_s))

    def open_stream(self, stream: int = 1) -> m.OpenStream:
        """Answer the question for a stream, with slots of its own."""
        question = self.expect(m.OpenStream)
        self.slots = self._segments.create(2 * self.prefetch, self._layout.size_bytes)
        self.say(
            m.Opened(
                question.request, stream, FIELDS, self.steps_per_epoch, len(self.slots), self.prefetch, self.samples
            ),
        )
        return question

    def fill(self, want: m.Want, *, lease: int, place: int = 0, substituted: int = 0) -> m.Ready:
        """Write a step into a slot, as ``epoch * 1000 + step`` in its `index`; return the answer that announces it."""
        slot = self.slots[place]
        self._layout.view("index", map_segment(self._segments.instance, slot, self._layout.size_bytes))[...] = (
            want.epoch * 1000 + want.step
        )
        return m.Ready(want.stream, want.want, slot, lease, 2, 0, substituted)

    def unlink_slots(self) -> None:
        """Remove the segments, as the end of a service does."""
        self._segments.remove(self.slots)

    def forget_client(self) -> None:
        """Say that the client is unknown, as a service does that has given the client up."""
        self.say(m.Stranger())

    def restart(self) -> None:
        """Be another run of the service, to which the client is unknown."""
        self._segments.__exit__(None, None, None)
        self._segments = SegmentStore()
        self.forget_client()
