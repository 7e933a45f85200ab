"""A remote worker: the loop of a local one with private memory in place of slots; what an actor runs, or a process.

It makes connection after connection until it is told to end, so a network that was cut, and a receiver that was started
again, are a new beginning.
"""

from __future__ import annotations

import os
import platform
import sys
import threading
import time
from dataclasses import asdict

from loader_service import failpoints
from loader_service.catalog.cache.column_files import open_catalog
from loader_service.catalog.columns import Catalog
from loader_service.errors import ConfigError, LoaderError, ServiceUnavailable
from loader_service.lifeline import die_with_parent
from loader_service.protocol.remote_messages import RemoteHello, RemoteLeaving
from loader_service.protocol.worker_messages import AdoptFile, FromWorker, Task, TaskDone
from loader_service.remote.link import Link, LinkEnd, SentRows
from loader_service.remote.node_files import NodeFiles
from loader_service.remote.private_slots import PrivateSlots
from loader_service.remote.remote_options import RemoteWorkerOptions, check_versions, own_versions
from loader_service.remote.remote_reports import fitting
from loader_service.remote.slot_pieces import slot_pieces
from loader_service.url_secrets import take_secrets
from loader_service.worker.main import WorkerProcess
from loader_service.worker_options import WorkerOptions

#: How long a receiver that cannot be reached is tried, and the pause between two tries, in seconds.
PATIENCE_S, _PAUSE_S = 30.0, 0.25

#: How long a worker that was let go may be at its task before its process ends, in seconds.
_LAST_TASK_S = 2.0


class RemoteWorker(WorkerProcess):
    """Executes tasks of one connection."""

    def __init__(self, options: RemoteWorkerOptions, catalog: Catalog, files: NodeFiles, link: Link) -> None:
        self._private = PrivateSlots()
        own = WorkerOptions(0, "", "", "", task_timeout=options.task_timeout)
        super().__init__(own, catalog, self._private)
        self._files = files
        self._link = link
        for file, status in files.renumbered:
            self._reader.adopt(file, status)

    def adopt(self, message: AdoptFile) -> None:
        """Take a file for the one that was scanned, if this node sees the same as the training host."""
        status = self._files.adopted(message)
        if status is not None:
            self._reader.adopt(message.file, status)

    def execute(self, task: Task) -> TaskDone:
        """Write the rows of a task into private memory, and send them.

        Raises
        ------
        CatalogError
            When this node does not see what the training host sees.
        """
        self._files.check()
        done = super().execute(task)
        memory = self._private.take()
        if memory is not None:
            pieces = slot_pieces(self._writers[task.stream].layout, task.rows)
            self._link.send(SentRows(task.task, memory, pieces, self._private.give_back))
        failpoints.passing("remote.rows_sent")
        return done

    def report(self, *messages: FromWorker) -> None:
        """Send what a worker reports."""
        for message in messages:
            self._link.send(fitting(message) if isinstance(message, TaskDone) else message)


def serve_remote(options: RemoteWorkerOptions, catalog: Catalog) -> str:
    """Be a remote worker until it is not needed any more; return why it ended.

    Parameters
    ----------
    options
        Where the receiver is, and the keys.
    catalog
        What the files hold; stays the caller's.

    Raises
    ------
    ConfigError
        When the versions differ, or the receiver refuses this worker.
    CatalogError
        When this node does not see the files.
    ServiceUnavailable
        When the receiver cannot be reached.
    """
    node = platform.node()
    check_versions(asdict(options), node)
    take_secrets(options.url_secrets)
    hello = RemoteHello(**own_versions(), catalog=options.catalog, node=node, pid=os.getpid())
    last_seen = time.monotonic()
    while True:
        files = NodeFiles(catalog, node)
        with Link(options, hello) as link:
            why = _serve(RemoteWorker(options, catalog, files, link), link)
        if link.was_welcome:
            last_seen = time.monotonic()
        if link.end is LinkEnd.DISMISSED or why:
            return why or link.why
        if link.end is LinkEnd.REFUSED:
            raise ConfigError(f"node {node}: {link.why}")
        if time.monotonic() - last_seen > PATIENCE_S:
            raise ServiceUnavailable(
                f"node {node}: nobody answers at {options.address} for {PATIENCE_S:g} s ({link.why}); see whether that "
                "address and port can be reached from there"
            )
        time.sleep(_PAUSE_S)  # between two connections; each of them waits for messages


def _serve(worker: RemoteWorker, link: Link) -> str:
    """Execute tasks until the connection is over; return why this worker leaves by itself, "" when it does not."""
    done = threading.Event()
    threading.Thread(target=_end_with, args=(link, done), name="watch", daemon=True).start()
    try:
        while messages := link.next():
            if not worker.obey(messages, worker.report, link.arrived):
                link.send(RemoteLeaving())
                return "it was told to leave"
    except LoaderError as error:
        link.send(RemoteLeaving(str(error)))
        raise
    finally:
        done.set()
        worker.close()
    return ""


def _end_with(link: Link, done: threading.Event) -> None:
    """End this process when its worker was let go, and hangs in a task."""
    link.over.wait()  # the connection ends with the worker, or before
    if link.end is not LinkEnd.LOST and not done.wait(_LAST_TASK_S):
        os._exit(1)


def main() -> int:
    """Run a remote worker as a process of this host; it is told what to do through its standard input."""
    die_with_parent(int(sys.argv[1]))
    options = RemoteWorkerOptions.told()
    try:
        catalog = open_catalog(options.catalog_folder)
        sys.stderr.write(f"{serve_remote(options, catalog)}\n")
    except LoaderError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
