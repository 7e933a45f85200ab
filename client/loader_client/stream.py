"""One open stream: steps by number in, batches out; outlives restarts of the service. Knows no socket.

Nothing that a stream holds refers back to it, so it ends with the last reference to it, and no cycle collector has to
find it: the connection knows it weakly, and what hands leases back does too.
"""

from __future__ import annotations

import logging
import time
import weakref
from collections import deque
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from loader_client.bad_samples import BadSamples
from loader_client.forms import LENGTH, Batch, alone, hides_length, shaped
from loader_client.indexes import AnnouncedIndex, Contents
from loader_client.interrupts import INTERRUPTS, LOOK_EVERY_S
from loader_client.leases import Leases
from loader_client.line import Line, anew
from loader_client.lookahead import Claim, Lookahead, Position
from loader_client.patience import Patience, Wait
from loader_client.request import Request
from loader_client.session import Session, give_up, releaser
from loader_client.shortage import shortage
from loader_service.errors import LoaderError, ProtocolError, ServiceUnavailable, from_name
from loader_service.protocol.fields import Field, SlotLayout
from loader_service.protocol.messages import BadSample, Failed, Forget, Opened, Ready, Release, Want
from loader_service.protocol.numbers import whole_number

_LOG = logging.getLogger(__name__)

#: How long a wait for a stream to open may last before it looks again, in seconds.
_LONGEST_WAIT_S = 1.0

#: How often a waiting trainer says what it waits for, in seconds.
_SAY_EVERY_S = 5.0

#: How long after Ctrl-C a batch may still come, in seconds, from a service that answers. One that comes in time spares
#: the trainer an error of TensorFlow's making.
_LAST_BATCH_S = 1.0

#: Wants wait until this part of the prefetch can go in one message; the rest keeps the workers busy meanwhile.
_WANTS_TOGETHER = 2

#: Largest number of an epoch. The wire has room for twice that; those after it are wanted ahead.
MAX_EPOCH = 2**62

#: Forgotten wants whose answers may still be on their way; there are never more than the prefetch of a few cursors.
_FORGOTTEN_KEPT = 1024


@dataclass(frozen=True)
class _Wanted:
    """A step that is wanted, and what it is to hold if that is ours to say: a new service is told again."""

    position: Position
    contents: Contents


