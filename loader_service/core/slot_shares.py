"""How many slots each open stream has: it grows when its wants wait, and gives up what others need. Pure.

A stream shall have `size` slots. What it has beyond that goes when it is free, but never the last slot that is not
lent: its client may hold all others until the next batch comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heapify, heappop, heappush

from loader_service.core.effects import MakeSegments, Note, RemoveSegments
from loader_service.core.events import SegmentsMade
from loader_service.core.ledger import Ledger
from loader_service.core.steps import Filling
from loader_service.core.stream_state import StreamState
from loader_service.plan.prefetch import LEAST_SLOTS, steps_ahead
from loader_service.protocol import messages as m

#: How soon a stream grows again after it grew, could not, or gave memory up, in seconds.
GROW_AGAIN_S = 2.0


class SlotShares:
    """The numbers of slots of all open streams.

    Parameters
    ----------
    streams
        All open streams, by number; others change it.
    ledger
        Gets the deeds and messages.
    """

    def __init__(self, streams: Mapping[int, StreamState], ledger: Ledger) -> None:
        self._streams = streams
        self._ledger = ledger

    def segments_made(self, event: SegmentsMade, now: float) -> None:
        """Take in slots that were asked for; for what waits longest, unless somebody is still late."""
        stream = self._streams.get(event.stream)
        if stream is None:
            return
        if not event.grows:
            stream.slots_asked = max(0, stream.slots_asked - 1)
            if event.shortage is not None:
                words = f"stream {event.stream}: a step that a worker is late with waits for it; {event.shortage.lack}"
                self._ledger.add(Note(words))
        else:
            stream.is_growing = False
            stream.grow_at = now + GROW_AGAIN_S
        for slot in event.slots:
            stream.slots.add(slot)
        if event.slots:
            stream.size += len(event.slots)
            self._tell_size(stream, ())

    def take_memory(self, need_bytes: int, now: float) -> bool:
        """Have those streams that have most give up so much memory; return whether some is on its way.

        None is left with less than two slots, and none gives what its client or a worker still uses. Where all that
        they could give is too little, they keep it.
        """
        spare = [max(0, len(each.slots) - LEAST_SLOTS) * each.plan.slot_bytes for each in self._streams.values()]
        if need_bytes > sum(spare):
            return False
        shrinking = {each.number: each for each in self._streams.values() if len(each.slots) > each.size}
        need_bytes -= sum((len(each.slots) - each.size) * each.plan.slot_bytes for each in shrinking.values())
        large = [
            (-each.size * each.plan.slot_bytes, each.number)
            for each in self._streams.values()
            if each.size > LEAST_SLOTS
        ]
        heapify(large)
        while need_bytes > 0 and large:
            stream = self._streams[heappop(large)[1]]
            stream.size -= 1
            stream.grow_at = now + GROW_AGAIN_S
            need_bytes -= stream.plan.slot_bytes
            shrinking[stream.number] = stream
            if stream.size > LEAST_SLOTS:
                heappush(large, (-stream.size * stream.plan.slot_bytes, stream.number))
        for stream in shrinking.values():
            self._tell_size(stream, self._remove_surplus(stream))
        return bool(shrinking)

    def grow(self, stream: StreamState, now: float) -> None:
        """Ask for the slots that a stream should have and has not."""
        gives_back = len(stream.slots) > stream.size
        if not (stream.is_growing or gives_back) and now >= stream.grow_at:
            stream.is_growing = True
            more = stream.plan.wanted_slots - len(stream.slots)
            self._ledger.add(MakeSegments(stream.number, more, 1, stream.plan.slot_bytes, grows=True))

    def _remove_surplus(self, stream: StreamState) -> tuple[int, ...]:
        """Remove free slots of a stream that shall have fewer, and return them; one that is not lent always stays."""
        unlent = len(stream.slots) - len(stream.leases)
        slots = stream.slots.remove(min(len(stream.slots) - stream.size, unlent - 1))
        if slots:
            self._ledger.add(RemoveSegments(slots))
            self._ledger.tell_workers(m.DropSlots(stream.number, slots))
        return slots

    def _tell_size(self, stream: StreamState, removed: tuple[int, ...]) -> None:
        size = m.Resized(stream.number, stream.size, steps_ahead(stream.size), removed)
        self._ledger.send(stream.client, size)

    def shrink(self, stream: StreamState) -> None:
        """Remove what has become free of a stream that shall have fewer slots."""
        if len(stream.slots) > stream.size and (removed := self._remove_surplus(stream)):
            self._tell_size(stream, removed)

    def ask_for_another(self, stream: StreamState, filling: Filling) -> None:
        """Ask for one more slot: once for each that a late worker keeps, and in all for as many as there were."""
        if not filling.asked_for_another and len(stream.slots.numbers) < 2 * stream.plan.wanted_slots:
            filling.asked_for_another = True
            stream.slots_asked += 1
            self._ledger.add(MakeSegments(stream.number, 1, 1, stream.plan.slot_bytes))
