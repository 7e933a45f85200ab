"""Both ends keep their promises to each other, whatever becomes of messages, processes and memory between them.

Each step comes once to each iterator that asks for it, with the content that is its own; no slot is written while a
batch lies in it, or announced while a living process could write to it; what is asked for comes within seconds once all
is well; and nothing stays at either end when everyone has left.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.ends import moves
from tests.ends.lives import Tally, live
from tests.ends.world import World

_SEEDS = range(4)
_EVENTS_A_SEED = 13_000


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    """Keep the lines about bad samples to ourselves: there are thousands."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("seed", _SEEDS)
def test_promises_hold_in_long_random_lives(seed: int) -> None:
    generator = random.Random(seed)
    tally = Tally()
    while tally.events < _EVENTS_A_SEED:
        live(generator.randrange(2**32), tally)
    assert tally.delivered > tally.events / 30, "the lives were too poor to see anything"


def test_the_long_lives_are_long_enough() -> None:
    assert len(_SEEDS) * _EVENTS_A_SEED >= 50_000


class BothEnds(RuleBasedStateMachine):
    """Moves in whatever order finds a fault, made short by Hypothesis when one is found."""

    world: World

    @initialize(seed=st.integers(0, 2**32 - 1))
    def begin(self, seed: int) -> None:
        self.world = World(random.Random(seed).randrange)
        moves.begin(self.world, self.world.pick)

    @rule(data=st.data(), move=st.sampled_from(list(moves.WEIGHTS)))
    def move(self, data: st.DataObject, move: moves.Move) -> None:
        move(self.world, lambda choices: data.draw(st.integers(0, choices - 1)))

    @rule(seconds=st.sampled_from([0.01, 0.05, 0.3, 2.0]))
    def wait(self, seconds: float) -> None:
        self.world.timeline.run(seconds)

    def teardown(self) -> None:
        if hasattr(self, "world"):
            moves.end(self.world)


BothEnds.TestCase.settings = settings(max_examples=30, stateful_step_count=40)
test_promises_hold_in_any_order = BothEnds.TestCase
