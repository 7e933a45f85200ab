"""Tasks that wait for a worker: cut from a step by owner, taken in fair turns between streams; pure.

A step's rows are cut so that each owner gets the rows of its own files, in pieces small enough that an idle worker can
take some over. A step of little work stays whole, since a message costs more than it saves.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from loader_service.core.events import Row
from loader_service.core.ownership import Ownership

#: Below this much output a task is not worth a message of its own: about 2 ms of decoding against 0.1 ms for the
#: message.
SMALL_TASK_BYTES = 2 * 2**20


@dataclass(kw_only=True)
class PendingTask:
    """Some rows of a step, waiting for a worker or being done by one."""

    task: int
    stream: int
    want: int
    rows: tuple[int, ...]
    size_bytes: int  # of its output: the measure of work
    file: int  # its owner takes the task first; looked up when it is taken, so that it follows the file
    strikes: int = 0  # workers that died while they were at it
    turn: int | None = None  # its place in the fair order; given once, and kept by what is made of it later


def cut(rows: Mapping[int, Row], ownership: Ownership, row_bytes: int, frame_bytes: int = 0) -> list[tuple[int, ...]]:
    """Cut a step into pieces of rows, one or more for each owner.

    Parameters
    ----------
    rows
        Rows to be done, by row number.
    ownership
        Who owns which file.
    row_bytes, frame_bytes
        Output of one row without what varies, and of each frame that varies: the measure of work.

    Returns
    -------
    list of tuple of int
        Row numbers; each row in exactly one piece.
    """
    total = len(rows) * row_bytes + (sum(row.frames for row in rows.values()) * frame_bytes if frame_bytes else 0)
    if total <= SMALL_TASK_BYTES:
        return [tuple(rows)]
    sizes = {number: row_bytes + row.frames * frame_bytes for number, row in rows.items()}
    by_owner: dict[int | None, list[int]] = {}
    for number, row in rows.items():
        by_owner.setdefault(ownership.owner(row.file), []).append(number)
    share = max(total / max(1, len(ownership.workers)), SMALL_TASK_BYTES)
    return [piece for group in by_owner.values() for piece in _split(group, [sizes[each] for each in group], share)]


def _split(rows: Sequence[int], sizes: Sequence[int], share: float) -> Iterable[tuple[int, ...]]:
    """Cut an owner's rows into pieces of about the same bytes, each near to `share`."""
    ends = list(itertools.accumulate(sizes))
    pieces = max(1, min(len(rows), round(ends[-1] / share)))
    # A row belongs to the piece that its middle lies in; doubled, so that all numbers are whole.
    middles = [2 * end - size for end, size in zip(ends, sizes, strict=True)]
    inner = [bisect_right(middles, 2 * ends[-1] * number // pieces) for number in range(1, pieces)]
    bounds = [0, *inner, len(rows)]
    return (tuple(rows[low:high]) for low, high in itertools.pairwise(bounds) if high > low)


class TaskQueues:
    """Tasks that wait, by owner; each owner's in fair turns between the streams.

    A task's turn is a number of bytes: where the task before it in its stream ends, but not before the latest turn
    taken so far. So streams that always have tasks waiting get the same number of bytes, and one that joins or was
    idle starts level with the others. Turns are given when tasks come and never change, which bounds each wait: of
    what another stream queues after a task, no more passes it than the task's own stream had waiting, however far
    ahead that stream got with another owner.

    References
    ----------
    Start-time fair queueing: Goyal, Vin, Cheng, SIGCOMM 1996.
    """

    def __init__(self, ownership: Ownership) -> None:
        self._ownership = ownership
        self._grouped_at = ownership.changes
        self._waiting: dict[int | None, list[PendingTask]] = {}  # by owner of the file, in the order of their turns
        self._ends: dict[int, int] = {}  # of each stream: where the turn of its next task begins, at the least
        self._latest_turn = 0  # taken so far: the queues' own clock

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def __iter__(self) -> Iterator[PendingTask]:
        return itertools.chain.from_iterable(self._waiting.values())

    def open(self, stream: int) -> None:
        """Let a stream take part."""
        self._ends[stream] = 0

    def close(self, stream: int) -> None:
        """Drop a stream and its tasks."""
        del self._ends[stream]
        self._keep(lambda task: task.stream != stream)

    def put(self, task: PendingTask) -> None:
        """Queue a task; one that was taken before and came back has its turn, a new one gets the next of its stream."""
        if task.turn is None:
            task.turn = max(self._latest_turn, self._ends[task.stream])
            self._ends[task.stream] = task.turn + max(1, task.size_bytes)
        insort(self._by_owner().setdefault(self._ownership.owner(task.file), []), task, key=_place)

    def drop(self, stream: int, want: int) -> list[PendingTask]:
        """Remove and return the tasks of a want."""
        dropped = [task for task in self if (task.stream, task.want) == (stream, want)]
        self._keep(lambda task: (task.stream, task.want) != (stream, want))
        return dropped

    def take_own(self, worker: int) -> PendingTask | None:
        """Take the next task for one of the worker's own files; of a file that nobody owns, for any worker."""
        return self._take(worker if self._by_owner().get(worker) else None)

    def take_from_longest(self) -> PendingTask | None:
        """Take the next task of the worker that has most bytes waiting."""
        waiting = {owner: sum(task.size_bytes for task in tasks) for owner, tasks in self._by_owner().items() if tasks}
        longest = max(waiting, key=lambda owner: (waiting[owner], -1 if owner is None else -owner), default=None)
        return self._take(longest)

    def take_last(self) -> PendingTask | None:
        """Take the task whose turn comes last: the one that can best wait for a slow worker."""
        ends = [tasks for tasks in self._by_owner().values() if tasks]
        return max(ends, key=lambda tasks: _place(tasks[-1])).pop() if ends else None

    def waiting_for(self, worker: int) -> int:
        """Return how many tasks wait for files of a worker."""
        return len(self._by_owner().get(worker, ()))

    def _take(self, owner: int | None) -> PendingTask | None:
        tasks = self._by_owner().get(owner)
        if not tasks:
            return None
        task = tasks.pop(0)
        self._latest_turn = max(self._latest_turn, task.turn or 0)
        return task

    def _keep(self, wanted: Callable[[PendingTask], bool]) -> None:
        self._waiting = {owner: list(filter(wanted, tasks)) for owner, tasks in self._waiting.items()}

    def _by_owner(self) -> dict[int | None, list[PendingTask]]:
        """Return the tasks by owner, grouped anew when files have changed hands."""
        if self._grouped_at != self._ownership.changes:
            self._grouped_at = self._ownership.changes
            tasks = sorted(self, key=_place)
            self._waiting = {}
            for task in tasks:
                self._waiting.setdefault(self._ownership.owner(task.file), []).append(task)
        return self._waiting


def _place(task: PendingTask) -> tuple[int, int]:
    return task.turn or 0, task.task
