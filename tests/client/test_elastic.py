"""A training goes on with another number of ranks in the middle of an epoch, against a real service."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from loader_client import ConfigError, Connection, Frame, RankState

_COMMON: dict[str, Any] = {"clip": Frame(), "fields": ("index",), "drop_remainder": False}


def _consume(connection: Connection, world: int, steps: list[int], start: Any) -> tuple[list[int], list[RankState]]:
    """Return the samples that ranks take, each some steps, and the states after that."""
    seen, states = [], []
    for rank, count in enumerate(steps):
        batches = connection.batches(3, shard=(rank, world), start=start, **_COMMON)
        for _ in range(count):
            seen += next(batches)["index"].tolist()
        states.append(RankState.from_json(batches.state().to_json()))
        batches.close()
    return seen, states


def _rest(connection: Connection, world: int, start: Any) -> list[int]:
    """Return what is left of the epoch that ranks go on with."""
    seen: list[int] = []
    for rank in range(world):
        for batch in connection.batches(2, shard=(rank, world), start=start, epochs=1, **_COMMON):
            seen += batch["index"].tolist()
    return seen


@pytest.mark.parametrize("world", [1, 2, 3, 8])
@pytest.mark.parametrize("steps", [[4, 4, 4, 4], [0, 5, 2, 1]])
def test_four_ranks_become_others_and_each_sample_comes_once(
    connection: Connection, steps: list[int], world: int
) -> None:
    whole = _rest(connection, 1, (0, 0))
    seen, states = _consume(connection, 4, steps, (0, 0))
    assert Counter(seen + _rest(connection, world, states)) == Counter(whole)


def test_an_epoch_may_be_dealt_anew_more_than_once(connection: Connection) -> None:
    whole = _rest(connection, 1, (0, 0))
    first, states = _consume(connection, 4, [3, 3, 3, 3], (0, 0))
    second, states = _consume(connection, 2, [4, 1], states)
    third, states = _consume(connection, 3, [1, 1, 1], states)
    assert Counter(first + second + third + _rest(connection, 5, states)) == Counter(whole)


def test_the_state_before_the_first_batch_is_the_start(connection: Connection) -> None:
    batches = connection.batches(3, start=(2, 1), **_COMMON)
    assert (batches.state().epoch, batches.state().step) == (2, 1)
    next(batches)
    assert (batches.state().epoch, batches.state().step) == (2, 2)
    assert len(list(batches)) == batches.state().steps_per_epoch - 2
    assert (batches.state().epoch, batches.state().step) == (3, 0)


def test_an_index_goes_on_with_other_ranks_too(connection: Connection) -> None:
    index = np.arange(30, dtype=np.int64) % 12
    options: dict[str, Any] = {"clip": Frame(), "index": index, "fields": ("position",), "drop_remainder": False}
    seen, states = [], []
    for rank in range(3):
        batches = connection.batches(2, shard=(rank, 3), **options)
        for _ in range(rank):
            seen += next(batches)["position"].tolist()
        states.append(batches.state())
        batches.close()
    for rank in range(2):
        for batch in connection.batches(2, shard=(rank, 2), start=states, **options):
            seen += batch["position"].tolist()
    assert sorted(seen) == list(range(30))
    with pytest.raises(ConfigError, match="saved with index="):
        next(connection.batches(2, shard=(0, 2), start=states, **{**options, "index": index[::-1]}))


def test_another_seed_is_refused(connection: Connection) -> None:
    _, states = _consume(connection, 2, [2, 2], (0, 0))
    with pytest.raises(ConfigError, match="saved with seed=0, and this stream has 1"):
        next(connection.batches(3, shard=(0, 3), seed=1, start=states, **_COMMON))
