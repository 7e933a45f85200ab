"""The worker's loop: a message in, rows written, a message out; knows the daemon's words, not what a frame is."""

from __future__ import annotations

import argparse
import atexit
import io
import json
import mmap
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import zmq

from loader_service import failpoints
from loader_service.catalog.column_files import open_catalog
from loader_service.catalog.columns import Catalog, FileStat
from loader_service.errors import ConfigError, FileTouched, LoaderError
from loader_service.lifeline import die_with_parent
from loader_service.progress import Progress
from loader_service.protocol import wire
from loader_service.protocol.fields import SlotLayout
from loader_service.protocol.messages import (
    AdoptFile,
    BadRow,
    Drain,
    DropStream,
    PrepareStream,
    Probed,
    ProbeStream,
    Task,
    TaskDone,
    ToWorker,
    WorkerReady,
)
from loader_service.protocol.segments import map_segment
from loader_service.worker.frame_fields import Origin
from loader_service.worker.patience import Patience
from loader_service.worker.reader import Reader
from loader_service.worker.rows import RowWriter
from loader_service.worker.transform_probe import probe_transform
from loader_service.worker.transformed_rows import TransformWriter

if TYPE_CHECKING:
    from loader_service.worker.python_source import GeneratorSource, MapSource
    from loader_service.worker.transform import Transform

#: How long an ended worker waits for its last words to be sent, in milliseconds.
_LINGER_MS = 1000

#: Tasks that take less than this together are reported together: a message costs 0.1 ms at both ends.
_REPORT_AFTER_S = 0.001


@dataclass(frozen=True)
class WorkerOptions:
    """What the daemon tells a worker on its command line."""

    worker: int
    parent_pid: int
    address: str  # of the daemon's socket for workers
    instance: str  # names the folder of the segments
    catalog: str  # folder of the columns
    source: str = ""  # the user's own, instead of files: package.module:Name
    source_args: str = "[]"  # JSON: name=value texts
    transform: str = ""  # the user's own: module:function
    seed: int = 0  # of a generator source
    progress: int | None = None  # descriptor of the memory that tells which sample is made
    task_timeout: float = 60.0  # after which a worker that is at one task is killed


class Worker:
    """Executes tasks, one at a time.

    Parameters
    ----------
    options
        Who this worker is.
    catalog
        The columns.

    Raises
    ------
    SourceError
        When the user's own source or transform cannot be loaded.
    """

    def __init__(self, options: WorkerOptions, catalog: Catalog) -> None:
        self._options = options
        self._reader = Reader(catalog, patience=Patience(options.task_timeout))
        self._progress = Progress(options.progress, options.worker)
        self._origin = Origin(catalog, self._reader, _open_source(options), self._progress)
        self._transform = _load_transform(options)
        self._writers: dict[int, RowWriter | TransformWriter] = {}
        self._slots: dict[int, dict[int, mmap.mmap]] = {}

    def prepare(self, message: PrepareStream) -> None:
        """Get ready for the tasks of a stream."""
        layout = SlotLayout(message.fields, message.spec.batch_size, message.frames)
        if self._transform is None:
            self._writers[message.stream] = RowWriter(self._origin, message.spec, layout)
        else:
            self._writers[message.stream] = TransformWriter(
                self._origin, message.spec, layout, message.inputs, self._transform
            )
        self._slots[message.stream] = {}

    def probe(self, message: ProbeStream) -> Probed:
        """Try the transform on a stream that somebody wants to open."""
        worker, probe = self._options.worker, message.probe
        self._reader.begin()
        try:
            if self._transform is None:
                raise ConfigError("this service has no transform; start it with --transform MODULE:FUNCTION")
            fields = probe_transform(self._origin, message.spec, message.inputs, self._transform)
        except FileTouched as error:
            return Probed(worker, probe, (), type(error).__name__, str(error), self._reader.touched)
        except LoaderError as error:
            return Probed(worker, probe, (), type(error).__name__, str(error))
        return Probed(worker, probe, fields, "", "")

    def drop(self, message: DropStream) -> None:
        """Let go of a stream's slots; their memory is free once every process has."""
        self._writers.pop(message.stream, None)
        for memory in self._slots.pop(message.stream, {}).values():
            memory.close()

    def execute(self, task: Task) -> TaskDone:
        """Write the rows of a task."""
        self._progress.begin(task.task)
        failpoints.passing("worker.task_received")
        writer = self._writers[task.stream]
        slots = self._slots[task.stream]
        memory = slots.get(task.slot)
        if memory is None:
            try:
                size_bytes = writer.layout.size_bytes
                memory = slots[task.slot] = map_segment(self._options.instance, task.slot, size_bytes, whole=True)
            except LoaderError as error:  # the stream was closed while this task was on its way
                return TaskDone(
                    self._options.worker,
                    task.task,
                    tuple(BadRow(row, type(error).__name__, str(error)) for row in task.rows),
                )
        self._reader.begin()
        bad = writer.write(memory, task)
        failpoints.passing("worker.task_written")
        return TaskDone(self._options.worker, task.task, bad)

    def obey(self, messages: Sequence[ToWorker], report: Callable[..., object]) -> bool:
        """Act on messages that came together; return whether to go on.

        Parameters
        ----------
        messages
            What came, in order.
        report
            Called with the tasks that are done: with all at once when they were quick, one by one when each took time.
        """
        done: list[TaskDone] = []
        unreported_since = time.monotonic()
        for message in messages:
            match message:
                case Task():
                    done.append(self.execute(message))
                    now = time.monotonic()
                    if now - unreported_since > _REPORT_AFTER_S:
                        report(*done)
                        done, unreported_since = [], now
                case PrepareStream():
                    self.prepare(message)
                case ProbeStream():
                    report(self.probe(message))
                case DropStream():
                    self.drop(message)
                case AdoptFile(file, size_bytes, mtime_ns, inode):
                    self._reader.adopt(file, FileStat(size_bytes, mtime_ns, inode % 2**64))
                case Drain():
                    break
        if done:
            report(*done)
        return not any(isinstance(message, Drain) for message in messages)

    def close(self) -> None:
        """Close files and mappings."""
        self._reader.close()
        for stream in list(self._writers):
            self.drop(DropStream(stream))


