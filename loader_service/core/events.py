"""What happens to the service beside the messages that it receives; the shell makes these of processes and signals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from loader_service.core.effects import Peer
from loader_service.protocol.messages import AdoptFile, Fault, FrameCacheStatus
from loader_service.record_class import record


@record(frozen=True)
class Shortage:
    """Why there are no segments.

    Parameters
    ----------
    lack
        What is needed, and what is left of what.
    others
        Who else holds memory, beside this service's streams; "" for nobody.
    remedy
        What helps; "" when no memory would.
    left_bytes
        What is left.
    """

    lack: str
    others: str = ""
    remedy: str = ""
    left_bytes: int = 0


@record(frozen=True)
class SegmentsMade:
    """`MakeSegments` was carried out, or could not be."""

    stream: int
    slots: tuple[int, ...]
    shortage: Shortage | None = None  # exactly when there are no slots
    grows: bool = False  # as it was asked


@record(frozen=True)
class ClientEnded:
    """The process of a client has ended."""

    client: bytes


@record(frozen=True)
class ClientUnreachable:
    """A message to a client could not be sent."""

    client: bytes


@record(frozen=True)
class ClientsDisconnected:
    """All connections of clients were dropped; `why` is for people."""

    why: str


@record(frozen=True)
class Malformed:
    """What came from somebody was no message; `error` is the name of a class of `loader_service.errors`."""

    peer: Peer
    error: str
    message: str


@record(frozen=True)
class RemoteCame:
    """A remote worker waits to be given a number; `node` is where it is."""

    arrival: int
    node: str


@record(frozen=True)
class ReceiverSeen:
    """What the receivers of remote workers' rows have done so far, all together."""

    cpu_ms: int
    received_bytes: int


@record(frozen=True)
class WorkerExited:
    """A worker process has ended and been reaped, or a remote one is fenced: from now on it cannot write anywhere."""

    worker: int
    cause: str


@record(frozen=True)
class WorkerOverweight:
    """A worker has more memory of its own than it should have."""

    worker: int


class Sight(NamedTuple):
    """What can be seen of a worker: its pid, and the task and the sample that it came to last, as far as it told."""

    pid: int = 0
    task: int = 0
    sample: int = -1


@record(frozen=True)
class WorkersSeen:
    """`LookAtWorkers` was carried out; `faults` are the latest ones, `frames` what is kept decoded."""

    client: bytes
    request: int
    workers: Mapping[int, Sight]
    faults: tuple[Fault, ...] = ()
    frames: FrameCacheStatus | None = None


@record(frozen=True)
class MachineSeen:
    """`LookAtMachine` was carried out.

    Parameters
    ----------
    cores
        That the service may use.
    idle_cores
        Of these, as many as nobody used since the last look.
    workers_that_fit
        For which there is memory, those that there are included.
    """

    cores: int
    idle_cores: float
    workers_that_fit: int


@record(frozen=True)
class ScaleWanted:
    """The service shall have this many workers."""

    workers: int


@record(frozen=True)
class StopWanted:
    """The service shall end."""

    reason: str


@record(frozen=True)
class FileChecked:
    """A file was looked at: it may be read as it is now, or a message says how its content differs."""

    file: int
    message: str = ""
    adoption: AdoptFile | None = None


@record(frozen=True)
class ClockTicked:
    """Time has passed; sent when `Service.next_deadline` is due."""


Event = (
    SegmentsMade
    | ClientEnded
    | ClientUnreachable
    | ClientsDisconnected
    | Malformed
    | RemoteCame
    | ReceiverSeen
    | WorkerExited
    | WorkerOverweight
    | WorkersSeen
    | MachineSeen
    | ScaleWanted
    | StopWanted
    | FileChecked
    | ClockTicked
)
