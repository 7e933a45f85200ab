"""The client's half of the protocol: one session with whatever service answers at an endpoint, over its restarts. Pure.

Messages, events and the callers' wishes go in, each with the time; what the owner is to do comes out. For use by one
thread at a time. A session knows its streams by numbers of its own, *keys*; the numbers that a service gives them end
with its generation (see `contact`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from numpy.typing import NDArray

from loader_client.class_numbers import other_catalog
from loader_client.patience import Patience, Wait
from loader_client.request import Request
from loader_client.session import session_effects as e
from loader_client.session.contact import Contact
from loader_client.session.delivery import StreamAtService
from loader_client.session.lookahead import Position
from loader_client.session.pending import Pending, anew
from loader_client.session.requests import Requests
from loader_client.session.session_effects import Effect, Event
from loader_client.session.stream_numbers import StreamNumbers
from loader_client.session.stream_wants import StreamWants
from loader_client.session.trainer_times import TrainerWatch
from loader_service.errors import CatalogChanged, LoaderError, ProtocolError, ServiceUnavailable, from_name
from loader_service.protocol import messages as m
from loader_service.protocol.fields import SlotLayout

#: How long a stream may take to open, in seconds; a transform is tried first.
OPENING_S = 30.0


class Session:
    """A session with the service at one endpoint.

    Parameters
    ----------
    endpoint
        Of the service, for people.
    hello
        Who we are.
    patience
        How long to wait.
    now
        When it begins.
    is_private
        Whether the service ends with us, so that nobody can ask it later.
    """

    def __init__(self, endpoint: str, hello: m.Hello, patience: Patience, now: float, *, is_private: bool) -> None:
        self._endpoint = endpoint
        self._patience = patience
        self._status_endpoint = None if is_private else endpoint
        self._contact = Contact(hello, now)
        self._streams: dict[int, StreamWants] = {}
        self._numbers = StreamNumbers()  # of those that are open, at this run of the service
        self._by_request: dict[int, StreamWants] = {}  # that asked this run of the service for them
        self._opening: dict[int, Pending] = {}  # by request: who waits for a stream that is not open yet
        self.watch = TrainerWatch()
        self._requests = Requests(endpoint, patience.ask_again_s)
        self._last_key = self._last_request = self._last_of_others = 0

    @property
    def welcome(self) -> m.Welcome | None:
        """What the service said when it welcomed us last; None before."""
        return self._contact.welcome

    def silent_s(self, now: float) -> float:
        """Return for how long the service was not heard, 0 while it answers, or is being started again."""
        return self._contact.silent_s(now)

    # ---- what callers ask

    def request(self, pending: Pending, message: Callable[[int], m.FromClient], now: float) -> list[Effect]:
        """Ask the service something, until it answers; `message` makes the question from a request's number."""
        self._last_request += 1
        return self._said(self._requests.ask(pending, self._last_request, message, now))

    def open(self, pending: Pending, request: Request, now: float) -> list[Effect]:
        """Open a stream, whose key is told at once; its answer is the stream."""
        self._last_key += 1
        pending.stream = self._last_key
        stream = self._streams[self._last_key] = StreamWants(self._last_key, request, self._status_endpoint)
        pending.deadline = now + OPENING_S
        self._last_request += 1
        return self._open(self._last_request, stream, pending, now)

    def ask(self, pending: Pending, key: int, position: Position, now: float) -> list[Effect]:
        """Have a step of a stream delivered, and want those after it."""
        stream = self._streams.get(key)
        if stream is None:
            pending.error = _closed()
            return []
        return self.watch.noted(stream, stream.ask(pending, position, now, self._patience), now)

    def announce(self, key: int, position: Position, samples: NDArray[Any], first: int) -> list[Effect]:
        """Say what a step of an announced index holds, and want it when it is its turn; see `StreamWants.announce`."""
        return self._streams[key].announce(position, samples, first) if key in self._streams else []

    def announce_end(self, key: int, epoch: int) -> list[Effect]:
        """Say that all steps of an epoch of an announced index were announced; harmless when it was said before."""
        if key in self._streams:
            self._streams[key].announce_end(epoch)
        return []

    def abandon(self, pending: Pending) -> list[Effect]:
        """Take back what nobody waits for any more, be it settled meanwhile or not."""
        self._requests.forget(pending)
        stream = self._streams.get(pending.stream)
        if stream is None:
            return []
        if not pending.want:
            return self.close(pending.stream)
        if pending.answer is not None:
            return stream.end_lease(pending.answer.at, pending.answer.ready.lease)
        return stream.forget(pending.want)

    def end_lease(self, at: StreamAtService, lease: int) -> list[Effect]:
        """Take note that nobody reads a batch any more."""
        stream = self._streams.get(at.key)
        if stream is None:
            return []
        return [*stream.end_lease(at, lease), *([e.Flush()] if stream.awaited else [])]

    def close(self, key: int) -> list[Effect]:
        """Give a stream up; batches that were delivered stay valid."""
        stream = self._streams.pop(key, None)
        if stream is None:
            return []
        self.watch.closed(key)
        for request in [request for request, each in self._by_request.items() if each is stream]:
            del self._by_request[request]
            pending = self._opening.pop(request, Pending())
            pending.error = pending.error or _closed()
        effects = [*stream.fail(_closed()), *([] if stream.at is None else [e.UnmapSlots(stream.at)])]
        for number in self._numbers.of(stream):
            effects += self._close_at_service(number)
        return effects

    # ---- what comes in

    def heard(self, message: m.ToClient, now: float) -> list[Effect]:
        """Act on a message of the service."""
        self._contact.heard(now)
        hear: Callable[[Session, Any, float], list[Effect]] = self._HEARD.get(type(message), Session._answered)
        return hear(self, message, now)

    def happened(self, event: Event, now: float) -> list[Effect]:
        """Act on what became of an effect, or on time that has passed."""
        match event:
            case e.Ticked(process):
                self._contact.watched(process, now)
                return self._ticked(now)
            case e.Connected():
                return [self._contact.beat(now)]
            case e.SlotMapped(at, want) | e.SlotMissing(at, want):
                stream = self._streams.get(at.key)
                error = event.error if isinstance(event, e.SlotMissing) else None
                return [] if stream is None else self.watch.noted(stream, stream.mapped(at, want, error), now)

    def next_deadline(self) -> float:
        """Return when the next `Ticked` is due."""
        deadline = min(self._contact.next_beat, self._requests.next_deadline())
        for opening in self._opening.values():
            deadline = min(deadline, opening.next_deadline)
        for stream in self._streams.values():
            if stream.awaited:
                deadline = min(deadline, self._contact.silent_until(self._patience.reconnect_timeout_s))
                for pending in stream.awaited.values():
                    deadline = min(deadline, pending.next_deadline)
        return deadline

    # ---- generations

    def _greeted(self, welcome: m.Welcome, now: float) -> list[Effect]:
        if not self._contact.is_known:
            return self._welcomed(welcome, now)
        if self.welcome is not None and self.welcome.instance == welcome.instance:
            return []
        return self._estranged(welcome, now)  # another run has taken us in; the one that lives answers us anew

    def _estranged(self, _: m.Stranger | m.Welcome, now: float) -> list[Effect]:
        if not self._contact.is_known:
            return []
        self._contact.is_known = False
        for stream in self._streams.values():
            stream.lost()
        return [e.DropUnsent(), self._contact.beat(now)]

    def _refused(self, refused: m.Refused, now: float) -> list[Effect]:
        if refused.request in self._opening:
            stream, pending = self._by_request[refused.request], self._opening.pop(refused.request)
            return _fail(stream, pending, from_name(refused.error, refused.message))
        if refused.request:
            return self._answered(refused, now)
        if self.welcome is None:  # the hello: of another version, or one client too many
            return [e.EndSession(from_name(refused.error, refused.message))]
        return [e.Warn(f"the service at {self._endpoint} refused a message: {refused.message}")]

    def _stopping(self, stopping: m.Stopping, _: float) -> list[Effect]:
        return [e.Warn(f"the service at {self._endpoint} is stopping: {stopping.reason}")]

    def _welcomed(self, welcome: m.Welcome, now: float) -> list[Effect]:
        """Open the streams, again if this is not the first welcome.

        The run of the service that knew them before is asked by the same numbers. If it knows them still, it says so,
        and they go on as they were; if it has given us up meanwhile, it opens them anew.
        """
        before = self._contact.welcome
        self._contact.welcomed(welcome)
        if before is not None and before.fingerprint != welcome.fingerprint:
            return [e.EndSession(CatalogChanged(other_catalog(self._endpoint, before, welcome)))]
        effects = self._requests.all()  # what was lost with another run, or said to nobody
        if before is not None and before.instance == welcome.instance:
            effects += [e.Enqueue(m.CloseStream(number)) for number in self._numbers.closed]
        elif before is not None:
            self._renumber()
        for request, stream in self._by_request.items():
            if stream.failure is None:
                effects += self._open(request, stream, self._opening.get(request) or Pending(), now)
        return [*effects, e.Flush()]

    def _renumber(self) -> None:
        """Begin with another run of the service, where nothing of what was said to the one before means anything."""
        self._last_of_others = first = self._last_request
        waiting = {self._by_request[request].key: pending for request, pending in self._opening.items()}
        self._by_request = dict(enumerate(self._streams.values(), first + 1))
        self._last_request += len(self._by_request)
        self._opening = {
            request: waiting[stream.key] for request, stream in self._by_request.items() if stream.key in waiting
        }
        self._numbers.clear()

    # ---- streams that begin and end

    def _open(self, request: int, stream: StreamWants, pending: Pending, now: float) -> list[Effect]:
        self._by_request[request] = stream
        self._opening[request] = pending
        pending.ask_at = now + self._patience.ask_again_s
        return self._ask_for(request, stream)

    def _ask_for(self, request: int, stream: StreamWants) -> list[Effect]:
        instance = "" if self.welcome is None else self.welcome.instance
        return self._say(m.OpenStream(request, stream.spec, instance))

    def _opened(self, opened: m.Opened, now: float) -> list[Effect]:
        stream, welcome = self._by_request.get(opened.request), self._contact.welcome
        if welcome is None or opened.request <= self._last_of_others:
            return []  # by another run, whose streams have ended with it
        if stream is None or stream.failure is not None:
            return self._close_at_service(opened.stream)  # given up while it was being opened
        before = stream.at if stream.at is not None and stream.at.instance == welcome.instance else None
        if before is not None and opened.stream < before.opened.stream:
            return []  # it was given up since
        if not self._contact.is_known:
            self._numbers.add(opened.stream, stream)  # to be asked for again, and closed if nobody wants it by then
            return []
        pending = self._opening.pop(opened.request, Pending())
        if before is not None and opened.stream == before.opened.stream:
            return stream.resumed()
        self.watch.opened(stream, opened.stream, now)
        return self._begin(stream, opened, welcome.instance, pending)

    def _begin(self, stream: StreamWants, opened: m.Opened, instance: str, pending: Pending) -> list[Effect]:
        """Begin to read a stream, perhaps after another run of the service had it."""
        layout = SlotLayout(opened.fields, stream.spec.batch_size, opened.frames)
        before, at = stream.at, StreamAtService(stream.key, instance, opened, layout)
        try:
            if before is not None and not before.fits(at):
                raise ProtocolError("the service came back with other fields or another number of steps")
            if stream.index is not None and before is None:
                stream.index.check(opened.samples)
        except LoaderError as error:
            return [*self._close_at_service(opened.stream), *_fail(stream, pending, anew(error))]
        effects: list[Effect] = []
        if before is not None:
            effects.append(e.UnmapSlots(before))
        self._numbers.add(opened.stream, stream)
        pending.answer = stream
        return [*effects, *stream.opened(at), e.Settled(pending)]

    def _close_at_service(self, number: int) -> list[Effect]:
        """Close a stream as the service knows it; said again to the same run, if that welcomes us again."""
        self._numbers.close(number)
        return self._say(m.CloseStream(number))

    def _heard_of_stream(self, message: Any, now: float) -> list[Effect]:
        stream = self._numbers.get(message.stream)
        return [] if stream is None else self.watch.noted(stream, stream.heard(message), now)

    # ---- requests, and time

    def _answered(self, message: Any, _now: float) -> list[Effect]:
        return self._requests.answered(message)

    def _ticked(self, now: float) -> list[Effect]:
        is_due = now >= self._contact.next_beat
        effects: list[Effect] = [self._contact.beat(now, self.watch.times(now))] if is_due else []
        wait = Wait(self._endpoint, self._contact.silent_s(now), self._contact.process)
        for stream in self._streams.values():
            effects += stream.ticked(now, self._patience, wait)
        effects += self._said(self._requests.ticked(now))
        for request, pending in list(self._opening.items()):
            stream = self._by_request[request]
            if now >= pending.deadline:
                pending.error = ServiceUnavailable(f"{self._endpoint} did not open a stream within {OPENING_S:g} s")
                effects += [e.Settled(pending), *self.close(stream.key)]
            elif now >= pending.ask_at:
                pending.ask_at = now + self._patience.ask_again_s
                effects += self._ask_for(request, stream)
        return effects

    def _said(self, effects: list[Effect]) -> list[Effect]:
        """Return effects without messages that would reach nobody; they are said again."""
        if self._contact.is_known:
            return effects
        return [each for each in effects if not isinstance(each, (e.Enqueue, e.Flush))]

    def _say(self, message: m.FromClient) -> list[Effect]:
        """Say something to the service if it knows us; else it is said when it does, or means nothing to it."""
        return [e.Enqueue(message), e.Flush()] if self._contact.is_known else []

    #: What is done about each message; those that are not here answer a request.
    _HEARD: ClassVar[dict[type[Any], Any]] = {
        **dict.fromkeys((m.Ready, m.Failed, m.BadSample, m.Resized), _heard_of_stream),
        m.Welcome: _greeted,
        m.Stranger: _estranged,
        m.Opened: _opened,
        m.Refused: _refused,
        m.Stopping: _stopping,
        m.Heartbeat: lambda _session, _message, _now: [],  # being heard was its whole meaning
    }


def _fail(stream: StreamWants, pending: Pending, error: LoaderError) -> list[Effect]:
    """Fail a stream that does not open."""
    pending.error = error
    return [*stream.fail(error), e.Settled(pending)]


def _closed() -> LoaderError:
    return ServiceUnavailable("the stream was closed")
