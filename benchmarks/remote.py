"""Measures remote workers on one host: what receiving rows costs, what a remote worker adds, and how late rows come.

`python -m benchmarks.remote` prints three tables. The network is the loopback; each side alternates with the other.

1. The receiver's CPU for a GB of rows, plain and with CURVE, and the time from a task to its report, less the worker's:
   a real receiver, and a sender that has its rows already.
2. Steps a second from JPEGs of 1080 x 1920 pixels that become 224 x 224: two workers of this host, or one of them and a
   remote one, which is a process of this host too.
"""

from __future__ import annotations

import argparse
import mmap
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil  # type: ignore[import-untyped]
import zmq

import loader_client
from loader_client import Clip, Image
from loader_service.children import Child, command, environment
from loader_service.daemon.remote_workers import KEEPS_MEMORY  # as it is started
from loader_service.daemon.segments import SegmentStore
from loader_service.daemon.sockets import Router
from loader_service.protocol import messages as m
from loader_service.protocol import remote_messages as r
from loader_service.protocol.fields import Field, SlotLayout
from loader_service.protocol.rows import Rows
from loader_service.protocol.spec import Spec
from loader_service.remote.link import Link, SentRows
from loader_service.remote.listening import ListenAddress, listen
from loader_service.remote.remote_options import ReceiverOptions, RemoteWorkerOptions, line_of, own_versions
from loader_service.remote.run_keys import RunKeys
from loader_service.remote.slot_pieces import slot_pieces
from tests.support.services import running_service
from tests.support.videos import frame_jpeg, write_videos
from tests.support.waiting import eventually

FRAME_BYTES = 224 * 224 * 3
CATALOG = "f" * 64


@dataclass(frozen=True)
class Cost:
    """What it took to receive rows: CPU in seconds for a GB on both sides, and the median time of a task in seconds."""

    receiver_s: float
    sender_s: float
    task_s: float


