"""What was announced last in each stream, as messages: all that the pixels of a step depend on beside the catalog."""

from __future__ import annotations

from loader_service.protocol.fields import Field
from loader_service.protocol.spec import Spec
from loader_service.record_class import record

#: Rows of a step that are told: more than people look at.
MOST_RECENT_ROWS = 64


@record(frozen=True)
class GetRecentSteps:
    """Ask for the `RecentSteps`; answered under the same request number."""

    request: int


@record(frozen=True)
class RecentStep:
    """The step of a stream that was announced last, as far as people look at it."""

    stream: int
    spec: Spec  # without the names of videos that it chooses, since its samples are named here
    fields: tuple[Field, ...]  # that are read from the files: of a batch, or what the transform is given
    transformed: bool  # whether a transform of the user's own makes the batch of them
    epoch: int
    step: int
    rows: int  # of the step; those below are its first ones, up to `MOST_RECENT_ROWS`
    samples: tuple[int, ...]  # that are in them, substitutes included
    positions: tuple[int, ...]  # in the client's index; empty without one
    lengths: tuple[int, ...]  # frames of each where they differ, as in whole videos; else empty


@record(frozen=True)
class RecentSteps:
    """The latest step of each stream that has announced one."""

    request: int
    steps: tuple[RecentStep, ...]
