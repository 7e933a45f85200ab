"""What one caller waits for: the session settles it once, by an answer or an error. Knows no thread."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from loader_service.errors import LoaderError


@dataclass(eq=False, slots=True)
class Pending:
    """What one caller waits for; made by the caller, filled in by the session alone.

    Parameters
    ----------
    answer
        A `Delivery`, `Opened`, or the answer to a request; None until it comes.
    error
        Why none will come.
    stream, want, request
        What it is for, where it is for such; 0 where not.
    begun, ask_at, say_at, deadline
        Times: since when it is waited for, when it is asked for again, when people are told, when it is given up.
    """

    answer: Any = None
    error: LoaderError | None = None
    stream: int = 0
    want: int = 0
    request: int = 0
    begun: float = 0.0
    ask_at: float = math.inf
    say_at: float = math.inf
    deadline: float = math.inf

    @property
    def is_settled(self) -> bool:
        """Whether there is nothing to wait for any more."""
        return self.answer is not None or self.error is not None

    @property
    def next_deadline(self) -> float:
        """When something is to be done about it, if it is not settled by then."""
        return min(self.ask_at, self.say_at, self.deadline)

    def result(self) -> Any:
        """Return the answer.

        Raises
        ------
        LoaderError
            When there is none.
        """
        if self.error is not None:
            raise anew(self.error)
        return self.answer


def anew(error: LoaderError) -> LoaderError:
    """Return a copy of an error that is kept, to raise.

    The kept one itself would gather tracebacks, and their frames hold batches, whose leases lead back to the stream
    that keeps the error: none of them would ever go.
    """
    return type(error)(*error.args)
