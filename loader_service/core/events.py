"""All that can happen to the scheduler, one frozen dataclass each; the shell makes them from sockets and processes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol

from loader_service.protocol.messages import BadRow


class Row(NamedTuple):
    """One row of a step.

    No dataclass, as it is made by the hundred for each step: 128 of them took 50 of 170 µs in the daemon.
    """

    sample: int
    file: int  # that the sample lies in
    position: int | None = None  # entry of the client's index; None when the plan chose the sample
    frames: int = 0  # that it takes in the fields that vary


class RowSource(Protocol):
    """What the scheduler asks about a stream's order; a pure function of (catalog, spec)."""

    def rows(self, epoch: int, step: int) -> tuple[Row, ...]:
        """Return the rows of a step."""

    def rows_of(self, samples: tuple[int, ...], positions: tuple[int, ...]) -> tuple[Row, ...]:
        """Return the rows of a step whose samples the client chose, from these entries of its index."""

    def substitute(self, epoch: int, bad: Row, attempt: int) -> Row | None:
        """Return what takes the place of a row at its `attempt`-th failure, counted from 1; None: there is nothing.

        `bad` is the row as it was planned, whatever was tried in its place since. The substitute has its position, and
        as many frames.
        """

    def describe(self, sample: int) -> str:
        """Return a sample's video and file, for errors."""


class Lengths(Enum):
    """How the frames of a step's rows lie in the fields that vary."""

    ALIKE = "alike"  # there are none: all samples have the same shape
    PADDED = "padded"  # each row has room for as many as the longest has
    RAGGED = "ragged"  # one row begins where the one before ends


@dataclass(frozen=True)
class StreamOpened:
    """A client opened a stream, and the segments of its slots exist."""

    client: str
    stream: int
    source: RowSource
    steps_per_epoch: int  # of no meaning when the wants name their samples
    slots: tuple[int, ...]
    row_bytes: int  # of one row of output, without what varies: the measure of work
    substitutes: int  # how often a bad row may be replaced before the step fails; 0: never
    frame_bytes: int = 0  # of one frame of the fields that vary
    lengths: Lengths = Lengths.ALIKE
    indexed: bool = False  # whether the wants name their samples


@dataclass(frozen=True)
class SlotMade:
    """`MakeSlot` was carried out, or could not be."""

    stream: int
    slot: int | None  # None: there is no memory for it


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
    samples: tuple[int, ...] = ()  # in a stream with an index: what the step shall hold
    positions: tuple[int, ...] = ()  # and the entries of the index that they come from


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
class FileChecked:
    """A file whose rows were held was looked at: its content is the same, or a message says how it differs."""

    file: int
    message: str = ""


@dataclass(frozen=True)
class ClockTicked:
    """Time has passed; sent when `Scheduler.next_deadline` is due."""


Event = (
    StreamOpened
    | SlotMade
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
    | FileChecked
    | ClockTicked
)
