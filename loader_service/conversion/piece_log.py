"""The log of a conversion: which pieces have been written. What is in it outlives any kill. Knows no process.

Lines of JSON: the first says what is converted, each other one that a piece is written. A line is on disk before the
files of its piece get their names, so a file with its name is always one of the log.
"""

from __future__ import annotations

import json
import os
from typing import Any

from loader_service.conversion.pieces import PieceOutcome
from loader_service.private_folders import Folder

#: Its name in the work folder.
LOG_NAME = "log.jsonl"


class PieceLog:
    """The log in an open work folder; a context manager.

    Parameters
    ----------
    folder
        Stays the caller's, who has it locked.

    Attributes
    ----------
    plan
        What is converted and how, as the first line says; None of a new log.
    outcomes
        By the number of the piece.
    """

    def __init__(self, folder: Folder) -> None:
        self._descriptor = folder.open_file(LOG_NAME, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        self.plan: str | None = None
        self.outcomes: dict[int, PieceOutcome] = {}
        whole = 0
        with os.fdopen(os.dup(self._descriptor), "rb") as file:
            for line in file:
                if not self._take(line):  # cut off by a kill: it was never acted on
                    break
                whole += len(line)
        os.ftruncate(self._descriptor, whole)

    def __enter__(self) -> PieceLog:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def begin(self, plan: str) -> None:
        """Forget all pieces, and note what is converted."""
        os.ftruncate(self._descriptor, 0)
        self.plan, self.outcomes = plan, {}
        self._append({"plan": plan})

    def note(self, number: int, outcome: PieceOutcome) -> None:
        """Note that the files of a piece are written, under names of ours; it is on disk when this returns."""
        self.outcomes[number] = outcome
        self._append({"piece": number, **outcome.as_json()})

    def _append(self, said: dict[str, Any]) -> None:
        line = json.dumps(said).encode("ascii") + b"\n"
        done = 0
        while done < len(line):
            done += os.write(self._descriptor, line[done:])
        os.fsync(self._descriptor)

    def _take(self, line: bytes) -> bool:
        if not line.endswith(b"\n"):
            return False
        try:
            said = json.loads(line)
            if self.plan is None:
                self.plan = str(said["plan"])
            else:
                self.outcomes[int(said["piece"])] = PieceOutcome.of_json(said)
        except (ValueError, KeyError, TypeError):
            return False
        return True
