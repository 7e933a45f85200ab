"""Lives of worlds at random, one for each seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tests.ends import moves
from tests.ends.world import World


@dataclass
class Tally:
    """What happened in many lives."""

    lives: int = 0
    events: int = 0  # messages and events, of both ends
    delivered: int = 0  # steps

    def __str__(self) -> str:
        return f"{self.lives} lives, {self.events} events, {self.delivered} steps"


def live(seed: int, tally: Tally, most_events: int = 3000) -> None:
    """Let a world live for a while, until everyone has left.

    Raises
    ------
    AssertionError
        When a promise is broken.
    """
    generator = random.Random(seed)
    world = World(generator.randrange)
    try:
        for move in _moves(generator):
            if world.events >= most_events:
                break
            move(world, world.pick)
        moves.end(world)
    finally:
        tally.lives += 1
        tally.events += world.events
        tally.delivered += world.delivered


def _moves(generator: random.Random) -> Iterator[moves.Move]:
    chances, weights = list(moves.WEIGHTS), list(moves.WEIGHTS.values())
    yield moves.begin
    while True:
        yield from generator.choices(chances, weights, k=20)
