"""A worker process of a conversion: does the pieces that it is asked for, one after the other, until there are no more.

Requests are lines of JSON with a task and a folder. Each is answered by lines that say how far it is, and by one with
what came of it, or with the error.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from loader_service.conversion.pieces import PieceOutcome
from loader_service.conversion.work_folder import output_error
from loader_service.errors import LoaderError
from loader_service.lifeline import answers

#: How often it says how far it is, in seconds, at most.
_SAY_EVERY_S = 0.2

#: Called with how many bytes more of the piece have been read.
OnRead = Callable[[int], None]

#: Does a piece: its task, the folder to write into, and whom to tell how far it is.
DoPiece = Callable[[Any, Path, OnRead], PieceOutcome]


def serve_pieces(do: DoPiece) -> None:
    """Answer requests on the standard input until there are no more; errors of ours, and of the disk, are answers."""
    replies = answers()
    for line in os.fdopen(sys.stdin.fileno(), "rb", closefd=False):
        request = json.loads(line)
        folder = Path(request["folder"] or os.devnull)
        try:
            said = do(request["task"], folder, _Said(replies)).as_json()
        except LoaderError as error:
            said = {"error": type(error).__name__, "message": str(error)}
        except OSError as error:
            failure = output_error(folder, error)
            said = {"error": type(failure).__name__, "message": str(failure)}
        _say(replies, said)


class _Said:
    """Says how far a piece is, but not at every sample."""

    def __init__(self, replies: BinaryIO) -> None:
        self._replies = replies
        self._bytes = 0
        self._at = time.monotonic()

    def __call__(self, more_bytes: int) -> None:
        self._bytes += more_bytes
        now = time.monotonic()
        if now - self._at >= _SAY_EVERY_S:
            self._at = now
            _say(self._replies, {"bytes": self._bytes})


def _say(replies: BinaryIO, said: dict[str, Any]) -> None:
    replies.write(json.dumps(said).encode("ascii") + b"\n")
    replies.flush()
