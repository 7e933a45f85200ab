"""Who reads the socket of a session: a caller that waits for a step, or else the session's thread. Knows no socket.

A batch that goes through the session's thread to a caller costs two threads their wakes, a quarter of a millisecond of
CPU where both have slept for the time of a batch. So a caller that waits reads the socket itself, and wakes nobody. The
thread stands by: it reads when nobody has asked for a while, when somebody waits who cannot read, and when it is rung
for. One at a time reads; whoever does so has the duty, takes it and leaves it under the session's condition.

The main thread does not read: a `KeyboardInterrupt`, which may come there at any bytecode, would lose what was read.
"""

from __future__ import annotations

import math
import threading

#: How long after a caller has asked the thread leaves the socket alone, in seconds: longer than most batches take, and
#: how late a message may be heard when the trainer does something else.
_ASIDE_S = 0.25


class SocketDuty:
    """Whose turn it is; each call is made under the session's condition."""

    def __init__(self) -> None:
        self.cannot_read = 0  # callers that wait, and cannot read
        self._reader = 0  # a thread's number, 0 for none
        self._aside_until = -math.inf

    @property
    def is_mine(self) -> bool:
        """Whether this thread has the duty."""
        return self._reader == threading.get_ident()

    @property
    def is_free(self) -> bool:
        """Whether nobody has it."""
        return not self._reader

    def take(self, now: float) -> bool:
        """Take the duty if nobody has it, as a caller; return whether this one has it now."""
        self._aside_until = now + _ASIDE_S
        if not self._reader:
            self._reader = threading.get_ident()
        return self.is_mine

    def leave(self) -> None:
        """Leave the duty to whoever takes it."""
        self._reader = 0

    def stand_by_s(self, now: float, looks_at: float, *, is_called: bool) -> float:
        """Take the duty for the session's thread, or give it up; return for how long that is to stand by, 0 for none.

        Parameters
        ----------
        now
            By the session's clock.
        looks_at
            When the session is to be looked after.
        is_called
            Whether the thread was rung for, or has to end.
        """
        if self._reader and not self.is_mine:
            return _ASIDE_S
        until = min(looks_at, self._aside_until)
        if is_called or self.cannot_read or now >= until:
            self._reader = threading.get_ident()
            return 0.0
        self._reader = 0
        return until - now
