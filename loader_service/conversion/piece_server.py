"""A worker process of a conversion: does the pieces that it is asked for, one after the other, until there are no more.

Requests are lines of JSON: a task, a folder, parts that are to be left out since processes have ended over them, and
whether to say at which part it is. Each is answered by lines that say how far it is, and by one with what came of it,
or with the error.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

from loader_service.conversion.pieces import PieceOutcome
from loader_service.conversion.write_remedies import output_error
from loader_service.errors import LoaderError
from loader_service.lifeline import answers

#: How often it says how far it is, in seconds, at most.
_SAY_EVERY_S = 0.2


class PieceProgress:
    """How far a piece is, for nobody; one that is told to the process that asked derives from it.

    Parameters
    ----------
    crashed
        Why parts of the piece are to be left out, by their places: processes have ended over them.
    """

    def __init__(self, crashed: Mapping[int, str] = MappingProxyType({})) -> None:
        self.crashed = crashed

    def begins(self, part: int) -> None:
        """Note that a part of the piece is begun; called before anything of it is read."""

    def read(self, more_bytes: int) -> None:
        """Note that so many bytes more are read, or none: that the process lives."""


#: Does a piece: its task, the folder to write into, and what to tell how far it is.
DoPiece = Callable[[Any, Path, PieceProgress], PieceOutcome]


def serve_pieces(do: DoPiece) -> None:
    """Answer requests on the standard input until there are no more; errors of ours, and of the disk, are answers."""
    replies = answers()
    for line in os.fdopen(sys.stdin.fileno(), "rb", closefd=False):
        request = json.loads(line)
        folder = Path(request["folder"] or os.devnull)
        try:
            said = do(request["task"], folder, _ToldProgress(replies, request)).as_json()
        except LoaderError as error:
            said = {"error": type(error).__name__, "message": str(error)}
        except OSError as error:
            failure = output_error(folder, error)
            said = {"error": type(failure).__name__, "message": str(failure)}
        _say(replies, said)


class _ToldProgress(PieceProgress):
    """Says how far a piece is, but not at every sample; and at which part, where that is asked for."""

    def __init__(self, replies: BinaryIO, request: dict[str, Any]) -> None:
        super().__init__({int(part): reason for part, reason in request["crashed"].items()})
        self._replies = replies
        self._tells_parts = bool(request["tells_parts"])
        self._bytes = 0
        self._at = time.monotonic()

    def begins(self, part: int) -> None:
        if self._tells_parts:
            _say(self._replies, {"part": part})

    def read(self, more_bytes: int) -> None:
        self._bytes += more_bytes
        now = time.monotonic()
        if now - self._at >= _SAY_EVERY_S:
            self._at = now
            _say(self._replies, {"bytes": self._bytes})


def _say(replies: BinaryIO, said: dict[str, Any]) -> None:
    replies.write(json.dumps(said).encode("ascii") + b"\n")
    replies.flush()
