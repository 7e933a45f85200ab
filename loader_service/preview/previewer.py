"""Asks the process that makes pictures, starts it when it is needed, and ends it when it is not; decodes nothing."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any

from loader_service.children import command, readable
from loader_service.daemon.memory import tree_bytes
from loader_service.errors import LoaderError, WorkerDied
from loader_service.lifeline import arguments_for
from loader_service.line_worker import LineWorker
from loader_service.preview.preview_options import PreviewOptions
from loader_service.sizes import size_text

#: How long one request may take, in seconds: the process is then at a file that hangs, and is ended.
_ANSWER_S = 20.0

#: How long the process waits for another request before it is ended, in seconds.
_IDLE_S = 60.0

#: Requests that may wait; more are refused, since those who asked have gone.
_MOST_WAITING = 128

#: Bytes of answers that are kept, so that many pages that look at one thing cost what one does.
_KEPT_BYTES = 32 * 2**20

#: How often its memory is looked at while it works, in seconds: as often as that of workers.
_WEIGH_EVERY_S = 0.5

#: What the process may have beside what a worker may: the samples that it keeps, and the pictures that it makes.
PREVIEW_BYTES = 512 * 2**20

_Answer = dict[str, Any]


class Previewer:
    """A thread that owns the process, since the process ends with the thread that started it; a context manager.

    Parameters
    ----------
    catalog
        Folder of the columns.
    transform
        The service's own, for a process that runs it; "" for one that runs no code of users.
    answer_s
        How long one request may take, in seconds.
    memory_bytes
        Memory of its own at which the process is ended, as a worker is; 0 for no limit.
    """

    def __init__(
        self, catalog: str, *, transform: str = "", answer_s: float = _ANSWER_S, memory_bytes: int = 0
    ) -> None:
        options = PreviewOptions(catalog, transform)
        self._words = command("loader_service.preview.preview_worker", *arguments_for(options))
        self._transform = transform
        self._answer_s = answer_s
        self._memory_bytes = memory_bytes
        self._waiting: SimpleQueue[tuple[_Answer, Future[_Answer]] | None] = SimpleQueue()
        self._kept: OrderedDict[str, _Answer] = OrderedDict()
        self._kept_bytes = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="loader-service-preview", daemon=True)
        self._thread.start()

    def __enter__(self) -> Previewer:
        return self

    def __exit__(self, *_: object) -> None:
        self._waiting.put(None)
        self._thread.join(self._answer_s + 5)

    def ask(self, request: _Answer) -> Future[_Answer]:
        """Have a request answered; any thread may call this.

        Returns
        -------
        Future
            The answer; `WorkerDied` when the process ended over it or took too long, `LoaderError` what it says is
            wrong.
        """
        future: Future[_Answer] = Future()
        with self._lock:
            kept = self._kept.get(_key(request))
            if kept is not None:
                self._kept.move_to_end(_key(request))
        if kept is not None:
            future.set_result(kept)
        elif self._waiting.qsize() >= _MOST_WAITING:
            future.set_exception(
                LoaderError(f"{_MOST_WAITING} pictures are waited for already; look again in a moment")
            )
        else:
            self._waiting.put((request, future))
        return future

    # ---- the thread

    def _run(self) -> None:
        worker: LineWorker | None = None
        try:
            while True:
                try:
                    asked = self._waiting.get(timeout=_IDLE_S)
                except Empty:
                    _end(worker)
                    worker = None
                    continue
                if asked is None:
                    return
                request, future = asked
                if not future.set_running_or_notify_cancel():
                    continue
                try:
                    worker = worker or LineWorker(self._words, self._answer_s)
                    future.set_result(self._keep(request, self._answered(worker, request)))
                except (LoaderError, OSError) as error:
                    if isinstance(error, (WorkerDied, OSError)):
                        _end(worker)
                        worker = None
                    future.set_exception(error)
        finally:
            _end(worker)

    def _answered(self, worker: LineWorker, request: _Answer) -> _Answer:
        worker.tell(request)
        deadline = time.monotonic() + self._answer_s
        while True:
            replies = worker.replies()
            if replies:
                if "error" in replies[0]:
                    raise LoaderError(str(replies[0]["error"]))
                return dict(replies[0])
            left_s = deadline - time.monotonic()
            if worker.is_over(is_busy=True) or left_s <= 0:
                raise WorkerDied(self._blame(worker.end()))
            if self._memory_bytes and (own := tree_bytes(worker.pid)) > self._memory_bytes:
                raise WorkerDied(self._blame(f"has taken {size_text(own)} and was ended; raise --worker-memory"))
            readable(worker.outputs, min(_WEIGH_EVERY_S, left_s))

    def _blame(self, end: str) -> str:
        if self._transform:
            return f"the process that ran transform {self._transform!r} for this page {end}; the training has its own"
        return f"the process that made this picture {end}; the file may be damaged"

    def _keep(self, request: _Answer, answer: _Answer) -> _Answer:
        size = len(str(answer.get("jpeg", ""))) + 1000
        with self._lock:
            self._kept[_key(request)] = answer
            self._kept_bytes += size
            while self._kept_bytes > _KEPT_BYTES:
                _, old = self._kept.popitem(last=False)
                self._kept_bytes -= len(str(old.get("jpeg", ""))) + 1000
        return answer


def _key(request: _Answer) -> str:
    return repr(sorted(request.items()))


def _end(worker: LineWorker | None) -> None:
    if worker is not None:
        worker.close()
