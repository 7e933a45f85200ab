"""Sizes the pool of a running service: takes the counters each second, and keeps the reason. Pure.

The controller decides (`worker_controller.py`); here is what it is told, and when. A service with a fixed number of
workers never looks.
"""

from __future__ import annotations

from loader_service.core.clients import Client
from loader_service.core.effects import LookAtMachine, Note
from loader_service.core.events import MachineSeen, ScaleWanted
from loader_service.core.ledger import Ledger, Limits
from loader_service.core.size_decision import Kind
from loader_service.core.staff import Staff
from loader_service.core.stream_state import StreamState
from loader_service.core.streams import Streams
from loader_service.core.sums import add
from loader_service.core.worker_controller import WorkerController
from loader_service.core.worker_demand import PoolReading, StreamReading
from loader_service.protocol.messages import Done, Scale
from loader_service.sizes import counted
from loader_service.worker_bounds import WorkerBounds
from loader_service.worker_limits import check_workers

#: How often the counters are taken while a stream is open, in seconds.
LOOK_EVERY_S = 1.0

#: Workers of the service's own host.
LOCAL = "local"


class Sizing:
    """How many workers there shall be, and why.

    Parameters
    ----------
    bounds
        Of their number; a service of which they are equal sizes nothing.
    limits
        Among them, cores that the service may use, and workers that the host bears.
    staff, streams
        Whose counters are taken.
    ledger
        Gets the questions to the shell, and a line for each change.

    Attributes
    ----------
    bounds
        Within which the number is.
    why
        The reason for the number, for people; "" while there is none.
    stopping
        Whether the service ends, so that nothing is sized any more.
    """

    def __init__(self, bounds: WorkerBounds, limits: Limits, staff: Staff, streams: Streams, ledger: Ledger) -> None:
        self._limits = limits
        self._staff = staff
        self._streams = streams
        self._ledger = ledger
        self.stopping = False
        self._is_looking = False
        self._next = 0.0
        self._controller: WorkerController
        self._bind(bounds, bounds.first(limits.cores))

    @property
    def number(self) -> int:
        """How many workers there shall be."""
        return self._controller.total

    def begin(self, now: float) -> None:
        """Have as many workers as there shall be."""
        self._staff.scale(self.number, now)

    def scale(self, client: Client, message: Scale, now: float) -> None:
        """Do as a client asks, and tell it so.

        Raises
        ------
        ConfigError
            When that is no number of workers, or more than the host bears.
        """
        for each in (message.workers, message.most or message.workers):
            check_workers(each, self._limits.most_workers)
        bounds = WorkerBounds(message.workers, message.workers if message.most is None else message.most or None)
        before = self.number
        self._bind(bounds, before)
        within = "" if bounds.is_fixed else f", sized within {bounds}"
        self._ledger.send(client.address, Done(message.request, f"{before} → {counted(self.number, 'worker')}{within}"))
        line = f"client {client.name} scales from {before} to {counted(self.number, 'worker')}{within}"
        self._ledger.add(Note(line, is_fault=False))
        self.begin(now)

    def scale_wanted(self, event: ScaleWanted, now: float) -> None:
        """Have a fixed number of workers from now on."""
        self._bind(WorkerBounds.of(event.workers, least=0), event.workers)
        self.begin(now)

    def next_deadline(self) -> float | None:
        """Return when `tick` has something to do; None while the shell looks, or there is nothing to size."""
        if self.bounds.is_fixed or self.stopping or self._is_looking or next(iter(self._streams), None) is None:
            return None
        return self._next

    def tick(self, now: float) -> None:
        """Have the shell look at the machine when it is time."""
        due = self.next_deadline()
        if due is not None and due <= now:
            self._is_looking = True
            self._ledger.add(LookAtMachine())

    def machine_seen(self, event: MachineSeen, now: float) -> None:
        """Take the counters, with what the machine leaves, and have as many workers as follows from that."""
        self._is_looking = False
        self._next = now + LOOK_EVERY_S
        if self.bounds.is_fixed or self.stopping:
            return
        before = self.number
        decision = self._controller.observe(self._reading(event, now))
        if decision is None:
            return
        self.why = decision.why
        if decision.is_change:
            self._ledger.add(Note(f"{before} → {counted(self.number, 'worker')}: {decision.why}", is_fault=False))
            self.begin(now)

    def _bind(self, bounds: WorkerBounds, number: int) -> None:
        """Begin anew within other bounds, with the number of them that is nearest."""
        self.bounds = bounds
        self.why = ""
        most = bounds.high(self._limits.cores)
        first = {LOCAL: min(max(number, bounds.least), most)}
        self._controller = WorkerController((Kind(LOCAL, bounds.least, most),), first)

    def _reading(self, event: MachineSeen, now: float) -> PoolReading:
        most = max(event.workers_that_fit, sum(not each.node for each in self._staff))
        if self.bounds.most is None:
            most = min(most, event.cores)
        return PoolReading(
            now=now,
            busy_s=self._busy_s(now),
            streams={each.number: _stream_reading(each) for each in self._streams},
            working={LOCAL: self._staff.working_here},
            room={LOCAL: most},
            idle_cores=event.idle_cores,
        )

    def _busy_s(self, now: float) -> float:
        """Return for how long workers had something to do so far, those that have ended included."""
        short_s = self._ledger.sums.short_s
        all_times = add((each.times.totals(now, short_s) for each in self._staff), self._ledger.sums.workers)
        idle_s = all_times.waiting_task_seconds_total + all_times.waiting_slot_seconds_total
        return all_times.up_seconds_total - idle_s


def _stream_reading(stream: StreamState) -> StreamReading:
    """Return the counters of a stream; what is leased lies ready, or is what the trainer is at."""
    clock = stream.clock
    return StreamReading(clock.steps, clock.steps - len(stream.leases), clock.waiting_s, stream.plan.slot_bytes)
