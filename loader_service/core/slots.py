"""The states of a stream's slots; a table of legal transitions and nothing else.

A slot is room for one batch. It is in exactly one state, and has a holder in all but the first:

    FREE ──fill──▶ FILLING ──lease──▶ LEASED
      ▲               │                  │
      └────abandon────┴─────release──────┘

FILLING: workers may write; the holder is the step that is being filled. LEASED: every row is written, and a client may
read; the holder is the lease. A slot leaves FILLING only when no task that writes into it is left with a living worker,
which is the scheduler's to know. A slot is never taken from a client: when a
client is lost, its stream's slots are retired with their segments, so a trainer that wakes up after it was given up
still reads what it leased.
"""

from __future__ import annotations

from enum import Enum


class SlotState(Enum):
    """Where a slot is in its round."""

    FREE = "free"
    FILLING = "filling"
    LEASED = "leased"


#: By verb: the state that a slot must be in, and the one that it comes to. Not by state, since to look a member of an
#: enumeration up takes a third of a microsecond.
_TRANSITIONS: dict[str, tuple[SlotState, SlotState]] = {
    "fill": (SlotState.FREE, SlotState.FILLING),
    "abandon": (SlotState.FILLING, SlotState.FREE),
    "lease": (SlotState.FILLING, SlotState.LEASED),
    "release": (SlotState.LEASED, SlotState.FREE),
}


class SlotTable:
    """The slots of one stream.

    Parameters
    ----------
    slots
        Their numbers, unique in the service.
    """

    def __init__(self, slots: tuple[int, ...]) -> None:
        self._state = dict.fromkeys(slots, SlotState.FREE)
        # Last in, first out: the slot released last is the one whose pages are still in the caches.
        self._free = list(reversed(slots))

    def add(self, slot: int) -> None:
        """Take in one more slot."""
        self._state[slot] = SlotState.FREE
        self._free.append(slot)

    def remove(self, most: int) -> tuple[int, ...]:
        """Take so many slots out, or all that are free when these are fewer; return them."""
        removed, self._free = tuple(self._free[:most]), self._free[most:]
        for slot in removed:
            del self._state[slot]
        return removed

    def __len__(self) -> int:
        return len(self._state)

    def fill(self) -> int | None:
        """Take a free slot for a step, or return None when there is none."""
        if not self._free:
            return None
        slot = self._free.pop()
        self._move(slot, "fill")
        return slot

    def lease(self, slot: int) -> None:
        """Hand a slot whose rows are all written to the client."""
        self._move(slot, "lease")

    def release(self, slot: int) -> None:
        """Take the slot back from the client."""
        self._move(slot, "release")
        self._free.append(slot)

    def abandon(self, slot: int) -> None:
        """Free a slot whose contents nobody wants, and where no worker writes any more."""
        self._move(slot, "abandon")
        self._free.append(slot)

    def state(self, slot: int) -> SlotState:
        """Return the state of a slot."""
        return self._state[slot]

    def count(self, state: SlotState) -> int:
        """Return how many slots are in a state."""
        if state is SlotState.FREE:
            return len(self._free)
        return sum(each is state for each in self._state.values())

    @property
    def numbers(self) -> tuple[int, ...]:
        """All slots."""
        return tuple(self._state)

    def _move(self, slot: int, verb: str) -> None:
        before, after = _TRANSITIONS[verb]
        state = self._state[slot]
        if state is not before:
            raise RuntimeError(f"slot {slot} is {state.value}, so it cannot {verb}; this is a bug in the scheduler")
        self._state[slot] = after
