"""All that the service can ask of its shell: messages to send, and a few deeds; the shell carries them out in order.

A deed whose outcome matters is answered by an event: `MakeSegments` by `SegmentsMade`, `CheckFile` by `FileChecked`,
`StartWorker` and `KillWorker` by `WorkerExited` at last.
"""

from __future__ import annotations

from enum import Enum
from typing import Literal, NamedTuple

from loader_service.protocol import messages as m
from loader_service.record_class import record

#: Who speaks and is spoken to: a client by its address on the socket, a worker by its number.
Peer = bytes | int


class Send(NamedTuple):
    """Send a message.

    No dataclass, since one is made for each task.
    """

    peer: Peer
    message: m.ToClient | m.ToWorker


@record(frozen=True)
class StartWorker:
    """Start a worker process with this number; numbers are never used twice."""

    worker: int


@record(frozen=True)
class KillWorker:
    """Kill a worker process now, and report its end as `WorkerExited` once it is reaped."""

    worker: int


@record(frozen=True)
class PlaceRemote:
    """Have so many remote workers placed; each that comes is told as `RemoteCame`."""

    workers: int


@record(frozen=True)
class AdmitRemote:
    """A remote worker that came has this number from now on; numbers are never used twice."""

    arrival: int
    worker: int


@record(frozen=True)
class DismissRemote:
    """A remote worker that came is not needed."""

    arrival: int


@record(frozen=True)
class MakeSegments:
    """Make segments for a stream, as many as are wanted and fit, and say `SegmentsMade`.

    A stream that is open grows only where one more would fit beside: for a step that a worker is late with.
    """

    stream: int
    wanted: int
    least: int  # with fewer there shall be none
    slot_bytes: int
    grows: bool = False


@record(frozen=True)
class RemoveSegments:
    """Unlink the segments of these slots; their memory lives on where it is still mapped."""

    slots: tuple[int, ...]


@record(frozen=True)
class CheckFile:
    """Find out whether a file still has its content, and report that as `FileChecked`; some of its rows wait for it."""

    file: int


class NoteKind(Enum):
    """What a line is about; the shell writes those that may come by the thousand a few times, and then counts them."""

    OTHER = "other"
    MALFORMED = "malformed message"
    BAD_SAMPLE = "bad sample"
    CLIENT = "client"
    UNREACHABLE = "message to a process that is gone"


@record(frozen=True)
class Note:
    """Log a line, and keep it for `status` when it is a fault.

    Parameters
    ----------
    line
        For people.
    kind
        Of what may come again and again.
    about
        What makes it the same fault as another one, where `line` says more than that.
    """

    line: str
    kind: NoteKind = NoteKind.OTHER
    about: str = ""
    is_fault: bool = True


@record(frozen=True)
class WatchClient:
    """Watch a client's process, and report its end as `ClientEnded`."""

    client: bytes
    pid: int


@record(frozen=True)
class UnwatchClient:
    """Watch a client's process no more."""

    client: bytes


@record(frozen=True)
class LookAtWorkers:
    """Look what the workers are at, and report it as `WorkersSeen`, with these two: a client asks for the status."""

    client: bytes
    request: int


@record(frozen=True)
class LookAtMachine:
    """Look what the machine leaves to workers, and report it as `MachineSeen`."""


@record(frozen=True)
class Announce:
    """Tell who started the service that all workers are there, or that the service is about to end."""

    state: Literal["ready", "stopping"]


@record(frozen=True)
class End:
    """Nothing is left to do: end the service, and begin anew if so."""

    again: bool


@record(frozen=True)
class GiveUp:
    """No worker can be started: end the service with this reason."""

    reason: str


Effect = (
    Send
    | StartWorker
    | KillWorker
    | PlaceRemote
    | AdmitRemote
    | DismissRemote
    | MakeSegments
    | RemoveSegments
    | CheckFile
    | Note
    | WatchClient
    | UnwatchClient
    | LookAtWorkers
    | LookAtMachine
    | Announce
    | End
    | GiveUp
)
