"""Makes the slots of streams: as many as fit, no more than a fair share; or says what is in the way.

That takes 0.36 s a GB, since the memory is there when a slot is. So it is done in a thread of its own, and the loop
goes on meanwhile.
"""

from __future__ import annotations

import logging
import os
import queue
import select
import threading
from collections import deque
from collections.abc import Sequence

from loader_service.core.effects import MakeSegments
from loader_service.core.events import SegmentsMade, Shortage
from loader_service.daemon.room import Room, beyond, make_budget, others_in_shared_memory, rooms
from loader_service.daemon.segments import NoSpace, SegmentStore
from loader_service.errors import ConfigError
from loader_service.plan.prefetch import LEAST_SLOTS
from loader_service.remedies import SMALLER_BATCH

_LOG = logging.getLogger(__name__)

#: How long slots may take to be made, in seconds; after that their stream is told that there are none.
MAKING_S = 20.0

#: How long an ending service waits for the thread, in seconds.
_END_S = 5.0


class SegmentMaker:
    """The shared memory of one service, and how much of it there may be; a context manager that ends its thread.

    Parameters
    ----------
    segments
        What is made.
    memory_bytes
        The most for all slots together; 0 for half of what is free now.
    watched
        Becomes ready when `made` has something to say.
    reserved_bytes
        Memory that is free now, and will be taken by others.
    """

    def __init__(
        self, segments: SegmentStore, memory_bytes: int, watched: select.epoll, *, reserved_bytes: int = 0
    ) -> None:
        self._segments = segments
        self._budget = make_budget(memory_bytes, reserved_bytes=reserved_bytes)
        if too_much := beyond(self._budget):
            _LOG.warning("%s", too_much)
        self._asked: queue.SimpleQueue[tuple[MakeSegments, int] | None] = queue.SimpleQueue()
        self._made: deque[tuple[MakeSegments, SegmentsMade]] = deque()
        self._open: dict[MakeSegments, list[float]] = {}  # what is not answered, with the deadlines
        self._late: list[MakeSegments] = []  # what was answered at its deadline, and is still being made
        self._descriptor = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        watched.register(self._descriptor, select.EPOLLIN)
        self._thread = threading.Thread(target=self._run, name="slots", daemon=True)

    def __enter__(self) -> SegmentMaker:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._asked.put(None)
        self._thread.join(_END_S)
        if self._thread.is_alive():
            _LOG.warning("slots are still being made after %g s; the next service here removes them", _END_S)
        else:
            os.close(self._descriptor)

    def ask(self, asked: MakeSegments, workers: int, now: float) -> None:
        """Have slots made, in a service with so many workers, whose memory may still grow and is left room for."""
        self._open.setdefault(asked, []).append(now + MAKING_S)
        self._asked.put((asked, workers))

    def next_deadline(self) -> float | None:
        """Return when something should have been made; None while nothing is."""
        return min((deadlines[0] for deadlines in self._open.values()), default=None)

    def made(self, ready: set[int], now: float) -> list[SegmentsMade]:
        """Return what was made since this was asked before, or is given up; what comes too late is removed."""
        if self._descriptor in ready:
            os.eventfd_read(self._descriptor)
        answers = []
        while self._made:
            asked, answer = self._made.popleft()
            if asked in self._late:
                self._late.remove(asked)
                self.remove(answer.slots)
            else:
                self._close(asked)
                answers.append(answer)
        for asked in [each for each, deadlines in self._open.items() if deadlines[0] <= now]:
            self._close(asked)
            self._late.append(asked)
            words = f"batches of {asked.slot_bytes} bytes could not be made within {MAKING_S:g} s"
            answers.append(SegmentsMade(asked.stream, (), Shortage(words), asked.grows))
        return answers

    def _close(self, asked: MakeSegments) -> None:
        self._open[asked].pop(0)
        if not self._open[asked]:
            del self._open[asked]

    def _run(self) -> None:
        while (next_one := self._asked.get()) is not None:
            self._made.append((next_one[0], self.make(*next_one)))
            os.eventfd_write(self._descriptor, 1)

    @property
    def budget_bytes(self) -> int:
        """The most for all slots together."""
        return self._budget.total_bytes

    def make(self, asked: MakeSegments, workers: int) -> SegmentsMade:
        """Make slots in a service with so many workers, whose memory may still grow and is left room for."""
        wanted = asked.wanted
        while True:
            walls = rooms(self._budget, self._segments.total_bytes, workers)
            count = choose_slots(asked.slot_bytes, wanted, asked.least, walls, spare=asked.grows)
            if count < asked.least:
                return SegmentsMade(asked.stream, (), self._shortage(asked, walls), asked.grows)
            try:
                return SegmentsMade(asked.stream, self._segments.create(count, asked.slot_bytes), None, asked.grows)
            except NoSpace:  # somebody else has taken what was free
                if count <= asked.least:
                    return SegmentsMade(asked.stream, (), self._shortage(asked, walls), asked.grows)
                wanted = max(asked.least, count // 2)
            except ConfigError as error:
                return SegmentsMade(asked.stream, (), Shortage(str(error)), asked.grows)

    def remove(self, slots: tuple[int, ...]) -> None:
        """Unlink slots; their memory lives on where it is still mapped."""
        self._segments.remove(slots)

    def _shortage(self, asked: MakeSegments, walls: Sequence[Room]) -> Shortage:
        """Say how much is needed and left, and what helps; of a wall that a larger budget would not move, if any."""
        needed = min(asked.least, LEAST_SLOTS) * asked.slot_bytes
        too_close = [wall for wall in walls if wall.left_bytes < needed] or [walls[0]]
        room = min(too_close, key=lambda wall: (wall.is_budget, wall.left_bytes))
        return Shortage(
            f"batches of {asked.slot_bytes} bytes need {needed} bytes of shared memory, {max(0, room.left_bytes)} are "
            f"left {room.words}",
            others_in_shared_memory(self._segments.instance, self._segments.total_bytes),
            f"{SMALLER_BATCH}, or {room.remedy}",
            max(0, room.left_bytes),
        )


def choose_slots(slot_bytes: int, wanted: int, least: int, walls: Sequence[Room], *, spare: bool = False) -> int:
    """Return how many slots a stream gets: at most half of what is left, so that others still open, but two at least.

    Parameters
    ----------
    slot_bytes
        Size of a slot.
    wanted, least
        What it would have, and what it must have to be of use.
    walls
        What each leaves.
    spare
        Whether one more must fit beside them.

    Returns
    -------
    int
        0 when not even the least fit.
    """
    left = min(wall.left_bytes for wall in walls) // slot_bytes
    fewest = min(least, LEAST_SLOTS)
    count = max(fewest, min(wanted, left // 2))
    return count if fewest + spare <= left and least <= count else 0
