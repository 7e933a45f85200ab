"""The worker's loop: a message in, rows written, a message out; knows the daemon's words, not what a frame is."""

from __future__ import annotations

import io
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import zmq

from loader_service import failpoints
from loader_service.catalog.cache.column_files import open_catalog
from loader_service.catalog.columns import Catalog, FileStat
from loader_service.ending import end_at_once
from loader_service.errors import ConfigError, FileTouched, LoaderError
from loader_service.lifeline import told
from loader_service.progress import Progress
from loader_service.protocol import wire
from loader_service.protocol.fields import SlotLayout
from loader_service.protocol.messages import (
    AdoptFile,
    BadRow,
    CopyRead,
    Drain,
    DropSlots,
    DropStream,
    FromWorker,
    PrepareStream,
    Probed,
    ProbeStream,
    Task,
    TaskDone,
    TasksWanted,
    TimeSpent,
    ToWorker,
    WorkerReady,
)
from loader_service.worker.frame_fields import Origin
from loader_service.worker.mapped_slots import MappedSlots, TaskMemory
from loader_service.worker.open_cache import open_frame_cache
from loader_service.worker.reader import Reader
from loader_service.worker.retry_patience import RetryPatience
from loader_service.worker.row_writer import RowWriter
from loader_service.worker.turbo_library import decoder_text
from loader_service.worker_options import WorkerOptions

if TYPE_CHECKING:
    from loader_service.stores.copy_folder import CopyFolder
    from loader_service.user_code.python_source import GeneratorSource, MapSource
    from loader_service.user_code.transformed_rows import TransformWriter
    from loader_service.worker.transforms import TransformedStreams

#: How long an ended worker waits for its last words to be sent, in milliseconds.
_LINGER_MS = 1000

#: Tasks that take less than this together are reported together: a message costs 0.1 ms at both ends.
_REPORT_AFTER_S = 0.002

#: How often a worker tells what its time went into, in seconds: beside what it has done, or once it is idle.
_TELL_EVERY_S = 0.5
_TELL_MS = int(_TELL_EVERY_S * 1000)


