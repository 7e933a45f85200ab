"""How long a worker tries reads that fail again, so that a task ends before its deadline. Knows no file's content."""

from __future__ import annotations

import time

from loader_service.catalog.attempts import Attempts
from loader_service.errors import CatalogError

#: For one read, and for all reads of a task together, as shares of the time that a task may take.
_ONE_READ, _ONE_TASK = 1 / 6, 1 / 2


class RetryPatience:
    """The time that a worker has for reads that fail.

    A file that was given up is not tried again in the same task: a disk that takes half a minute to say that it is
    broken would otherwise do so for each row, and the worker would be taken for hung.

    Parameters
    ----------
    task_timeout_s
        After which the worker is killed when it is at one task.
    """

    def __init__(self, task_timeout_s: float = 60.0) -> None:
        self._timeout_s = task_timeout_s
        self._deadline = time.monotonic() + _ONE_TASK * task_timeout_s
        self._given_up: dict[int, str] = {}

    def begin(self) -> None:
        """Begin a task."""
        self._deadline = time.monotonic() + _ONE_TASK * self._timeout_s
        self._given_up.clear()

    def gave_up(self, file: int) -> bool:
        """Tell whether a file was given up in this task."""
        return file in self._given_up

    def gave_up_before(self, file: int, what: str) -> CatalogError:
        """Return the error of another read of a file that was given up."""
        return CatalogError(f"reading {what}: {self._given_up[file]}")

    def attempts(self) -> Attempts:
        """Return the attempts at a read that has just failed for the first time."""
        left_s = self._deadline - time.monotonic()
        return Attempts(max(0.0, min(_ONE_READ * self._timeout_s, left_s)))

    def give_up(self, file: int, attempts: Attempts, error: BaseException, what: str) -> CatalogError:
        """Return the error of a read that has failed for good."""
        cause = f"{attempts.describe(error)}; check the disk, or the network"
        self._given_up[file] = cause
        return CatalogError(f"reading {what}: {cause}")
