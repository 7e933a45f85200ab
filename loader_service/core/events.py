"""All that can happen to the scheduler, one frozen dataclass each; the shell makes them from sockets and processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from loader_service.protocol.messages import BadRow


@dataclass(frozen=True)
class Row:
    """One row of a step: which sample it is, and which file that sample lies in."""

    sample: int
    file: int


class RowSource(Protocol):
    """What the scheduler asks about a stream's order; a pure function of (catalog, spec)."""

    def rows(self, epoch: int, step: int) -> tuple[Row, ...]:
        """Return the rows of a step."""

    def substitute(self, epoch: int, step: int, row: int, attempt: int) -> Row:
        """Return the sample that takes the place of a bad one at its `attempt`-th failure, counted from 1."""

    def describe(self, sample: int) -> str:
        """Return a sample's video and file, for errors."""


@dataclass(frozen=True)
class StreamOpened:
    """A client opened a stream, and the segments of its slots exist."""

    client: str
    stream: int
    source: RowSource
    steps_per_epoch: int
    slots: tuple[int, ...]
    row_bytes: int  # of one row of output: the measure of work
    substitutes: int  # how often a bad row may be replaced before the step fails; 0: never


@dataclass(frozen=True)
class StreamClosed:
    """A client gave up a stream."""

    client: str
    stream: int


@dataclass(frozen=True)
class StepWanted:
    """A client asked for a step, perhaps not for the first time."""

    client: str
    stream: int
    want: int
    epoch: int
    step: int


@dataclass(frozen=True)
class WantForgotten:
    """A client took a want back."""

    client: str
    stream: int
    want: int


@dataclass(frozen=True)
class LeaseReleased:
    """A client returned a lease."""

    client: str
    stream: int
    lease: int


@dataclass(frozen=True)
class ClientLost:
    """A client ended, or was not heard for too long."""

    client: str


@dataclass(frozen=True)
class WorkerStarted:
    """A worker process said that it waits for tasks."""

    worker: int


@dataclass(frozen=True)
class TaskEnded:
    """A worker wrote every row of a task, save the bad ones."""

    worker: int
    task: int
    bad: tuple[BadRow, ...]


@dataclass(frozen=True)
class WorkerExited:
    """A worker process has ended and been reaped: from now on it cannot write anywhere."""

    worker: int
    cause: str


@dataclass(frozen=True)
class WorkerOverweight:
    """A worker has more memory of its own than it should have."""

    worker: int


@dataclass(frozen=True)
class WorkersWanted:
    """The service shall have this many workers."""

    count: int


@dataclass(frozen=True)
class ClockTicked:
    """Time has passed; sent when `Scheduler.next_deadline` is due."""


Event = (
    StreamOpened
    | StreamClosed
    | StepWanted
    | WantForgotten
    | LeaseReleased
    | ClientLost
    | WorkerStarted
    | TaskEnded
    | WorkerExited
    | WorkerOverweight
    | WorkersWanted
    | ClockTicked
)
