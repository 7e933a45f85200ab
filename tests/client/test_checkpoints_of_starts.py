"""A checkpoint of a dataset with an index, or with a start, goes on with exactly what would have come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import loader_client
from loader_client import Clip, Connection
from tests.client.checkpoints import (
    END,
    STEPS,
    first_life,
    following,
    index_of,
    numbered_dataset,
    symbolic_options,
    unlike,
    unlike_those_seen,
)

pytestmark = pytest.mark.tensorflow


# ---- an index


@pytest.mark.parametrize(
    ("kind", "symbolic"),
    [("array", False), ("numbers", False), ("a remainder", True), ("vectors", False), ("vectors", True)],
)
def test_an_index_is_restored_at_each_step_with_its_draws(
    tf: Any, four_videos: Connection, tmp_path: Path, kind: str, symbolic: bool
) -> None:
    options = symbolic_options(tf) if symbolic else tf.data.Options()
    batching = {"batch_size": 3, "drop_remainder": False} if kind == "a remainder" else {"batch_size": 2}

    def make() -> Any:
        index = index_of(tf, "numbers" if kind == "a remainder" else kind)
        dataset = loader_client.dataset(
            four_videos, clip=Clip(frames=1), fields=("index", "position", "start"), index=index, prefetch=2, **batching
        )
        return dataset.repeat(3).with_options(options)

    assert unlike(tf, make, tmp_path / "ours") == []


# ---- a start


@pytest.mark.parametrize(
    ("start", "symbolic"), [((0, 2), False), ((2, 0), True), ((1, 3), False), ((1, 3), True), ((1, 4), False)]
)
def test_each_step_is_restored_after_a_start(
    tf: Any, four_videos: Connection, tmp_path: Path, start: tuple[int, int], symbolic: bool
) -> None:
    options = symbolic_options(tf) if symbolic else tf.data.Options()

    def make() -> Any:
        return numbered_dataset(four_videos, start=start).prefetch(2).repeat(3).with_options(options)

    assert unlike(tf, make, tmp_path / "ours") == []


@pytest.mark.parametrize(
    ("saved", "now", "symbolic"),
    [
        ((2, 0), (0, 0), False),
        ((0, 0), (2, 0), False),
        ((1, 0), (3, 0), True),
        ((1, 2), (0, 1), False),
        ((1, 2), (0, 1), True),
        ((0, 4), (0, 0), False),
    ],
)
def test_an_iterator_goes_on_where_it_was_saved_whatever_the_start_is_now(
    tf: Any, four_videos: Connection, tmp_path: Path, saved: tuple[int, int], now: tuple[int, int], symbolic: bool
) -> None:
    options = symbolic_options(tf) if symbolic else tf.data.Options()
    epochs = following(tf, iter(numbered_dataset(four_videos).repeat(8)), 32)
    first = saved[0] * STEPS + saved[1]

    def make(start: tuple[int, int]) -> Any:
        return numbered_dataset(four_videos, start=start).repeat(3).with_options(options)

    seen = first_life(tf, make(saved), tmp_path)
    assert len(seen) > 2 * STEPS
    assert seen == [*epochs[first:][: len(seen) - 1], END]
    assert unlike_those_seen(tf, lambda: make(now), tmp_path, seen) == []


def test_the_epoch_after_a_restored_one_follows_it_whatever_the_start_is_now(
    tf: Any, four_videos: Connection, tmp_path: Path
) -> None:
    epochs = following(tf, iter(numbered_dataset(four_videos).repeat(8)), 32)
    iterator = iter(numbered_dataset(four_videos, start=(2, 0)))
    following(tf, iterator, 99)
    tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "saved"))
    for now in ((0, 0), (2, 0), (5, 0)):
        dataset = numbered_dataset(four_videos, start=now)
        restored = iter(dataset)
        tf.train.Checkpoint(iterator=restored).read(str(tmp_path / "saved")).assert_consumed()
        assert following(tf, restored, 99) == [END]
        assert following(tf, iter(dataset), 99) == [*epochs[3 * STEPS : 4 * STEPS], END]
