"""Whether the service knows us, since when it is silent, and when it is to hear from us next. Pure.

A *generation* is one acquaintance with one service: it ends when the service says that it does not know us (it was
restarted, or had given us up). What was said in an earlier generation means nothing in this one: lease 5 there is not
lease 5 here.
"""

from __future__ import annotations

from loader_client.patience import PrivateProcess
from loader_client.session.session_effects import SendNow
from loader_service.protocol.messages import Heartbeat, Hello, TrainerTimes, Welcome

#: How often the service is greeted while it does not answer, in seconds.
_GREET_EVERY_S = 0.5

#: Beats missed before the service counts as away.
_MISSED_BEATS = 4


class Contact:
    """The acquaintance with a service.

    Parameters
    ----------
    hello
        How it is greeted.
    now
        When this begins.
    """

    def __init__(self, hello: Hello, now: float) -> None:
        self.welcome: Welcome | None = None  # the latest one
        self.is_known = False  # to the service, as far as we have heard
        self.process: PrivateProcess | None = None
        self.next_beat = now
        self._hello = hello
        self._last_heard = now
        self._up_since = now
        self._heartbeat_s = 1.0

    def beat(self, now: float, times: tuple[TrainerTimes, ...] = ()) -> SendNow:
        """Return what tells the service that we are there, and how long the trainer waited for streams."""
        self.next_beat = now + (self._heartbeat_s if self.is_known else _GREET_EVERY_S)
        return SendNow(Heartbeat(times) if self.is_known else self._hello)

    def heard(self, now: float) -> None:
        """Take note that the service has said something."""
        self._last_heard = now
        if not self.is_known:
            self.next_beat = min(self.next_beat, now + _GREET_EVERY_S)

    def welcomed(self, welcome: Welcome) -> None:
        """Begin a generation."""
        self.welcome, self.is_known = welcome, True
        self._heartbeat_s = max(0.01, welcome.heartbeat_s)

    def watched(self, process: PrivateProcess | None, now: float) -> None:
        """Take note of how a private service is; while it is being started again it is not silent."""
        self.process = process
        if process is not None:
            self._up_since = now - process.up_s

    def silent_s(self, now: float) -> float:
        """Return for how long the service was not heard, 0 while it answers, or is being started again."""
        silent_s = now - self._last_heard
        if self.is_known and silent_s <= _MISSED_BEATS * self._heartbeat_s:
            return 0.0
        return silent_s if self.process is None else min(silent_s, now - self._up_since)

    def silent_until(self, timeout_s: float) -> float:
        """Return when the service will have been silent for so long, if it is not heard before."""
        since = self._last_heard if self.process is None else max(self._last_heard, self._up_since)
        if not self.is_known:
            return since + timeout_s
        return max(since + timeout_s, self._last_heard + _MISSED_BEATS * self._heartbeat_s + 1e-3)