def _open_source(options: WorkerOptions) -> MapSource | GeneratorSource | None:
    if not options.source:
        return None
    # Here, not above: most services have no code of the user's.
    from loader_service.worker.python_source import SourceOptions, open_source  # noqa: PLC0415

    return open_source(SourceOptions(options.source, json.loads(options.source_args), options.seed), options.worker)


def _load_transform(options: WorkerOptions) -> Transform | None:
    if not options.transform:
        return None
    from loader_service.worker.transform import Transform  # noqa: PLC0415 - as above

    return Transform(options.transform)


def print_by_lines() -> None:
    """Send what the user's code prints to the daemon's log line by line, and not when a buffer is full."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)


def serve(options: WorkerOptions) -> None:
    """Connect to the daemon and execute tasks until told to leave."""
    catalog = open_catalog(options.catalog)
    worker = Worker(options, catalog)
    with zmq.Context(io_threads=1) as context, context.socket(zmq.DEALER) as socket:
        socket.setsockopt(zmq.IDENTITY, b"worker-%d" % options.worker)
        socket.setsockopt(zmq.LINGER, _LINGER_MS)
        socket.connect(options.address)
        socket.send(wire.encode(WorkerReady(options.worker)))
        # No deadline: the kernel ends this process when the daemon ends, so there is always someone to wait for.
        while worker.obey(wire.decode(socket.recv(), ToWorker), lambda *done: socket.send(wire.encode(*done))):
            pass
    worker.close()


def main() -> int:
    """Run one worker process; started by the daemon only."""
    parser = argparse.ArgumentParser(prog="loader-service worker", description="Started by the daemon; not for people.")
    for option in ("parent-pid", "worker"):
        parser.add_argument(f"--{option}", type=int, required=True)
    for option in ("address", "instance", "catalog"):
        parser.add_argument(f"--{option}", required=True)
    for option in ("source", "source-args", "transform"):
        parser.add_argument(f"--{option}", default=argparse.SUPPRESS)
    for option in ("seed", "progress"):
        parser.add_argument(f"--{option}", type=int, default=argparse.SUPPRESS)
    parser.add_argument("--task-timeout", type=float, default=argparse.SUPPRESS)
    options = WorkerOptions(**vars(parser.parse_args()))
    die_with_parent(options.parent_pid)
    try:
        failpoints.passing("worker.starting")
        if options.source or options.transform:
            print_by_lines()
        serve(options)
    except LoaderError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    return 0


def leave(code: int) -> NoReturn:
    """End this process without waiting for threads that the user's code has started and not ended."""
    if threading.active_count() > 1:
        atexit._run_exitfuncs()  # noqa: SLF001 - what the interpreter does once it has waited: it ends processes
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    leave(main())
