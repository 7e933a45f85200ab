"""Openings that wait for the memory of streams that were closed just now: it is on its way back. Keeps no clock.

A slot that was unlinked is memory until the last process has unmapped it. The daemon never maps one, the workers do it
with their next message, and clients when they drop what they hold: mostly within milliseconds. A stream that opens in
that moment, the next epoch's or the next cell's, would find no room, or less than there is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from loader_service.protocol.fields import Field
from loader_service.protocol.messages import OpenStream

#: How often it is looked for, in seconds.
_LOOK_EVERY_S = 0.02

#: Openings that wait at a time.
_MOST = 64


@dataclass(frozen=True)
class Waiting:
    """A question for a stream, and what the client's transform makes of its samples."""

    client: str
    asked: OpenStream
    outputs: tuple[Field, ...] | None


class Returning:
    """Who waits for memory, and when some was last given up."""

    def __init__(self) -> None:
        self._retired_at = -math.inf
        self._look_at = -math.inf
        self._waiting: dict[tuple[str, int], Waiting] = {}

    def retired(self, now: float) -> None:
        """Take note that slots were unlinked."""
        self._retired_at = now

    def since_s(self, now: float) -> float:
        """Return how long ago that was; very long when too many wait."""
        return now - self._retired_at if len(self._waiting) < _MOST else math.inf

    def wait(self, waiting: Waiting, now: float) -> None:
        """Keep a question; one that is asked again is the same."""
        self._waiting[waiting.client, waiting.asked.request] = waiting
        self._look_at = now + _LOOK_EVERY_S

    def due(self, now: float) -> list[Waiting]:
        """Return the questions that are to be tried again now, and keep them no more."""
        if now < self._look_at:
            return []
        due = list(self._waiting.values())
        self._waiting.clear()
        return due

    def next_deadline(self) -> float | None:
        """Return when something is due; None while nothing waits."""
        return self._look_at if self._waiting else None

    def forget(self, client: str) -> None:
        """Drop the questions of a client that is gone."""
        for key in [key for key in self._waiting if key[0] == client]:
            del self._waiting[key]
