"""A stream as one run of the service knows it, and what that delivers of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from loader_service.protocol.fields import SlotLayout
from loader_service.protocol.messages import Opened, Ready

#: A field smaller than this is copied: the copy takes 2 µs, a lease of its own with DLPack import and release 60 µs.
COPY_BELOW_BYTES = 16_384


@dataclass(frozen=True, eq=False)
class StreamAtService:
    """A stream as one run of the service knows it; the next run gets another.

    Parameters
    ----------
    key
        Of the stream, in its session.
    instance
        Which run of the service it is.
    opened
        What that said.
    layout
        Of its slots.
    """

    key: int
    instance: str
    opened: Opened
    layout: SlotLayout

    @cached_property
    def large(self) -> frozenset[str]:
        """Names of the fields that are worth a lease."""
        rows, frames = self.layout.batch_size, self.layout.frames
        return frozenset(
            field.name
            for field in self.layout.fields
            if field.sample_bytes * (frames if field.varies else rows) >= COPY_BELOW_BYTES
        )

    def fits(self, other: StreamAtService) -> bool:
        """Return whether nothing is different that must not change when a service comes back."""
        ours, theirs = self.opened, other.opened
        return (ours.fields, ours.steps_per_epoch, ours.samples, ours.frames) == (
            theirs.fields,
            theirs.steps_per_epoch,
            theirs.samples,
            theirs.frames,
        )


@dataclass(frozen=True)
class Delivery:
    """A step that was waited for; who gets it ends its lease, once, when nobody reads its slot any more."""

    at: StreamAtService
    ready: Ready
    lent: bool  # whether its large fields may stay in the slot; else they are copied, and the lease ends at once
