"""Where a stream begins by the states of ranks: of one, of all, of those of another world."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from loader_client import ConfigError, RankState
from loader_client.rank_state import order_of
from loader_client.resumption import resumption
from loader_service.protocol.consumed import Consumed, ResumedEpoch
from loader_service.protocol.spec import Clip, Spec

_ORDER = order_of(Spec(8, Clip(4)), 1000)


def _state(rank: int, step: int, epoch: int = 5, world: int = 4, **others: Any) -> RankState:
    given = {"batch_size": 8, "steps_per_epoch": 31, "order": _ORDER, **others}
    return RankState(epoch=epoch, step=step, shard=(rank, world), **given)


def _states(*steps: int, **others: Any) -> list[RankState]:
    return [_state(rank, step, world=len(steps), **others) for rank, step in enumerate(steps)]


def test_a_state_survives_as_a_text() -> None:
    resumed = ResumedEpoch(5, (Consumed(3, 2, (1, 2, 3)), Consumed(2, 8, (4,))))
    for state in (_state(1, 7), _state(3, 31, resumed=resumed, first_step=4)):
        assert RankState.from_json(state.to_json()) == state


@pytest.mark.parametrize(
    "text",
    ["", "[]", "3", "{}", '{"format": 2}', "[" * 100_000, _state(1, 7).to_json().replace("31", "3")],
)
def test_what_is_no_state_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        RankState.from_json(text)


def test_a_rank_goes_on_from_its_own_state() -> None:
    found = resumption(_state(1, 7), (1, 4), 8)
    assert (found.place, found.resumed) == ((5, 7), None)
    with pytest.raises(ConfigError, match=r"rank 1 of 4 .* rank 1 of 2 .*state.of_all_ranks\(\)"):
        resumption(_state(1, 7), (1, 2), 8)
    with pytest.raises(ConfigError, match="batch_size=8, and this is rank 1 of 4 with 16"):
        resumption(_state(1, 7), (1, 4), 16)


def test_ranks_that_were_alike_are_one_number() -> None:
    found = resumption(_state(2, 7).of_all_ranks(), (1, 2), 8)
    assert (found.place, found.resumed) == ((5, None), ResumedEpoch(5, (Consumed(4, 8, (7,)),)))
    same_world = resumption(list(reversed(_states(7, 7, 7, 7))), (1, 4), 8)
    assert (same_world.place, same_world.resumed) == ((5, 7), None)


def test_ranks_that_were_not_alike_are_dealt_anew_in_any_world() -> None:
    for world in (1, 4, 8):
        found = resumption(_states(7, 9, 7, 8), (0, world), 8)
        assert (found.place, found.resumed) == ((5, None), ResumedEpoch(5, (Consumed(4, 8, (7, 9, 7, 8)),)))


def test_the_end_of_an_epoch_is_the_beginning_of_the_next() -> None:
    ended = [_state(0, 31), _state(1, 0, epoch=6), _state(2, 31), _state(3, 0, epoch=6)]
    assert resumption(ended, (0, 2), 8).place == (6, 0)
    found = resumption([*ended[:3], _state(3, 30)], (0, 2), 8)
    assert found.resumed == ResumedEpoch(5, (Consumed(4, 8, (31, 31, 31, 30)),))


def test_a_rest_that_is_left_by_its_ranks_again_is_dealt_once_more() -> None:
    before = ResumedEpoch(5, (Consumed(4, 8, (7,)),))
    states = _states(20, 22, resumed=before, first_step=14, steps_per_epoch=62)
    found = resumption(states, (0, 3), 8)
    assert found.resumed == ResumedEpoch(5, (*before.consumed, Consumed(2, 8, (6, 8))))
    alike = resumption(_states(20, 20, resumed=before, first_step=14, steps_per_epoch=62), (1, 2), 8)
    assert (alike.place, alike.resumed) == ((5, 20), before)
    later = resumption(_states(3, 3, epoch=6, resumed=before, first_step=14, steps_per_epoch=62), (0, 3), 8)
    assert later.resumed == ResumedEpoch(6, (Consumed(2, 8, (3,)),))


def test_ranks_in_two_epochs_are_refused_by_name() -> None:
    states = [_state(0, 30), _state(1, 2, epoch=6), _state(2, 30), _state(3, 30)]
    with pytest.raises(ConfigError, match="rank 1 is at step 2 of epoch 6, and another rank is in epoch 5"):
        resumption(states, (0, 2), 8)


@pytest.mark.parametrize(
    ("states", "said"),
    [
        (_states(7, 7, 7, 7)[:3], "0 states of rank 3 of 4, and 3 in all"),
        ([*_states(7, 7), _state(1, 7, world=2)], "2 states of rank 1 of 2, and 3 in all"),
        ([*_states(7, 7), _state(1, 7)], "differ in world"),
        ([_state(0, 7, world=2), _state(1, 7, world=2, batch_size=4)], "differ in batch_size"),
        ([_state(0, 7, world=2), (1, 7)], r"start has \(1, 7\) among states"),
        ((), "start="),
        ("now", "start='now'"),
    ],
)
def test_states_that_do_not_belong_together_are_refused(states: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        resumption(states, (0, 2), 8)


def test_another_order_is_refused_by_what_differs() -> None:
    found = resumption(_states(7, 7), (0, 2), 8)
    found.check_order(_ORDER)
    for spec, samples, said in (
        (Spec(8, Clip(4), seed=1), 1000, "seed=0, and this stream has 1"),
        (Spec(8, Clip(4)), 1001, "samples=1000, and this stream has 1001"),
        (Spec(8, Clip(4), split="train[:50%]"), 1000, "part='all', and this stream has 'train"),
    ):
        with pytest.raises(ConfigError, match=said):
            found.check_order(order_of(spec, samples))
    dataclasses.replace(found, order=None).check_order(())
