"""Trainers, workers and cores as a model, a tenth of a second at a time: what the controller sees, and what is true.

Work is a fluid: so many workers write steps at some rate as long as a trainer's buffer has room; a trainer takes one
when it begins a step, computes, and waits where there is none. Workers and trainers share the cores evenly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

from loader_service.core.size_decision import Kind, SizeDecision
from loader_service.core.worker_controller import WorkerController
from loader_service.core.worker_demand import PoolReading, StreamReading

TURN_S, READ_EVERY = 0.1, 10

#: Output of one step, in bytes.
STEP_BYTES = 1000


@dataclass
class Trainer:
    """One that trains.

    Parameters
    ----------
    step_s
        What a step takes it, with a core of its own.
    pause
        Says of a time whether it pauses then: evaluates, or writes a checkpoint.
    prefetch
        Steps that are kept ready for it.
    """

    step_s: float
    pause: Callable[[float], bool] = lambda _: False
    prefetch: int = 8
    ready: float = 0.0
    left_s: float = 0.0  # of its step
    done: float = 0.0
    taken: int = 0
    waited_s: float = 0.0
    active_s: float = 0.0
    is_computing: bool = False

    def turn(self, now: float, seconds: float, speed: float) -> None:
        """Live on for some seconds at a share of its speed."""
        if self.pause(now) and self.left_s <= 0:
            self.is_computing = False
            return
        self.active_s += seconds
        while seconds > 1e-9:
            if self.left_s <= 1e-9:
                if self.ready < 1 or self.pause(now):
                    break
                self.ready -= 1
                self.taken += 1
                self.left_s = self.step_s
            used = min(seconds, self.left_s / speed)
            self.left_s -= used * speed
            seconds -= used
        self.is_computing = self.left_s > 1e-9
        if not self.is_computing and not self.pause(now):
            self.waited_s += max(0.0, seconds)


@dataclass
class Host:
    """A machine on which trainings run beside workers."""

    trainers: list[Trainer]
    worker_rate: float = 1.0  # steps a second of one worker with a core of its own
    cores: float = 1000.0
    trainer_cores: float = 0.0  # that each trainer takes while it computes
    noise: float = 0.0
    seed: int = 0
    remote_rate: float | None = None  # steps a second of a worker elsewhere
    now: float = 0.0
    busy_s: float = 0.0
    idle_core_s: float = 0.0
    numbers: dict[str, int] = field(default_factory=dict)

    def turn(self, random: Random) -> None:
        """Let a tenth of a second pass."""
        local, remote = self.numbers.get("local", 0), self.numbers.get("remote", 0)
        hungry = [each for each in self.trainers if each.ready < each.prefetch and not self._sleeps(each)]
        room = sum(each.prefetch - each.ready for each in hungry)
        rate = self.worker_rate * (1 + self.noise * random.uniform(-1, 1))
        demand = self.trainer_cores * sum(each.is_computing for each in self.trainers)
        power = local * rate + remote * (self.remote_rate or rate)
        share = min(1.0, room / (power * TURN_S)) if power else 0.0
        asked = demand + local * share
        speed = min(1.0, self.cores / asked) if asked else 1.0
        made = share * TURN_S * (local * rate * speed + remote * (self.remote_rate or rate))
        for each in hungry:
            share_of_it = made * (each.prefetch - each.ready) / room
            each.ready += share_of_it
            each.done += share_of_it
        self.busy_s += (local + remote) * share * TURN_S
        self.idle_core_s += max(0.0, self.cores - asked) * TURN_S
        for each in self.trainers:
            each.turn(self.now, TURN_S, speed if self.trainer_cores else 1.0)
        self.now += TURN_S

    def _sleeps(self, trainer: Trainer) -> bool:
        return trainer.ready >= trainer.prefetch

    def reading(self, room: dict[str, int], idle_cores: float) -> PoolReading:
        """Return the counters as a service would show them."""
        streams = {
            number: StreamReading(int(each.done), each.taken, each.waited_s, STEP_BYTES)
            for number, each in enumerate(self.trainers)
        }
        return PoolReading(self.now, self.busy_s, streams, dict(self.numbers), room, idle_cores)


@dataclass
class Run:
    """What a controller did on a host."""

    host: Host
    controller: WorkerController
    random: Random
    decisions: list[SizeDecision] = field(default_factory=list)
    changes: list[tuple[float, int]] = field(default_factory=list)
    room: dict[str, int] = field(default_factory=dict)
    _turns: int = 0
    _idle: float = 0.0

    def go_on(self, seconds: float) -> Run:
        """Let time pass, with a reading each second."""
        for _ in range(round(seconds / TURN_S)):
            self.host.turn(self.random)
            self._turns += 1
            if self._turns % READ_EVERY == 0:
                self._read()
        return self

    def _read(self) -> None:
        idle = (self.host.idle_core_s - self._idle) / (READ_EVERY * TURN_S)
        self._idle = self.host.idle_core_s
        decision = self.controller.observe(self.host.reading(self.room, idle))
        if decision is None:
            return
        self.decisions.append(decision)
        if decision.is_change:
            self.host.numbers = dict(decision.numbers)
            self.changes.append((self.host.now, sum(decision.numbers.values())))

    @property
    def workers(self) -> int:
        """How many there are now."""
        return sum(self.host.numbers.values())


def begin(host: Host, kinds: tuple[Kind, ...], numbers: dict[str, int]) -> Run:
    """Let a controller size a host's workers."""
    host.numbers = dict(numbers)
    return Run(host, WorkerController(kinds, numbers), Random(host.seed))


def measured(host: Host, workers: int, seconds: float = 30.0) -> tuple[float, float]:
    """Return the share of time that the trainer waits most, and all steps a second, with a fixed number of workers."""
    fresh = replace(host, trainers=[replace(each) for each in host.trainers], numbers={"local": workers})
    random = Random(host.seed)
    for _ in range(100):
        fresh.turn(random)
    before = [(each.taken, each.waited_s, each.active_s) for each in fresh.trainers]
    for _ in range(round(seconds / TURN_S)):
        fresh.turn(random)
    shares = [
        (each.waited_s - waited) / (each.active_s - active)
        for each, (_, waited, active) in zip(fresh.trainers, before, strict=True)
        if each.active_s > active
    ]
    taken = sum(each.taken - taken for each, (taken, _, _) in zip(fresh.trainers, before, strict=True))
    return max(shares, default=0.0), taken / seconds


def least_enough(host: Host, most: int, waiting: float = 0.05) -> int:
    """Return the least number of workers with which no trainer waits more than a share of its time, else the most."""
    return next((each for each in range(1, most) if measured(host, each)[0] <= waiting), most)
