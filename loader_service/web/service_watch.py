"""Asks the service once a second how it is, in a thread; what the page shows is made once, however many look."""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict, deque
from typing import Any

from loader_client.connection import Connection
from loader_service.errors import LoaderError
from loader_service.protocol import messages as m
from loader_service.web.live_facts import describe, moment_of
from loader_service.web.recording import Recording

#: How often the service is asked, in seconds, and how long it may take to be there at first.
_EVERY_S, _CONNECT_S = 1.0, 30.0

#: Over how many looks verdict and rates are taken: what is true for longer is seen in the charts.
_LATELY = 10

#: Steps that pages may still ask pictures of, and for how long one counts as the latest, in seconds.
_KEPT_STEPS, _FRESH_S = 256, 1.0


#: A status that is older is said to be, in seconds: one that is asked for is waited for longer.
_LATE_S = 5.0


class ServiceWatch:
    """The service as it was a second ago, and in the last hour. Any thread may ask; a context manager."""

    def __init__(self, endpoint: str, *, control: bool) -> None:
        self._endpoint = endpoint
        self._control = control
        self._lock = threading.Lock()  # guards what follows
        self._recording = Recording()
        self._status: m.Status | None = None
        self._earlier: deque[m.Status] = deque(maxlen=_LATELY)  # the latest is the last
        self._error = "the service has not answered yet"
        self._now = b"{}"
        self._taken_at = 0.0
        self._histories: dict[tuple[float, int], bytes] = {}
        self._steps: OrderedDict[tuple[int, int, int], m.RecentStep] = OrderedDict()
        self._latest: tuple[m.RecentStep, ...] = ()
        self._steps_at = -_FRESH_S
        self._asking = threading.Lock()  # one thread asks for steps at a time
        self._ended = threading.Event()
        self._connection: Connection | None = None
        self._thread = threading.Thread(target=self._run, name="loader-service-watch", daemon=True)
        self._thread.start()

    def __enter__(self) -> ServiceWatch:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(_CONNECT_S)

    # ---- what pages ask

    @property
    def now(self) -> bytes:
        """How the service is, as JSON."""
        with self._lock:
            if not self._error and time.monotonic() - self._taken_at > _LATE_S:
                self._error = "The service does not answer: it is busy or halted, or has ended."
                self._now = self._described()
            return self._now

    def history(self, seconds: float, points: int) -> bytes:
        """Return the last so many seconds, as `Recording.history` and JSON."""
        with self._lock:
            made = self._histories.get((seconds, points))
            if made is None:
                made = json.dumps(self._recording.history(seconds, points)).encode()
                if len(self._histories) < 16:
                    self._histories[seconds, points] = made
            return made

    def recent_steps(self) -> tuple[m.RecentStep, ...]:
        """Return what was announced last in each stream.

        Raises
        ------
        LoaderError
            When the service does not answer.
        """
        with self._asking:
            if time.monotonic() - self._steps_at > _FRESH_S:
                steps = self._connected().recent_steps().steps
                with self._lock:
                    self._latest = steps
                    for each in steps:
                        self._steps[each.stream, each.epoch, each.step] = each
                        self._steps.move_to_end((each.stream, each.epoch, each.step))
                    while len(self._steps) > _KEPT_STEPS:
                        self._steps.popitem(last=False)
                self._steps_at = time.monotonic()
            return self._latest

    def step(self, stream: int, epoch: int, step: int) -> m.RecentStep | None:
        """Return a step that was a stream's latest a while ago; None when it is forgotten."""
        with self._lock:
            return self._steps.get((stream, epoch, step))

    def status(self) -> m.Status | None:
        """Return the latest status; None before the first."""
        with self._lock:
            return self._status

    def scale(self, count: int) -> str:
        """Change the number of workers; raises LoaderError."""
        return self._connected().scale(count)

    # ---- the thread

    def _connected(self) -> Connection:
        if self._connection is None:
            raise LoaderError(self._error)
        return self._connection

    def _run(self) -> None:
        connection: Connection | None = None
        try:
            while not self._ended.is_set():
                began = time.monotonic()
                try:
                    if connection is None:
                        connection = Connection(self._endpoint, timeout_s=_CONNECT_S)
                        self._connection = connection
                    self._take(connection.status())
                except LoaderError as error:
                    self._missed(str(error))
                    if connection is not None:
                        connection.close()
                    connection = self._connection = None
                self._ended.wait(max(0.0, began + _EVERY_S - time.monotonic()))
        finally:
            if connection is not None:
                connection.close()

    def _take(self, status: m.Status) -> None:
        with self._lock:
            self._recording.add(moment_of(status, time.monotonic()))
            self._status, self._error, self._taken_at = status, "", time.monotonic()
            self._earlier.append(status)
            self._histories.clear()
            self._now = self._described()

    def _missed(self, why: str) -> None:
        with self._lock:
            self._error = why
            self._now = self._described()

    def _described(self) -> bytes:
        told: dict[str, Any] = {"error": self._error, "control": self._control}
        if self._status is not None:
            told |= describe(self._earlier[0] if len(self._earlier) > 1 else None, self._status)
        return json.dumps(told).encode()
