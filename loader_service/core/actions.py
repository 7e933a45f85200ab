"""All that the scheduler can ask of its shell, one frozen dataclass each; the shell carries them out in order."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StartWorker:
    """Start a worker process with this number; numbers are never used twice."""

    worker: int


@dataclass(frozen=True)
class StopWorker:
    """Ask a worker that has nothing to do to exit."""

    worker: int


@dataclass(frozen=True)
class KillWorker:
    """Kill a worker process now, and report its end as `WorkerExited` once it is reaped."""

    worker: int
    reason: str


@dataclass(frozen=True)
class SendTask:
    """Give a task to a worker."""

    worker: int
    task: int
    stream: int
    epoch: int
    slot: int
    rows: tuple[int, ...]
    samples: tuple[int, ...]
    positions: tuple[int, ...] = ()  # in a stream with an index, of each row
    offsets: tuple[int, ...] = ()  # where lengths differ, of each row: where its frames begin
    lengths: tuple[int, ...] = ()  # and how many they are
    room: int = 0  # frames that each row has there; 0 when it has just its own


@dataclass(frozen=True)
class SendReady:
    """Tell a client that a step is in a slot, now leased to it."""

    client: str
    stream: int
    want: int
    slot: int
    lease: int
    rows: int
    frames: int = 0  # of all rows together in the fields that vary, padding included
    substituted: int = 0  # rows that hold another sample than was planned


@dataclass(frozen=True)
class SendFailed:
    """Tell a client that a step cannot be delivered."""

    client: str
    stream: int
    want: int
    error: str
    message: str


@dataclass(frozen=True)
class NoteBadSample:
    """Tell people of a sample that could not be used."""

    stream: int
    message: str


@dataclass(frozen=True)
class Refuse:
    """Tell a client that what it asked makes no sense; nothing has changed."""

    client: str
    message: str


@dataclass(frozen=True)
class MakeSlot:
    """Make one more segment for a stream, and say `SlotMade`: a worker is late, and no slot is free to do it again."""

    stream: int


@dataclass(frozen=True)
class RetireStream:
    """Unlink the segments of these slots and let the workers forget the stream."""

    stream: int
    slots: tuple[int, ...]


@dataclass(frozen=True)
class CheckFile:
    """Find out whether a file still has its content, and report that as `FileChecked`; some of its rows wait for it."""

    file: int


@dataclass(frozen=True)
class GiveUp:
    """No worker can be started: end the service with this reason."""

    reason: str


Action = (
    StartWorker
    | StopWorker
    | KillWorker
    | SendTask
    | SendReady
    | SendFailed
    | NoteBadSample
    | Refuse
    | MakeSlot
    | RetireStream
    | CheckFile
    | GiveUp
)
