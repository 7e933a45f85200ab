"""Worker processes, as a model: they start, write rows in two halves, halt, go on, and die at any point."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable

from loader_service.protocol import messages as m
from tests.ends.memory import TORN, Slot
from tests.ends.rows import FIELDS, bad_row, content
from tests.ends.surroundings import Surroundings


class Worker:
    """One worker process.

    Parameters
    ----------
    number
        Its name.
    around
        Time, chance and memory.
    slot_of
        Finds a slot by number.
    say, ended
        Called with what it says, and when it was reaped.
    """

    def __init__(
        self,
        number: int,
        around: Surroundings,
        slot_of: Callable[[int], Slot],
        say: Callable[[m.FromWorker], None],
        ended: Callable[[str], None],
    ) -> None:
        self.number = number
        self.is_alive = True
        self.is_halted = False
        self.is_started = False
        self.slowness = 1  # how many times slower it is than others
        self._timeline, self._pick = around.timeline, around.pick
        self._slot_of = slot_of
        self._say = say
        self._ended = ended
        self._inbox: deque[m.ToWorker] = deque()
        self._is_busy = False
        self._paused: list[Callable[[], None]] = []  # what it was at when it was halted
        self._timeline.after(0.01 * (1 + self._pick(30)), self._begin)

    def hear(self, message: m.ToWorker) -> None:
        """Take a message in; its turn comes."""
        if not self.is_alive:
            return
        if isinstance(message, m.Task):
            self._slot_of(message.slot).tasks.add((self.number, message.task))
        self._inbox.append(message)
        if not self._is_busy:
            self._next()

    def halt(self) -> None:
        """Stop it where it is, as SIGSTOP does."""
        self.is_halted = True

    def go_on(self) -> None:
        """Let it go on."""
        self.is_halted = False
        paused, self._paused = self._paused, []
        for act in paused:
            act()

    def die(self, cause: str = "was killed by SIGKILL") -> None:
        """Kill it; it is reaped a moment later."""
        if self.is_alive:
            self._timeline.after(0.001 * (1 + self._pick(50)), lambda: self._ended(cause))
            self.is_alive = False
            self._inbox.clear()
            self._paused.clear()

    def _begin(self) -> None:
        self._unless_halted(self._started)

    def _started(self) -> None:
        self.is_started = True
        self._say(m.WorkerReady(self.number))
        if self.number % 4 == 3:  # its reads are slow, as it finds out
            self._say(m.TasksWanted(self.number, 4 + self.number % 9))

    def _next(self) -> None:
        while self._inbox and self.is_alive:
            message = self._inbox.popleft()
            match message:
                case m.Task():
                    self._is_busy = True
                    self._slot_of(message.slot).write(message.rows.numbers, TORN)
                    self._later(self._decode_s, functools.partial(self._written, message))
                    return
                case m.ProbeStream(probe):
                    self._is_busy = True
                    self._later(self._decode_s, functools.partial(self._probed, probe))
                    return
                case m.Drain():
                    self.die("has ended")
                case _:
                    pass

    @property
    def _decode_s(self) -> float:
        return 0.002 * self.slowness * (1 + self._pick(20))

    def _written(self, task: m.Task) -> None:
        rows = task.rows
        bad = tuple(each for each in map(bad_row, rows.numbers, rows.samples) if each)
        good = {row: content(task.epoch, sample) for row, sample in zip(rows.numbers, rows.samples, strict=True)}
        for each in bad:
            del good[each.row]
        slot = self._slot_of(task.slot)
        slot.write(rows.numbers, good)
        slot.tasks.discard((self.number, task.task))
        self._say(m.TaskDone(self.number, task.task, bad))
        self._is_busy = False
        self._next()

    def _probed(self, probe: int) -> None:
        self._say(m.Probed(self.number, probe, FIELDS, "", ""))
        self._is_busy = False
        self._next()

    def _later(self, seconds: float, act: Callable[[], None]) -> None:
        self._timeline.after(seconds, lambda: self._unless_halted(act))

    def _unless_halted(self, act: Callable[[], None]) -> None:
        if self.is_alive and self.is_halted:
            self._paused.append(act)
        elif self.is_alive:
            act()
