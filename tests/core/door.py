"""Who is connected to the modelled service, and which streams were asked for: what must come of each of them.

Knows nothing of steps. Told of every effect; says when one must not be.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from loader_service.core.clients import MISSED_S
from loader_service.core.effects import MakeSegments
from loader_service.core.ledger import Limits
from loader_service.protocol import messages as m
from tests.core.model import Shape

#: What is added to the number of a stream's plan to have the size of its slots, so that it can be told by that.
FIRST_SIZE = 1000


@dataclass
class Asked:
    """A stream that a client asked for, until it is refused, closed or lost."""

    client: bytes
    request: int  # the number of its plan too
    row_count: int
    shape: Shape
    since: float
    stream: int = 0  # from the moment when its segments are asked for
    opened: m.Opened | None = None


@dataclass
class Door:
    """The clients, as the service must see them."""

    limits: Limits
    connected: dict[bytes, float] = field(default_factory=dict)  # when each was heard
    missed: dict[bytes, float] = field(default_factory=dict)
    asked: dict[tuple[bytes, int], Asked] = field(default_factory=dict)
    to_make: list[MakeSegments] = field(default_factory=list)
    ending: set[bytes] = field(default_factory=set)  # clients of whom the event in hand says that they are gone

    def of_stream(self, stream: int) -> Asked | None:
        """Return what a stream came of."""
        return next((each for each in self.asked.values() if each.stream == stream), None)

    def pending(self) -> list[Asked]:
        """Return what is not open yet."""
        return [each for each in self.asked.values() if each.opened is None]

    def heard(self, client: bytes, now: float) -> bool:
        """Note a sign of life; return whether the service knows the client."""
        if client in self.connected:
            self.connected[client] = now
        return client in self.connected

    def make(self, effect: MakeSegments) -> None:
        """Hold against what was asked that segments are to be made for a stream that is not open."""
        asked = next(each for each in self.asked.values() if FIRST_SIZE + each.request == effect.slot_bytes)
        assert asked.opened is None, "it has its segments"
        assert asked.stream in (0, effect.stream), "its stream has a number"
        assert not any(each.stream == effect.stream for each in self.to_make), "under way already"
        assert effect.wanted >= effect.least >= 2
        asked.stream = effect.stream
        self.to_make.append(effect)

    def answered(self, client: object, opened: m.Opened) -> Asked | None:
        """Take in that a stream is open; return it when that is news."""
        asked = self.asked[client, opened.request]  # type: ignore[index]
        assert asked.stream == opened.stream
        was = asked.opened or opened
        same = replace(was, slots=opened.slots, prefetch=opened.prefetch, resizes=opened.resizes)
        assert opened == same, "the same answer each time"
        is_news, asked.opened = asked.opened is None, opened
        return asked if is_news else None

    def refused(self, client: object, refused: m.Refused) -> None:
        """Take in that a stream cannot be had."""
        asked = self.asked.pop((client, refused.request))  # type: ignore[arg-type]
        assert asked.opened is None, "it is open"

    def gone(self, client: bytes, now: float) -> None:
        """Take in that a client is given up."""
        silent = now >= self.connected.pop(client) + self.limits.client_timeout_s
        missed = now >= self.missed.pop(client, now) + MISSED_S
        assert client in self.ending or silent or missed, "it is there"
        for asked in [each for each in self.asked.values() if each.client == client]:
            del self.asked[asked.client, asked.request]
