"""A web server that gives ranges of files, and fails when it is told to; in a thread of the test's own process.

``python -m tests.support.range_server FOLDER`` is the same as a process, for benchmarks: it prints its URL, and ends
with its standard input.
"""

from __future__ import annotations

import hashlib
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

_RANGE = re.compile(r"bytes=(\d+)-(\d+)?")


class RangeServer:
    """Serves the files of a folder.

    Attributes
    ----------
    faults
        What the next requests for bytes meet, one after the other: a status such as 503 or 403, ``"cut"`` (half of
        the answer, then the connection ends), or seconds until the first byte.
    heeds_conditions
        Whether it answers 412 when If-Match does not match.
    gives_etags
        Whether it says which version a file is.
    authorization
        The header that requests must have; "" where none is asked for.
    signature
        The query that requests must have, which then are GETs; "" where none is asked for.
    sent_bytes, requests
        What it has sent in answers to requests for bytes, and how many there were.
    most_waiting
        How many of them have waited for their first byte at a time.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.faults: deque[int | str | float] = deque()
        self.heeds_conditions = self.gives_etags = self.gives_ranges = True
        self.signature = self.authorization = ""
        self.sent_bytes = self.requests = self.most_waiting = self._waiting = 0
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def url(self, name: str) -> str:
        """Return the URL of a file."""
        return f"http://127.0.0.1:{self._server.server_port}/{name}"

    def _wait(self, seconds: float) -> None:
        with self._lock:
            self._waiting += 1
            self.most_waiting = max(self.most_waiting, self._waiting)
        time.sleep(seconds)
        with self._lock:
            self._waiting -= 1

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def stop(self) -> None:
        """End it."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(server: RangeServer) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - `self` is the request's
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else each answer waits 40 ms for the other end's late acknowledgement

            def do_HEAD(self) -> None:
                path = self._file()
                if server.signature:
                    self._refuse(403)
                elif path.is_file():
                    self._begin(200, path, path.stat().st_size)
                else:
                    self._refuse(404)

            def do_GET(self) -> None:
                path = self._file()
                if self.path.partition("?")[2] != server.signature:
                    self._refuse(403)
                    return
                if server.authorization and self.headers.get("Authorization") != server.authorization:
                    self._refuse(401)
                    return
                if not path.is_file():
                    self._refuse(404)
                    return
                with server._lock:
                    server.requests += 1
                    fault = server.faults.popleft() if server.faults else None
                if isinstance(fault, float):
                    server._wait(fault)
                if isinstance(fault, int):
                    self._refuse(fault)
                    return
                wanted = self.headers.get("If-Match")
                if server.heeds_conditions and wanted not in (None, server.etag(path)):
                    self._refuse(412)
                    return
                self._send(path, is_cut=fault == "cut")

            def _file(self) -> Path:
                return server.folder / unquote(self.path.partition("?")[0]).lstrip("/")

            def _send(self, path: Path, *, is_cut: bool) -> None:
                size = path.stat().st_size
                found = _RANGE.fullmatch(self.headers.get("Range", "")) if server.gives_ranges else None
                first, last = (int(found[1]), min(int(found[2]), size - 1)) if found and found[2] else (0, size - 1)
                extra = {"Content-Range": f"bytes {first}-{last}/{size}"} if found else {}
                with path.open("rb") as stream:
                    stream.seek(first)
                    data = stream.read(last - first + 1)
                self._begin(206 if found else 200, path, len(data), **extra)
                piece = data[: len(data) // 2] if is_cut else data
                with server._lock:
                    server.sent_bytes += len(piece)
                self.wfile.write(piece)
                self.close_connection = self.close_connection or is_cut

            def _begin(self, status: int, path: Path, length: int, **extra: str) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(length))
                self.send_header("Accept-Ranges", "bytes")
                if server.gives_etags:
                    self.send_header("ETag", server.etag(path))
                    self.send_header("Last-Modified", formatdate(path.stat().st_mtime, usegmt=True))
                for name, value in extra.items():
                    self.send_header(name, value)
                self.end_headers()

            def _refuse(self, status: int) -> None:
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        return Handler

    @staticmethod
    def etag(path: Path) -> str:
        """Return what stands for the version of a file."""
        status = path.stat()
        facts = f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"
        return f'"{hashlib.blake2b(facts.encode(), digest_size=8).hexdigest()}"'


@contextmanager
def range_server(folder: Path) -> Iterator[RangeServer]:
    """Serve the files of a folder while the context lasts."""
    server = RangeServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()


if __name__ == "__main__":
    with range_server(Path(sys.argv[1])) as running:
        print(running.url(""), flush=True)
        sys.stdin.read()
