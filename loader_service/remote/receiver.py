"""The receiver: takes the rows of remote workers and writes them into slots; the only process that does. One thread.

It is each remote worker to the daemon, and the daemon to each of them; `row_intake.py` decides, this carries out.
"""

from __future__ import annotations

import errno
import mmap
import os
import resource
import sys
import time
from collections import deque
from typing import Any

import zmq

from loader_service import failpoints
from loader_service.errors import LoaderError
from loader_service.lifeline import die_with_parent
from loader_service.protocol import messages as m
from loader_service.protocol import remote_messages as r
from loader_service.protocol import wire
from loader_service.protocol.segment_files import map_segment
from loader_service.remote import row_intake as act
from loader_service.remote.remote_options import ARRIVALS, ReceiverOptions, own_versions
from loader_service.remote.row_frames import MOST_FRAME_BYTES, WAITING_MESSAGES, read_row_head
from loader_service.remote.row_intake import RowIntake
from loader_service.remote.run_keys import Gatekeeper, open_door
from loader_service.remote.throttle import USUAL, Throttle

#: How often each connection and the daemon hear that the receiver lives, in seconds.
BEAT_S, _LOAD_S = 0.25, 1.0

#: How long a connection may take to show who it is, in milliseconds: after that ZeroMQ closes it.
_HANDSHAKE_MS = 2000

#: Messages taken from connections before anything else is looked at; fewer where a beat is due before.
_BURST = 64

#: Files and connections that may be open: some for each remote worker and each slot, and what strangers hold until the
#: time of their handshake is over. Beyond, the kernel lets them wait; each may have the receiver take a piece of rows.
_MOST_DESCRIPTORS = 4096

#: Sockets that ZeroMQ may have in this process: one for each remote worker, and a few.
_MOST_SOCKETS = 4096

#: How long the connection to the daemon may take to send its last words, in milliseconds.
_LINGER_MS = 200


