"""A remote worker's connection to the receiver, in a thread of its own: the worker lives, it says, while that decodes.

The thread alone touches the socket. Tasks come out of `Link.next`, rows and reports go in by `Link.send`; both have
bounds, so a receiver that takes nothing stops the decoder, and nobody else.
"""

from __future__ import annotations

import hmac
import mmap
import os
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import zmq
from zmq.utils.monitor import recv_monitor_message

from loader_service.errors import LoaderError
from loader_service.protocol import remote_messages as r
from loader_service.protocol import wire
from loader_service.protocol.worker_messages import ToWorker
from loader_service.remote.remote_options import RemoteWorkerOptions
from loader_service.remote.row_frames import PIECE_BYTES, WAITING_MESSAGES, row_head
from loader_service.remote.run_keys import identify
from loader_service.remote.slot_pieces import Piece

#: How often the receiver hears of this end, and how long it may be silent, in seconds.
_BEAT_S, _SILENCE_S = 0.25, 1.5

#: How long the receiver may take to welcome a connection, in seconds: it may only just be starting.
_WELCOME_S = 3.0

#: Reports and tasks' rows that wait to be sent.
_MOST_WAITING = 16

#: What tells that there is no connection, or none any more.
_EVENTS = zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_DISCONNECTED | zmq.EVENT_CLOSED

#: How long what is left may take to be sent at the end, in milliseconds.
_LINGER_MS = 1000


class LinkEnd(Enum):
    """Why a connection is over."""

    LOST = "lost"  # the receiver is silent, or has let this connection go: another one may be made
    DISMISSED = "dismissed"  # the worker is not needed any more
    REFUSED = "refused"  # the receiver will not have it


@dataclass(frozen=True)
class SentRows:
    """The rows of a task, on their way.

    Parameters
    ----------
    task
        Its number.
    memory, pieces
        Where they are; what of it.
    sent
        Called when the memory is not needed any more.
    """

    task: int
    memory: mmap.mmap
    pieces: Sequence[Piece]
    sent: Callable[[mmap.mmap], object]


