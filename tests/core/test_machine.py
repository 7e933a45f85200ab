"""Any order of wants, releases, deaths, hangs, late answers, resizes and losses, held against a model."""

from __future__ import annotations

import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from loader_service.core.ledger import Limits
from tests.core import moves
from tests.core.world import World

_LIMITS = Limits(least_wants=4, client_timeout_s=150.0)
_FILE_SETS = ((300,), (100, 100, 50), tuple(range(1, 12)), (0, 0, 5, 5, 90))

#: How often each move happens in the long runs, relative to the others.
_WEIGHTS = {
    moves.open_stream: 4,
    moves.want_next: 45,
    moves.want_again: 4,
    moves.want_nonsense: 1,
    moves.forget: 6,
    moves.release: 30,
    moves.release_nonsense: 1,
    moves.close: 1,
    moves.lose_client: 0.5,
    moves.hello: 1,
    moves.beat: 4,
    moves.miss: 0.1,
    moves.ask_again: 2,
    moves.make_segments: 8,
    moves.answer_probe: 6,
    moves.start_worker: 12,
    moves.end_task: 90,
    moves.report_again: 2,
    moves.die: 2,
    moves.fail_to_start: 0.3,
    moves.grow: 1,
    moves.hang: 1,
    moves.reap: 6,
    moves.scale: 1,
    moves.make_slot: 6,
    moves.check_file: 6,
    moves.wait: 8,
}
_SEEDS = range(4)
_EVENTS_A_SEED = 12_500


@pytest.mark.parametrize("seed", _SEEDS)
def test_invariants_hold_in_long_random_lives(seed: int) -> None:
    generator = random.Random(seed)
    events = answered = worlds = 0
    while events < _EVENTS_A_SEED:
        world = _live(generator, most_events=2500)
        events, answered, worlds = events + world.events, answered + world.answered, worlds + 1
    assert worlds < 60, "the lives were too short to see anything"
    assert answered > events / 20, "the lives were too poor to see anything"


def test_the_long_lives_are_long_enough() -> None:
    assert len(_SEEDS) * _EVENTS_A_SEED >= 50_000


def _live(generator: random.Random, most_events: int) -> World:
    """Return a world after a life at random, and after it came to rest."""
    world = World(generator.choice(_FILE_SETS), _LIMITS, tries_transforms=generator.random() < 0.5)
    chances, weights = list(_WEIGHTS), list(_WEIGHTS.values())
    world.scale(generator.randint(1, moves.MOST_WORKERS))
    while world.events < most_events and not world.gave_up:
        for move in generator.choices(chances, weights, k=100):
            if not world.gave_up:
                move(world, generator.randrange)
    if not world.gave_up:
        moves.settle(world)
    return world


class AnyOrder(RuleBasedStateMachine):
    """Events in whatever order finds a fault, made short by Hypothesis when one is found."""

    world: World

    @initialize(files=st.sampled_from(_FILE_SETS), workers=st.integers(0, moves.MOST_WORKERS), transforms=st.booleans())
    def begin(self, files: tuple[int, ...], workers: int, transforms: bool) -> None:
        self.world = World(files, _LIMITS, tries_transforms=transforms)
        self.world.scale(workers)

    @rule(data=st.data(), move=st.sampled_from(list(_WEIGHTS)), times=st.integers(1, 4))
    def move(self, data: st.DataObject, move: moves.Move, times: int) -> None:
        for _ in range(times):
            if not self.world.gave_up:
                move(self.world, lambda choices: data.draw(st.integers(0, choices - 1)))

    def teardown(self) -> None:
        if hasattr(self, "world") and not self.world.gave_up:
            moves.settle(self.world)


AnyOrder.TestCase.settings = settings(max_examples=150, stateful_step_count=40)
test_invariants_hold_in_any_order = AnyOrder.TestCase
