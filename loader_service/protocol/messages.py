"""Every message that crosses a socket, one frozen dataclass each; knows nothing of how they become bytes.

Clients ask for steps by number and never for "the next one": a want may be sent again at any time, by the same client
after a lost reply or by a new one after a crash, and is answered with the same bytes. The client numbers its wants; the
number comes back in the answer, so that an answer to a want that was given up meanwhile is recognised and its lease
returned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from loader_service.protocol.fields import CatalogField, Field
from loader_service.protocol.spec import Spec

# --------------------------------------------------------------------------------------------- client → daemon


@dataclass(frozen=True)
class Hello:
    """First message of a connection."""

    name: str  # for people: appears in `status` and in errors
    pid: int  # lets the daemon notice at once that the client has ended


@dataclass(frozen=True)
class OpenStream:
    """Ask for a stream; answered by `Opened` or `Refused` with the same request number."""

    request: int
    spec: Spec


@dataclass(frozen=True)
class CloseStream:
    """Give up a stream with all its wants and leases."""

    stream: int


@dataclass(frozen=True)
class Want:
    """Ask for one step; answered by `Ready` or `Failed` with the same want number. Sending it again is harmless.

    In a stream whose spec is `indexed`, `samples` are what the step shall hold, and `positions` the entries of the
    index that they come from, which key their random draws. In other streams both are empty, and the plan says.
    """

    stream: int
    want: int
    epoch: int
    step: int
    samples: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()


@dataclass(frozen=True)
class Forget:
    """Take back a want that is not answered yet, or whose answer has not arrived."""

    stream: int
    want: int


@dataclass(frozen=True)
class Release:
    """Return a lease: nothing in the client reads that slot any more."""

    stream: int
    lease: int


@dataclass(frozen=True)
class Heartbeat:
    """The client is alive; answered by a `Heartbeat`, which tells the client the same of the daemon."""


@dataclass(frozen=True)
class Goodbye:
    """Last message of a connection: the client wants nothing more. A client that ends without it is missed later."""


@dataclass(frozen=True)
class GetStatus:
    """Ask for a `Status`."""

    request: int


@dataclass(frozen=True)
class GetCatalog:
    """Ask for a `CatalogSummary`."""

    request: int


@dataclass(frozen=True)
class Scale:
    """Ask for another number of workers; answered by `Done` when it is under way."""

    request: int
    workers: int


@dataclass(frozen=True)
class Stop:
    """Ask the service to drain and exit; answered by `Done` before it does."""

    request: int


@dataclass(frozen=True)
class Restart:
    """Ask the service to drain and begin anew as it was started; answered by `Done` before it does, or `Refused`.

    It names nothing: the service knows itself how it was started.
    """

    request: int


# --------------------------------------------------------------------------------------------- daemon → client


@dataclass(frozen=True)
class FieldClasses:
    """The classes of one field: a name's place is its number."""

    field: str
    count: int
    names: tuple[str, ...]  # the first ones, up to `MOST_NAMES_IN_WELCOME`


#: Classes of a field that every client hears of, asked or not; they tell people what has changed.
MOST_NAMES_IN_WELCOME = 1024


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Ready:
    """A step is in a slot, and the slot is the client's until it releases the lease."""

    stream: int
    want: int
    slot: int
    lease: int
    rows: int
    frames: int = 0  # of all rows together, padding included, in each field that varies
    substituted: int = 0  # rows that hold another sample than was planned, since that one was bad


@dataclass(frozen=True)
class Failed:
    """A step cannot be delivered; `error` is the name of a class of `loader_service.errors`."""

    stream: int
    want: int
    error: str
    message: str


@dataclass(frozen=True)
class BadSample:
    """A sample of a stream was bad, and another one takes its place; said before the step is `Ready`."""

    stream: int
    message: str


@dataclass(frozen=True)
class Refused:
    """A message was not accepted. `request` is 0 when the message had none."""

    request: int
    error: str
    message: str


@dataclass(frozen=True)
class Stranger:
    """The daemon does not know this client: it is a new daemon, or gave the client up. Say `Hello` and open again."""


@dataclass(frozen=True)
class Stopping:
    """The daemon is about to exit."""

    reason: str


@dataclass(frozen=True)
class Done:
    """A request without a result of its own was carried out; `detail` is one line for people."""

    request: int
    detail: str


@dataclass(frozen=True)
class WorkerStatus:
    """One worker, as `status` shows it."""

    worker: int
    pid: int
    state: str
    files: int
    tasks_queued: int
    tasks_done: int
    doing: Literal["", "task", "probe"] = ""  # a probe is a transform that is tried; "": it has nothing to do
    busy_s: float = 0.0  # for how long it is at that
    stream: int = 0  # of the task, as what follows
    epoch: int = 0
    step: int = 0
    file: str = ""  # which it reads, or the user's source; "" when nobody wants the step any more
    video: str = ""


