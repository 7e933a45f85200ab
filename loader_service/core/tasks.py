"""Tasks that wait for a worker: cut from a step by owner, taken in fair turns between streams; pure.

A step's rows are cut so that each owner gets the rows of its own files, in pieces small enough that an idle worker can
take some over. A step of little work stays whole, since a message costs more than it saves.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from loader_service.core.ownership import Ownership
from loader_service.core.ranking import Ranking
from loader_service.protocol.messages import ProbeStream
from loader_service.protocol.rows import Row, all_rows

#: Below this much output a task is not worth a message of its own: about 2 ms of decoding against 0.1 ms for the
#: message.
SMALL_TASK_BYTES = 2 * 2**20

#: Up to this much output, rows of several owners are one task where there are tasks enough: about 15 ms of decoding.
JOINED_TASK_BYTES = 17 * 2**20

#: Pieces that no step has fewer of because rows of several owners were joined.
LEAST_PIECES = 4

#: Stale entries that are kept of the tasks in the order of their turns, beside as many live ones.
_MOST_STALE = 64

#: Stands for the owner of files that have none; workers' numbers begin at 1.
NOBODY = 0


@dataclass(kw_only=True, slots=True)
class PendingTask:
    """Some rows of a step, waiting for a worker or being done by one; or a transform that a worker is to try."""

    task: int  # below 0 for a probe: the number of that
    stream: int
    slot: int  # unique in the service
    rows: tuple[int, ...]
    size_bytes: int  # of its output: the measure of work among its stream's tasks
    file: int  # its owner takes the task first; looked up when it is taken, so that it follows the file
    strikes: int = 0  # workers that died while they were at it
    turn: int | None = None  # its place in the fair order; given once, and kept by what is made of it later
    probe: ProbeStream | None = None  # what is to be tried; then it has no rows
    ease: int = 1  # bytes of its output that are as much work as one byte of decoded pixels

    @property
    def work_bytes(self) -> int:
        """What it counts as beside tasks of other streams."""
        return self.size_bytes // self.ease

    @classmethod
    def of_probe(cls, probe: ProbeStream) -> PendingTask:
        """Return the task of a stream that is being opened."""
        return cls(task=-probe.probe, stream=0, slot=0, rows=(), size_bytes=0, file=-1, probe=probe)


def cut(
    rows: Sequence[Row], ownership: Ownership, row_bytes: int, frame_bytes: int = 0, steps: int = 1
) -> list[tuple[int, ...]]:
    """Cut a step into pieces of rows, one or more for each owner, or one for several when that gains nothing.

    Parameters
    ----------
    rows
        All rows of the step, by row number.
    ownership
        Who owns which file.
    row_bytes, frame_bytes
        Output of one row without what varies, and of each frame that varies: the measure of work.
    steps
        That are being filled at a time: when all of them together have two pieces for each worker, more are no use.

    Returns
    -------
    list of tuple of int
        Row numbers; each row in exactly one piece.
    """
    if not frame_bytes and row_bytes * len(rows) <= SMALL_TASK_BYTES:
        return [all_rows(len(rows))]
    sizes = [row_bytes + row.frames * frame_bytes for row in rows] if frame_bytes else [row_bytes] * len(rows)
    total = sum(sizes)
    if total <= SMALL_TASK_BYTES:
        return [all_rows(len(rows))]
    workers = max(1, ownership.worker_count)
    enough = max(LEAST_PIECES, -(-2 * workers // steps))
    share = max(total / min(enough, workers), SMALL_TASK_BYTES)
    groups = _joined(ownership.by_owner([row.file for row in rows]), sizes, enough)
    return [piece for group in groups for piece in _split(group, sizes, share)]


def _joined(groups: list[list[int]], sizes: Sequence[int], enough: int) -> list[list[int]]:
    """Join small groups of neighbours while there are more than enough of them; to about the same bytes each."""
    if len(groups) <= enough:
        return groups
    total = sum(sizes)
    most = min(JOINED_TASK_BYTES, total / enough + total / len(sizes))
    joined: list[list[int]] = []
    left, room = len(groups), 0.0
    for group in groups:
        size = sum([sizes[each] for each in group])
        if left > enough and size <= room:
            joined[-1] += group
            room -= size
            left -= 1
        else:
            joined.append(group)
            room = most - size
    return joined


def _split(rows: Sequence[int], sizes: Sequence[int], share: float) -> Iterable[tuple[int, ...]]:
    """Cut a group of rows into pieces of about the same bytes, each near to `share`."""
    if len(rows) == 1 or (pieces := min(len(rows), round(sum([sizes[row] for row in rows]) / share))) <= 1:
        return (tuple(rows),)
    ends = list(itertools.accumulate(sizes[row] for row in rows))
    # A row belongs to the piece that its middle lies in; doubled, so that all numbers are whole.
    middles = [2 * end - sizes[row] for end, row in zip(ends, rows, strict=True)]
    inner = [bisect_right(middles, 2 * ends[-1] * number // pieces) for number in range(1, pieces)]
    bounds = [0, *inner, len(rows)]
    return (tuple(rows[low:high]) for low, high in itertools.pairwise(bounds) if high > low)


@dataclass(slots=True)
class _Line:
    """The tasks that wait for one owner."""

    turns: list[tuple[int, int]]  # a heap of turns and tasks; some of these may wait no more
    count: int = 0
    size_bytes: int = 0


class TaskQueues:
    """Tasks that wait, by owner; each owner's in fair turns between the streams.

    A task's turn is a number of bytes: where the task before it in its stream ends, but not before the latest turn
    taken so far. So streams that always have tasks waiting get the same number of bytes, and one that joins or was
    idle starts level with the others. Turns are given when tasks come and never change, which bounds each wait: of
    what another stream queues after a task, no more passes it than the task's own stream had waiting, however far
    ahead that stream got with another owner.

    Nothing here looks at all owners or all tasks, save when files have changed hands, and when the last task is asked
    for that was not for long.

    Attributes
    ----------
    tasks
        All that wait, by number, to be read only: whether there are any is asked for each event.

    References
    ----------
    Start-time fair queueing: Goyal, Vin, Cheng, SIGCOMM 1996.
    """

    def __init__(self, ownership: Ownership) -> None:
        self._ownership = ownership
        self._grouped_at = ownership.changes
        self.tasks: dict[int, PendingTask] = {}
        self._waiting: dict[int, _Line] = {}  # by owner of the file
        self._grown: set[int] = set()  # owners that got tasks since somebody asked
        self._longest: Ranking[float] = Ranking()  # owners by the bytes of their tasks, the most first
        self._changed: set[int] = set()  # owners whose bytes are not told there yet
        self._last: list[tuple[int, int]] | None = (
            None  # a heap of turns and tasks, the last first; None when not asked
        )
        self._ends: dict[int, int] = {}  # of each stream: where the turn of its next task begins, at the least
        self._latest_turn = 0  # taken so far: the queues' own clock

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[PendingTask]:
        return iter(self.tasks.values())

    def open(self, stream: int) -> None:
        """Let a stream take part."""
        self._ends[stream] = 0

    def close(self, stream: int, tasks: Iterable[int]) -> None:
        """Drop a stream and its tasks, of which some may wait here."""
        del self._ends[stream]
        self.drop(tasks)

    def put(self, task: PendingTask) -> None:
        """Queue a task; one that was taken before and came back has its turn, a new one gets the next of its stream."""
        if task.turn is None:
            task.turn = max(self._latest_turn, self._ends[task.stream])
            self._ends[task.stream] = task.turn + max(1, task.size_bytes)
        if self._grouped_at != self._ownership.changes:
            self._group()
        self.tasks[task.task] = task
        if self._last is not None:
            heappush(self._last, (-task.turn, -task.task))
            if len(self._last) > 2 * len(self.tasks) + _MOST_STALE:
                self._last = None
        self._append(task)

    def drop(self, tasks: Iterable[int]) -> list[PendingTask]:
        """Remove and return those of these tasks that wait here."""
        if self._grouped_at != self._ownership.changes:
            self._group()
        dropped = [self.tasks[number] for number in tasks if number in self.tasks]
        for task in dropped:
            self._remove(task, self._ownership.owner(task.file) or NOBODY)
        return dropped

    def take_own(self, worker: int) -> PendingTask | None:
        """Take the next task for one of the worker's own files; of a file that nobody owns, for any worker."""
        if self._grouped_at != self._ownership.changes:
            self._group()
        return self._take(worker if worker in self._waiting else NOBODY)

    def take_from_longest(self) -> PendingTask | None:
        """Take the next task of the worker that has most bytes waiting."""
        if self._grouped_at != self._ownership.changes:
            self._group()
        for owner in self._changed:
            if owner in self._waiting:
                self._longest.put(owner, -self._waiting[owner].size_bytes)
            else:
                self._longest.discard(owner)
        self._changed.clear()
        longest = self._longest.first()
        return self._take(longest[1]) if longest else None

    def take_last(self) -> PendingTask | None:
        """Take the task whose turn comes last: the one that can best wait for a slow worker."""
        if self._grouped_at != self._ownership.changes:
            self._group()
        if self._last is None:
            self._last = [(-(task.turn or 0), -task.task) for task in self.tasks.values()]
            heapify(self._last)
        while self._last:
            last = self.tasks.get(-heappop(self._last)[1])
            if last is not None:
                self._remove(last, self._ownership.owner(last.file) or NOBODY)
                return last
        return None

    def waiting_for(self, worker: int) -> int:
        """Return how many tasks wait for files of a worker."""
        if self._grouped_at != self._ownership.changes:
            self._group()
        line = self._waiting.get(worker)
        return line.count if line else 0

    @property
    def owners(self) -> AbstractSet[int]:
        """All owners for whom tasks wait, at any time."""
        return self._waiting.keys()

    @property
    def have_grown(self) -> bool:
        """Whether an owner got tasks since `take_grown`, or files have changed hands."""
        return bool(self._grown) or self._grouped_at != self._ownership.changes

    def take_grown(self) -> set[int]:
        """Return the owners that got tasks since this was asked before; `NOBODY` for files without an owner."""
        if self._grouped_at != self._ownership.changes:
            self._group()
        grown, self._grown = self._grown, set()
        return grown

    # ---- inside

    def _take(self, owner: int) -> PendingTask | None:
        line = self._waiting.get(owner)
        if line is None:
            return None
        number = 0
        while number not in self.tasks:
            turn, number = heappop(line.turns)
        task = self.tasks[number]
        self._remove(task, owner)
        self._latest_turn = max(self._latest_turn, turn)
        return task

    def _append(self, task: PendingTask) -> None:
        owner = self._ownership.owner(task.file) or NOBODY
        line = self._waiting.get(owner)
        if line is None:
            line = self._waiting[owner] = _Line([])
        heappush(line.turns, (task.turn or 0, task.task))
        line.count += 1
        line.size_bytes += task.size_bytes
        self._grown.add(owner)
        self._changed.add(owner)

    def _remove(self, task: PendingTask, owner: int) -> None:
        """Take a task out; its entry in the heap stays, unless that was taken out before."""
        line = self._waiting[owner]
        if line.count == 1:
            del self._waiting[owner]
        else:
            line.count -= 1
            line.size_bytes -= task.size_bytes
            if task.strikes:
                self._grown.add(owner)  # a suspect may have kept the others from being given
        del self.tasks[task.task]
        self._changed.add(owner)

    def _group(self) -> None:
        """Group the tasks by owner anew: files have changed hands."""
        self._grouped_at = self._ownership.changes
        self._changed.update(self._waiting)
        self._waiting.clear()
        for task in self.tasks.values():
            self._append(task)