class WorkerProcess:
    """Executes tasks, one at a time.

    Parameters
    ----------
    options
        Who this worker is.
    catalog
        The columns.
    slots
        What it writes into; by default the slots themselves, in shared memory.

    Raises
    ------
    SourceError
        When the user's own source or transform cannot be loaded.
    """

    def __init__(self, options: WorkerOptions, catalog: Catalog, slots: TaskMemory | None = None) -> None:
        self._options = options
        self._copy = _open_copy(options)
        self._reader = Reader(catalog, patience=RetryPatience(options.task_timeout), copy=self._copy)
        self._progress = Progress(options.progress, options.worker)
        self._frames = open_frame_cache(options)
        make_images = None if self._frames is None else self._frames.images
        self._origin = Origin(catalog, self._reader, _open_source(options), self._progress, make_images)
        self._transforms = _load_transform(options, self._origin)
        self._writers: dict[int, RowWriter | TransformWriter] = {}
        self._tell_at = time.monotonic() + _TELL_EVERY_S
        self._slots = slots if slots is not None else MappedSlots(options.instance)

    def prepare(self, message: PrepareStream) -> None:
        """Get ready for the tasks of a stream."""
        layout = SlotLayout(message.fields, message.spec.batch_size, message.frames)
        if self._transforms is None:
            self._writers[message.stream] = RowWriter(self._origin, message.spec, layout)
        else:
            self._writers[message.stream] = self._transforms.writer(message.spec, message.inputs, layout)

    def probe(self, message: ProbeStream) -> Probed:
        """Try the transform on a stream that somebody wants to open."""
        worker, probe = self._options.worker, message.probe
        self._reader.begin()
        try:
            if self._transforms is None:
                raise ConfigError("this service has no transform; start it with --transform MODULE:FUNCTION")
            fields = self._transforms.probe(message.spec, message.inputs)
        except FileTouched as error:
            return Probed(worker, probe, (), type(error).__name__, str(error), self._reader.files.touched)
        except LoaderError as error:
            return Probed(worker, probe, (), type(error).__name__, str(error))
        return Probed(worker, probe, fields, "", "")

    def drop(self, message: DropStream) -> None:
        """Let go of a stream's slots; their memory is free once every process has."""
        writer = self._writers.pop(message.stream, None)
        if writer is not None:
            writer.close()
        self._slots.drop_stream(message.stream)

    def adopt(self, message: AdoptFile) -> None:
        """Take a file with another size, time or inode for the one that was scanned."""
        status = FileStat(message.size_bytes, message.mtime_ns, message.inode % 2**64)
        self._reader.adopt(message.file, status)

    def execute(self, task: Task) -> TaskDone:
        """Write the rows of a task."""
        self._progress.begin(task.task)
        failpoints.passing("worker.task_received", self._options.worker)
        writer = self._writers[task.stream]
        try:
            memory = self._slots.memory(task.stream, task.slot, writer.layout.size_bytes)
        except LoaderError as error:  # the stream was closed while this task was on its way
            bad = tuple(BadRow(row, type(error).__name__, str(error)) for row in task.rows.numbers)
            return TaskDone(self._options.worker, task.task, bad)
        self._reader.begin(task.task, lambda: writer.ranges(task.epoch, task.rows))
        bad = writer.write(memory, task.epoch, task.rows)
        waited_s = self._reader.end()
        failpoints.passing("worker.task_written")
        return TaskDone(self._options.worker, task.task, bad, waited_s)

    def foresee(self, messages: Iterable[ToWorker]) -> None:
        """Begin the reads of tasks that wait."""
        for each in messages:
            if isinstance(each, Task) and each.stream in self._writers:
                ranges = self._writers[each.stream].ranges
                self._reader.reads.expect(each.task, partial(ranges, each.epoch, each.rows))

    def time_spent(self) -> TimeSpent:
        """Return what its time went into since its start."""
        transform_s = 0.0 if self._transforms is None else self._transforms.seconds
        return self._reader.spent.message(self._options.worker, transform_s)

    def obey(
        self,
        messages: Sequence[ToWorker],
        report: Callable[..., object],
        more: Callable[[], Sequence[ToWorker]] = tuple,
    ) -> bool:
        """Act on messages that came together; return whether to go on.

        Parameters
        ----------
        messages
            What came, in order.
        report
            Called with the tasks that are done: with all at once when they were quick, one by one when each took time.
        more
            Returns what has come since; asked while reads are slow, so that those of the next tasks can begin.
        """
        waiting = deque(messages)
        done: list[TaskDone] = []
        unreported_since = time.monotonic()
        stays = True
        while waiting:
            if self._reader.reads.are_slow:
                waiting.extend(more())
                self.foresee(waiting)
            message = waiting.popleft()
            self._reader.files.begin_task(is_with_others=bool(done))
            match message:
                case Task():
                    done.append(self.execute(message))
                    now = time.monotonic()
                    if now - unreported_since > _REPORT_AFTER_S:
                        report(*done, *self._asides(now))
                        done, unreported_since = [], now
                case PrepareStream():
                    self.prepare(message)
                case ProbeStream():
                    report(self.probe(message))
                case DropStream():
                    self.drop(message)
                case DropSlots(stream, slots):
                    self._slots.drop_slots(stream, slots)
                case AdoptFile():
                    self.adopt(message)
                case Drain():
                    stays = False
                    break
        if news := (*done, *self._asides(unreported_since)):
            report(*news)
        return stays

    def _asides(self, now: float) -> Iterator[FromWorker]:
        """Yield what the daemon is to know beside the tasks that are done."""
        wanted = self._reader.reads.tasks_wanted()
        if wanted is not None:
            yield TasksWanted(self._options.worker, wanted)
        news = self._copy.counts.news() if self._copy is not None else None
        if news is not None:
            yield CopyRead(self._options.worker, *news)
        if now >= self._tell_at:
            self._tell_at = now + _TELL_EVERY_S
            yield self.time_spent()

    def close(self) -> None:
        """Close files and mappings."""
        self._reader.close()
        for stream in list(self._writers):
            self.drop(DropStream(stream))
        if self._frames is not None:
            self._frames.close()
        if self._copy is not None:
            sys.stderr.write(f"worker {self._options.worker}: {self._copy.counts}\n")
            self._copy.close()