class Stream:
    """Batches of one spec, by epoch and step.

    Any thread may call `fetch`; the link's thread calls `answer` and `opened`.

    Parameters
    ----------
    line
        How to speak to the service.
    patience
        How long to wait.
    request
        What was asked for.
    """

    def __init__(self, line: Line, patience: Patience, request: Request) -> None:
        self.spec = request.spec
        self._index = request.index
        self._batched = request.batched
        self._line = line
        self._patience = patience
        self._session: Session | None = None
        self._lookahead: Lookahead | None = None
        self._bad: BadSamples | None = None
        self._wants: dict[int, _Wanted] = {}  # everything wanted, until it is fetched or forgotten
        self._answers: dict[int, Ready | Failed] = {}
        self._forgotten: deque[int] = deque(maxlen=_FORGOTTEN_KEPT)
        self._failure: LoaderError | None = None
        self._awaited: set[int] = set()  # wants that threads in `fetch` wait for; the others' answers wake nobody
        self._unsent = 0  # wants that wait for company
        self._open_as: list[tuple[int, int]] = []  # (number, generation) at the service, while it is open there
        self._finalizer = weakref.finalize(self, give_up, line.link, self._open_as)
        self._finalizer.atexit = False  # the connection says goodbye then

    # ---- what the trainer asks

    @property
    def fields(self) -> tuple[Field, ...]:
        """Fields of a batch, in order."""
        hidden = LENGTH if hides_length(self.spec) else None
        return tuple(field for field in self._require_session().opened.fields if field.name != hidden)

    @property
    def steps_per_epoch(self) -> int:
        """Steps in an epoch; `ENDLESS` when an index is announced step by step."""
        opened = self._require_session().opened
        return opened.steps_per_epoch if self._index is None else self._index.steps_per_epoch

    @property
    def prefetch(self) -> int:
        """Steps that are wanted ahead."""
        return self._require_session().opened.prefetch

    @property
    def leases_out(self) -> int:
        """Batches whose memory the trainer holds."""
        return self._require_session().leases.out

    def shortage(self) -> str:
        """Return what is to be said of too few slots, "" when there are enough."""
        session = self._require_session()
        return shortage(session.opened.slots, session.leases.slot_bytes, self.spec.prefetch)

    def wait_open(self, timeout_s: float) -> None:
        """Wait until the stream is open.

        Raises
        ------
        LoaderError
            What the service said against the spec.
        ServiceUnavailable
            When it said nothing for `timeout_s`.
        """
        now = time.monotonic()
        deadline, ask_at = now + timeout_s, now + self._patience.ask_again_s
        with self._line.changed:
            while not self._is_settled():
                now = time.monotonic()
                if now >= deadline:
                    raise ServiceUnavailable(f"{self._line.endpoint} did not open a stream within {timeout_s:g} s")
                # Not for longer: nobody wakes a child that a signal handler forked as this wait began.
                waited = min(deadline - now, ask_at - now, _LONGEST_WAIT_S)
                if not self._line.changed.wait_for(self._is_settled, waited) and time.monotonic() >= ask_at:
                    self._line.ask_for_streams()
                    ask_at = time.monotonic() + self._patience.ask_again_s
            session = self._require_session()
            if self._index is not None:
                self._index.check(session.opened.samples)

    def announce(self, epoch: int, step: int, samples: NDArray[Any], first: int) -> None:
        """Say what a step of an announced index holds, and have it made; harmless when it was said before.

        Parameters
        ----------
        epoch, step, samples, first
            See `AnnouncedIndex.announce`.

        Raises
        ------
        ConfigError
            When an entry is no sample's number.
        """
        assert isinstance(self._index, AnnouncedIndex)  # noqa: S101 - who opened the stream announces to it
        self._line.check()
        with self._line.changed:
            self._require_session()
            if not self._index.knows(epoch, step):
                self._index.announce(epoch, step, samples, first)
                self._look_ahead(self._require_lookahead().announce((epoch, step)))

    def announce_end(self, epoch: int) -> None:
        """Say that all steps of an epoch of an announced index were announced; harmless when it was said before."""
        assert isinstance(self._index, AnnouncedIndex)  # noqa: S101 - who opened the stream announces to it
        with self._line.changed:
            steps = self._index.end(epoch)
            if steps is not None and self._bad is not None:
                self._bad.ends(epoch, steps)

    def fetch(self, epoch: int, step: int) -> Batch:
        """Return the batch of a step, and have the following ones made.

        Parameters
        ----------
        epoch, step
            Counted from 0; ``step < steps_per_epoch``.

        Returns
        -------
        dict of str to numpy.ndarray
            ``(rows, *shape)`` by field; fields of whole videos as `forms.shaped` makes them. Large arrays lie in shared
            memory; the slot is free again when they are all gone.

        Raises
        ------
        ConfigError
            When there is no such epoch or step.
        LoaderError
            What the service said was wrong with the step, under the class it had there; or that the epoch has had
            more bad samples than it may.
        ServiceUnavailable
            When no service answered for ``reconnect_timeout_s``, or the step took longer than ``step_timeout_s``.
        """
        self._line.check()
        with self._line.changed:
            epoch = whole_number("epoch", epoch, 0, MAX_EPOCH)
            step = whole_number("step", step, 0, self.steps_per_epoch - 1)
            want = self._claim((epoch, step))
            try:
                answer = self._answers.pop(want, None) or self._wait_for(want)
            except BaseException:
                self._forget(want)
                raise
            del self._wants[want]
            session = self._require_session()
            if isinstance(answer, Ready):
                self._count_bad(session, answer, epoch, step)
        if isinstance(answer, Failed):
            raise from_name(answer.error, f"epoch {epoch}, step {step}: {answer.message}")
        batch: Batch = session.leases.take(answer)
        if self.spec.varies:
            batch = shaped(batch, session.opened.fields, self.spec)
        return batch if self._batched else alone(batch)

    def close(self) -> None:
        """Give the stream up; arrays that were fetched stay valid. Harmless when it has failed or was closed."""
        self.fail(ServiceUnavailable("the stream was closed"))
        self._finalizer()

    # ---- what the link says

    def opened(self, opened: Opened, instance: str, generation: int) -> None:
        """Begin, or begin again with a new service: ask once more for all that is wanted."""
        with self._line.changed:
            before = self._session
            if before is not None and not before.fits(opened):
                self.fail(ProtocolError("the service came back with other fields or another number of steps"))
                return
            layout = SlotLayout(opened.fields, self.spec.batch_size, opened.frames)
            leases = Leases(layout, instance, opened.slots, releaser(self, opened.stream, generation))
            self._session = Session(opened, generation, leases)
            self._open_as[:] = [(opened.stream, generation)]
            self._begin(opened)
            self._answers.clear()
            self._forgotten.clear()
            for want in sorted(self._wants, key=lambda want: want not in self._awaited):  # slots go in this order
                self._send_want(self._session, want)
            self._line.changed.notify_all()

    def is_open_as(self, number: int, generation: int) -> bool:
        """Return whether this is the stream that the service calls `number`."""
        session = self._session
        return session is not None and (session.opened.stream, session.generation) == (number, generation)

    def answer(self, answer: Ready | Failed) -> None:
        """Take in an answer to a want."""
        with self._line.changed:
            session = self._session
            if session is None or answer.stream != session.opened.stream:
                return  # of a stream that the service has closed since
            said_before = isinstance(answer, Ready) and answer.lease <= session.highest_lease
            if isinstance(answer, Ready):
                session.highest_lease = max(session.highest_lease, answer.lease)
            if answer.want in self._wants:
                self._take_in(session, answer)
            elif isinstance(answer, Ready) and not said_before and answer.want not in self._forgotten:
                # A want that was sent twice and answered twice. One that was forgotten is given up by the service
                # itself.
                session.leases.hand_back(answer)

    def note_bad(self, bad: BadSample) -> None:
        """Take in what was wrong with a sample that is replaced."""
        with self._line.changed:
            session = self._session
            if session is not None and bad.stream == session.opened.stream and self._bad is not None:
                self._bad.name(bad.message)

    def release(self, release: Release, generation: int) -> None:
        """Hand a lease back, unless the stream is closed and has none; called by finalizers, so it takes no lock."""
        if self._failure is None:
            self._line.link.send(release, generation, urgent=bool(self._awaited))

    def fail(self, error: LoaderError) -> None:
        """End the stream with an error for everyone who waits or will ask."""
        with self._line.changed:
            self._failure = self._failure or error
            self._line.changed.notify_all()

    # ---- inside; the condition is held

    def _is_settled(self) -> bool:
        """Return whether the stream is open, or never will be."""
        return bool(self._session or self._failure or self._line.failure())

    def _take_in(self, session: Session, answer: Ready | Failed) -> None:
        if answer.want in self._answers:
            return  # said twice
        if isinstance(answer, Ready):
            try:
                # Now, not when it is fetched: a service that ends meanwhile unlinks the slot, and cannot take it from
                # us.
                session.leases.map(answer.slot)
            except ServiceUnavailable as error:
                if answer.want not in session.out_of_reach:
                    session.out_of_reach.add(answer.want)
                    _LOG.warning("%s; it will be asked for again", str(error))  # not what its traceback holds
                    return  # the service ended just now, and this answer with it
                # It lives, and said the same again: its slots lie where this process cannot find them.
                answer = Failed(answer.stream, answer.want, type(error).__name__, str(error))
        self._answers[answer.want] = answer
        if answer.want in self._awaited:
            self._line.changed.notify_all()

    def _begin(self, opened: Opened) -> None:
        if self._lookahead is not None:  # another service, which may have less room
            for want in self._lookahead.resize(opened.prefetch):
                del self._wants[want]
            return
        steps_per_epoch = opened.steps_per_epoch if self._index is None else self._index.steps_per_epoch
        announced = self._index if isinstance(self._index, AnnouncedIndex) else None
        is_known = None if announced is None else lambda position: announced.knows(*position)
        self._lookahead = Lookahead(steps_per_epoch, opened.prefetch, is_known)
        if self.spec.on_error == "substitute":
            # A private service is gone when its trainer is, and then nobody can ask it.
            endpoint = None if self._line.keeper is not None else self._line.endpoint
            self._bad = BadSamples(self.spec.max_bad_samples, steps_per_epoch, endpoint)

    def _claim(self, position: Position) -> int:
        claim = self._require_lookahead().claim(position)
        self._look_ahead(claim)
        if isinstance(self._index, AnnouncedIndex):
            self._index.forget(*position)
        return claim.want

    def _look_ahead(self, claim: Claim) -> None:
        """Send what follows from a claim: at once what is urgent, else in company."""
        session = self._require_session()
        for want in claim.forgotten:
            self._forget(want)
        for want, position in claim.new:
            contents = Contents() if self._index is None else self._index.contents(*position)
            self._wants[want] = _Wanted(position, contents)
            self._send_want(session, want, urgent=False)
        self._unsent += len(claim.new)
        if self._unsent >= max(1, session.opened.prefetch // _WANTS_TOGETHER):
            self._unsent = 0
            self._line.link.hurry()

    def _count_bad(self, session: Session, answer: Ready, epoch: int, step: int) -> None:
        if self._bad is None:
            return
        try:
            self._bad.count(epoch, step, answer.rows, answer.substituted)
        except LoaderError:
            session.leases.hand_back(answer)
            raise

    def _forget(self, want: int) -> None:
        del self._wants[want]
        if self._answers.pop(want, None) is None:
            self._forgotten.append(want)
        if self._session is not None:
            self._line.link.send(Forget(self._session.opened.stream, want), self._session.generation)

    def _wait_for(self, want: int) -> Ready | Failed:
        self._awaited.add(want)
        self._line.link.hurry()
        try:
            self._wait_patiently(want)
        finally:
            self._awaited.remove(want)
        return self._answers.pop(want)

    def _wait_patiently(self, want: int) -> None:
        epoch, step = self._wants[want].position
        what = f"epoch {epoch}, step {step}"
        interrupts = INTERRUPTS.begin_wait()
        begun = now = time.monotonic()
        say_at, ask_at = begun + _SAY_EVERY_S, begun + self._patience.ask_again_s
        while want not in self._answers:
            self._require_session()
            wait = Wait(what, self._line.endpoint, now - begun, self._line.silent_s, self._line.keeper)
            patience_s = wait.left_s(self._patience)
            interrupted_s = INTERRUPTS.heard_for_s(interrupts)
            if interrupted_s is not None and (interrupted_s >= _LAST_BATCH_S or wait.silent_s):
                raise LoaderError(f"{what}: interrupted while waiting for {self._line.endpoint}")
            self._line.changed.wait(min(say_at - now, ask_at - now, patience_s, LOOK_EVERY_S))
            if want in self._answers:
                return  # nothing of what follows is to be said of a step that is there
            now = time.monotonic()
            if now >= say_at:
                wait.say(self._patience, self.leases_out)
                say_at = now + _SAY_EVERY_S
            if now >= ask_at:
                self._ask_again(want)
                ask_at = now + self._patience.ask_again_s

    def _ask_again(self, want: int) -> None:
        """Say again what the service may not have heard: the want, and what is over and may still hold its slots.

        To forget a want that the service has done with changes nothing, and wants are never given a number twice.
        """
        session = self._require_session()
        stream = session.opened.stream
        for over in (*self._forgotten, *list(session.leases.handed_back.values())):
            self._line.link.send(Forget(stream, over), session.generation, urgent=False)
        self._send_want(session, want)
        self._line.ask_for_streams()

    def _require_session(self) -> Session:
        if self._failure is not None:
            raise anew(self._failure)
        self._line.check()
        if self._session is None:
            raise ServiceUnavailable("the stream is not open yet")
        return self._session

    def _require_lookahead(self) -> Lookahead:
        self._require_session()
        assert self._lookahead is not None  # noqa: S101 - there since the first session
        return self._lookahead

    def _send_want(self, session: Session, want: int, *, urgent: bool = True) -> None:
        wanted = self._wants[want]
        message = Want(
            session.opened.stream, want, *wanted.position, wanted.contents.samples, wanted.contents.positions
        )
        self._line.link.send(message, session.generation, urgent=urgent)
