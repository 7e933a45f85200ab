"""Shared memory, as a model: what each row of each slot holds, who reads it, and whose tasks may still write to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

#: (instance of the service, number of the slot)
SlotName = tuple[str, int]

#: What a row holds while it is being written.
TORN = "torn"


@dataclass
class Slot:
    """One segment. It lives on after it was unlinked, for those who have mapped it."""

    name: SlotName
    rows: dict[int, object] = field(default_factory=dict)
    readers: int = 0  # batches of living clients that lie there
    tasks: set[tuple[int, int]] = field(default_factory=set)  # (worker, task) of living processes that may yet write
    is_linked: bool = True

    def write(self, rows: Iterable[int], content: object) -> None:
        """Write rows; each has the same content while it is being written, and its own afterwards."""
        assert not self.readers, f"slot {self.name} is written while {self.readers} batches lie there"
        if isinstance(content, dict):
            self.rows.update(content)
        else:
            self.rows.update(dict.fromkeys(rows, content))


class Memory:
    """All slots of all runs of the service."""

    def __init__(self, budget_slots: int) -> None:
        self.budget_slots = budget_slots
        self.slots: dict[SlotName, Slot] = {}
        self._last = 0

    def make(self, instance: str, wanted: int, least: int) -> tuple[int, ...]:
        """Make as many slots as are wanted and fit; none when fewer than `least` do."""
        count = min(wanted, self.budget_slots - len(self.slots))
        if count < least:
            return ()
        numbers = tuple(range(self._last + 1, self._last + 1 + count))
        self._last += count
        for number in numbers:
            self.slots[instance, number] = Slot((instance, number))
        return numbers

    def unlink(self, instance: str, numbers: Iterable[int]) -> None:
        """Remove slots; who has mapped them keeps them."""
        for number in numbers:
            slot = self.slots.pop((instance, number), None)
            assert slot is not None, f"slot {number} of {instance} is removed, and there is none"
            slot.is_linked = False

    def unlink_all(self, instance: str) -> None:
        """Remove all slots of a service that has ended."""
        self.unlink(instance, [number for owner, number in self.slots if owner == instance])
