"""A client made of a bare socket: says what a test tells it to, true or not, and shows every answer."""

from __future__ import annotations

import os
import time
from collections import deque
from typing import Any, TypeVar

import zmq

from loader_service.protocol import messages as m
from loader_service.protocol import wire
from loader_service.protocol.fields import SlotLayout
from loader_service.protocol.segment_files import map_segment
from loader_service.protocol.spec import Clip, Spec

_M = TypeVar("_M")

SPEC = Spec(batch_size=2, clip=Clip(frames=4), prefetch=2)


class Peer:
    """One socket to a service; a context manager."""

    def __init__(self, endpoint: str) -> None:
        self._context = zmq.Context(io_threads=1)
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, 1000)
        self._socket.connect(endpoint)
        self._heard: deque[Any] = deque()

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._context.term()

    def send(self, *messages: Any) -> None:
        self._socket.send(wire.encode(*messages))

    def send_frames(self, *frames: bytes) -> None:
        self._socket.send_multipart(frames)

    def expect(self, kind: type[_M], within_s: float = 60.0) -> _M:
        """Return the next message of a kind; others are skipped."""
        deadline = time.monotonic() + within_s
        while True:
            while self._heard:
                message = self._heard.popleft()
                if isinstance(message, kind):
                    return message
            left_ms = max(1, int((deadline - time.monotonic()) * 1000))
            assert self._socket.poll(left_ms), f"no {kind.__name__} within {within_s:g} s"
            assert time.monotonic() < deadline, f"no {kind.__name__} among what came within {within_s:g} s"
            self._heard.extend(wire.decode(self._socket.recv(), m.ToClient))

    def hello(self, name: str = "peer", pid: int | None = None) -> m.Welcome:
        self.send(m.Hello(name, os.getpid() if pid is None else pid))
        return self.expect(m.Welcome)

    def open(self, spec: Spec = SPEC) -> m.Opened:
        self.send(m.OpenStream(1, spec))
        return self.expect(m.Opened)

    def rows(self, instance: str, opened: m.Opened, want: m.Want) -> dict[str, bytes]:
        """Ask for a step, return the bytes of its fields, and hand the slot back."""
        self.send(want)
        ready = self.expect(m.Ready)
        layout = SlotLayout(opened.fields, ready.rows)
        with map_segment(instance, ready.slot, layout.size_bytes) as memory:
            fields = {field.name: layout.view(field.name, memory).tobytes() for field in opened.fields}
        self.send(m.Release(opened.stream, ready.lease))
        return fields

    def refusal(self, *messages: Any) -> m.Refused:
        """Send messages, and return the refusal that comes."""
        self.send(*messages)
        return self.expect(m.Refused)

    def status(self) -> m.Status:
        self.send(m.GetStatus(77))
        return self.expect(m.Status)

    def counter(self, name: str) -> int:
        return next(each.count for each in self.status().counters if each.name == name)
