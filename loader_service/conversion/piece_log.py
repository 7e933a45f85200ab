"""The log of a conversion: which pieces have been written. What is in it outlives any kill. Knows no process.

The first line says what is converted, each other one that a piece is written. A line is on disk before the files of its
piece get their names, so a file with its name is always one of the log.
"""

from __future__ import annotations

import os
from typing import Any

from loader_service.conversion.line_log import LineLog
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
        self.plan: str | None = None
        self.outcomes: dict[int, PieceOutcome] = {}
        self._log = LineLog(folder.open_file(LOG_NAME, os.O_RDWR | os.O_CREAT), self._take)

    def __enter__(self) -> PieceLog:
        return self

    def __exit__(self, *_: object) -> None:
        self._log.close()

    def begin(self, plan: str) -> None:
        """Forget all pieces, and note what is converted."""
        self._log.clear()
        self.plan, self.outcomes = plan, {}
        self._log.write([{"plan": plan}], sync=True)

    def note(self, number: int, outcome: PieceOutcome) -> None:
        """Note that the files of a piece are written, under names of ours; it is on disk when this returns."""
        self.outcomes[number] = outcome
        self._log.write([{"piece": number, **outcome.as_json()}], sync=True)

    def _take(self, said: dict[str, Any]) -> None:
        if self.plan is None:
            self.plan = str(said["plan"])
        else:
            self.outcomes[int(said["piece"])] = PieceOutcome.of_json(said)
