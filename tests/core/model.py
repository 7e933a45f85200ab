"""What the model of the world keeps of a worker process, a want and a stream. Data only."""

from __future__ import annotations

from dataclasses import dataclass, field

from loader_service.core.planned import Lengths, RowSource
from loader_service.protocol.messages import Ready, Task
from loader_service.protocol.rows import Row


@dataclass
class Process:
    """A worker that is not reaped."""

    number: int
    owed_since: float | None  # since when it owes a report; None: it owes nothing
    started: bool = False
    connected: bool = False  # was heard in time, and is told what concerns all
    alive: bool = True
    hung: bool = False
    leaving: bool = False  # too heavy: it works until another has started in its place
    draining: bool = False  # more than the workers wanted: it gets no more tasks
    condemned: bool = False  # `KillWorker` was seen
    dismissed: bool = False  # `Drain` was seen
    tasks: list[Task] = field(default_factory=list)
    probes: list[int] = field(default_factory=list)
    in_hand: list[int] = field(default_factory=list)  # its tasks, and its probes below 0, as they were given
    reported: list[int] = field(default_factory=list)

    def take(self, number: int, now: float) -> None:
        """Be given a task, or a probe below 0."""
        self.in_hand.append(number)
        self.owed_since = now if len(self.in_hand) == 1 else self.owed_since

    def report(self, number: int, now: float) -> None:
        """Come to the end of one."""
        self.in_hand.remove(number)
        self.owed_since = now if self.in_hand else None

    @property
    def answers(self) -> bool:
        """Whether it can still say something."""
        return self.alive and not self.hung

    @property
    def may_stop(self) -> bool:
        """Whether it can be asked to exit."""
        return not (self.in_hand or self.condemned or self.dismissed)


@dataclass
class Made:
    """What was done of a step in one slot."""

    slot: int
    done: dict[int, int] = field(default_factory=dict)  # how often a row was reported as written
    attempts: dict[int, int] = field(default_factory=dict)  # failures of a row
    strikes: dict[int, int] = field(default_factory=dict)  # deaths at a row since it was last replaced
    beyond_help: set[int] = field(default_factory=set)  # rows that may not be replaced once more
    held: dict[int, int] = field(default_factory=dict)  # file of each row that waits until it was looked at again
    changed: set[int] = field(default_factory=set)  # rows whose file is not what it was


@dataclass
class Promise:
    """A want that its client waits for or has got, and what was done for it."""

    stream: int
    want: int
    epoch: int  # no two wants have the same, so a task's epoch tells its want
    step: int
    rows: tuple[Row, ...]  # as planned
    made: dict[int, Made] = field(default_factory=dict)  # by slot
    ready: Ready | None = None
    forgotten: bool = False

    @property
    def unanswered(self) -> bool:
        """Whether its client still waits for the answer."""
        return self.ready is None and not self.forgotten


@dataclass(frozen=True)
class Shape:
    """What a stream's samples look like to the scheduler, and what it does about bad ones."""

    row_bytes: int
    substitutes: int
    frame_bytes: int
    lengths: Lengths
    indexed: bool


@dataclass(frozen=True)
class OpenStream:
    """What the model knows of a stream from its opening on."""

    client: bytes
    stream: int
    slots: tuple[int, ...]
    source: RowSource
    substitutes: int
    lengths: Lengths
    indexed: bool


@dataclass
class Channel:
    """An open stream."""

    opened: OpenStream
    row_count: int
    promises: dict[int, Promise] = field(default_factory=dict)  # by want
    last_want: int = 0
    made: list[int] = field(default_factory=list)  # slots that came later
    removed: list[int] = field(default_factory=list)  # slots that went
    returned: list[int] = field(default_factory=list)  # leases that are not out any more

    @property
    def slots(self) -> tuple[int, ...]:
        """Its slots."""
        return tuple(each for each in (*self.opened.slots, *self.made) if each not in self.removed)
