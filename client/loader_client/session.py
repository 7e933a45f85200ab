"""A stream as one service knows it: what was opened, under which generation, with which slots. Knows no want."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from loader_client.leases import Leases
from loader_client.link import Link
from loader_service.protocol.messages import CloseStream, Opened, Release


class Releasing(Protocol):
    """What hands leases back; called by finalizers in any thread, so it takes no lock."""

    def release(self, release: Release, generation: int) -> None:
        """Hand one back, in its generation."""


@dataclass
class Session:
    """A stream as one service knows it; the next service gets another."""

    opened: Opened
    generation: int
    leases: Leases
    highest_lease: int = 0  # that was said; leases are numbered in the order in which they are given
    out_of_reach: set[int] = field(default_factory=set)  # wants whose slots could not be mapped, once

    def fits(self, opened: Opened) -> bool:
        """Return whether nothing is different that must not change when a service comes back."""
        before = self.opened
        return (opened.fields, opened.steps_per_epoch, opened.samples, opened.frames) == (
            before.fields,
            before.steps_per_epoch,
            before.samples,
            before.frames,
        )


def releaser(stream: Releasing, number: int, generation: int) -> Callable[[int], None]:
    """Return what hands back a lease that a service gave to a stream; it does not keep the stream."""
    weak_stream = weakref.ref(stream)

    def release(lease: int) -> None:
        living = weak_stream()
        if living is not None:
            living.release(Release(number, lease), generation)

    return release


def give_up(link: Link, open_as: list[tuple[int, int]]) -> None:
    """Have the service close a stream that is open there, as these numbers in these generations; takes no lock."""
    while open_as:
        number, generation = open_as.pop()
        link.send(CloseStream(number), generation)
