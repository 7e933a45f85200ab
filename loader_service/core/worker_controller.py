"""Decides how many workers there shall be: what the trainers do goes in, with the time; numbers come out. Pure.

The number that is looked for is the least one with which trainers wait `MOST_WAITING` of their time at the most. Each
decision follows from a window of evidence (`worker_demand.py`), in which the number stood still:

    the trainer waits ── more may help ──▶ trial of more ── gained enough ──▶ kept
           │                                       └─────── gained too little ──▶ back, and not again for a while
           │── more is not to be had, no core idles ──▶ trial of one less ── lost little ──▶ kept, else back
    nobody waits ── all windows of a while agree that fewer do ──▶ fewer

It searches as one looks a word up: of the numbers that were tried, it remembers the largest that was too few, the
smallest that was enough, and, of each kind of worker, the smallest that was no use; and tries nothing outside. So it
comes to rest, and noise in the evidence moves it by one worker at the most.

**Kinds.** Workers of the host are one kind, workers elsewhere another; each has its bounds. A kind that is not the last
is used up first. A step changes one kind, so it is known which one was no use: when a worker here takes the trainer's
core, the next one is tried elsewhere.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from loader_service.core.size_decision import Kind, SizeDecision
from loader_service.core.sizing_memory import Lesson
from loader_service.core.worker_demand import DemandWindow, Evidence, PoolReading, mean

#: The share of its time that a trainer may wait; with less, more workers are no use.
MOST_WAITING = 0.05

#: Twice in a row more than that, or once this much, asks for more.
_MUCH_WAITING = 0.15

#: A step is worth its workers when trainers get so much more; or this share of what the workers are of all, or of what
#: trainers lose by waiting, if that is less. That it is not worth them, so many windows must show together.
LEAST_GAIN, _LEAST_SHARE, _JUDGING_WINDOWS = 0.05, 0.4, 2

#: A step up is at least so many of the workers that there are, so that what it gains can be told from noise.
_LEAST_STEP = 1 / 8

#: What trainers get and need is the mean of so many windows at the most.
_KEPT_WINDOWS = 12

#: After a step the buffers of the trainers fill or drain; so many seconds do not count.
SETTLE_S = 2.0

#: Workers that have not come after so many seconds are not waited for.
_START_S = 20.0

#: Fewer workers are tried when all evidence of so many seconds, and at least so many windows, agrees. Each time that
#: this was a mistake, it takes twice as long, up to the longest: a worker that idles costs next to nothing.
CALM_S, _LONGEST_CALM_S, _CALM_WINDOWS = 30.0, 1800.0, 3

#: After steps that were taken back one after the other, the next one waits: not after the first, so many seconds after
#: the second, twice as long after each further one, up to the longest.
_SECOND_TRIAL_S, _LONGEST_TRIAL_S = 30.0, 600.0

#: Where nobody waits, a worker goes for the reason that it takes somebody's core when trainers get so much more then.
HARM = -0.02

#: With fewer idle cores, a worker takes somebody else's.
_NO_CORE = 0.5


@dataclass
class _SizeTrial:
    """A step whose worth is not known yet."""

    kind: str
    before: int
    after: int
    usual: Evidence  # what it was before
    asked: float  # share of that rate that it must gain


class WorkerController:
    """Sizes a pool.

    Parameters
    ----------
    kinds
        Of workers, the one that is used up first in front.
    numbers
        With how many of each it begins.
    """

    def __init__(self, kinds: tuple[Kind, ...], numbers: Mapping[str, int]) -> None:
        self._kinds = {each.name: each for each in kinds}
        self._numbers = dict(numbers)
        self._window = DemandWindow()
        self._trial: _SizeTrial | None = None
        self._few, self._enough, self._worth = Lesson(), Lesson(), Lesson()
        self._useless = {name: Lesson(turn=1) for name in self._kinds}
        self._calm: deque[tuple[float, float]] = deque()  # seconds and need of the latest windows
        self._calm_s = CALM_S
        self._has_less, self._before_less = False, 0  # the latest change was since nobody waited; workers before it
        self._failures = 0  # trials that were taken back since the latest one that was kept
        self._no_trial_before = 0.0
        self._windows: deque[Evidence] = deque(maxlen=_KEPT_WINDOWS)  # the latest ones since the latest change
        self._waited_before = False
        self._changed_at: float | None = None
        self._settled_at: float | None = None
        self._streams: frozenset[int] = frozenset()

    @property
    def total(self) -> int:
        """How many workers there shall be, of all kinds."""
        return sum(self._numbers.values())

    def observe(self, reading: PoolReading) -> SizeDecision | None:
        """Take in a reading; return what follows, None while there is too little to go by."""
        if (crowded := self._hold_bounds(reading)) is not None:
            return crowded
        if not self._is_settled(reading):
            self._window.restart()
            self._window.add(reading)
            self._window.restart()
            return None
        evidence = self._window.add(reading)
        if evidence is None:
            return None
        if self._window.streams != self._streams:
            self._streams = self._window.streams
            self._forget()
        return self._decide(evidence, reading)

    # ---- what holds whatever is measured

    def _hold_bounds(self, reading: PoolReading) -> SizeDecision | None:
        """Take away what the machine no longer bears, and add what the bounds ask for."""
        for name, kind in self._kinds.items():
            most = max(kind.least, min(kind.most, reading.room.get(name, kind.most)))
            fits = min(max(self._numbers[name], kind.least), most)
            if fits != self._numbers[name]:
                self._trial = None
                fewer = fits < self._numbers[name]
                words = "the machine has no room for more" if fewer else "the least that is allowed"
                return self._set(name, fits, reading.now, words)
        return None

    def _is_settled(self, reading: PoolReading) -> bool:
        """Whether the workers are there, and the trainers' buffers are as they will be with these."""
        if self._changed_at is None:
            self._changed_at = reading.now
        there = all(reading.working.get(name, 0) == number for name, number in self._numbers.items())
        if self._settled_at is None and (there or reading.now >= self._changed_at + _START_S):
            self._settled_at = reading.now + SETTLE_S
        return self._settled_at is not None and reading.now >= self._settled_at

    # ---- what was measured

    def _decide(self, evidence: Evidence, reading: PoolReading) -> SizeDecision:
        if self._trial is None and self._windows and self._windows[-1].waiting <= MOST_WAITING < evidence.waiting:
            self._windows.clear()  # until now buffers were drained
        self._windows.append(evidence)
        self._review(evidence, reading.now)
        waits = evidence.waiting > MOST_WAITING
        if (judged := self._judge(evidence, reading.now)) is not None:
            return judged
        if not waits:
            self._waited_before = False
            return self._with_less(evidence, reading.now)
        self._calm.clear()
        if evidence.waiting < _MUCH_WAITING and not self._waited_before:
            self._waited_before = True
            return self._stay(f"{evidence.waits}; once is no reason for more")
        return self._with_more(evidence, reading)

    def _review(self, evidence: Evidence, now: float) -> None:
        """Doubt what was learnt of another demand."""
        if evidence.waiting > MOST_WAITING:
            self._few.review(evidence.need, now, rises=False, falls=False)
        else:
            least = max([evidence.need, *(need for _, need in self._calm)])
            self._few.review(least, now, rises=False)
        if len(self._windows) >= _CALM_WINDOWS:
            for lesson in (self._worth, *self._useless.values()):
                lesson.review(self._usual.need, now)
        if self._enough.number is not None and evidence.waiting > MOST_WAITING and self.total >= self._enough.number:
            self._enough.forget()
            if self._has_less and self._before_less > self.total:  # for a while it looked as if fewer were enough
                self._enough.learn(self._before_less, evidence.need, now)

    def _judge(self, evidence: Evidence, now: float) -> SizeDecision | None:
        """Keep or take back the step that was tried; None when it is kept, or there was none."""
        trial = self._trial
        if trial is None:
            return None
        usual, judging = self._usual, _JUDGING_WINDOWS
        gain = usual.rate / trial.usual.rate - 1 if trial.usual.rate else 1.0
        if evidence.idle_cores >= _NO_CORE:  # it slows nobody down: less waiting counts, and there is time to judge
            gain = max(gain, (1 + trial.usual.lost) / (1 + usual.lost) - 1)
            judging *= 2
        is_more = trial.after > trial.before
        if is_more and gain >= trial.asked:
            self._trial, self._failures = None, 0
            return None
        if len(self._windows) < judging:
            return self._stay(f"{evidence.waits}; {trial.after} brought {gain:+.0%} of steps so far")
        if not is_more and (1 + gain) * (1 + trial.asked) > 1:
            self._trial, self._failures = None, 0
            self._useless[trial.kind].learn(trial.before, None, now)
            return self._stay(f"{trial.before} brought no more steps: no core is left for it")
        lesson, number = (self._useless[trial.kind], trial.after) if is_more else (self._worth, self.total + 1)
        lesson.learn(number, trial.usual.need, now)
        self._fail(now)
        return self._set(trial.kind, trial.before, now, f"{trial.after} brought {gain:+.0%} of steps")

    def _fail(self, now: float) -> None:
        """Take note that the latest trial is taken back: where nothing is learnt from trials, they become seldom."""
        self._trial = None
        self._failures += 1
        if self._failures > 1:
            pause_s = _SECOND_TRIAL_S * 2 ** min(self._failures - 2, 10)
            self._no_trial_before = now + min(pause_s, _LONGEST_TRIAL_S)

    @property
    def _usual(self) -> Evidence:
        """What the latest windows show together; one alone says little where a trainer works in bursts."""
        return mean(self._windows)

    def _try_more(self, name: str, number: int, evidence: Evidence, now: float) -> SizeDecision:
        """Take a step up whose worth is to be measured."""
        workers = (number - self._numbers[name]) / max(1, self.total)
        asked = min(LEAST_GAIN, _LEAST_SHARE * evidence.lost, _LEAST_SHARE * workers)
        self._trial = _SizeTrial(name, self._numbers[name], number, self._usual, asked)
        return self._set(name, number, now, f"{evidence.waits}, {evidence.needs}")

    def _try_less(self, evidence: Evidence, now: float, asked: float) -> SizeDecision:
        """Do without a worker, to see what it is worth where all cores are busy."""
        name = self._spare[-1]
        number = self._numbers[name]
        asked = min(asked, _LEAST_SHARE / max(1, self.total - 1))
        self._trial = _SizeTrial(name, number, number - 1, self._usual, asked)
        return self._set(name, number - 1, now, f"{evidence.waits}, and no core is idle")

    def _with_more(self, evidence: Evidence, reading: PoolReading) -> SizeDecision:
        """Try more workers for trainers that wait, or one less where all cores are busy with these."""
        total, now = self.total, reading.now
        if self._has_less:
            self._has_less = False
            self._calm_s = min(2 * self._calm_s, _LONGEST_CALM_S)
        self._few.learn(max(total, self._few.number or 0), self._usual.need, now)
        wanted = ceil((1 - MOST_WAITING) * evidence.need)
        if wanted <= total and evidence.waiting >= _MUCH_WAITING:  # it wants much at a time, and little on average
            wanted = total + max(1, total // 2)
        wanted = max(wanted, total + max(1, round(_LEAST_STEP * total)))
        if self._enough.number is not None:
            wanted = min(wanted, max(total + 1, (total + self._enough.number) // 2))
        if now < self._no_trial_before:
            return self._stay(f"{evidence.waits}, and the latest steps were no use")
        for name in self._kinds:
            number, most = self._numbers[name], self._cap(name, reading)
            if number < most:
                useless = self._useless[name].number
                if useless is not None:
                    most = max(number + 1, (number + useless) // 2)
                to = min(most, number + min(wanted - total, total or 1))
                if self._enough.number is not None and total < self._enough.number:  # what it is worth is known
                    return self._set(name, to, now, f"{evidence.waits}, {evidence.needs}")
                return self._try_more(name, to, evidence, now)
        if self._is_crowded(evidence):
            return self._try_less(evidence, now, LEAST_GAIN)
        return self._stay(f"{evidence.waits}, and {self._obstacle(reading)}")

    def _with_less(self, evidence: Evidence, now: float) -> SizeDecision:
        """Do with fewer workers where nobody waits, once all windows agree."""
        total = self.total
        self._calm.append((evidence.seconds, evidence.need))
        self._enough.learn(min(total, self._enough.number or total), evidence.need, now)
        if self._few.number is not None and self._few.number >= total:
            self._few.learn(total - 1, evidence.need, now)
        wanted = max(1, ceil((1 - MOST_WAITING) * max(need for _, need in self._calm)))
        words = f"{evidence.waits}, {evidence.needs}"
        few = self._few.number
        if few is not None and wanted <= few:
            wanted = (few + total + 1) // 2 if total - few > 1 else total
            words = f"{words}; {few} were too few"
        is_long = sum(seconds for seconds, _ in self._calm) >= self._calm_s and len(self._calm) >= _CALM_WINDOWS
        if wanted >= total:
            if is_long and now >= self._no_trial_before and self._is_crowded(evidence):
                return self._try_less(evidence, now, HARM)
            self._trim()
            return self._stay(words)
        if not is_long:
            return self._stay(words)
        to = max(wanted, (total + 1) // 2)
        if not self._spare:
            return self._stay(f"{words}; no fewer are allowed")
        name = self._spare[-1]
        self._has_less, self._before_less = True, total
        return self._set(name, max(self._kinds[name].least, self._numbers[name] - (total - to)), now, words)

    def _trim(self) -> None:
        """Drop the oldest windows that are not needed any more for agreement."""
        calm = self._calm
        while len(calm) > _CALM_WINDOWS and sum(each for each, _ in calm) >= self._calm_s + calm[0][0]:
            calm.popleft()

    def _cap(self, name: str, reading: PoolReading) -> int:
        kind, useless = self._kinds[name], self._useless[name].number
        bears = max(kind.least, min(kind.most, reading.room.get(name, kind.most)))
        return bears if useless is None else min(bears, useless - 1)

    def _is_crowded(self, evidence: Evidence) -> bool:
        """Whether one less may be as good: all cores are busy, and it is not known what the last worker is worth."""
        known = self._worth.number is not None and self._worth.number >= self.total
        return bool(self._spare) and self.total > 1 and not known and evidence.idle_cores < _NO_CORE

    @property
    def _spare(self) -> list[str]:
        """The kinds of which there may be fewer, in the order in which they are used up."""
        return [name for name, kind in self._kinds.items() if self._numbers[name] > kind.least]

    def _obstacle(self, reading: PoolReading) -> str:
        """Return why there are no more."""
        for name, kind in self._kinds.items():
            if self._useless[name].number is not None:
                return "more were no use"
            if reading.room.get(name, kind.most) < kind.most:
                return "the machine has no room for more"
        return "no more are allowed"

    # ---- what follows

    def _set(self, name: str, number: int, now: float, why: str) -> SizeDecision:
        self._numbers[name] = number
        if self._windows and self._windows[-1].idle_cores < _NO_CORE:  # then the need depends on the number
            for lesson in (self._worth, *self._useless.values()):
                lesson.need = None
        self._window.restart()
        self._windows.clear()
        self._calm.clear()
        self._waited_before = False
        self._changed_at, self._settled_at = now, None
        return SizeDecision(dict(self._numbers), why, is_change=True)

    def _stay(self, why: str) -> SizeDecision:
        return SizeDecision(dict(self._numbers), why, is_change=False)

    def _forget(self) -> None:
        """Begin anew: other trainers are there."""
        for lesson in (self._few, self._enough, self._worth, *self._useless.values()):
            lesson.forget()
        self._trial = None
        self._windows.clear()
        self._calm.clear()
