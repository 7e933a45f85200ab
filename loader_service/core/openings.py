"""Streams on their way to be opened: each request, from the question to the answer. Pure.

    PROBING ──probed──▶ QUEUED ──planned──▶ ASKING ──made──▶ OPEN
                                            │    ▲
                                          short  │ again
                                            ▼    │
                                           WAITING

PROBING: a worker tries the transform, to learn what it returns. QUEUED: the segments of others are made first. ASKING:
its own first ones are being made. WAITING: there was too little memory, but some is on its way back. From each of them
a stream is gone when it is refused, when its client closes it or is lost. A request that is asked again, since its
answer was lost, is the same: one that is under way goes on, and one that is open is answered again.

A slot that was unlinked is memory until the last process has unmapped it. The daemon never maps one, the workers do it
with their next message, and clients when they drop what they hold: mostly within milliseconds. A stream that opens in
that moment, the next epoch's or the next cell's, would find no room, or less than there is.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from dataclasses import dataclass, replace
from enum import Enum

from loader_service.core.clients import Client, Clients
from loader_service.core.effects import MakeSegments, Note, NoteKind
from loader_service.core.events import SegmentsMade, Shortage
from loader_service.core.ledger import Ledger
from loader_service.core.planned import PlannedStream, Planner
from loader_service.core.probes import Answer, Probes
from loader_service.core.streams import Streams
from loader_service.errors import ConfigError, LoaderError
from loader_service.plan.prefetch import LEAST_SLOTS, steps_ahead
from loader_service.protocol import messages as m
from loader_service.protocol.fields import Field
from loader_service.protocol.option_text import option_text
from loader_service.sizes import counted, size_text

#: How long ago streams may have closed whose memory is still waited for, in seconds: to have all slots that are wanted,
#: and to have any. A worker that is busy with a task unmaps after it.
WAIT_FOR_MORE_S, WAIT_FOR_ANY_S = 0.5, 5.0

#: How often it is looked for, in seconds.
LOOK_EVERY_S = 0.02

#: What becomes of clips that are longer than their videos, and what to do.
_REPEATED = "last frames are repeated, and the field 'length' says what is real; give fewer frames or a smaller stride"

#: Openings that wait for memory at a time.
_MOST_WAITING = 64

#: Openings whose segments are made at a time; a plan takes memory, and there may be thousands of requests.
MOST_ASKING = 16

#: Streams open at a time, of one client and of all. Each has a plan of its own here and in every worker.
MOST_STREAMS_OF_ONE, MOST_STREAMS = 64, 1024


class Stage(Enum):
    """How far a stream has come."""

    PROBING = "probing"
    QUEUED = "queued"
    ASKING = "asking"
    WAITING = "waiting"
    OPEN = "open"


_TRANSITIONS: dict[tuple[Stage, str], Stage] = {
    (Stage.PROBING, "probed"): Stage.QUEUED,
    (Stage.QUEUED, "planned"): Stage.ASKING,
    (Stage.ASKING, "short"): Stage.WAITING,
    (Stage.WAITING, "again"): Stage.ASKING,
    (Stage.ASKING, "made"): Stage.OPEN,
}


@dataclass
class Opening:
    """One request for a stream."""

    client: bytes
    asked: m.OpenStream
    stage: Stage
    outputs: tuple[Field, ...] | None = None  # of the transform
    stream: int = 0  # from ASKING on, as the two below
    plan: PlannedStream | None = None
    answer: m.Opened | None = None  # from OPEN on
    asked_at: float = 0.0
    takes_until: float = 0.0  # others give memory up for it until then; 0 before they were asked

    @property
    def key(self) -> tuple[bytes, int]:
        """What makes a request the same when it is asked again."""
        return self.client, self.asked.request

    def move(self, verb: str) -> None:
        """Take a step on the way.

        Raises
        ------
        RuntimeError
            When there is no such step.
        """
        after = _TRANSITIONS.get((self.stage, verb))
        if after is None:
            raise RuntimeError(f"stream {self.stream} is {self.stage.value}, so it cannot be {verb}; this is a bug")
        self.stage = after


class Openings:
    """All requests for streams that are under way or open.

    Parameters
    ----------
    planner
        Makes streams of specs.
    probes
        Tries transforms.
    streams, clients
        Get those that are open; are named where memory is short.
    ledger
        Effects and counters.
    """

    def __init__(self, planner: Planner, probes: Probes, streams: Streams, clients: Clients, ledger: Ledger) -> None:
        self._planner = planner
        self._probes = probes
        self._streams = streams
        self._clients = clients
        self._ledger = ledger
        self._by_key: dict[tuple[bytes, int], Opening] = {}
        self._by_stream: dict[int, Opening] = {}
        self._of_client: Counter[bytes] = Counter()  # those that have a stream
        self._queued: deque[Opening] = deque()
        self._asking: set[int] = set()
        self._waiting: dict[int, Opening] = {}
        self._look_at = math.inf
        self._returned_at = -math.inf  # when segments were unlinked last
        self._last_stream = 0
        self.stopping = False

    def ask(self, client: Client, asked: m.OpenStream, now: float) -> None:
        """Begin to open a stream, or say again what came of it.

        Raises
        ------
        ConfigError
            When there are too many streams, or the catalog cannot give what the spec asks for.
        """
        known = self._by_key.get((client.address, asked.request))
        if known is not None:
            stream = self._streams.get(known.stream)
            if known.answer is not None and stream is not None:
                size = stream.resized
                answer = replace(known.answer, slots=size.slots, prefetch=size.prefetch, resizes=size.resizes)
                self._ledger.send(client.address, answer)
            return
        self._check_room(self._streams.count(client.address))
        opening = Opening(client.address, asked, Stage.PROBING, asked_at=now)
        if self._planner.tries_transforms:
            self._probes.begin(client.address, asked, self._planner.inputs(asked.spec), now)
            self._by_key[opening.key] = opening
        else:
            self._by_key[opening.key] = opening
            self._probed(opening, None, now)

    def concluded(self, answer: Answer, now: float) -> None:
        """Go on with a stream whose transform was tried, or say why not."""
        opening = self._by_key.get((answer.client, answer.asked.request))
        if opening is None:
            return
        try:
            if answer.error is not None:
                raise answer.error
        except LoaderError as error:
            self._refuse(opening, error)
        else:
            self._probed(opening, answer.fields, now)

    def segments_made(self, event: SegmentsMade, now: float) -> bool:
        """Open the stream whose slots were made, or say why not; return whether it was on its way."""
        opening = self._by_stream.get(event.stream)
        if opening is None or opening.stage is not Stage.ASKING or opening.plan is None:
            return False
        self._asking.discard(event.stream)
        if event.shortage is None:
            opening.move("made")
            self._open(opening, opening.plan, event.slots, now)
        elif self._is_on_its_way(opening, event.shortage.left_bytes, now) and len(self._waiting) < _MOST_WAITING:
            opening.move("short")
            self._waiting[opening.stream] = opening
            self._look_at = min(self._look_at, now + LOOK_EVERY_S)
        else:
            self._refuse(opening, ConfigError(self._words(opening.plan, event.shortage)))
        self._go_on(now)
        return True

    def closed(self, stream: int) -> None:
        """Forget a stream that was open."""
        opening = self._by_stream.get(stream)
        if opening is not None:
            self._forget(opening)

    def lose(self, client: bytes, now: float) -> None:
        """Forget all requests of a client that is gone."""
        for opening in [each for each in self._by_key.values() if each.client == client]:
            self._forget(opening)
        self._go_on(now)

    def memory_returns(self, now: float) -> None:
        """Take note that slots were unlinked."""
        self._returned_at = now

    def tick(self, now: float) -> None:
        """Look for memory again."""
        if now < self._look_at:
            return
        waiting, self._waiting, self._look_at = self._waiting, {}, math.inf
        for opening in waiting.values():
            opening.move("again")
            self._make(opening, now)

    def next_deadline(self) -> float | None:
        """Return when `tick` has something to do; None while nothing waits."""
        return self._look_at if self._waiting else None

    # ---- inside

    def _is_on_its_way(self, opening: Opening, left_bytes: int, now: float) -> bool:
        """Return whether there will be memory for a stream soon; have others give some up when it has waited."""
        if now - self._returned_at >= WAIT_FOR_MORE_S and opening.takes_until == 0.0 and opening.plan is not None:
            opening.takes_until = now
            if self._streams.shares.take_memory(LEAST_SLOTS * opening.plan.slot_bytes - left_bytes, now):
                opening.takes_until += WAIT_FOR_ANY_S
        return now < max(opening.takes_until, self._returned_at + WAIT_FOR_ANY_S)

    def _check_room(self, own: int) -> None:
        if self.stopping:
            raise ConfigError("the service is stopping and opens no streams")
        all_ = len(self._by_stream)
        if own >= MOST_STREAMS_OF_ONE or all_ >= MOST_STREAMS:
            raise ConfigError(
                f"{own} streams of this client and {all_} in all are open, the most are "
                f"{MOST_STREAMS_OF_ONE} and {MOST_STREAMS}; close those that are not needed"
            )

    def _probed(self, opening: Opening, outputs: tuple[Field, ...] | None, now: float) -> None:
        opening.outputs = outputs
        opening.move("probed")
        self._queued.append(opening)
        self._go_on(now)

    def _go_on(self, now: float) -> None:
        """Have the segments of those made that are next."""
        while self._queued and len(self._asking) < MOST_ASKING:
            own = self._of_client[self._queued[0].client]
            if own >= MOST_STREAMS_OF_ONE and self._asking:
                return  # it is answered in its turn
            opening = self._queued.popleft()
            if self._by_key.get(opening.key) is not opening:
                continue  # its client is gone
            try:
                self._check_room(own)  # there was time for other streams, or for the end to begin
                opening.plan = self._planner.plan(opening.asked.spec, opening.outputs)
            except LoaderError as error:
                self._refuse(opening, error)
                continue
            opening.move("planned")
            self._last_stream += 1
            opening.stream = self._last_stream
            self._by_stream[opening.stream] = opening
            self._of_client[opening.client] += 1
            self._make(opening, now)

    def _make(self, opening: Opening, now: float) -> None:
        plan = opening.plan
        if plan is not None:
            waits = now - self._returned_at < WAIT_FOR_MORE_S and len(self._waiting) < _MOST_WAITING
            least = plan.wanted_slots if waits else LEAST_SLOTS
            self._asking.add(opening.stream)
            self._ledger.add(MakeSegments(opening.stream, plan.wanted_slots, least, plan.slot_bytes))

    def _open(self, opening: Opening, plan: PlannedStream, slots: tuple[int, ...], now: float) -> None:
        number, spec = opening.stream, opening.asked.spec
        prepare = m.PrepareStream(number, spec, plan.fields, plan.slot_frames, plan.inputs)
        self._ledger.tell_workers(prepare)
        self._streams.open(opening.client, prepare, plan, slots, now).clock.asked_at = opening.asked_at
        opening.answer = m.Opened(
            request=opening.asked.request,
            stream=number,
            fields=plan.fields,
            steps_per_epoch=plan.steps_per_epoch,
            slots=len(slots),
            prefetch=steps_ahead(len(slots)),
            samples=plan.samples,
            frames=plan.slot_frames,
            first_step=plan.first_step,
        )
        self._ledger.send(opening.client, opening.answer)
        client = self._clients.get(opening.client)
        size = f"{len(slots)} of {plan.wanted_slots} slots of {size_text(plan.slot_bytes)}"
        line = f"client {client.name if client else '?'} opened stream {number} with {size}: {option_text(spec)}"
        self._ledger.add(Note(line, NoteKind.OTHER, is_fault=False))
        if 0 < plan.samples <= plan.padded_videos:
            self._ledger.add(Note(f"every video is shorter than {option_text(spec.clip)}: {_REPEATED}"))

    def _refuse(self, opening: Opening, error: LoaderError) -> None:
        self._forget(opening)
        self._ledger.refuse_request(opening.client, opening.asked.request, error)

    def _forget(self, opening: Opening) -> None:
        self._by_key.pop(opening.key, None)
        if self._by_stream.pop(opening.stream, None) is not None:
            self._of_client[opening.client] -= 1
            if not self._of_client[opening.client]:
                del self._of_client[opening.client]
        self._waiting.pop(opening.stream, None)
        self._asking.discard(opening.stream)

    def _words(self, plan: PlannedStream, shortage: Shortage) -> str:
        """Return why a stream has no memory: how much is needed and left, who holds the rest, and what helps."""
        if not shortage.remedy:
            return shortage.lack
        held = "; ".join(filter(None, (self._holders(), shortage.others)))
        words = "; ".join(filter(None, (shortage.lack, held, shortage.remedy)))
        return "; ".join(filter(None, (plan.why_large(), words)))

    def _holders(self) -> str:
        """Return who holds how much of the shared memory among the clients of this service."""
        parts, spare = [], False
        for address, streams in self._streams.by_client():
            client = self._clients.get(address)
            slots = sum(len(each.slots.numbers) for each in streams)
            size = size_text(sum(len(each.slots.numbers) * each.plan.slot_bytes for each in streams))
            who = "a client that is gone" if client is None else str(client)
            parts.append(f"{who} holds {size} in {counted(slots, 'slot')} of {counted(len(streams), 'stream')}")
            spare = spare or any(len(each.slots.numbers) > LEAST_SLOTS for each in streams)
        if spare:
            parts.append("they would hold less with a smaller prefetch")
        return "; ".join(parts)
