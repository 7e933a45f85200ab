"""The shell of a client and its trainer, as a model: effects carried out, steps asked for, batches held and dropped."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from loader_client.patience import Patience
from loader_client.request import Request
from loader_client.session import session_effects as f
from loader_client.session.delivery import Delivery, StreamAtService
from loader_client.session.lookahead import Position
from loader_client.session.pending import Pending
from loader_client.session.session import Session
from loader_client.session.session_effects import Effect, Event
from loader_service.errors import ConfigError, DecodeError, ServiceUnavailable, WorkerDied
from loader_service.protocol import messages as m
from loader_service.protocol.spec import Spec
from tests.ends.memory import Slot, SlotName
from tests.ends.rows import ROWS, STEPS, check_rows, fails
from tests.ends.surroundings import Surroundings

PATIENCE = Patience(reconnect_timeout_s=40.0, step_timeout_s=120.0, ask_again_s=2.0)


@dataclass(eq=False)
class Cursor:
    """An iterator of a trainer: the step that it waits for, and how it goes on."""

    stream: OpenStream
    position: Position
    pending: Pending | None = None
    asked_at: float = 0.0
    is_dropped: bool = False
    is_asking: bool = False  # its call has not returned yet


@dataclass(eq=False)
class OpenStream:
    """A stream of a trainer; its key is known from the beginning, the rest when it is open."""

    spec: Spec
    pending: Pending
    is_open: bool = False
    is_closed: bool = False
    cursors: list[Cursor] = field(default_factory=list)


@dataclass(eq=False)
class Batch:
    """A batch that lies in its slot, and what it held when it came."""

    at: StreamAtService
    lease: int
    slot: Slot
    rows: dict[int, object]


class Client:
    """One process with one session.

    Parameters
    ----------
    address
        Its own.
    around
        Time, chance and memory.
    to_service
        Sends a message; says whether a connection stands.
    excuses
        Why steps may fail, and streams not open; without any, they must not.
    """

    def __init__(
        self,
        address: bytes,
        around: Surroundings,
        to_service: Callable[[bytes, m.FromClient], bool],
        excuses: set[str],
    ) -> None:
        self.address = address
        self.is_alive = True
        self.is_halted = False
        self.events = self.delivered = self.failed = 0
        self.streams: list[OpenStream] = []
        self.requests: list[Pending] = []
        self.held: list[Batch] = []
        self.mapped: dict[tuple[StreamAtService, int], Slot] = {}
        self.thinks_s = 0.03  # most time between two steps of an iterator
        self._timeline, self._pick, self._memory = around.timeline, around.pick, around.memory
        self._to_service = to_service
        self._excuses = excuses
        self._outbox: deque[m.FromClient] = deque()
        self._is_blocked = False
        self._inbox: list[m.ToClient] = []  # what came while it was halted
        self._leases: set[tuple[StreamAtService, int]] = set()
        hello = m.Hello("client", 1)
        self.session = Session("ipc:///here", hello, PATIENCE, around.timeline.now, is_private=False)
        self._look_at: float | None = None
        self._carry_out([])

    # ---- what comes in

    def hear(self, message: m.ToClient) -> None:
        """Take a message in."""
        if self.is_halted:
            self._inbox.append(message)
        elif self.is_alive:
            self.events += 1
            self._carry_out(self.session.heard(message, self._timeline.now))
            self._send()

    def happened(self, event: Event) -> None:
        """Tell the session of an event."""
        self.events += 1
        self._carry_out(self.session.happened(event, self._timeline.now))

    def connected(self) -> None:
        """Let it know that a connection stands again."""
        if self.is_alive and not self.is_halted and self._is_blocked:
            self._is_blocked = False
            self.happened(f.Connected())
            self._send()

    def go_on(self) -> None:
        """Wake it up, after SIGSTOP."""
        self.is_halted = False
        inbox, self._inbox = self._inbox, []
        for message in inbox:
            self.hear(message)
        self._tick()

    def die(self) -> None:
        """End the process; nobody reads its batches any more."""
        self.is_alive = False
        for batch in self.held:
            batch.slot.readers -= 1
        self.held.clear()

    # ---- what its trainer does

    def open(self, spec: Spec) -> None:
        """Open a stream, and begin to read it."""
        stream = OpenStream(spec, Pending())
        self.streams.append(stream)
        self._wish(lambda now: self.session.open(stream.pending, Request(spec), now))

    def read(self, stream: OpenStream, position: Position) -> None:
        """Begin an iterator."""
        cursor = Cursor(stream, position)
        stream.cursors.append(cursor)
        self._ask(cursor)

    def ask_service(self, message: Callable[[int], m.FromClient]) -> None:
        """Ask the service something."""
        pending = Pending()
        self.requests.append(pending)
        self._wish(lambda now: self.session.request(pending, message, now))

    def give_up(self, cursor: Cursor) -> None:
        """End a call that waits, as Ctrl-C does, and its iterator."""
        cursor.is_dropped = True
        if cursor.pending is not None:
            pending, cursor.pending = cursor.pending, None
            self._wish(lambda _: self.session.abandon(pending))
        cursor.stream.cursors.remove(cursor)

    def drop(self, batch: Batch) -> None:
        """Let go of a batch, whose slot must hold what it held."""
        assert batch.slot.rows == batch.rows, f"a batch in slot {batch.slot.name} has changed: {batch.rows}"
        batch.slot.readers -= 1
        self.held.remove(batch)
        self._end(batch.at, batch.lease)

    def close(self, stream: OpenStream) -> None:
        """Close a stream; its batches stay valid."""
        stream.is_closed = True
        for cursor in stream.cursors:
            cursor.is_dropped = True
        self.streams.remove(stream)
        self._wish(lambda _: self.session.close(stream.pending.stream))

    def leave(self) -> None:
        """Close the connection."""
        for stream in list(self.streams):
            self.close(stream)
        self._send()
        self._to_service(self.address, m.Goodbye())
        self.die()

    # ---- inside

    def _wish(self, wish: Callable[[float], list[Effect]]) -> None:
        self.events += 1
        self._carry_out(wish(self._timeline.now))

    def _end(self, at: StreamAtService, lease: int) -> None:
        self._leases.discard((at, lease))
        self._wish(lambda _: self.session.end_lease(at, lease))

    def _ask(self, cursor: Cursor) -> None:
        if cursor.is_dropped or not self.is_alive:
            return
        if self.is_halted:
            self._timeline.after(0.5, lambda: self._ask(cursor))
            return
        pending = cursor.pending = Pending()
        cursor.asked_at, cursor.is_asking = self._timeline.now, True
        self._wish(lambda now: self.session.ask(pending, cursor.stream.pending.stream, cursor.position, now))
        cursor.is_asking = False
        if pending.is_settled and cursor.pending is pending:
            self._take(cursor)

    def _take(self, cursor: Cursor) -> None:
        pending, cursor.pending = cursor.pending, None
        assert pending is not None
        epoch, step = cursor.position
        substitutes = cursor.stream.spec.on_error == "substitute"
        if pending.error is None:
            self._deliver(pending.answer, cursor.position, substitutes=substitutes)
        elif isinstance(pending.error, DecodeError):
            assert fails(step, substitutes=substitutes), pending.error
        elif cursor.stream.is_closed:
            return
        elif isinstance(pending.error, ConfigError):
            self._refused(cursor.stream, pending)
            return
        else:
            assert self._excuses, f"{pending.error!r}, asked for {self._timeline.now - cursor.asked_at} s ago"
            assert isinstance(pending.error, (ServiceUnavailable, WorkerDied)), repr(pending.error)
            self.failed += 1
            self._timeline.after(1.0, lambda: self._ask(cursor))
            return
        cursor.position = (epoch, step + 1) if step + 1 < STEPS else (epoch + 1, 0)
        self._timeline.after(self.thinks_s * (1 + self._pick(30)) / 30, lambda: self._ask(cursor))

    def _deliver(self, delivery: Delivery, position: Position, *, substitutes: bool) -> None:
        at, ready = delivery.at, delivery.ready
        key = (at, ready.lease)
        assert key not in self._leases, f"lease {ready.lease} is delivered twice"
        slot = self.mapped[at, ready.slot]
        assert not fails(position[1], substitutes=substitutes), f"{position} cannot be delivered"
        assert ready.rows == ROWS
        check_rows(slot.rows, *position, substitutes=substitutes)
        self.delivered += 1
        self._leases.add(key)
        if not delivery.lent:
            self._end(at, ready.lease)
            return
        slot.readers += 1
        batch = Batch(at, ready.lease, slot, dict(slot.rows))
        self.held.append(batch)
        if self._pick(8):
            self._timeline.after(0.002 * self._pick(40), lambda: self.drop(batch) if batch in self.held else None)

    def _carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            self._do(effect)
        deadline = self.session.next_deadline()
        if self._look_at is None or deadline < self._look_at:
            self._look_at = deadline
            self._timeline.at(deadline, self._tick)

    def _tick(self) -> None:
        self._look_at = None
        if not self.is_alive or self.is_halted:
            return
        if self.session.next_deadline() <= self._timeline.now:
            self.happened(f.Ticked())
            assert self.session.next_deadline() > self._timeline.now, "the session's thread would spin"
            self._send()
        else:
            self._carry_out([])

    def _do(self, effect: Effect) -> None:
        match effect:
            case f.Enqueue(message):
                self._outbox.append(message)
            case f.Flush():
                self._send()
            case f.DropUnsent():
                self._outbox.clear()
            case f.SendNow(message):
                self._is_blocked = not self._to_service(self.address, message)
            case f.MapSlot(at, slot, want):
                self.happened(self._map(at, slot, want))
            case f.UnmapSlots(at, slots):
                for key in [key for key in self.mapped if key[0] is at and (slots is None or key[1] in slots)]:
                    del self.mapped[key]
            case f.Settled(pending):
                self._settled(pending)
            case f.EndSession(error):
                raise error
            case f.Warn():
                pass

    def _map(self, at: StreamAtService, slot: int, want: int) -> Event:
        name: SlotName = (at.instance, slot)
        found = self._memory.slots.get(name)
        if found is None:
            return f.SlotMissing(at, want, ServiceUnavailable(f"cannot map slot {slot}"))
        self.mapped[at, slot] = found
        return f.SlotMapped(at, want)

    def _refused(self, stream: OpenStream, pending: Pending) -> None:
        """Give up a stream that the service cannot open, now or again."""
        words = str(pending.error)
        assert self._excuses or "memory does not suffice" in words or "is stopping" in words, words
        if not stream.is_closed:
            self.close(stream)

    def _settled(self, pending: Pending) -> None:
        assert pending.is_settled
        for stream in list(self.streams):
            if stream.pending is pending and pending.error is None:
                stream.is_open = True
                self.read(stream, (self._pick(3), self._pick(STEPS)))
            elif stream.pending is pending:
                self._refused(stream, pending)
            for cursor in list(stream.cursors):
                if cursor.pending is pending and not cursor.is_asking:
                    self._take(cursor)

    def _send(self) -> None:
        """Send what waits, if a connection stands."""
        while self._outbox:
            if not self._to_service(self.address, self._outbox[0]):
                self._is_blocked = True
                return
            self._outbox.popleft()
