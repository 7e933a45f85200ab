"""What was asked of the service beside streams and steps: each question is asked again until it is answered. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from loader_client.session.pending import Pending
from loader_client.session.session_effects import Effect, Enqueue, Flush, Settled
from loader_service.errors import ServiceUnavailable
from loader_service.protocol.messages import FromClient

#: How long an answer to a request may take, in seconds; the daemon answers within milliseconds.
ANSWER_S = 30.0


class Requests:
    """Questions by number.

    Parameters
    ----------
    endpoint
        Of the service, for people.
    ask_again_s
        How long an answer may take before the question is asked again.
    """

    def __init__(self, endpoint: str, ask_again_s: float) -> None:
        self._endpoint = endpoint
        self._ask_again_s = ask_again_s
        self._open: dict[int, tuple[FromClient, Pending]] = {}

    def ask(self, pending: Pending, number: int, message: Callable[[int], FromClient], now: float) -> list[Effect]:
        """Ask something."""
        pending.request = number
        pending.ask_at, pending.deadline = now + self._ask_again_s, now + ANSWER_S
        self._open[number] = message(number), pending
        return self._say(self._open[number][0])

    def all(self) -> list[Effect]:
        """Ask everything again."""
        return [effect for message, _ in self._open.values() for effect in self._say(message)]

    def answered(self, message: Any) -> list[Effect]:
        """Take an answer in; one that was said twice, or comes too late, is nobody's."""
        _, pending = self._open.pop(message.request, (None, None))
        if pending is None:
            return []
        pending.answer = message
        return [Settled(pending)]

    def forget(self, pending: Pending) -> None:
        """Take note that nobody waits for an answer any more."""
        self._open.pop(pending.request, None)

    def ticked(self, now: float) -> list[Effect]:
        """Ask again, or give up, what has no answer yet."""
        effects: list[Effect] = []
        for number, (message, pending) in list(self._open.items()):
            if now >= pending.deadline:
                del self._open[number]
                pending.error = ServiceUnavailable(
                    f"the service at {self._endpoint} did not answer within {ANSWER_S:g} s: it is busy, halted or "
                    "lost; see `loader-service ps` and the load of its host, and try again"
                )
                effects.append(Settled(pending))
            elif now >= pending.ask_at:
                pending.ask_at = now + self._ask_again_s
                effects += self._say(message)
        return effects

    def next_deadline(self) -> float:
        """Return when `ticked` has something to do."""
        return min((pending.next_deadline for _, pending in self._open.values()), default=math.inf)

    def _say(self, message: FromClient) -> list[Effect]:
        return [Enqueue(message), Flush()]
