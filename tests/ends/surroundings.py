"""What all parts of a world have in common: time, chance and memory."""

from __future__ import annotations

from dataclasses import dataclass

from tests.ends.memory import Memory
from tests.ends.timeline import Timeline
from tests.ends.weather import Pick


@dataclass(frozen=True)
class Surroundings:
    """Time, chance and memory."""

    timeline: Timeline
    pick: Pick
    memory: Memory
