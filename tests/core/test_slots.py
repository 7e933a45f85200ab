"""The table of a slot's states."""

from __future__ import annotations

import pytest

from loader_service.core.slots import SlotState, SlotTable


def test_a_slot_goes_round() -> None:
    slots = SlotTable((7,))
    seen = [slots.state(7)]
    assert slots.fill() == 7
    seen.append(slots.state(7))
    for verb in (slots.lease, slots.release):
        verb(7)
        seen.append(slots.state(7))
    assert seen == [SlotState.FREE, SlotState.FILLING, SlotState.LEASED, SlotState.FREE]


def test_an_abandoned_slot_is_free_again() -> None:
    slots = SlotTable((7,))
    slots.fill()
    slots.abandon(7)
    assert slots.fill() == 7


def test_slots_are_handed_out_in_order_until_none_is_left() -> None:
    slots = SlotTable((4, 2, 9))
    assert [slots.fill() for _ in range(4)] == [4, 2, 9, None]


def test_the_slot_released_last_is_used_first() -> None:
    slots = SlotTable((1, 2, 3))
    for slot in (slots.fill(), slots.fill()):
        assert slot is not None
        slots.lease(slot)
    slots.release(2)
    slots.release(1)
    assert [slots.fill(), slots.fill(), slots.fill()] == [1, 2, 3]


def test_counts_are_by_state() -> None:
    slots = SlotTable((1, 2, 3))
    slots.fill()
    slots.fill()
    slots.lease(1)
    counts = {state.value: slots.count(state) for state in SlotState}
    assert counts == {"free": 1, "filling": 1, "leased": 1}


_WAYS = {  # what brings a new slot into each state
    SlotState.FREE: (),
    SlotState.FILLING: ("fill",),
    SlotState.LEASED: ("fill", "lease"),
}
_LEGAL = {("filling", "lease"), ("filling", "abandon"), ("leased", "release")}


@pytest.mark.parametrize("state", SlotState)
@pytest.mark.parametrize("verb", ["lease", "release", "abandon"])
def test_an_illegal_transition_raises_and_changes_nothing(state: SlotState, verb: str) -> None:
    if (state.value, verb) in _LEGAL:
        return
    slots = SlotTable((7,))
    for step in _WAYS[state]:
        getattr(slots, step)(*([] if step == "fill" else [7]))
    with pytest.raises(RuntimeError, match=rf"slot 7 is {state.value}, so it cannot {verb}"):
        getattr(slots, verb)(7)
    assert slots.state(7) is state
    assert slots.fill() == (7 if state is SlotState.FREE else None)
