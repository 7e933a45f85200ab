"""How a stream speaks to its service: the link, the lock of all that they share, and why it may be of no more use."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from loader_client.link import Link
from loader_client.patience import Keeper
from loader_service.errors import LoaderError


def anew(error: LoaderError) -> LoaderError:
    """Return a copy of an error that is kept, to raise.

    The kept one itself would gather tracebacks, and their frames hold batches, whose leases lead back to the stream
    that keeps the error: none of them would ever go.
    """
    return type(error)(*error.args)


@dataclass(frozen=True)
class Line:
    """How a stream speaks to its service."""

    endpoint: str
    link: Link
    failure: Callable[[], LoaderError | None]  # why the connection is of no more use
    changed: threading.Condition  # guards everything below; notified on every answer
    ask_for_streams: Callable[[], None]  # again, for those that are not open yet; the condition is held
    keeper: Keeper | None = None  # of a private service

    @property
    def silent_s(self) -> float:
        """Seconds since the service was last heard; 0 while it answers, or is being started again."""
        silent_s = self.link.silent_s
        return silent_s if self.keeper is None else min(silent_s, self.keeper.up_s)

    def check(self) -> None:
        """Raise what makes the line unusable."""
        failure = self.failure()
        if failure is not None:
            raise anew(failure)
