"""Sizes the pool of a running service: takes the counters each second, and keeps the reason. Pure.

The controller decides (`worker_controller.py`); here is what it is told, and when. A service with fixed numbers of
workers, here and elsewhere, never looks. A fixed number of remote workers is no kind that is sized.
"""

from __future__ import annotations

from loader_service.core.clients import Client
from loader_service.core.effects import LookAtMachine, Note
from loader_service.core.events import MachineSeen, ScaleWanted
from loader_service.core.ledger import Ledger, Limits
from loader_service.core.remote_staff import RemoteStaff
from loader_service.core.size_decision import Kind
from loader_service.core.staff import Staff
from loader_service.core.stream_state import StreamState
from loader_service.core.streams import Streams
from loader_service.core.sums import add
from loader_service.core.worker_controller import WorkerController
from loader_service.core.worker_demand import PoolReading, StreamReading
from loader_service.errors import ConfigError
from loader_service.protocol.messages import Done, Scale, ScaleRemote
from loader_service.sizes import counted
from loader_service.worker_bounds import WorkerBounds
from loader_service.worker_limits import check_remote_workers, check_workers

#: How often the counters are taken while a stream is open, in seconds.
LOOK_EVERY_S = 1.0

#: Workers of the service's own host, and those of others, as people call them.
LOCAL, REMOTE = "worker", "remote worker"


