"""Serves a service's metrics to Prometheus, in a process of its own; asks the service when it is asked.

The library `prometheus_client` is an extra, so only this process loads it.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import make_wsgi_app

from loader_client.connection import Connection
from loader_service.daemon.side_programs import MetricsOptions
from loader_service.errors import LoaderError
from loader_service.lifeline import told
from loader_service.protocol.messages import Status
from loader_service.watching.metric_table import METRICS
from loader_service.watching.verdict import verdicts

#: How long the service may take to be ready, in seconds.
_PATIENCE_S = 600.0

#: How long one may take to ask, and how many may ask at a time.
_ASK_S, _MOST_ASKING = 10.0, 16

#: Verdicts are over so many seconds at the least: trainers tell once a second.
_LEAST_S = 2.0


class StatusCollector:
    """Turns the status at the time of asking into metrics.

    Parameters
    ----------
    ask
        Returns the status; LoaderError when the service does not answer.
    """

    def __init__(self, ask: Callable[[], Status]) -> None:
        self._ask = ask
        self._lock = threading.Lock()
        self._looks: list[Status] = []  # the latest, and one before it that is old enough for a verdict

    def describe(self) -> Iterable[Metric]:
        """Return nothing: what there is need not be asked for when this is registered."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        with self._lock:
            status = self._ask()
            found = verdicts(self._before(status), status)
        for each in METRICS:
            labels = [each.label] if each.label else []
            family = CounterMetricFamily if each.kind == "counter" else GaugeMetricFamily
            made = family(each.full_name, each.text, labels=labels)
            for label, value in each.values(status, found).items():
                made.add_metric([label] if labels else [], value)
            yield made

    def _before(self, status: Status) -> Status | None:
        """Return the latest look that is old enough, and remember this one."""
        old = [each for each in self._looks if status.uptime_s - each.uptime_s >= _LEAST_S]
        self._looks = [*old[-1:], *(each for each in self._looks if each not in old), status][-4:]
        return old[-1] if old else None


class _Server(ThreadingMixIn, WSGIServer):
    """Answers each who asks in a thread, and not more than a few at a time."""

    daemon_threads = True

    def __init__(self, listening: socket.socket, app: Any) -> None:
        address: Any = listening.getsockname()
        super().__init__(address[:2], _Quiet, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.server_name, self.server_port = str(address[0]), address[1]
        self.setup_environ()
        self.set_app(app)
        self._room = threading.BoundedSemaphore(_MOST_ASKING)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer, or close the connection where too many ask."""
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer in a thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """Say in one line what went wrong: usually who asked has gone."""
        error = sys.exc_info()[1]
        sys.stderr.write(f"metrics: {type(error).__name__} while answering {client_address}: {error}\n")


class _Quiet(WSGIRequestHandler):
    """Writes no line for each request, and waits for nobody for long."""

    timeout = _ASK_S

    def log_message(self, *_: Any) -> None:
        """Write nothing."""


def application(collector: StatusCollector) -> Callable[..., Iterable[bytes]]:
    """Return what answers at ``/metrics``; 503 while the service does not answer."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    metrics = make_wsgi_app(registry)

    def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ.get("PATH_INFO") != "/metrics" or environ.get("REQUEST_METHOD") not in {"GET", "HEAD"}:
            start_response("404 Not Found", [("Content-Type", "text/plain")])
            return [b"metrics are at /metrics\n"]
        try:
            found: Iterable[bytes] = metrics(environ, start_response)
        except LoaderError as error:
            start_response("503 Service Unavailable", [("Content-Type", "text/plain; charset=utf-8")])
            return [f"{error}\n".encode()]
        return found

    return answer


def main() -> None:
    """Serve until the service ends."""
    options = told(MetricsOptions)
    os.dup2(2, 1)  # standard output is the service's, for those who have started it
    logging.getLogger("loader_client").setLevel(logging.ERROR)  # the service says itself that it stops
    listening = socket.socket(fileno=options.descriptor)
    with Connection(options.endpoint, timeout_s=_PATIENCE_S) as service:
        _Server(listening, application(StatusCollector(service.status))).serve_forever()


if __name__ == "__main__":
    main()