def _arrived(socket: zmq.Socket[bytes]) -> list[ToWorker]:
    """Return the messages that have come, without waiting."""
    messages: list[ToWorker] = []
    while socket.poll(0):
        messages += wire.decode(socket.recv(), ToWorker)
    return messages


def _open_source(options: WorkerOptions) -> MapSource | GeneratorSource | None:
    if options.source is None:
        return None
    # Here, not above: most services have no code of the user's.
    from loader_service.source_facts import SourceOptions  # noqa: PLC0415
    from loader_service.user_code.python_source import open_source  # noqa: PLC0415

    return open_source(SourceOptions(**options.source), options.worker)


def _open_copy(options: WorkerOptions) -> CopyFolder | None:
    if not options.copy_folder:
        return None
    from loader_service.stores.copy_folder import CopyFolder  # noqa: PLC0415 - most services have no store

    try:
        return CopyFolder(options.copy_folder, options.copy_bytes)
    except OSError as error:  # the daemon could open it a moment ago
        sys.stderr.write(f"cannot use the local copy in {options.copy_folder!r}: {error}; reading the store alone\n")
        return None


def _load_transform(options: WorkerOptions, origin: Origin) -> TransformedStreams | None:
    if not options.transform:
        return None
    from loader_service.worker.transforms import TransformedStreams  # noqa: PLC0415 - as above

    return TransformedStreams(origin, options.transform)


def print_by_lines() -> None:
    """Send what the user's code prints to the daemon's log line by line, and not when a buffer is full."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)


def serve(options: WorkerOptions) -> None:
    """Connect to the daemon and execute tasks until told to leave."""
    catalog = open_catalog(options.catalog)
    worker = WorkerProcess(options, catalog)
    with zmq.Context(io_threads=1) as context, context.socket(zmq.DEALER) as socket:
        socket.setsockopt(zmq.IDENTITY, b"worker-%d" % options.worker)
        socket.setsockopt(zmq.LINGER, _LINGER_MS)
        socket.setsockopt(zmq.RCVTIMEO, _TELL_MS)
        socket.connect(options.address)
        socket.send(wire.encode(WorkerReady(options.worker, decoder_text())))

        # No deadline: the kernel ends this process when the daemon ends, so there is always someone to wait for.
        def report(*done: FromWorker) -> None:
            socket.send(wire.encode(*done))

        while worker.obey(_next(socket, worker, report), report, partial(_arrived, socket)):
            pass
    worker.close()


def _next(socket: zmq.Socket[bytes], worker: WorkerProcess, report: Callable[..., object]) -> list[ToWorker]:
    """Return the next messages; tell what the time went into where none come for a while."""
    try:
        payload = socket.recv()
    except zmq.Again:
        report(worker.time_spent())
        socket.setsockopt(zmq.RCVTIMEO, -1)  # nothing changes until the next message
        payload = socket.recv()
        socket.setsockopt(zmq.RCVTIMEO, _TELL_MS)
    return wire.decode(payload, ToWorker)


def main() -> int:
    """Run one worker process; started by the daemon only."""
    options = told(WorkerOptions)
    try:
        failpoints.passing("worker.starting")
        if options.source or options.transform:
            print_by_lines()
        serve(options)
    except LoaderError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    end_at_once(main())
