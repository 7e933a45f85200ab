"""What each trainer waits for, and what to do about it: a function of two looks at a service. Pure.

The first of these that holds is the verdict: the order goes from what is certain to what is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from loader_service.plan.prefetch import steps_ahead
from loader_service.protocol.messages import Status, StreamStatus, WorkerStatus
from loader_service.watching import remedies_of_waiting as remedies
from loader_service.watching.rates import HELD_UP, Rates, StreamRates, WorkerRates, rates

Kind = Literal[
    "trainer",
    "decoding",
    "reading",
    "transform",
    "memory",
    "receiver",
    "slow_worker",
    "lookahead",
    "starting",
    "idle",
    "unknown",
]

#: Workers that work for more than this share of their time are what is waited for.
_BUSY = 0.5

#: Cores whose workers take this share of them have no time left, however many more workers wait for a core.
_ALL_CORES = 0.75

#: Time that the trainer must have been observed for, in seconds, before a verdict is given.
_TELLING_S = 0.5

#: Streams, this one or others before it, must have been open for this share of the time: workers without one idle.
_OPEN = 0.5

#: A worker is slow when it takes so many times as long for a byte as the usual one; the same as for stragglers.
_SLOW = 3.0

#: Shares of the time in which wants have no slot that count as a shortage of memory.
_SHORT = 0.1


@dataclass(frozen=True)
class StreamVerdict:
    """Why a trainer waits, or that it does not.

    Parameters
    ----------
    stream
        Its number.
    kind
        What it waits for.
    waiting
        Share of the time in which it waited; None where that is not known.
    summary
        One line for people.
    advice
        What to do about it, one line; "" where nothing is to be done.
    """

    stream: int
    kind: Kind
    waiting: float | None
    summary: str
    advice: str = ""


def verdicts(before: Status | None, after: Status, place: str = "") -> tuple[StreamVerdict, ...]:
    """Return a verdict for each stream of the later look.

    Parameters
    ----------
    before, after
        Two looks; without an earlier one the verdict is over all the time since the start.
    place
        What commands need to find the service, such as ``"ipc:///x.sock"``; "" for the default one.
    """
    found = rates(before, after)
    return tuple(_Case(after, each, found, place).verdict() for each in after.streams)


class _Case:
    """One stream, and all that a verdict on it follows from."""

    def __init__(self, status: Status, stream: StreamStatus, found: Rates, place: str) -> None:
        self._status = status
        self._stream = stream
        self._rates = found
        self._mine: StreamRates = found.streams[stream.stream]
        self._remedy = remedies.Remedy(status, stream, found, place)

    def verdict(self) -> StreamVerdict:
        """Return what the first rule says that holds."""
        kind = next(kind for kind, holds in _RULES if holds(self))
        words, advice = self._words(kind)
        waiting = self._mine.waiting
        share = "" if waiting is None or kind in _WITHOUT_A_SHARE else _share(waiting)
        return StreamVerdict(self._stream.stream, kind, waiting, f"{share}{words}", advice)

    def _words(self, kind: Kind) -> tuple[str, str]:
        """Return what there is to say, and what to do about it."""
        remedy = self._remedy
        match kind:
            case "receiver":
                words, advice = remedy.receiver_words(), remedy.for_receiver()
            case "slow_worker" if (slow := self.slow_worker()) is not None:
                words, advice = remedy.for_slow_worker(slow)
            case "trainer":
                words, advice = "the data waits for the trainer", remedy.for_trainer()
            case "memory":
                words, advice = remedy.memory_words(), remedy.for_memory()
            case "lookahead":
                words = "steps come late though the workers have time: they are wanted too late"
                advice = remedy.for_lookahead()
            case "reading":
                words, advice = remedy.reading_words(), remedy.for_reading()
            case "transform":
                words, advice = remedy.transform_words(), remedy.for_transform()
            case "decoding":
                words, advice = remedy.decoding_words(), remedy.for_decoding()
            case _:
                words, advice = _WITHOUT_A_SHARE[kind], ""
        return words, advice

    # ---- what the rules ask

    def has_workers(self) -> bool:
        """Return whether a worker takes tasks."""
        return any(each.state == "working" for each in self._status.workers)

    def is_known(self) -> bool:
        """Return whether the trainer was observed for long enough, of the time that the workers were."""
        seconds, open_s = self._rates.seconds, max(self._mine.open_s, self._rates.open_s)
        return self._mine.waiting is not None and seconds >= _TELLING_S and open_s >= _OPEN * seconds

    def is_idle(self) -> bool:
        """Return whether the trainer asks for nothing."""
        return not self._mine.waiting and not self._mine.steps_per_s

    def is_held_up(self) -> bool:
        """Return whether the trainer waits."""
        return (self._mine.waiting or 0.0) >= HELD_UP

    def is_short(self) -> bool:
        """Return whether there are too few slots: wants go without, or fewer are wanted than there should be."""
        stream = self._stream
        few = stream.slots < stream.slots_wanted and self._rates.all_workers.working < _BUSY
        return few or min(self._mine.waiting_slot, self._rates.all_workers.waiting_slot) >= _SHORT

    def has_time(self) -> bool:
        """Return whether workers have time, and could use it: cores are left, or too few steps are wanted for all."""
        work, count = self._rates.all_workers, len(self._rates.workers)
        computing = work.working * count * (1 - work.reading - work.sending)
        is_ahead = steps_ahead(self._stream.slots, self._stream.slots_wanted) >= count
        return work.working < _BUSY and not (is_ahead and computing >= _ALL_CORES * (self._status.cores or math.inf))

    def is_receiver_slow(self) -> bool:
        """Return whether rows of remote workers arrive too slowly, and this holds more up than anything else does."""
        remote, all_ = self._rates.remote_workers, self._rates.all_workers
        if remote is None or remote.working < _BUSY or remote.sending < _BUSY:
            return False
        largest = all_.sending >= max(all_.reading, all_.decoding, all_.transforming)
        return largest or all_.working < _BUSY

    def slow_worker(self) -> tuple[WorkerStatus, float] | None:
        """Return the one that the others wait for, and how many times as long it takes; None without one."""
        working = [each for each in self._status.workers if each.state == "working"]
        paces = {each.worker: self._rates.workers[each.worker] for each in working}
        if len(paces) < 2:
            return None
        ranked = sorted(working, key=lambda each: paces[each.worker].working)
        slowest, others = ranked[-1], ranked[:-1]
        if sum(paces[each.worker].working for each in others) / len(others) >= paces[slowest.worker].working * _BUSY:
            return None
        usual = sorted(paces[each.worker].s_per_byte for each in others if paces[each.worker].s_per_byte)
        own = paces[slowest.worker].s_per_byte
        times = own / usual[(len(usual) - 1) // 2] if usual else 0.0
        stands = slowest.busy_s >= self._rates.seconds
        return (slowest, times) if stands or slowest.straggles or times >= _SLOW else None

    @property
    def work(self) -> WorkerRates:
        """What all workers do, together."""
        return self._rates.all_workers


def _share(waiting: float) -> str:
    return "the trainer never waits: " if waiting < 0.005 else f"the trainer waits {waiting:.0%} of the time: "


#: What there is to say where waiting has no meaning yet.
_WITHOUT_A_SHARE: dict[Kind, str] = {
    "starting": "no worker is ready yet",
    "unknown": "too early to say: the trainer was not observed for long enough",
    "idle": "the trainer asks for nothing",
}

#: The first one that holds is the verdict.
_RULES: tuple[tuple[Kind, Callable[[_Case], object]], ...] = (
    ("starting", lambda case: not case.has_workers()),
    ("unknown", lambda case: not case.is_known()),
    ("idle", _Case.is_idle),
    ("trainer", lambda case: not case.is_held_up()),
    ("receiver", _Case.is_receiver_slow),
    ("slow_worker", _Case.slow_worker),
    ("memory", _Case.is_short),
    ("lookahead", _Case.has_time),
    ("reading", lambda case: case.work.reading >= max(case.work.decoding, case.work.transforming)),
    ("transform", lambda case: case.work.transforming >= case.work.decoding),
    ("decoding", lambda _: True),
)