@dataclass(frozen=True)
class StreamStatus:
    """One stream, as `status` shows it."""

    stream: int
    client: str
    client_pid: int
    steps_per_epoch: int
    steps_done: int
    slots: int
    slots_filling: int
    slots_leased: int
    wants_waiting: int
    slot_bytes: int
    padded_videos: int
    samples_substituted: int = 0
    padding: float = 0.0  # share of an epoch's frames that is padding, when whole videos are padded
    padding_unsorted: float = 0.0  # what it would be without buckets


@dataclass(frozen=True)
class Counter:
    """One thing that happened, and how often since the start."""

    name: str
    count: int


@dataclass(frozen=True)
class Status:
    """What the service is doing; all counts since its start."""

    request: int
    endpoint: str
    pid: int
    version: str
    uptime_s: float
    workers: tuple[WorkerStatus, ...]
    streams: tuple[StreamStatus, ...]
    counters: tuple[Counter, ...]
    memory_bytes: int  # of all slots
    memory_budget_bytes: int
    events: tuple[str, ...]  # the latest faults, one line each
    serves: str = ""  # what the files, or the user's own source, hold
    transform: str = ""  # of the user's own; "" without one


@dataclass(frozen=True)
class CatalogSummary:
    """What the files hold."""

    request: int
    fingerprint: str
    files: int
    videos: int
    frames: int
    frame_height: int  # 0 when the videos differ
    frame_width: int
    label_dtype: str  # "" without labels
    classes: tuple[str, ...]
    skipped_files: int
    empty_videos: int
    kind: Literal["videos", "rows", "map", "generator"] = "videos"  # what a sample is a part of
    fields: tuple[CatalogField, ...] = ()


# --------------------------------------------------------------------------------------------- daemon → worker


@dataclass(frozen=True)
class PrepareStream:
    """Tasks of this stream may follow."""

    stream: int
    spec: Spec
    fields: tuple[Field, ...]
    frames: int = 0  # that a slot has room for, in each field that varies
    inputs: tuple[Field, ...] = ()  # what the transform is given; empty without one


@dataclass(frozen=True)
class ProbeStream:
    """Ask what a transform makes of a stream's samples; answered by `Probed` with the same number."""

    probe: int
    spec: Spec
    inputs: tuple[Field, ...]


@dataclass(frozen=True)
class DropStream:
    """No task of this stream will follow; unmap its slots."""

    stream: int


@dataclass(frozen=True)
class Task:
    """Decode these samples into these rows of a slot; `rows` and `samples` go together."""

    task: int
    stream: int
    epoch: int
    slot: int
    rows: tuple[int, ...]
    samples: tuple[int, ...]
    positions: tuple[int, ...] = ()  # what keys the random draws, and the field `position`; empty: the samples do
    offsets: tuple[int, ...] = ()  # where each row's frames begin in the fields that vary; empty when none does
    lengths: tuple[int, ...] = ()  # frames to write of each row there
    room: int = 0  # frames that each row has there; zeros fill what its length leaves


@dataclass(frozen=True)
class AdoptFile:
    """A file has another size, time or inode than the catalog says, and the same content: it may be read."""

    file: int
    size_bytes: int
    mtime_ns: int
    inode: int  # modulo 2**64


@dataclass(frozen=True)
class Drain:
    """Finish what is queued, then exit."""


# --------------------------------------------------------------------------------------------- worker → daemon


@dataclass(frozen=True)
class WorkerReady:
    """The worker has opened the catalog and waits for tasks."""

    worker: int


@dataclass(frozen=True)
class BadRow:
    """A row that could not be filled; `error` is the name of a class of `loader_service.errors`."""

    row: int
    error: str
    message: str


@dataclass(frozen=True)
class TaskDone:
    """Every row of a task is written, save the bad ones."""

    worker: int
    task: int
    bad: tuple[BadRow, ...]


@dataclass(frozen=True)
class Probed:
    """What a transform makes of a sample, or the error that it raised; `error` is empty when it did not."""

    worker: int
    probe: int
    fields: tuple[Field, ...]
    error: str
    message: str
    file: int = -1  # that must be looked at before the transform can be tried; -1: none


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
    | Scale
    | Stop
    | Restart
)
ToClient = (
    Welcome
    | Opened
    | Ready
    | Failed
    | BadSample
    | Refused
    | Stranger
    | Stopping
    | Done
    | Status
    | CatalogSummary
    | Heartbeat
)
ToWorker = PrepareStream | ProbeStream | DropStream | Task | AdoptFile | Drain
FromWorker = WorkerReady | Probed | TaskDone
