"""What a placement hears and says: lines of JSON on its standard input and output; knows no cluster."""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

from loader_service.lifeline import answers, die_with_parent
from loader_service.remote.remote_options import RemoteWorkerOptions


class PlacementLines:
    """The lines of this process; the first thing that a placement makes.

    Attributes
    ----------
    options
        What workers are told; None before that was said.
    workers
        How many there shall be.
    is_over
        Whether nobody says anything any more: all workers are to go.
    """

    def __init__(self) -> None:
        die_with_parent(int(sys.argv[1]))
        self._replies: BinaryIO = answers()
        self._received = b""
        self.options: RemoteWorkerOptions | None = None
        self.workers = 0
        self.is_over = False

    def hear(self, timeout_s: float) -> None:
        """Take in what has been said; waits for it for so long."""
        for line in self._lines(timeout_s):
            if "workers" in line:
                self.workers = line["workers"]
            else:
                self.options = RemoteWorkerOptions.of(line)

    def say(self, kind: str, **more: Any) -> None:
        """Write one line."""
        self._replies.write(json.dumps({"is": kind, **more}).encode("ascii") + b"\n")
        self._replies.flush()

    def _lines(self, timeout_s: float) -> Iterator[dict[str, Any]]:
        descriptor = sys.stdin.fileno()
        if not select.select([descriptor], [], [], timeout_s)[0]:
            return
        piece = os.read(descriptor, 65_536)
        if not piece:
            self.is_over, self.workers = True, 0
            return
        *lines, self._received = (self._received + piece).split(b"\n")
        yield from map(json.loads, lines)
