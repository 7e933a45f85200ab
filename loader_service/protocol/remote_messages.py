"""Every message that remote workers need beside those of local ones: with the receiver, and of it with the daemon.

Tasks and what prepares them travel as the daemon said them; rows travel beside the messages (`remote/row_frames.py`).
"""

from __future__ import annotations

from loader_service.protocol.totals import TimeSpent
from loader_service.protocol.worker_messages import TaskDone, TasksWanted, ToWorker
from loader_service.record_class import record

# --------------------------------------------------------------------------------------- remote worker → receiver


@record(frozen=True)
class RemoteHello:
    """First message of a connection: who comes, and what must be equal at both ends."""

    version: str  # of this package
    decoder: str  # the libraries that make pixels, and their versions
    catalog: str  # fingerprint
    node: str  # for people
    pid: int


@record(frozen=True)
class RemoteBeat:
    """The remote worker lives, whatever it is at."""


@record(frozen=True)
class RemoteLeaving:
    """Last message of a connection: all that was queued is done, or `cause` says what makes more impossible."""

    cause: str = ""


# --------------------------------------------------------------------------------------- receiver → remote worker


@record(frozen=True)
class RemoteWelcome:
    """Answer to `RemoteHello`; `proof` shows a connection without encryption that the receiver has the run's key."""

    proof: str = ""


@record(frozen=True)
class RemoteRefused:
    """Answer to `RemoteHello` of a peer that cannot serve here; `message` says why, and it need not come again."""

    message: str


@record(frozen=True)
class ReceiverBeat:
    """The receiver lives."""


@record(frozen=True)
class RemoteLeave:
    """The connection is no worker's any more; what it sends is dropped."""

    comes_again: bool  # whether the process shall make another connection, or end


# --------------------------------------------------------------------------------------- receiver → daemon


@record(frozen=True)
class RemoteArrived:
    """A remote worker has shown who it is, and waits to be given a number."""

    arrival: int
    node: str
    pid: int


@record(frozen=True)
class RemoteEnded:
    """A remote worker is fenced: from now on nothing that it sends is written anywhere."""

    worker: int
    cause: str


@record(frozen=True)
class RemoteRejected:
    """Somebody who came was not let in; for people."""

    line: str


@record(frozen=True)
class ReceiverLoad:
    """What the receiver has done since it began; also its sign of life."""

    cpu_ms: int
    received_bytes: int


# --------------------------------------------------------------------------------------- daemon → receiver


@record(frozen=True)
class AdmitArrival:
    """An arrival becomes a worker."""

    arrival: int
    worker: int


@record(frozen=True)
class DismissArrival:
    """An arrival is not needed."""

    arrival: int


@record(frozen=True)
class FenceRemote:
    """Let a worker go now; answered by `RemoteEnded`."""

    worker: int


FromRemote = RemoteHello | RemoteBeat | RemoteLeaving | TaskDone | TasksWanted | TimeSpent
ToRemote = ToWorker | RemoteWelcome | RemoteRefused | ReceiverBeat | RemoteLeave
FromReceiver = RemoteArrived | RemoteEnded | RemoteRejected | ReceiverLoad
ToReceiver = AdmitArrival | DismissArrival | FenceRemote