class FakeDaemon:
    """A daemon as its receiver sees it, with one stream and one slot, and a sender that decodes nothing."""

    def __init__(self, stack: ExitStack, *, encrypt: bool, rows: int, row_bytes: int) -> None:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        address = f"ipc://{folder}/workers"
        store = stack.enter_context(SegmentStore())
        context = stack.enter_context(zmq.Context())
        self.router: Router[object] = stack.enter_context(Router(context, address, m.FromWorker | r.FromReceiver))
        port = listen(ListenAddress("127.0.0.1"))
        stack.enter_context(port.socket)
        keys = RunKeys.make(encrypt=encrypt)
        options = ReceiverOptions(1, address, store.instance, port.address, port.socket.fileno(), keys, CATALOG)
        words = command("loader_service.remote.receiver", str(os.getpid()))
        self.child = stack.enter_context(
            Child(
                words, environment(**KEEPS_MEMORY), stdin=subprocess.PIPE, pass_fds=(options.descriptor,), output=None
            )
        )
        os.write(self.child.stdin, line_of(options))
        versions = own_versions()
        worker = RemoteWorkerOptions(port.address, keys.without_receiver_secret(), **versions, catalog=CATALOG)
        self.link = stack.enter_context(Link(worker, r.RemoteHello(**versions, catalog=CATALOG, node="here", pid=1)))
        fields = (Field("frames", "uint8", (row_bytes,)), Field("label", "int64", ()))
        self.layout = SlotLayout(fields, rows)
        (self.slot,) = store.create(1, self.layout.size_bytes)
        self.memory = mmap.mmap(-1, self.layout.size_bytes)
        self.memory.write(os.urandom(2**20) * (self.layout.size_bytes // 2**20))
        arrived = self.hear(r.RemoteArrived)
        self.say(b"receiver-1", r.AdmitArrival(arrived.arrival, 1))
        self.hear(m.WorkerReady)
        self.say(b"worker-1", m.PrepareStream(1, Spec(rows, Clip(1)), fields))
        self.rows = Rows(tuple(range(rows)), tuple(range(rows)))

    def say(self, peer: bytes, message: object) -> None:
        self.router.post(peer, message)
        assert not self.router.flush()

    def hear(self, kind: type) -> object:
        while True:
            assert self.router.socket.poll(20_000), f"no {kind.__name__}"
            for received in self.router.receive():
                if isinstance(received.message, kind):
                    return received.message

    def task(self, number: int) -> float:
        """Have the rows of one task travel; return how long that took, in seconds."""
        begun = time.perf_counter()
        self.say(b"worker-1", m.Task(number, 1, 0, self.slot, self.rows))
        while not any(isinstance(each, m.Task) for each in self.link.next(20.0)):
            pass
        self.link.send(SentRows(number, self.memory, slot_pieces(self.layout, self.rows), lambda _: None))
        self.link.send(m.TaskDone(0, number, ()))
        self.hear(m.TaskDone)
        return time.perf_counter() - begun


def receiving(*, encrypt: bool, rows: int, row_bytes: int, total_bytes: int) -> Cost:
    with ExitStack() as stack:
        daemon = FakeDaemon(stack, encrypt=encrypt, rows=rows, row_bytes=row_bytes)
        daemon.task(1)
        receiver = psutil.Process(daemon.child.pid)
        before, own = sum(receiver.cpu_times()[:2]), resource.getrusage(resource.RUSAGE_SELF)
        tasks = max(5, total_bytes // (rows * row_bytes))
        times = [daemon.task(number + 2) for number in range(tasks)]
        after, own_after = sum(receiver.cpu_times()[:2]), resource.getrusage(resource.RUSAGE_SELF)
        gb = tasks * rows * row_bytes / 1e9
        sender = own_after.ru_utime + own_after.ru_stime - own.ru_utime - own.ru_stime
        return Cost((after - before) / gb, sender / gb, median(times))


@contextmanager
def large_frames() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        jpegs = [frame_jpeg(seed, 1080, 1920) for seed in range(4)]
        for file in range(4):
            videos = {f"v{file}_{video}": [jpegs[(video + each) % 4] for each in range(24)] for video in range(8)}
            write_videos(Path(folder) / f"{file}.h5", "group_vlen", videos)
        yield Path(folder)


def steps_per_s(files: Path, steps: int, **options: object) -> float:
    with running_service(files / "*.h5", **options) as service, loader_client.connect(service.endpoint) as connection:
        workers = 2
        eventually(lambda: sum(each.state == "working" for each in connection.status().workers) == workers, "workers")
        batches = connection.batches(
            4, clip=Clip(frames=4), image=Image(size=(224, 224)), epochs=None, drop_remainder=True
        )
        for _ in range(3):
            next(batches)
        begun = time.perf_counter()
        for _ in range(steps):
            next(batches)
        return steps / (time.perf_counter() - begun)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--gb", type=float, default=1.0)
    chosen = parser.parse_args()
    costs: dict[bool, list[Cost]] = {False: [], True: []}
    late: dict[bool, list[Cost]] = {False: [], True: []}
    for _ in range(chosen.rounds):
        for encrypt in (False, True):
            total = int(chosen.gb * 1e9)
            costs[encrypt].append(receiving(encrypt=encrypt, rows=16, row_bytes=2**20, total_bytes=total))
            late[encrypt].append(receiving(encrypt=encrypt, rows=16, row_bytes=FRAME_BYTES, total_bytes=2**27))
    print("rows of 1 MiB, 16 a task     receiver s/GB  sender s/GB   a batch of 16 x 224 x 224 x 3 arrives after")
    for encrypt, name in ((False, "plain"), (True, "CURVE")):
        receiver, sender = (median(getattr(each, key) for each in costs[encrypt]) for key in ("receiver_s", "sender_s"))
        print(
            f"{name:28} {receiver:13.2f} {sender:12.2f} {median(each.task_s for each in late[encrypt]) * 1e3:24.2f} ms"
        )
    with large_frames() as files:
        rates: dict[str, list[float]] = {"two local": [], "local + remote": []}
        for _ in range(chosen.rounds):
            rates["two local"].append(steps_per_s(files, chosen.steps, workers=2))
            remote = {"workers": 1, "ray": "processes", "ray_workers": 1}
            rates["local + remote"].append(steps_per_s(files, chosen.steps, **remote))
    print(
        "1080 x 1920 to 224 x 224, steps/s: " + ", ".join(f"{name} {median(all_):.2f}" for name, all_ in rates.items())
    )
    print(f"share: {median(b / a for a, b in zip(*rates.values(), strict=True)):.2f}")


if __name__ == "__main__":
    main()
