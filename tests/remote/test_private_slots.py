"""The memory that a remote worker writes into: two buffers, which come back when their rows were sent."""

from __future__ import annotations

import pytest

from loader_service.errors import ServiceUnavailable
from loader_service.remote import private_slots
from loader_service.remote.private_slots import PrivateSlots


def test_two_tasks_have_memory_and_the_third_waits_until_rows_were_sent(monkeypatch):
    monkeypatch.setattr(private_slots, "_SENT_S", 0.05)
    slots = PrivateSlots()
    slots.memory(1, 10, 4096)[:3] = b"abc"
    first = slots.take()
    slots.memory(1, 11, 4096)
    second = slots.take()
    assert first is not second
    with pytest.raises(ServiceUnavailable, match="not sent within"):
        slots.memory(1, 12, 4096)
    slots.give_back(first)
    assert slots.memory(1, 12, 4096) is first
    assert slots.take() is first
    assert slots.take() is None


def test_large_buffers_keep_no_pages_and_small_ones_grow_when_a_slot_is_larger():
    slots = PrivateSlots()
    large = slots.memory(1, 10, private_slots._KEPT_BYTES + 4096)
    large[:3] = b"abc"
    slots.give_back(large)
    assert large[:3] == bytes(3)
    small = slots.memory(1, 10, 100)
    slots.give_back(small)
    again = [len(slots.memory(1, 10, 5000)) for _ in range(2)]
    assert all(each >= 5000 for each in again)
