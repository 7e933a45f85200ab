"""What a stream has said that waits to be sent, in company, and when it must wait no longer; pure, knows no socket."""

from __future__ import annotations

from loader_client.session.session_effects import Flush

#: Wants wait until this part of the prefetch can go in one message; the rest keeps the workers busy meanwhile.
_WANTS_TOGETHER = 2

#: A step of so many bytes is wanted at once: it is 1 ms of work or more, and what waits shortens what is begun ahead.
_LARGE_STEP_BYTES = 8 * 2**20

#: Wants that wait for company at the most.
_MOST_TOGETHER = 16

#: All are alike.
_FLUSH = Flush()


class Unsent:
    """The wants and the returned leases of one stream that may not have been sent yet."""

    def __init__(self) -> None:
        self.wants = 0
        self._together = 1  # wants that are worth a message
        self._said = self._sent = 0  # the latest want that was said, and that was sent
        self._others = 0  # leases that were returned, wants that were taken back

    def go_by(self, prefetch: int, step_bytes: int) -> None:
        """Send by how many steps are wanted ahead, and by how large each is."""
        most = 1 if step_bytes >= _LARGE_STEP_BYTES else _MOST_TOGETHER
        self._together = max(1, min(prefetch // _WANTS_TOGETHER, most))

    def want(self, number: int) -> None:
        """Take note of a new want."""
        self.wants += 1
        self._said = number

    def other(self) -> None:
        """Take note of a lease that was returned, or a want that was taken back."""
        self._others += 1

    def flush(self) -> Flush:
        """Return what has all of it sent."""
        self.wants = self._others = 0
        self._sent = self._said
        return _FLUSH

    @property
    def is_due(self) -> bool:
        """Whether so many wants wait that they are worth a message."""
        return self.wants >= self._together

    def can_wait(self, want: int, free: int) -> bool:
        """Tell whether a want will be answered though nothing more is sent.

        Parameters
        ----------
        want
            Its number.
        free
            Slots beside those that all wants and the trainer take. Each returned lease that the service has not heard
            of takes one of them.
        """
        return want <= self._sent and self._others <= free
