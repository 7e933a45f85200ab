"""What is wanted of one stream, and what has come, over all runs of the service that it meets. Pure.

A want is sent as often as need be, under one number, until it is answered; a new service is sent all wants that are
open. Answers may come twice, late, or to wants that were given up: their leases are returned, each once.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from loader_client.bad_samples import BadSamples
from loader_client.indexes import PLANNED, AnnouncedIndex
from loader_client.patience import Patience, Wait
from loader_client.request import Request
from loader_client.session.delivery import Delivery, StreamAtService
from loader_client.session.lease_book import LeaseBook
from loader_client.session.lookahead import Claim, Lookahead, Position
from loader_client.session.pending import Pending, anew
from loader_client.session.session_effects import Effect, Enqueue, MapSlot, Settled, UnmapSlots, Warn
from loader_client.session.unsent import Unsent
from loader_client.session.wanted import Wanted
from loader_service.errors import LoaderError, ServiceUnavailable, from_name
from loader_service.protocol.messages import BadSample, Failed, Forget, Opened, Ready, Release, Resized

#: How often people are told what is waited for, in seconds.
SAY_EVERY_S = 5.0

#: Forgotten wants whose answers may still be on their way; there are never more than the prefetch of a few cursors.
_FORGOTTEN_KEPT = 1024


class StreamWants:
    """The wants of one stream, and their answers.

    Parameters
    ----------
    key
        Of the stream, in its session.
    request
        What it is to deliver.
    status_endpoint
        Of a service that people can ask later what was bad; None of one that is gone by then.
    """

    def __init__(self, key: int, request: Request, status_endpoint: str | None) -> None:
        self.key = key
        self.spec = request.spec
        self.index = request.index
        self.failure: LoaderError | None = None
        self.at: StreamAtService | None = None
        self._status_endpoint = status_endpoint
        self._known = False  # whether the service that it is at knows us still
        self._book: LeaseBook | None = None
        self._lookahead: Lookahead | None = None
        self._bad: BadSamples | None = None
        self._wants: dict[int, Wanted] = {}  # everything wanted, until it is delivered or forgotten
        self.awaited: dict[int, Pending] = {}  # who waits for steps, by want
        self._forgotten: deque[int] = deque(maxlen=_FORGOTTEN_KEPT)
        self._mapped: set[int] = set()
        self._unsent = Unsent()

    @property
    def steps_per_epoch(self) -> int:
        """Steps in an epoch; `ENDLESS` when an index is announced step by step; 0 before the stream is open."""
        if self.index is not None:
            return self.index.steps_per_epoch
        return self.at.opened.steps_per_epoch if self.at is not None else 0

    @property
    def lent(self) -> int:
        """Batches whose memory the trainer holds."""
        return self._book.lent if self._book is not None else 0

    # ---- what the trainer does

    def ask(self, pending: Pending, position: Position, now: float, patience: Patience) -> list[Effect]:
        """Have a step delivered, at once if it is there, and want those after it."""
        if self.failure is not None or self._lookahead is None:
            pending.error = anew(self.failure) if self.failure else ServiceUnavailable("the stream is not open yet")
            return []
        claim = self._lookahead.claim(position)
        effects = self._look_ahead(claim)
        if isinstance(self.index, AnnouncedIndex):
            self.index.forget(*position)
        pending.stream, pending.want, pending.begun = self.key, claim.want, now
        (wanted := self._wants[claim.want]).pending = pending
        if wanted.is_deliverable:
            return [*effects, *self._deliver(claim.want, wanted)]
        self.awaited[claim.want] = pending
        pending.say_at, pending.ask_at = now + SAY_EVERY_S, now + patience.ask_again_s
        pending.deadline = now + patience.step_timeout_s
        if self._book is None or not self._unsent.can_wait(claim.want, self._book.free - len(self._wants)):
            effects.append(self._unsent.flush())
        return effects

    def announce(self, position: Position, samples: NDArray[Any], first: int) -> list[Effect]:
        """Say what a step of an announced index holds, and want it when it is its turn.

        Harmless when it was said before; see `AnnouncedIndex.announce`.

        Raises
        ------
        ConfigError
            When an entry is no sample's number.
        """
        assert isinstance(self.index, AnnouncedIndex)  # noqa: S101 - who opened the stream announces to it
        if self.failure is not None or self._lookahead is None or self.index.knows(*position):
            return []
        self.index.announce(*position, samples, first)
        return self._look_ahead(self._lookahead.announce(position))

    def announce_end(self, epoch: int) -> None:
        """Take note that all steps of an epoch were announced."""
        assert isinstance(self.index, AnnouncedIndex)  # noqa: S101 - as above
        if (steps := self.index.end(epoch)) is not None and self._bad is not None:
            self._bad.ends(epoch, steps)

    def end(self, epochs: int) -> list[Effect]:
        """Look no further ahead than the last step before an epoch, counted from 0."""
        if self._lookahead is not None:
            self._lookahead.end(epochs)
        return []

    def forget(self, want: int) -> list[Effect]:
        """Take back a want, though its answer may have come."""
        if (wanted := self._wants.pop(want, None)) is None:
            return []
        self.awaited.pop(want, None)
        if isinstance(wanted.answer, Ready) and self._book is not None:
            self._book.end(wanted.answer.lease)
        elif wanted.answer is None:
            self._forgotten.append(want)
        return self._send(Forget, want)

    def end_lease(self, at: StreamAtService, lease: int) -> list[Effect]:
        """Take note that nobody reads a slot any more."""
        if at is not self.at or self._book is None or not self._book.end(lease):
            return []
        return self._send(Release, lease)

    # ---- what the service says

    def opened(self, at: StreamAtService) -> list[Effect]:
        """Begin, or begin again with a new service: ask once more for all that is wanted."""
        self.at, self._known = at, True
        self._book = LeaseBook(at)
        self._unsent.go_by(at.opened.prefetch, at.layout.size_bytes)
        self._mapped.clear()
        self._forgotten.clear()
        self._begin(at.opened)
        for wanted in self._wants.values():
            wanted.begin_anew()
        # Slots go in this order.
        wants = [self._want(want) for want in sorted(self._wants, key=lambda want: want not in self.awaited)]
        return [*wants, self._unsent.flush()] if wants else []

    def resumed(self) -> list[Effect]:
        """Go on with a service that did not lose the stream; what we said of late may not have come."""
        if self._known:
            return []
        self._known = True
        missing = [want for want, wanted in self._wants.items() if wanted.answer is None]
        return [*self._forget_again(), *map(self._want, missing), self._unsent.flush()]

    def lost(self) -> None:
        """Take note that the service that the stream is at does not know us any more."""
        self._known = False

    def heard(self, message: Ready | Failed | BadSample | Resized) -> list[Effect]:
        """Take in what the service says of the stream."""
        if isinstance(message, Resized):
            return self._resized(message)
        if not isinstance(message, BadSample):
            return self._answered(message)
        if self._bad is not None:
            self._bad.name(message.message)
        return []

    def _answered(self, answer: Ready | Failed) -> list[Effect]:
        if not self._known or self._book is None:
            return []
        wanted = self._wants.get(answer.want)
        is_news = isinstance(answer, Ready) and not self._book.knows(answer.lease)
        if wanted is not None and wanted.answer is None and (is_news or isinstance(answer, Failed)):
            return self._take(wanted, answer)
        if not isinstance(answer, Ready) or not is_news:
            return []  # said twice
        # A want that was given up, or sent twice and answered twice.
        self._book.take(answer)
        self._book.end(answer.lease)
        return self._send(Forget, answer.want) if answer.want in self._forgotten else self._send(Release, answer.lease)

    # ---- what became of slots

    def _resized(self, resized: Resized) -> list[Effect]:
        """Take note that the service has made slots, or taken back some that are free."""
        is_news = self._known and self._book is not None and self._book.resize(resized)
        if not is_news or self.at is None or self._lookahead is None:
            return []
        self._mapped.difference_update(resized.removed)
        self._unsent.go_by(resized.prefetch, self.at.layout.size_bytes)
        surplus = self._lookahead.resize(resized.prefetch)
        forgotten = [effect for want in surplus for effect in self.forget(want)]
        unmapped = [UnmapSlots(self.at, resized.removed)] if resized.removed else []
        return [*forgotten, *unmapped, self._unsent.flush()]

    def mapped(self, at: StreamAtService, want: int, error: LoaderError | None) -> list[Effect]:
        """Take note that the slot of an answer is readable, or why it cannot be mapped."""
        wanted = self._wants.get(want) if at is self.at else None
        if wanted is None or self._book is None or not isinstance(wanted.answer, Ready):
            return []
        if error is None:
            self._mapped.add(wanted.answer.slot)
            wanted.is_mapped = True
            return self._settle(want, wanted)
        if not wanted.was_missing:  # the service ended just now, and this answer with it
            self._book.drop(wanted.answer.lease)
            wanted.answer, wanted.was_missing = None, True
            return [Warn(f"{error}; it will be asked for again")]
        # It lives, and said the same again: its slots lie where this process cannot find them.
        self._book.end(wanted.answer.lease)
        wanted.answer = Failed(wanted.answer.stream, want, type(error).__name__, str(error))
        return [*self._send(Forget, want), *self._settle(want, wanted)]

    # ---- time

    def ticked(self, now: float, patience: Patience, wait: Wait) -> list[Effect]:
        """Say again, tell people of, or give up what is waited for."""
        effects: list[Effect] = []
        for want, pending in list(self.awaited.items()):
            epoch, step = self._wants[want].position
            this = replace(wait, what=f"epoch {epoch}, step {step}", waited_s=now - pending.begun)
            error = this.objection(patience)
            if error is not None:
                pending.error = error
                effects += [*self.forget(want), Settled(pending)]
                continue
            if now >= pending.say_at:
                effects.append(Warn(this.words(patience, self.lent)))
                pending.say_at = now + SAY_EVERY_S
            if now >= pending.ask_at:
                effects += self._ask_again(want)
                pending.ask_at = now + patience.ask_again_s
        return effects

    def fail(self, error: LoaderError) -> list[Effect]:
        """End the stream with an error for everyone who waits or will ask."""
        self.failure = self.failure or error
        effects: list[Effect] = []
        for pending in self.awaited.values():
            pending.error = anew(self.failure)
            effects.append(Settled(pending))
        self.awaited.clear()
        return effects

    # ---- inside

    def _begin(self, opened: Opened) -> None:
        if self._lookahead is not None:  # another service, which may have less room
            for want in self._lookahead.resize(opened.prefetch):
                del self._wants[want]
            return
        index = self.index
        is_known = (lambda position: index.knows(*position)) if isinstance(index, AnnouncedIndex) else None
        self._lookahead = Lookahead(self.steps_per_epoch, opened.prefetch, is_known)
        if self.spec.on_error == "substitute":
            self._bad = BadSamples(self.spec.max_bad_samples, self.steps_per_epoch, self._status_endpoint)

    def _look_ahead(self, claim: Claim) -> list[Effect]:
        """Return what follows from a claim; wants that are not urgent wait for company."""
        effects = [effect for want in claim.forgotten for effect in self.forget(want)]
        for want, position in claim.new:
            self._wants[want] = Wanted(position, self.index.contents(*position) if self.index else PLANNED)
            if self._known:
                effects.append(self._want(want))
            self._unsent.want(want)
        if claim.has_last or self._unsent.is_due:
            effects.append(self._unsent.flush())
        return effects

    def _take(self, wanted: Wanted, answer: Ready | Failed) -> list[Effect]:
        wanted.answer = answer
        if isinstance(answer, Failed):
            return self._settle(answer.want, wanted)
        assert self._book is not None and self.at is not None  # noqa: S101, PT018 - it is open, for it was answered
        self._book.take(answer)
        if answer.slot not in self._mapped:
            # Now, not when it is asked for: a service that ends meanwhile unlinks the slot, and cannot take it from us.
            return [MapSlot(self.at, answer.slot, answer.want)]
        wanted.is_mapped = True
        return self._settle(answer.want, wanted)

    def _settle(self, want: int, wanted: Wanted) -> list[Effect]:
        """Deliver an answer if somebody waits for it."""
        return [] if wanted.pending is None else self._deliver(want, wanted)

    def _deliver(self, want: int, wanted: Wanted) -> list[Effect]:
        """Settle what waits for a step."""
        pending, answer = wanted.pending, wanted.answer
        del self._wants[want]
        self.awaited.pop(want, None)
        assert pending is not None and self.at is not None and self._book is not None  # noqa: S101, PT018 - as above
        epoch, step = wanted.position
        if isinstance(answer, Failed):
            pending.error = from_name(answer.error, f"epoch {epoch}, step {step}: {answer.message}")
            return [Settled(pending)]
        assert answer is not None  # noqa: S101 - only what was answered is delivered
        try:
            if self._bad is not None:
                self._bad.count(epoch, step, answer.rows, answer.substituted)
        except LoaderError as error:
            pending.error = anew(error)
            return [*self.end_lease(self.at, answer.lease), Settled(pending)]
        pending.answer = Delivery(self.at, answer, self._book.lend(answer.lease))
        return [Settled(pending)]

    def _ask_again(self, want: int) -> list[Effect]:
        """Say again what the service may not have heard: the want, and what is over and may still hold its slots.

        To forget a want that the service has done with changes nothing, and wants are never given a number twice.
        """
        if not self._known:
            return []
        return [*self._forget_again(), *self._make_room(), self._want(want), self._unsent.flush()]

    def _make_room(self) -> list[Effect]:
        """Give back the last step that came ahead of what is waited for, and was wanted first, if that has no slot."""
        ahead = [want for want, wanted in self._wants.items() if wanted.is_mapped and wanted.pending is None]
        if self._book is None or self._lookahead is None or not self._book.is_full or not ahead:
            return []
        self._lookahead.withdraw(self._wants[ahead[-1]].position)
        return self.forget(ahead[-1])

    def _forget_again(self) -> list[Effect]:
        unsure = () if self._book is None else self._book.unsure
        return [effect for each in (*self._forgotten, *unsure) for effect in self._send(Forget, each)]

    def _want(self, want: int) -> Effect:
        assert self.at is not None  # noqa: S101 - wants are sent to a service that the stream is at
        return Enqueue(self._wants[want].message(self.at.opened.stream, want))

    def _send(self, kind: type[Forget | Release], number: int) -> list[Effect]:
        if not self._known or self.at is None:
            return []
        self._unsent.other()
        return [Enqueue(kind(self.at.opened.stream, number))]
