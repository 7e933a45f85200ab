"""How many workers the trainers keep busy, and how much they wait all the same: counters in, shares out. Pure.

    waiting       share of its time that a trainer waits for a step; of several, that of the one that waits most
    need          ⌈consumption ÷ mean rate of a worker⌉ before it is rounded: workers that would be busy all the time
                  if nobody waited

Both do not depend on how many workers there are, so one that was measured with four can be compared with one that was
measured with eight. A trainer that takes nothing for long, since it evaluates or writes a checkpoint, says nothing
about what it needs: such pauses are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from loader_service.record_class import record

#: A trainer that takes nothing pauses, rather than being at a step, after so many times its usual step …
_PAUSE_STEPS = 4.0

#: … and so many seconds; before its usual step is known, only after `_UNKNOWN_PAUSE_S`.
_PAUSE_S, _UNKNOWN_PAUSE_S = 5.0, 30.0

#: Weight of the latest step's time in the running mean.
_LATEST = 0.3

#: Evidence is enough after so many seconds and steps of the trainers, and after the longest time with two steps.
WINDOW_S, WINDOW_STEPS, LONGEST_WINDOW_S, _FEWEST_STEPS = 5.0, 16, 60.0, 2

#: With less of its time measured than this share of the window's, a trainer does not count by itself.
_COUNTED = 0.5

#: A trainer that has waited for more of its time is taken for one that waited so much, which is as telling.
_MOST_COUNTED = 0.98


class StreamReading(NamedTuple):
    """Counters of one stream since it opened."""

    steps_done: int  # that workers have written for it
    steps_taken: int  # that its trainer has got from it
    waiting_s: float  # that its trainer waited for these
    slot_bytes: int  # of a step, the measure of work


@record(frozen=True)
class PoolReading:
    """Counters of the service at one time, all since its start.

    Parameters
    ----------
    now
        When, in seconds.
    busy_s
        Seconds for which workers were at tasks, all together.
    streams
        Those that are open, by number.
    working
        Workers that take tasks, by kind.
    room
        Workers that the machine bears, by kind.
    idle_cores
        Cores that nobody used since the reading before.
    """

    now: float
    busy_s: float
    streams: Mapping[int, StreamReading]
    working: Mapping[str, int]
    room: Mapping[str, int]
    idle_cores: float = 0.0


@record(frozen=True)
class Evidence:
    """What a window of time has shown.

    Parameters
    ----------
    seconds
        How long it was, pauses of the trainers left out.
    waiting
        Share of its time that the trainer waited, of the one that waited most.
    lost
        Steps that trainers would take if nobody waited, beyond those that they took, as a share of these.
    rate
        Bytes of steps that trainers took, a second.
    busy
        Workers that were busy, on average.
    need
        Workers that would be busy if nobody waited.
    idle_cores
        Cores that nobody used.
    """

    seconds: float
    waiting: float
    lost: float
    rate: float
    busy: float
    need: float
    idle_cores: float

    @property
    def waits(self) -> str:
        """How much the trainer waits, for people."""
        return f"the trainer waits {self.waiting:.0%} of its time"

    @property
    def needs(self) -> str:
        """How many workers that takes, for people."""
        return f"which takes {self.need:.1f} workers"


def mean(windows: Collection[Evidence]) -> Evidence:
    """Return what windows have shown on average, over their time."""
    seconds = sum(each.seconds for each in windows)
    names = [each.name for each in fields(Evidence)]
    return Evidence(**{name: sum(getattr(each, name) * each.seconds for each in windows) / seconds for name in names})


@dataclass
class _Trainer:
    """One stream within the window, and its usual step."""

    usual_s: float | None = None
    gap_s: float = 0.0  # since it last took a step or waited
    active_s: float = 0.0  # in the window, as what follows
    waited_s: float = 0.0
    taken: int = 0
    taken_bytes: int = 0
    since_step_s: float = 0.0

    def turn(self, seconds: float, steps: int, waited_s: float) -> None:
        """Take in what happened in some seconds; a pause does not count, and a long step does when it has ended."""
        self.since_step_s += seconds
        if steps:
            latest = self.since_step_s / steps
            self.usual_s = latest if self.usual_s is None else _LATEST * latest + (1 - _LATEST) * self.usual_s
            self.since_step_s = 0.0
        if not steps and waited_s <= 0:
            self.gap_s += seconds
            return
        most = _UNKNOWN_PAUSE_S if self.usual_s is None else max(_PAUSE_S, _PAUSE_STEPS * self.usual_s)
        counted = seconds + (self.gap_s if self.gap_s <= most else 0.0)
        self.gap_s = 0.0
        self.active_s += counted
        self.waited_s += min(waited_s, counted)
        self.taken += steps

    @property
    def waiting(self) -> float:
        return min(self.waited_s / self.active_s, _MOST_COUNTED) if self.active_s else 0.0


@dataclass
class DemandWindow:
    """Adds up readings until they say enough.

    Attributes
    ----------
    streams
        The streams that took part in the latest evidence; other ones make it another question.
    """

    streams: frozenset[int] = frozenset()
    _last: PoolReading | None = None
    _trainers: dict[int, _Trainer] = field(default_factory=dict)
    _any: _Trainer = field(default_factory=_Trainer)  # all of them as one: it pauses when each does
    _busy_s: float = 0.0
    _written: int = 0
    _idle_core_s: float = 0.0
    _looked_s: float = 0.0

    def restart(self) -> None:
        """Forget what was added up: something has changed."""
        for trainer in (self._any, *self._trainers.values()):
            trainer.active_s = trainer.waited_s = 0.0
            trainer.taken = trainer.taken_bytes = 0
        self._busy_s = self._idle_core_s = self._looked_s = 0.0
        self._written = 0

    def add(self, reading: PoolReading) -> Evidence | None:
        """Take in the next reading; return the evidence when there is enough, and begin anew."""
        last, self._last = self._last, reading
        if last is None or reading.now <= last.now:
            return None
        self._turn(last, reading)
        least = WINDOW_STEPS if self._any.active_s < LONGEST_WINDOW_S else _FEWEST_STEPS
        if self._any.active_s < WINDOW_S or self._any.taken < least:
            return None
        evidence = self._evidence(self._any.active_s)
        self.streams = frozenset(number for number, each in self._trainers.items() if each.active_s)
        self.restart()
        return evidence

    def _turn(self, last: PoolReading, reading: PoolReading) -> None:
        seconds = reading.now - last.now
        self._trainers = {number: self._trainers.get(number, _Trainer()) for number in reading.streams}
        all_steps, most_waited_s = 0, 0.0
        for number, now in reading.streams.items():
            before = last.streams.get(number)
            if before is None:  # it has just opened
                continue
            steps, waited_s = now.steps_taken - before.steps_taken, now.waiting_s - before.waiting_s
            self._trainers[number].turn(seconds, steps, waited_s)
            self._trainers[number].taken_bytes += steps * now.slot_bytes
            self._written += (now.steps_done - before.steps_done) * now.slot_bytes
            all_steps, most_waited_s = all_steps + steps, max(most_waited_s, waited_s)
        self._any.turn(seconds, all_steps, most_waited_s)
        self._idle_core_s += reading.idle_cores * seconds
        self._looked_s += seconds
        self._busy_s += reading.busy_s - last.busy_s

    def _evidence(self, seconds: float) -> Evidence:
        trainers = [each for each in self._trainers.values() if each.active_s >= _COUNTED * seconds]
        taken = sum(each.taken_bytes for each in self._trainers.values())
        missed = sum(each.taken_bytes * each.waiting / (1 - each.waiting) for each in trainers)
        lost = missed / taken if taken else 0.0
        busy = self._busy_s / seconds
        used = min(1.0, taken / self._written) if self._written else 1.0  # the rest filled slots up
        return Evidence(
            seconds=seconds,
            waiting=max((each.waiting for each in trainers), default=0.0),
            lost=lost,
            rate=taken / seconds,
            busy=busy,
            need=busy * used * (1 + lost),
            idle_cores=self._idle_core_s / self._looked_s,
        )
