"""A real receiver with a daemon that is played: one stream, one slot, and a sender that has its rows already."""

from __future__ import annotations

import mmap
import os
import subprocess
import tempfile
import time
from contextlib import ExitStack
from typing import Any

import zmq

from loader_service.children import Child, command, environment
from loader_service.cluster_options import ListenAddress
from loader_service.daemon.remote_workers import KEEPS_MEMORY  # as it is started
from loader_service.daemon.segments import SegmentStore
from loader_service.daemon.sockets import Router
from loader_service.protocol import messages as m
from loader_service.protocol import remote_messages as r
from loader_service.protocol.fields import Field, SlotLayout
from loader_service.protocol.rows import Rows
from loader_service.protocol.spec import Clip, Spec
from loader_service.remote.link import Link, SentRows
from loader_service.remote.listening import listen
from loader_service.remote.remote_options import ReceiverOptions, RemoteWorkerOptions, line_of, own_versions
from loader_service.remote.run_keys import RunKeys
from loader_service.remote.slot_pieces import slot_pieces

CATALOG = "f" * 64


class ReceiverScene:
    """A daemon as its receiver sees it, with one remote worker that decodes nothing; `stack` closes it.

    Attributes
    ----------
    keys, address
        Of the run, and where the receiver listens.
    child
        The receiver's process.
    worker
        What a remote worker of the run is told.
    """

    def __init__(self, stack: ExitStack, *, encrypt: bool, rows: int, row_bytes: int) -> None:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        address = f"ipc://{folder}/workers"
        store = stack.enter_context(SegmentStore())
        context = stack.enter_context(zmq.Context())
        self.router: Router[object] = stack.enter_context(Router(context, address, m.FromWorker | r.FromReceiver))
        port = listen(ListenAddress("127.0.0.1"))
        stack.enter_context(port.socket)
        self.address = port.address
        self.keys = keys = RunKeys.make(encrypt=encrypt)
        options = ReceiverOptions(1, address, store.instance, port.address, port.socket.fileno(), keys, CATALOG, 1)
        words = command("loader_service.remote.receiver", str(os.getpid()))
        self.child = stack.enter_context(
            Child(
                words, environment(**KEEPS_MEMORY), stdin=subprocess.PIPE, pass_fds=(options.descriptor,), output=None
            )
        )
        os.write(self.child.stdin, line_of(options))
        versions = own_versions()
        known = keys.without_receiver_secret()
        self.worker = RemoteWorkerOptions(port.address, known, versions["version"], versions["decoder"], CATALOG)
        hello = r.RemoteHello(**versions, catalog=CATALOG, node="here", pid=1)
        self.link = stack.enter_context(Link(self.worker, hello))
        fields = (Field("frames", "uint8", (row_bytes,)), Field("label", "int64", ()))
        self.layout = SlotLayout(fields, rows)
        (self.slot,) = store.create(1, self.layout.size_bytes)
        self.memory = mmap.mmap(-1, self.layout.size_bytes)
        noise = os.urandom(2**20)
        self.memory.write((noise * (self.layout.size_bytes // 2**20 + 1))[: self.layout.size_bytes])
        arrived = self.hear(r.RemoteArrived)
        self.say(b"receiver-1", r.AdmitArrival(arrived.arrival, 1))
        self.hear(m.WorkerReady)
        self.say(b"worker-1", m.PrepareStream(1, Spec(rows, Clip(1)), fields))
        self.rows = Rows(tuple(range(rows)), tuple(range(rows)))

    def say(self, peer: bytes, message: object) -> None:
        """Say something to the receiver, or as it to a worker."""
        self.router.post(peer, message)
        assert not self.router.flush()

    def hear(self, kind: type) -> Any:
        """Return the next message of a kind, and leave out others."""
        while True:
            assert self.router.socket.poll(60_000), f"no {kind.__name__}"
            for received in self.router.receive():
                if isinstance(received.message, kind):
                    return received.message

    def task(self, *numbers: int) -> float:
        """Have the rows of tasks travel, of one or of several at once; return how long that took, in seconds."""
        begun = time.perf_counter()
        for number in numbers:
            self.say(b"worker-1", m.Task(number, 1, 0, self.slot, self.rows))
        left = len(numbers)
        while left:
            left -= sum(isinstance(each, m.Task) for each in self.link.next(20.0))
        for number in numbers:
            self.link.send(SentRows(number, self.memory, slot_pieces(self.layout, self.rows), lambda _: None))
            self.link.send(m.TaskDone(0, number, ()))
        for _ in numbers:
            self.hear(m.TaskDone)
        return time.perf_counter() - begun
