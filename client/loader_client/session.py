"""A stream as one service knows it: what was opened, under which generation, with which slots. Knows no want."""

from __future__ import annotations

from dataclasses import dataclass, field

from loader_client.leases import Leases
from loader_service.protocol.messages import Opened


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