class Receiver:
    """The process."""

    def __init__(self, options: ReceiverOptions, context: zmq.Context[zmq.Socket[bytes]]) -> None:
        now = time.monotonic()
        self._options = options
        self._context = context
        expected = {**own_versions(), "catalog": options.catalog}
        self._intake = RowIntake(expected, options.files, options.receiver * ARRIVALS, now)
        self._throttle = Throttle(now, time.process_time())
        self._wanted: dict[int, int] = {}  # tasks that workers ask for themselves
        self._gate = Gatekeeper(options.keys)
        self._gate_socket = context.socket(zmq.REP)
        self._gate_socket.bind("inproc://zeromq.zap.01")
        self._door = self._open_door()
        self._daemon = self._connect(b"receiver-%d" % options.receiver)
        self._workers: dict[int, zmq.Socket[bytes]] = {}
        self._slots: dict[int, mmap.mmap] = {}
        self._poller = zmq.Poller()
        for socket in (self._gate_socket, self._door, self._daemon):
            self._poller.register(socket, zmq.POLLIN)
        self._received_bytes = 0
        self._told_away = 0
        self._next_beat = self._next_load = now

    def run(self) -> None:
        """Serve for as long as the daemon lives: the kernel ends this process when that ends."""
        while True:
            ready = dict(self._poller.poll(self._patience_ms()))
            if self._gate_socket in ready:
                self._gate_socket.send_multipart(self._gate.answer(self._gate_socket.recv_multipart()))
            if self._daemon in ready:
                self._hear_daemon()
            for worker in [each for each, socket in self._workers.items() if socket in ready]:
                self._pass_on(worker)
            drained = self._hear_connections() if self._door in ready else True
            if drained:
                self._act(self._intake.tick(time.monotonic()))
            self._beat(time.monotonic())

    # ---- sockets

    def _open_door(self) -> zmq.Socket[bytes]:
        door = self._context.socket(zmq.ROUTER)
        door.setsockopt(zmq.ROUTER_MANDATORY, 1)
        door.setsockopt(zmq.MAXMSGSIZE, MOST_FRAME_BYTES)
        door.setsockopt(zmq.RCVHWM, WAITING_MESSAGES)
        door.setsockopt(zmq.HANDSHAKE_IVL, _HANDSHAKE_MS)
        door.setsockopt(zmq.LINGER, 0)
        door.setsockopt(zmq.IPV6, 1)
        open_door(door, self._options.keys)
        door.setsockopt(zmq.USE_FD, self._options.descriptor)
        door.bind(self._options.address)
        return door

    def _connect(self, name: bytes) -> zmq.Socket[bytes]:
        socket = self._context.socket(zmq.DEALER)
        socket.setsockopt(zmq.IDENTITY, name)
        socket.setsockopt(zmq.LINGER, _LINGER_MS)
        socket.connect(self._options.workers_address)
        return socket

    # ---- what comes

    def _hear_daemon(self) -> None:
        messages: list[r.ToReceiver] = wire.decode(self._daemon.recv(), r.ToReceiver)
        for message in messages:
            self._act(self._intake.told(message))

    def _pass_on(self, worker: int) -> None:
        """Pass on what the daemon says to a worker, which may be let go meanwhile."""
        socket = self._workers.get(worker)
        while socket is not None and not socket.closed:
            try:
                payload = socket.recv(zmq.NOBLOCK)
            except zmq.Again:
                return
            messages: list[m.ToWorker] = wire.decode(payload, m.ToWorker)
            for message in messages:
                self._act(self._intake.given(worker, message))

    def _hear_connections(self) -> bool:
        """Take what has come, at most one burst and until a beat is due; return whether that was all."""
        for number in range(_BURST):
            if number and self._next_beat <= time.monotonic():
                return False
            try:
                connection = self._door.recv(zmq.NOBLOCK)
            except zmq.Again:
                return True
            first = self._door.recv(copy=False)
            if not first.more:
                self._hear(connection, first)
                continue
            second = last = self._door.recv(copy=False)
            while last.more:
                last = self._door.recv(copy=False)
            if last is second:
                self._take_rows(connection, first.bytes, second)
            else:
                self._act(self._intake.malformed(connection, "more than two frames"))
        return False

    def _hear(self, connection: bytes, frame: zmq.Frame) -> None:
        try:
            messages: list[r.FromRemote] = wire.decode(frame.bytes, r.FromRemote)
        except LoaderError as error:
            self._act(self._intake.malformed(connection, str(error)))
            return
        proof = "" if self._options.keys.encrypt else self._options.keys.proof("receiver", str(frame.get("User-Id")))
        for message in messages:
            if isinstance(message, m.TasksWanted):
                self._note_wish(connection, message)
            else:
                self._act(self._intake.heard(connection, message, proof, time.monotonic()))

    def _note_wish(self, connection: bytes, message: m.TasksWanted) -> None:
        """Keep how many tasks a worker asks for: the throttle says how many it gets."""
        worker = self._intake.worker_of(connection)
        if worker:
            self._wanted[worker] = max(USUAL, message.count)

    def _take_rows(self, connection: bytes, head: bytes, frame: zmq.Frame) -> None:
        failpoints.passing("receiver.rows")
        data = frame.buffer
        self._received_bytes += len(data)
        try:
            task, begin = read_row_head(head)
        except LoaderError as error:
            self._act(self._intake.malformed(connection, str(error)))
            return
        stream = self._intake.stream_of(connection, task)
        slot, pieces, acts = self._intake.rows(connection, task, begin, len(data), time.monotonic())
        if pieces:
            memory = self._map(connection, task, stream, slot)
            taken = 0
            for start, length in pieces if memory is not None else ():
                memory[start : start + length] = data[taken : taken + length]  # type: ignore[index]
                taken += length
        self._act(acts)

    def _map(self, connection: bytes, task: int, stream: int, slot: int) -> mmap.mmap | None:
        memory = self._slots.get(slot)
        if memory is None:
            try:
                size_bytes = self._intake.size_of(stream)
                memory = self._slots[slot] = map_segment(self._options.instance, slot, size_bytes, whole=True)
            except LoaderError as error:  # its stream was closed while these rows were on their way
                self._intake.cannot_map(connection, task, str(error))
        return memory

    # ---- what is to be done

    def _act(self, acts: list[act.Act]) -> None:
        waiting = deque(acts)
        while waiting:
            match waiting.popleft():
                case act.Tell(connection, message):
                    if not self._tell(connection, message) and not isinstance(message, r.RemoteLeave):
                        waiting.extend(self._intake.unreachable(connection))
                case act.Report(message):
                    self._daemon.send(wire.encode(message))
                case act.Speak(worker, message):
                    if worker in self._workers:  # else it could not be attached
                        self._workers[worker].send(wire.encode(message))
                case act.Attach(worker):
                    waiting.extend(self._attach(worker))
                case act.Detach(worker):
                    self._wanted.pop(worker, None)
                    if (socket := self._workers.pop(worker, None)) is not None:
                        self._poller.unregister(socket)
                        socket.close()
                case act.Unmap(slots):
                    for slot in slots:
                        if (memory := self._slots.pop(slot, None)) is not None:
                            memory.close()

    def _attach(self, worker: int) -> list[act.Act]:
        """Be a worker to the daemon; let it go where connections of strangers hold all descriptors."""
        try:
            socket = self._connect(b"worker-%d" % worker)
        except zmq.ZMQError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            return self._intake.cannot_attach(worker, f"no descriptor is left for it: {error}")
        self._workers[worker] = socket
        self._poller.register(socket, zmq.POLLIN)
        return []

    def _tell(self, connection: bytes, *messages: Any) -> bool:
        """Say something to a connection; return whether there still is one that listens."""
        try:
            self._door.send_multipart((connection, wire.encode(*messages)), zmq.NOBLOCK)
        except zmq.ZMQError as error:
            if error.errno in (zmq.EHOSTUNREACH, zmq.EAGAIN):
                return False
            raise
        return True

    # ---- time

    def _patience_ms(self) -> int:
        return max(0, int((min(self._next_beat, self._next_load) - time.monotonic()) * 1000) + 1)

    def _beat(self, now: float) -> None:
        if self._next_beat <= now:
            self._next_beat = now + BEAT_S
            for connection in self._intake.connections:
                if not self._tell(connection, r.ReceiverBeat()):
                    self._act(self._intake.unreachable(connection))
            self._slow_down(now)
        if self._next_load <= now:
            self._next_load = now + _LOAD_S
            self._act([act.Report(r.ReceiverLoad(int(time.process_time() * 1000), self._received_bytes))])
            self._tell_away()

    def _slow_down(self, now: float) -> None:
        wanted = {worker: self._wanted.get(worker, USUAL) for worker in self._intake.workers}
        if wanted:
            for worker, tasks in self._throttle.look(now, time.process_time(), wanted).items():
                self._act([act.Speak(worker, m.TasksWanted(worker, tasks))])

    def _tell_away(self) -> None:
        """Say how many were not let in since this was said before."""
        news = self._gate.turned_away - self._told_away
        if news:
            self._told_away = self._gate.turned_away
            line = f"{news} connections to {self._options.address} were not let in: they have no key of this run"
            self._act([act.Report(r.RemoteRejected(line))])


def main() -> None:
    """Run the receiver; started by the daemon only, which tells it what to do through its standard input."""
    die_with_parent(int(sys.argv[1]))
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, _MOST_DESCRIPTORS), hard))
    options = ReceiverOptions.told()
    os.set_inheritable(options.descriptor, False)
    with zmq.Context(io_threads=1) as context:
        context.set(zmq.MAX_SOCKETS, _MOST_SOCKETS)
        Receiver(options, context).run()


if __name__ == "__main__":
    main()
