"""Every message between a client and the daemon, one frozen dataclass each; knows nothing of how they become bytes.

Those of workers, and the parts of a status, have files of their own and are known here too.

Clients ask for steps by number and never for "the next one": a want may be sent again at any time, by the same client
after a lost reply or by a new one after a crash, and is answered with the same bytes. The client numbers its wants; the
number comes back in the answer, so that an answer to a want that was given up meanwhile is recognised and its lease
returned.
"""

from __future__ import annotations

from loader_service.protocol.fields import Field
from loader_service.protocol.later_fields import later
from loader_service.protocol.numbers import NumberColumn
from loader_service.protocol.recent_steps import GetRecentSteps as GetRecentSteps
from loader_service.protocol.recent_steps import RecentStep as RecentStep
from loader_service.protocol.recent_steps import RecentSteps as RecentSteps
from loader_service.protocol.spec import Spec
from loader_service.protocol.status_messages import CachedForm as CachedForm
from loader_service.protocol.status_messages import CatalogSummary as CatalogSummary
from loader_service.protocol.status_messages import Counter as Counter
from loader_service.protocol.status_messages import Fault as Fault
from loader_service.protocol.status_messages import FrameCacheStatus as FrameCacheStatus
from loader_service.protocol.status_messages import Status as Status
from loader_service.protocol.status_messages import StreamStatus as StreamStatus
from loader_service.protocol.status_messages import WorkerStatus as WorkerStatus
from loader_service.protocol.totals import TimeSpent as TimeSpent
from loader_service.protocol.totals import TrainerTimes as TrainerTimes
from loader_service.protocol.worker_messages import AdoptFile as AdoptFile
from loader_service.protocol.worker_messages import BadRow as BadRow
from loader_service.protocol.worker_messages import CopyRead as CopyRead
from loader_service.protocol.worker_messages import Drain as Drain
from loader_service.protocol.worker_messages import DropSlots as DropSlots
from loader_service.protocol.worker_messages import DropStream as DropStream
from loader_service.protocol.worker_messages import FromWorker as FromWorker
from loader_service.protocol.worker_messages import PrepareStream as PrepareStream
from loader_service.protocol.worker_messages import Probed as Probed
from loader_service.protocol.worker_messages import ProbeStream as ProbeStream
from loader_service.protocol.worker_messages import Task as Task
from loader_service.protocol.worker_messages import TaskDone as TaskDone
from loader_service.protocol.worker_messages import TasksWanted as TasksWanted
from loader_service.protocol.worker_messages import ToWorker as ToWorker
from loader_service.protocol.worker_messages import WorkerReady as WorkerReady

# ruff: noqa: PLC0414 - this form says that a name is to be known here too
from loader_service.record_class import record

# --------------------------------------------------------------------------------------------- client → daemon


@record(frozen=True)
class Hello:
    """First message of a connection."""

    name: str  # for people: appears in `status` and in errors
    pid: int  # lets the daemon notice at once that the client has ended


@record(frozen=True)
class OpenStream:
    """Ask for a stream; answered by `Opened` or `Refused` with the same request number.

    Another run of the service than the one it is meant for opens nothing, and answers with its `Welcome`.
    """

    request: int
    spec: Spec
    instance: str = ""  # of the run that it is meant for, as its `Welcome` said; "" for any


@record(frozen=True)
class CloseStream:
    """Give up a stream with all its wants and leases."""

    stream: int


@record(frozen=True)
class Want:
    """Ask for one step; answered by `Ready` or `Failed` with the same want number. Sending it again is harmless.

    In a stream whose spec is `indexed`, `samples` are what the step shall hold, and `positions` the entries of the
    index that they come from, which key their random draws. In other streams both are empty, and the plan says.
    """

    stream: int
    want: int
    epoch: int
    step: int
    samples: NumberColumn = ()
    positions: NumberColumn = ()


@record(frozen=True)
class Forget:
    """Take back a want that is not answered yet, or whose answer has not arrived."""

    stream: int
    want: int


@record(frozen=True)
class Release:
    """Return a lease: nothing in the client reads that slot any more."""

    stream: int
    lease: int


@record(frozen=True)
class Heartbeat:
    """The client is alive; answered by a `Heartbeat`, which tells the client the same of the daemon.

    A `Resized` follows for each of the client's streams that ever had another number of slots: the one before may be
    lost. The client's says how long its trainer waited for each of its streams; the daemon's names none.
    """

    streams: tuple[TrainerTimes, ...] = ()


@record(frozen=True)
class Goodbye:
    """Last message of a connection: the client wants nothing more. A client that ends without it is missed later."""


