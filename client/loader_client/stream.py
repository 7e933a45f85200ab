"""One open stream: steps by number in, batches out; outlives restarts of the service. Knows no socket."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from loader_client.interrupts import INTERRUPTS, LOOK_EVERY_S
from loader_client.leases import Batch, Leases
from loader_client.link import Link
from loader_client.lookahead import Lookahead, Position
from loader_service.errors import LoaderError, ProtocolError, ServiceUnavailable, from_name
from loader_service.protocol.fields import Field, SlotLayout
from loader_service.protocol.messages import CloseStream, Failed, Forget, Opened, Ready, Release, Want
from loader_service.protocol.spec import Spec

_LOG = logging.getLogger(__name__)

#: How often a waiting trainer says what it waits for, in seconds.
_SAY_EVERY_S = 5.0

#: Wants wait until this part of the prefetch can go in one message; the rest keeps the workers busy meanwhile.
_WANTS_TOGETHER = 2

#: Forgotten wants whose answers may still be on their way; there are never more than the prefetch of a few cursors.
_FORGOTTEN_KEPT = 1024


@dataclass(frozen=True)
class Patience:
    """How long to wait before giving up, in seconds."""

    reconnect_timeout_s: float = 60.0  # for a service that does not answer
    step_timeout_s: float = 600.0  # for a step of a service that does
    ask_again_s: float = 10.0  # for an answer, before the question is sent again: a reconnect may lose messages


def anew(error: LoaderError) -> LoaderError:
    """Return a copy of an error that is kept, to raise.

    The kept one itself would gather tracebacks, and their frames hold batches, whose leases lead back to the stream
    that keeps the error: none of them would ever go.
    """
    return type(error)(*error.args)


@dataclass(frozen=True)
class Line:
    """How a stream speaks to its service."""

    endpoint: str
    link: Link
    failure: Callable[[], LoaderError | None]  # why the connection is of no more use
    changed: threading.Condition  # guards everything below; notified on every answer
    ask_for_streams: Callable[[], None]  # again, for those that are not open yet; the condition is held

    def check(self) -> None:
        """Raise what makes the line unusable; called before the lock, which a forked child may find locked for ever."""
        failure = self.failure()
        if failure is not None:
            raise anew(failure)


@dataclass
class _Session:
    """The stream as one service knows it."""

    opened: Opened
    generation: int
    leases: Leases
    highest_lease: int = 0  # that was said; leases are numbered in the order in which they are given

    @property
    def shape(self) -> tuple[tuple[Field, ...], int]:
        """What must not change when a service comes back."""
        return self.opened.fields, self.opened.steps_per_epoch


class Stream:
    """Batches of one spec, by epoch and step.

    Any thread may call `fetch`; the link's thread calls `answer` and `reopened`.

    Parameters
    ----------
    line
        How to speak to the service.
    patience
        How long to wait.
    spec
        What was asked for.
    """

    def __init__(self, line: Line, patience: Patience, spec: Spec) -> None:
        self.spec = spec
        self._line = line
        self._patience = patience
        self._session: _Session | None = None
        self._lookahead: Lookahead | None = None
        self._wants: dict[int, Position] = {}  # everything wanted, until it is fetched or forgotten
        self._answers: dict[int, Ready | Failed] = {}
        self._forgotten: deque[int] = deque(maxlen=_FORGOTTEN_KEPT)
        self._failure: LoaderError | None = None
        self._waiting = 0  # threads in `fetch` that wait for an answer
        self._unsent = 0  # wants that wait for company

    # ---- what the trainer asks

    @property
    def fields(self) -> tuple[Field, ...]:
        """Fields of a batch, in order."""
        return self._require_session().opened.fields

    @property
    def steps_per_epoch(self) -> int:
        """Steps in an epoch."""
        return self._require_session().opened.steps_per_epoch

    @property
    def leases_out(self) -> int:
        """Batches whose memory the trainer holds."""
        return self._require_session().leases.out

    def wait_open(self, timeout_s: float) -> None:
        """Wait until the stream is open.

        Raises
        ------
        LoaderError
            What the service said against the spec.
        ServiceUnavailable
            When it said nothing for `timeout_s`.
        """
        deadline = time.monotonic() + timeout_s
        with self._line.changed:
            while not (self._session or self._failure):
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    raise ServiceUnavailable(f"{self._line.endpoint} did not open a stream within {timeout_s:g} s")
                wait_s = min(left_s, self._patience.ask_again_s)
                if not self._line.changed.wait_for(lambda: self._session or self._failure, wait_s):
                    self._line.ask_for_streams()
            self._require_session()

    def fetch(self, epoch: int, step: int) -> Batch:
        """Return the batch of a step, and have the following ones made.

        Parameters
        ----------
        epoch, step
            Counted from 0; ``step < steps_per_epoch``.

        Returns
        -------
        dict of str to numpy.ndarray
            ``(rows, *shape)`` by field. Large arrays lie in shared memory; the slot is free again when they are all
            gone.

        Raises
        ------
        LoaderError
            What the service said was wrong with the step, under the class it had there.
        ServiceUnavailable
            When no service answered for ``reconnect_timeout_s``, or the step took longer than ``step_timeout_s``.
        """
        self._line.check()
        with self._line.changed:
            want = self._claim((epoch, step))
            try:
                answer = self._wait_for(want)
            except BaseException:
                self._forget(want)
                raise
            del self._wants[want]
            session = self._require_session()
        if isinstance(answer, Failed):
            raise from_name(answer.error, f"epoch {epoch}, step {step}: {answer.message}")
        return session.leases.take(answer)

    def close(self) -> None:
        """Give the stream up; arrays that were fetched stay valid. Harmless when it has failed or was closed."""
        with self._line.changed:
            if self._session is not None and self._failure is None:
                self._line.link.send(CloseStream(self._session.opened.stream), self._session.generation)
        self.fail(ServiceUnavailable("the stream was closed"))

    # ---- what the link says

    def opened(self, opened: Opened, instance: str, generation: int) -> None:
        """Begin, or begin again with a new service: ask once more for all that is wanted."""
        with self._line.changed:
            before = self._session
            if before is not None and before.shape != (opened.fields, opened.steps_per_epoch):
                self.fail(ProtocolError("the service came back with other fields or another number of steps"))
                return
            layout = SlotLayout(opened.fields, self.spec.batch_size)
            leases = Leases(layout, instance, opened.slots, self._releaser(opened.stream, generation))
            self._session = _Session(opened, generation, leases)
            self._lookahead = self._lookahead or Lookahead(opened.steps_per_epoch, opened.prefetch)
            self._answers.clear()
            self._forgotten.clear()
            for want, (epoch, step) in self._wants.items():
                self._send(Want(opened.stream, want, epoch, step))
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

    def fail(self, error: LoaderError) -> None:
        """End the stream with an error for everyone who waits or will ask."""
        with self._line.changed:
            self._failure = self._failure or error
            self._line.changed.notify_all()

    # ---- inside; the condition is held

    def _take_in(self, session: _Session, answer: Ready | Failed) -> None:
        if answer.want in self._answers:
            return  # said twice
        if isinstance(answer, Ready):
            try:
                # Now, not when it is fetched: a service that ends meanwhile unlinks the slot, and cannot take it from
                # us.
                session.leases.map(answer.slot)
            except ServiceUnavailable as error:
                _LOG.warning("%s; it will be asked for again", str(error))  # not what its traceback holds
                return  # the service ended just now, and this answer with it
        self._answers[answer.want] = answer
        self._line.changed.notify_all()

    def _claim(self, position: Position) -> int:
        session = self._require_session()
        assert self._lookahead is not None  # noqa: S101 - there since the first session
        claim = self._lookahead.claim(position)
        for want in claim.forgotten:
            self._forget(want)
        for want, (epoch, step) in claim.new:
            self._wants[want] = (epoch, step)
            self._send(Want(self._stream_number, want, epoch, step), urgent=False)
        self._unsent += len(claim.new)
        if self._unsent >= max(1, session.opened.prefetch // _WANTS_TOGETHER):
            self._unsent = 0
            self._line.link.hurry()
        return claim.want

    def _forget(self, want: int) -> None:
        del self._wants[want]
        if self._answers.pop(want, None) is None:
            self._forgotten.append(want)
        if self._session is not None:
            self._line.link.send(Forget(self._session.opened.stream, want), self._session.generation)

    def _wait_for(self, want: int) -> Ready | Failed:
        if want not in self._answers:
            self._waiting += 1
            self._line.link.hurry()
            try:
                self._wait_patiently(want)
            finally:
                self._waiting -= 1
        return self._answers.pop(want)

    def _wait_patiently(self, want: int) -> None:
        epoch, step = self._wants[want]
        interrupts = INTERRUPTS.count
        begun = now = time.monotonic()
        say_at, ask_at = begun + _SAY_EVERY_S, begun + self._patience.ask_again_s
        while want not in self._answers:
            self._require_session()
            patience_s = self._check_patience(f"epoch {epoch}, step {step}", now - begun)
            if INTERRUPTS.count > interrupts:
                raise LoaderError(f"epoch {epoch}, step {step}: interrupted while waiting for {self._line.endpoint}")
            self._line.changed.wait(min(say_at - now, ask_at - now, patience_s, LOOK_EVERY_S))
            now = time.monotonic()
            if now >= say_at:
                self._say_what_is_awaited(epoch, step, now - begun)
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
            self._send(Forget(stream, over), urgent=False)
        self._send(Want(stream, want, *self._wants[want]))
        self._line.ask_for_streams()

    def _check_patience(self, what: str, waited_s: float) -> float:
        """Return how long to go on waiting before looking again."""
        silent_s = self._line.link.silent_s
        silence_left_s = self._patience.reconnect_timeout_s - silent_s
        step_left_s = self._patience.step_timeout_s - waited_s
        if silence_left_s < 0:
            raise ServiceUnavailable(
                f"{what}: no service has answered at {self._line.endpoint} for {silent_s:.0f} s; start one there with "
                "`loader-service start FILES…` within reconnect_timeout_s, or raise that"
            )
        if step_left_s < 0:
            raise ServiceUnavailable(
                f"{what}: not ready after {waited_s:.0f} s, though {self._line.endpoint} answers; see what its workers "
                f"do with `loader-service status {self._line.endpoint}`, or raise step_timeout_s"
            )
        return min(silence_left_s, step_left_s)

    def _say_what_is_awaited(self, epoch: int, step: int, waited_s: float) -> None:
        silent_s = self._line.link.silent_s
        if silent_s:
            left_s = max(0.0, self._patience.reconnect_timeout_s - silent_s)
            _LOG.warning(
                "waiting for the service at %s, silent for %.0f s; giving up in %.0f s",
                self._line.endpoint,
                silent_s,
                left_s,
            )
        else:
            _LOG.warning(
                "waiting for epoch %d, step %d for %.0f s; %d batches are held here",
                epoch,
                step,
                waited_s,
                self.leases_out,
            )

    def _require_session(self) -> _Session:
        if self._failure is not None:
            raise anew(self._failure)
        self._line.check()
        if self._session is None:
            raise ServiceUnavailable("the stream is not open yet")
        return self._session

    @property
    def _stream_number(self) -> int:
        return self._require_session().opened.stream

    def _send(self, message: Any, *, urgent: bool = True) -> None:
        self._line.link.send(message, self._require_session().generation, urgent=urgent)

    def _releaser(self, stream: int, generation: int) -> Callable[[int], None]:
        """Return what hands a lease back; called by finalizers, so it takes no lock, and knows its own generation."""
        link = self._line.link

        def release(lease: int) -> None:
            if self._failure is None:  # a closed stream has no leases: the service took them back with it
                link.send(Release(stream, lease), generation, urgent=self._waiting > 0)

        return release
