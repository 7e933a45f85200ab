"""Every message between the daemon and a worker, one frozen dataclass each."""

from __future__ import annotations

from loader_service.protocol.fields import Field
from loader_service.protocol.rows import Rows
from loader_service.protocol.spec import Spec
from loader_service.protocol.totals import TimeSpent
from loader_service.record_class import record


@record(frozen=True)
class PrepareStream:
    """Tasks of this stream may follow."""

    stream: int
    spec: Spec
    fields: tuple[Field, ...]
    frames: int = 0  # that a slot has room for, in each field that varies
    inputs: tuple[Field, ...] = ()  # what the transform is given; empty without one


@record(frozen=True)
class ProbeStream:
    """Ask what a transform makes of a stream's samples; answered by `Probed` with the same number."""

    probe: int
    spec: Spec
    inputs: tuple[Field, ...]


@record(frozen=True)
class DropStream:
    """No task of this stream will follow; unmap its slots."""

    stream: int


@record(frozen=True)
class DropSlots:
    """No task in these slots of a stream will follow; unmap them."""

    stream: int
    slots: tuple[int, ...]


@record(frozen=True)
class Task:
    """Decode these samples into these rows of a slot."""

    task: int
    stream: int
    epoch: int
    slot: int
    rows: Rows


@record(frozen=True)
class AdoptFile:
    """A file has another size, time or inode than the catalog says, and the same content: it may be read."""

    file: int
    size_bytes: int
    mtime_ns: int
    inode: int  # modulo 2**64


@record(frozen=True)
class Drain:
    """Finish what is queued, then exit."""


@record(frozen=True)
class WorkerReady:
    """The worker has opened the catalog and waits for tasks."""

    worker: int
    decoder: str = ""  # what decodes parts of its JPEGs, for people


@record(frozen=True)
class BadRow:
    """A row that could not be filled; `error` is the name of a class of `loader_service.errors`."""

    row: int
    error: str
    message: str


@record(frozen=True)
class TaskDone:
    """Every row of a task is written, save the bad ones."""

    worker: int
    task: int
    bad: tuple[BadRow, ...]
    waited_s: float = 0.0  # of its time, what it waited for reads


@record(frozen=True)
class TasksWanted:
    """The worker wants to hold so many tasks at a time, since reads are slow and it begins those of its next tasks."""

    worker: int
    count: int


@record(frozen=True)
class CopyRead:
    """What the local copy of objects had, and what was fetched, since the worker last said so: in blocks of 64 KiB."""

    worker: int
    hits: int
    misses: int
    hit_bytes: int


@record(frozen=True)
class Probed:
    """What a transform makes of a sample, or the error that it raised; `error` is empty when it did not."""

    worker: int
    probe: int
    fields: tuple[Field, ...]
    error: str
    message: str
    file: int = -1  # that must be looked at before the transform can be tried; -1: none


ToWorker = PrepareStream | ProbeStream | DropStream | DropSlots | Task | AdoptFile | Drain
FromWorker = WorkerReady | Probed | TaskDone | TasksWanted | TimeSpent | CopyRead