class Sizing:
    """How many workers there shall be, and why.

    Parameters
    ----------
    bounds
        Of their number; a service of which they are equal sizes nothing.
    limits
        Among them, cores that the service may use, and workers that the host bears.
    staffs
        All workers, and those of other hosts.
    streams
        Whose counters are taken, beside those of the workers.
    ledger
        Gets the questions to the shell, and a line for each change.

    Attributes
    ----------
    bounds, remote_bounds
        Within which the numbers are, of workers here and elsewhere.
    why
        The reason for the number, for people; "" while there is none.
    stopping
        Whether the service ends, so that nothing is sized any more.
    """

    def __init__(
        self,
        bounds: WorkerBounds,
        limits: Limits,
        staffs: tuple[Staff, RemoteStaff],
        streams: Streams,
        ledger: Ledger,
    ) -> None:
        self._limits = limits
        self._staff, self._remote = staffs
        self._streams = streams
        self._ledger = ledger
        self.stopping = False
        self._is_looking = False
        self._next = 0.0
        self._controller: WorkerController
        self._numbers = {LOCAL: bounds.first(limits.cores), REMOTE: 0}
        self._bind(bounds, WorkerBounds(0, 0))

    @property
    def number(self) -> int:
        """How many workers there shall be on this host."""
        return self._numbers[LOCAL]

    @property
    def remote_number(self) -> int:
        """How many remote workers there shall be."""
        return self._numbers[REMOTE]

    @property
    def remote_words(self) -> str:
        """Within which bounds that is, as people write them; "" without a cluster."""
        return str(self.remote_bounds) if self._limits.most_remote else ""

    def begin(self, now: float) -> None:
        """Have as many workers of this host as there shall be."""
        self._staff.scale(self.number, now)

    def size_remote(self, bounds: WorkerBounds, now: float) -> None:
        """Have as many remote workers as bounds ask for, the least of them at first."""
        self._bind(self.bounds, bounds)
        self._remote.scale(self.remote_number, now)

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
        before, within = self.number, _within(self.bounds, bounds)
        self._bind(bounds, self.remote_bounds)
        self._ledger.send(client.address, Done(message.request, f"{before} → {counted(self.number, LOCAL)}{within}"))
        line = f"client {client.name} scales from {before} to {counted(self.number, LOCAL)}{within}"
        self._ledger.add(Note(line, is_fault=False))
        self.begin(now)

    def scale_remote(self, client: Client, message: ScaleRemote, now: float) -> None:
        """Do the same for remote workers.

        Raises
        ------
        ConfigError
            When there cannot be so many, or the service ends.
        """
        most = message.workers if message.most is None else message.most
        for each in (message.workers, most):
            check_remote_workers(each, self._limits.most_remote)
        if self.stopping:
            raise ConfigError("the service is stopping; start it when it has ended")
        bounds = WorkerBounds(message.workers, most)
        before, within = self.remote_number, _within(self.remote_bounds, bounds)
        self._bind(self.bounds, bounds)
        line = f"{before} → {counted(self.remote_number, REMOTE)}{within}"
        self._ledger.send(client.address, Done(message.request, line))
        self._ledger.add(Note(f"client {client.name} scales: {line}", is_fault=False))
        self._remote.scale(self.remote_number, now)

    def scale_wanted(self, event: ScaleWanted, now: float) -> None:
        """Have a fixed number of workers from now on."""
        self._bind(WorkerBounds.of(event.workers, least=0), self.remote_bounds)
        self.begin(now)

    def next_deadline(self) -> float | None:
        """Return when `tick` has something to do; None while the shell looks, or there is nothing to size."""
        if self._is_fixed or self.stopping or self._is_looking or next(iter(self._streams), None) is None:
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
        if self._is_fixed or self.stopping:
            return
        decision = self._controller.observe(self._reading(event, now))
        if decision is None:
            return
        self.why = decision.why
        for kind, number in decision.numbers.items():
            if number != self._numbers[kind]:
                line = f"{self._numbers[kind]} → {counted(number, kind)}: {decision.why}"
                self._ledger.add(Note(line, is_fault=False))
                self._numbers[kind] = number
                (self._staff if kind == LOCAL else self._remote).scale(number, now)

    @property
    def _is_fixed(self) -> bool:
        return self.bounds.is_fixed and self.remote_bounds.is_fixed

    def _bind(self, bounds: WorkerBounds, remote_bounds: WorkerBounds) -> None:
        """Begin anew within other bounds, with the numbers of them that are nearest."""
        self.bounds, self.remote_bounds = bounds, remote_bounds
        self.why = ""
        kinds = tuple(
            Kind(name, each.least, each.high(self._limits.cores))
            for name, each in ((LOCAL, bounds), (REMOTE, remote_bounds))
        )
        self._numbers = {each.name: min(max(self._numbers[each.name], each.least), each.most) for each in kinds}
        sized = kinds[:1] if remote_bounds.is_fixed else kinds
        self._controller = WorkerController(sized, {each.name: self._numbers[each.name] for each in sized})

    def _reading(self, event: MachineSeen, now: float) -> PoolReading:
        most = max(event.workers_that_fit, sum(not each.node for each in self._staff))
        if self.bounds.most is None:
            most = min(most, event.cores)
        return PoolReading(
            now=now,
            busy_s=self._busy_s(now),
            streams={each.number: _stream_reading(each) for each in self._streams},
            working={LOCAL: self._staff.working_here, REMOTE: self._staff.working - self._staff.working_here},
            room={LOCAL: most},
            idle_cores=event.idle_cores,
        )

    def _busy_s(self, now: float) -> float:
        """Return for how long workers had something to do so far, those that have ended included."""
        short_s = self._ledger.sums.short_s
        all_times = add((each.times.totals(now, short_s) for each in self._staff), self._ledger.sums.workers)
        idle_s = all_times.waiting_task_seconds_total + all_times.waiting_slot_seconds_total
        return all_times.up_seconds_total - idle_s


def _within(before: WorkerBounds, now: WorkerBounds) -> str:
    """Return what becomes of the sizing, for people."""
    if now.is_fixed:
        return "" if before.is_fixed else f", no longer sized within {before}"
    return f", sized within {now}"


def _stream_reading(stream: StreamState) -> StreamReading:
    """Return the counters of a stream; what is leased lies ready, or is what the trainer is at."""
    clock = stream.clock
    return StreamReading(clock.steps, clock.steps - len(stream.leases), clock.waiting_s, stream.plan.slot_bytes)
