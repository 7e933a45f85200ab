"""The shell of the service, as a model: it carries out effects, brings events, and may be killed at any point."""

from __future__ import annotations

from collections.abc import Callable

from loader_service.core import effects as a
from loader_service.core import events as e
from loader_service.core.effects import Effect, Peer
from loader_service.core.ledger import Limits
from loader_service.core.service import Service
from loader_service.core.status import About
from loader_service.protocol import messages as m
from tests.ends.memory import Slot
from tests.ends.rows import FILES, Planner
from tests.ends.surroundings import Surroundings
from tests.ends.workers import Worker

LIMITS = Limits(
    task_timeout_s=5.0, start_timeout_s=5.0, client_timeout_s=20.0, probe_timeout_s=8.0, drain_s=3.0, idle_s=2.5
)

_STATUS = m.Status(0, "ipc:///here", 1, "0", 0.0, (), (), (), 0, 0, ())
_CATALOG = m.CatalogSummary(0, "f" * 16, FILES, 7, 28, 48, 64, "", (), 0, 0)


class Daemon:
    """One run of the service.

    Parameters
    ----------
    number
        Of the run.
    around
        Time, chance and memory.
    planner
        Of its streams.
    workers
        How many there shall be.
    to_client
        Sends a message to the client at an address; says whether there was a connection.
    ended
        Called when it has ended by itself: whether it begins anew.
    """

    def __init__(
        self,
        number: int,
        around: Surroundings,
        planner: Planner,
        workers: int,
        to_client: Callable[[bytes, m.ToClient], bool],
        ended: Callable[[bool], None],
    ) -> None:
        self.instance = f"{number:016x}"
        self.is_alive = True
        self.events = 0
        self.workers: dict[int, Worker] = {}
        self.memory_is_short = False
        self._around = around
        self._timeline, self._pick, self._memory = around.timeline, around.pick, around.memory
        self._to_client, self._ended = to_client, ended
        self._slots: dict[int, Slot] = {}  # all that there ever were
        self._said: dict[int, float] = {}  # when the last message of each worker comes
        welcome = m.Welcome(self.instance, number, "f" * 16, FILES, 7, 28, 1.0)
        about = About(welcome, _CATALOG, _STATUS)
        self.service = Service(about, planner, (2**20,) * FILES, LIMITS, workers, around.timeline.now)
        self._look_at: float | None = None
        self.happened(e.ClockTicked())

    def receive(self, peer: Peer, message: m.FromClient | m.FromWorker) -> None:
        """Give the service a message."""
        if self.is_alive:
            self.events += 1
            self._carry_out(self.service.receive(peer, message, self._timeline.now))

    def happened(self, event: e.Event) -> None:
        """Tell the service of an event."""
        if self.is_alive:
            self.events += 1
            self._carry_out(self.service.happened(event, self._timeline.now))

    def die(self) -> None:
        """Kill it, and its workers with it; its slots are removed when another one starts."""
        self.is_alive = False
        for worker in self.workers.values():
            worker.die()

    def slot_of(self, number: int) -> Slot:
        """Return a slot, be it removed."""
        return self._slots[number]

    def _carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            self._do(effect)
        self.service.validate()
        deadline = self.service.next_deadline()
        if deadline is not None and (self._look_at is None or deadline < self._look_at):
            self._look_at = deadline
            self._timeline.at(deadline, self._tick)

    def _tick(self) -> None:
        if not self.is_alive:
            return
        self._look_at = None
        deadline = self.service.next_deadline()
        if deadline is not None and deadline <= self._timeline.now:
            self.happened(e.ClockTicked())
            following = self.service.next_deadline()
            assert following is None or following > self._timeline.now, "the daemon's loop would spin"
        else:
            self._carry_out([])

    def _do(self, effect: Effect) -> None:
        match effect:
            case a.Send(int() as worker, message):
                if worker in self.workers:
                    self.workers[worker].hear(message)  # type: ignore[arg-type] # what is sent to workers
            case a.Send(bytes() as client, message):
                if isinstance(message, m.Ready):
                    self._check_whole(message)
                if not self._to_client(client, message):  # type: ignore[arg-type] # what is sent to clients
                    self._timeline.after(0.001, lambda: self.happened(e.ClientUnreachable(client)))
            case a.StartWorker(number):
                self._start(number)
            case a.KillWorker(number):
                self._timeline.after(0.001 * self._pick(50), self.workers[number].die)
            case a.MakeSegments():
                self._timeline.after(0.001 * (1 + self._pick(40)), lambda: self._make(effect))
            case a.RemoveSegments(slots):
                self._memory.unlink(self.instance, slots)
            case a.CheckFile(file):
                self._timeline.after(0.01, lambda: self.happened(e.FileChecked(file)))
            case a.LookAtWorkers(client, request):
                self._timeline.after(0.001, lambda: self.happened(e.WorkersSeen(client, request, {})))
            case a.End(again):
                self._timeline.after(0.0, lambda: self._over(again))
            case a.GiveUp():
                raise AssertionError("the service gives up, though workers start")
            case _:
                pass

    def _check_whole(self, ready: m.Ready) -> None:
        slot = self._slots[ready.slot]
        assert not slot.tasks, f"slot {slot.name} is announced while living workers may write to it: {slot.tasks}"

    def _start(self, number: int) -> None:
        def say(message: m.FromWorker) -> None:
            self._said[number] = self._timeline.at(
                max(self._said.get(number, 0.0), self._timeline.now + 0.0002 * (1 + self._pick(20))),
                lambda: self.receive(number, message),
            )

        def ended(cause: str) -> None:
            def reap() -> None:
                del self.workers[number]
                for slot in self._slots.values():
                    slot.tasks = {each for each in slot.tasks if each[0] != number}
                self.happened(e.WorkerExited(number, cause))

            self._timeline.at(max(self._said.get(number, 0.0), self._timeline.now), reap)

        self.workers[number] = Worker(number, self._around, self.slot_of, say, ended)

    def _make(self, asked: a.MakeSegments) -> None:
        if not self.is_alive:
            return
        made = () if self.memory_is_short else self._memory.make(self.instance, asked.wanted, asked.least)
        for number in made:
            self._slots[number] = self._memory.slots[self.instance, number]
        shortage = None if made else e.Shortage("the memory does not suffice")
        self.happened(e.SegmentsMade(asked.stream, made, shortage, asked.grows))

    def _over(self, again: bool) -> None:
        if self.is_alive:
            self.die()
            self._ended(again)