@record(frozen=True)
class GetStatus:
    """Ask for a `Status`."""

    request: int


@record(frozen=True)
class GetCatalog:
    """Ask for a `CatalogSummary`."""

    request: int


@record(frozen=True)
class Scale:
    """Ask for another number of workers, or for bounds; answered by `Done` when it is under way."""

    request: int
    workers: int
    most: int | None = None  # the service sizes itself from `workers` up to this; 0: one per core; None: it does not


@record(frozen=True)
class ScaleRemote:
    """Ask for other remote workers: a number, or bounds; answered by `Done`, or `Refused` where there is no cluster."""

    request: int
    workers: int
    most: int | None = later(None)  # the service sizes itself from `workers` up to this; None: it does not


@record(frozen=True)
class Stop:
    """Ask the service to drain and exit; answered by `Done` before it does."""

    request: int


@record(frozen=True)
class Restart:
    """Ask the service to drain and begin anew as it was started; answered by `Done` before it does, or `Refused`.

    It names nothing: the service knows itself how it was started.
    """

    request: int


# --------------------------------------------------------------------------------------------- daemon → client


@record(frozen=True)
class FieldClasses:
    """The classes of one field: a name's place is its number."""

    field: str
    count: int
    names: tuple[str, ...]  # the first ones, up to `MOST_NAMES_IN_WELCOME`


#: Classes of a field that every client hears of, asked or not; they tell people what has changed.
MOST_NAMES_IN_WELCOME = 1024


@record(frozen=True)
class Welcome:
    """Answer to `Hello`."""

    instance: str  # names this run of the service and the folder of its segments: 16 hexadecimal digits
    pid: int
    fingerprint: str  # of the catalog
    files: int  # in the catalog, as the two below: what tells people how it has changed
    videos: int
    frames: int
    heartbeat_s: float  # how often the client should be heard
    classes: tuple[FieldClasses, ...] = ()  # of each field that has some


@record(frozen=True)
class Opened:
    """A stream is open, its slots exist."""

    request: int
    stream: int
    fields: tuple[Field, ...]
    steps_per_epoch: int
    slots: int
    prefetch: int
    samples: int = 0  # that exist, in all shards
    frames: int = 0  # that a slot has room for, in each field that varies
    resizes: int = 0  # how often the stream had been resized when this was said
    first_step: int = later(0)  # of the epoch that `Spec.resumed` names


@record(frozen=True)
class Resized:
    """A stream has another number of slots from now on; those that were removed are nobody's any more, and unmapped.

    Said before any `Ready` that it has to do with: a batch that comes when half of the slots are held is copied. Said
    again with each `Heartbeat`. What is as old as the latest that came, or older, means nothing.
    """

    stream: int
    slots: int
    prefetch: int
    resizes: int  # how often the stream was resized so far
    removed: tuple[int, ...] = ()  # in this and in earlier resizes, the latest ones


@record(frozen=True)
class Ready:
    """A step is in a slot, and the slot is the client's until it releases the lease."""

    stream: int
    want: int
    slot: int
    lease: int
    rows: int
    frames: int = 0  # of all rows together, padding included, in each field that varies
    substituted: int = 0  # rows that hold another sample than was planned, since that one was bad


@record(frozen=True)
class Failed:
    """A step cannot be delivered; `error` is the name of a class of `loader_service.errors`."""

    stream: int
    want: int
    error: str
    message: str


@record(frozen=True)
class BadSample:
    """A sample of a stream was bad, and another one takes its place; said before the step is `Ready`."""

    stream: int
    message: str


@record(frozen=True)
class Refused:
    """A message was not accepted. `request` is 0 when the message had none."""

    request: int
    error: str
    message: str


@record(frozen=True)
class Stranger:
    """The daemon does not know this client: it is a new daemon, or gave the client up. Say `Hello` and open again."""


@record(frozen=True)
class Stopping:
    """The daemon is about to exit."""

    reason: str


@record(frozen=True)
class Done:
    """A request without a result of its own was carried out; `detail` is one line for people."""

    request: int
    detail: str


FromClient = (
    Hello
    | OpenStream
    | CloseStream
    | Want
    | Forget
    | Release
    | Heartbeat
    | Goodbye
    | GetStatus
    | GetCatalog
    | GetRecentSteps
    | Scale
    | ScaleRemote
    | Stop
    | Restart
)
ToClient = (
    Welcome
    | Opened
    | Resized
    | Ready
    | Failed
    | BadSample
    | Refused
    | Stranger
    | Stopping
    | Done
    | Status
    | CatalogSummary
    | RecentSteps
    | Heartbeat
)