class Link:
    """One connection; a context manager that closes it.

    Parameters
    ----------
    options
        Where, and with which keys.
    hello
        What to say first.

    Attributes
    ----------
    end
        Why it is over; None while it is not.
    why
        What the receiver said of that, for people.
    was_welcome
        Whether the receiver has welcomed it.
    over
        Set when it is over.
    """

    def __init__(self, options: RemoteWorkerOptions, hello: r.RemoteHello) -> None:
        self.end: LinkEnd | None = None
        self.why = ""
        self.was_welcome = False
        self.over = threading.Event()
        self._options = options
        self._place = f"the receiver at {options.address}"
        self._hello = hello
        self._arrived: queue.SimpleQueue[list[ToWorker] | None] = queue.SimpleQueue()
        self._waiting: queue.Queue[SentRows | bytes] = queue.Queue(_MOST_WAITING)
        self._messages = _messages_of(b"")  # of what the thread is sending
        self._messages.close()
        self._message: list[bytes] | None = None  # the next one of them
        self._bell = os.eventfd(0, os.EFD_NONBLOCK)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="link", daemon=True)

    def __enter__(self) -> Link:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._ring()
        self._thread.join()
        os.close(self._bell)

    # ---- for the worker's thread

    def next(self, timeout_s: float | None = None) -> list[ToWorker]:
        """Return what came next from the daemon; nothing when the connection is over, or nothing came in time.

        It has no deadline by default, as the connection has one: it is over when the receiver is silent.
        """
        try:
            return self._arrived.get(timeout=timeout_s) or []
        except queue.Empty:
            return []

    def arrived(self) -> list[ToWorker]:
        """Return what has come meanwhile, without waiting."""
        messages: list[ToWorker] = []
        while not self._arrived.empty():
            piece = self._arrived.get()
            if piece is None:
                self._arrived.put(None)  # for `next`
                break
            messages += piece
        return messages

    def send(self, item: SentRows | Any) -> None:
        """Send rows, or a message; waits while too much waits before it, and drops it when the connection is over."""
        what = item if isinstance(item, SentRows) else wire.encode(item)
        while self.end is None:
            try:
                self._waiting.put(what, timeout=_BEAT_S)
            except queue.Full:
                continue
            self._ring()
            return
        if isinstance(item, SentRows):
            item.sent(item.memory)

    def _ring(self) -> None:
        os.eventfd_write(self._bell, 1)

    # ---- the thread

    def _run(self) -> None:
        try:
            with zmq.Context(io_threads=1) as context, context.socket(zmq.DEALER) as socket:
                socket.setsockopt(zmq.SNDHWM, WAITING_MESSAGES)
                socket.setsockopt(zmq.LINGER, 0)
                socket.setsockopt(zmq.IPV6, 1)
                socket.setsockopt(zmq.RECONNECT_IVL, -1)  # what proves a connection is used once
                proof = identify(socket, self._options.keys)
                monitor = socket.get_monitor_socket(_EVENTS)
                try:
                    socket.connect(self._options.address)
                    socket.send(wire.encode(self._hello))
                    self._serve(socket, monitor, proof)
                    if self._closing.is_set():
                        socket.setsockopt(zmq.LINGER, _LINGER_MS)
                finally:
                    socket.disable_monitor()
                    monitor.close(0)
        except (LoaderError, zmq.ZMQError, OSError) as error:
            self._finish(LinkEnd.LOST, str(error))
        self._finish(LinkEnd.LOST, "")
        self._let_go()

    def _serve(self, socket: zmq.Socket[bytes], monitor: zmq.Socket[bytes], proof: str) -> None:
        poller = zmq.Poller()
        poller.register(self._bell, zmq.POLLIN)
        poller.register(monitor, zmq.POLLIN)
        heard_at = next_beat = time.monotonic()
        while self.end is None and not (self._closing.is_set() and self._has_sent_all()):
            is_full = not self._send_on(socket)
            poller.register(socket, zmq.POLLIN | (zmq.POLLOUT if is_full else 0))
            ready = dict(poller.poll(max(0, int((next_beat - time.monotonic()) * 1000) + 1)))
            if self._bell in ready:
                os.eventfd_read(self._bell)
            now = time.monotonic()
            if monitor in ready:
                self._note_failure(monitor)
            if socket in ready and ready[socket] & zmq.POLLIN:
                heard_at = now
                self._hear(socket, proof)
            elif now - heard_at > (_SILENCE_S if self.was_welcome else _WELCOME_S):
                self._finish(LinkEnd.LOST, f"{self._place} is silent")
            if next_beat <= now:
                next_beat = now + _BEAT_S
                if self.was_welcome and self._message is None:  # rows say the same
                    self._message = [wire.encode(r.RemoteBeat())]

    def _note_failure(self, monitor: zmq.Socket[bytes]) -> None:
        if recv_monitor_message(monitor, zmq.NOBLOCK)["event"] == zmq.EVENT_HANDSHAKE_FAILED_AUTH:
            self._finish(LinkEnd.REFUSED, f"{self._place} refused the key: it is of another run")
        else:
            self._finish(LinkEnd.LOST, f"the connection to {self._options.address} was closed")

    def _hear(self, socket: zmq.Socket[bytes], proof: str) -> None:
        messages: list[ToWorker] = []
        while self.end is None and (payload := _received(socket)) is not None:
            arrived: list[r.ToRemote] = wire.decode(payload, r.ToRemote)
            for message in arrived:
                match message:
                    case r.RemoteWelcome(shown):
                        self.was_welcome = hmac.compare_digest(shown, proof)
                        if not self.was_welcome:
                            self._finish(LinkEnd.REFUSED, f"{self._place} has no key of this run itself")
                    case r.RemoteRefused(why):
                        self._finish(LinkEnd.REFUSED, why)
                    case r.RemoteLeave(comes_again):
                        self._finish(LinkEnd.LOST if comes_again else LinkEnd.DISMISSED, "it was let go")
                    case r.ReceiverBeat():
                        pass
                    case _:
                        messages.append(message)
        if messages and self.was_welcome:
            self._arrived.put(messages)

    def _send_on(self, socket: zmq.Socket[bytes]) -> bool:
        """Send what waits, as long as the socket takes it; return whether all was sent."""
        while True:
            if self._message is None:
                self._message = self._next_message()
            if self._message is None:
                return True
            try:
                socket.send_multipart(self._message, zmq.NOBLOCK, copy=False)
            except zmq.Again:
                return False
            self._message = None

    def _next_message(self) -> list[bytes] | None:
        while True:
            message = next(self._messages, None)
            if message is not None:
                return message
            try:
                self._messages = _messages_of(self._waiting.get_nowait())
            except queue.Empty:
                return None

    def _has_sent_all(self) -> bool:
        return self._message is None and self._waiting.empty()

    def _finish(self, end: LinkEnd, why: str) -> None:
        if self.end is None:
            self.why, self.end = why, end
            self.over.set()
            self._arrived.put(None)

    def _let_go(self) -> None:
        """Give the memory of rows back that nobody will send."""
        self._message = None
        self._messages.close()
        while not self._waiting.empty():
            item = self._waiting.get()
            if isinstance(item, SentRows):
                item.sent(item.memory)


def _received(socket: zmq.Socket[bytes]) -> bytes | None:
    try:
        return socket.recv(zmq.NOBLOCK)
    except zmq.Again:
        return None


def _messages_of(item: SentRows | bytes) -> Generator[list[bytes], None, None]:
    """Yield the messages that carry something; give the memory of rows back after the last one."""
    if isinstance(item, bytes):
        yield [item]
        return
    begin = 0
    try:
        for data in pieces_of_rows(item.memory, item.pieces):
            yield [row_head(item.task, begin), data]
            begin += len(data)
    finally:
        item.sent(item.memory)


def pieces_of_rows(memory: mmap.mmap, pieces: Sequence[Piece], most: int = PIECE_BYTES) -> Iterator[bytes]:
    """Yield what the pieces of a slot hold, end to end, in parts of `most` bytes; the last one may be shorter."""
    gathered: list[bytes] = []
    room = most
    for start, length in pieces:
        while length:
            taken = min(length, room)
            gathered.append(memory[start : start + taken])
            start, length, room = start + taken, length - taken, room - taken  # noqa: PLW2901 - what is left of it
            if not room:
                yield gathered[0] if len(gathered) == 1 else b"".join(gathered)
                gathered, room = [], most
    if gathered:
        yield b"".join(gathered)
