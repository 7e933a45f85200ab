"""Train and validation from one service: parts that never overlap, videos by name, numbers that stay those of all."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import loader_client
from loader_client import Clip, ConfigError, Connection, Frame
from tests.client.reference import Reference
from tests.support.services import Service

_CLIP = Clip(frames=4)
_PARTS = ("train[:60%]", "train[60%:]")


def numbers(batches: Iterator[dict[str, Any]]) -> list[int]:
    return [int(index) for batch in batches for index in batch["index"]]


def test_two_parts_share_nothing_and_leave_nothing_out(connection: Connection, reference: Reference) -> None:
    parts = [numbers(connection.batches(2, clip=_CLIP, split=part, drop_remainder=False)) for part in _PARTS]
    assert all(parts)
    assert sorted(parts[0] + parts[1]) == list(range(reference.videos))


def test_each_epoch_of_a_part_has_the_same_samples_and_the_right_bytes(
    connection: Connection, reference: Reference
) -> None:
    epochs = []
    for epoch in range(2):
        batches = list(
            connection.batches(2, clip=_CLIP, split=_PARTS[0], drop_remainder=False, epochs=1, start=(epoch, 0))
        )
        for batch in batches:
            reference.check(batch, frames=4)
        epochs.append(numbers(iter(batches)))
    assert epochs[0] != epochs[1]
    assert sorted(epochs[0]) == sorted(epochs[1])


@pytest.mark.parametrize("options", [{"batching": "bucket"}, {"order": "interleave"}, {"batching": "ragged"}])
def test_a_part_comes_in_every_order(connection: Connection, options: Any) -> None:
    clip = None if "batching" in options else _CLIP
    whole = numbers(connection.batches(2, clip=_CLIP, split=_PARTS[0], drop_remainder=False))
    part = numbers(connection.batches(2, clip=clip, split=_PARTS[0], drop_remainder=False, **options))
    assert sorted(part) == sorted(whole)


def test_shards_of_a_part_divide_it(connection: Connection) -> None:
    shards = [
        numbers(connection.batches(1, clip=_CLIP, split=_PARTS[0], shard=(rank, 3), drop_remainder=False))
        for rank in range(3)
    ]
    assert sorted(itertools.chain(*shards)) == sorted(numbers(connection.batches(1, clip=_CLIP, split=_PARTS[0])))


def test_a_part_goes_on_where_it_was_left(connection: Connection) -> None:
    whole = numbers(connection.batches(1, clip=_CLIP, split=_PARTS[0], epochs=2))
    resumed = numbers(connection.batches(1, clip=_CLIP, split=_PARTS[0], epochs=2, start=(0, 2)))
    assert resumed[: len(whole) - 2] == whole[2:]


def test_videos_are_chosen_by_names_as_batches_have_them(connection: Connection, reference: Reference) -> None:
    (batch,) = connection.batches(2, clip=_CLIP, videos=reference.names[1:3], shuffle=False)
    assert batch["index"].tolist() == [1, 2]
    again = numbers(connection.batches(2, clip=_CLIP, videos=batch["video"], shuffle=False))
    assert again == [1, 2]


def test_an_unknown_video_is_refused_with_the_closest_name(connection: Connection, reference: Reference) -> None:
    with pytest.raises(ConfigError, match=rf"did you mean '{reference.names[2]}'\?"):
        next(connection.batches(2, clip=_CLIP, videos=[f"{reference.names[2]}x"]))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"split": "train[90%"}, r"is no part of the videos"),
        ({"split": "train[:60%]", "index": np.arange(3)}, r"split= and an index both say"),
        ({"videos": ["a"], "index": np.arange(3)}, r"videos= and an index both say"),
        ({"videos": []}, r"videos= has no name"),
        ({"videos": "video0"}, r"is no list of names"),
        ({"videos": ["v"] * 3 + [3]}, r"videos= has 3, which is no text; give"),
        ({"videos": [b"\xff"]}, r"not UTF-8"),
        (
            {"videos": [f"video{number}" for number in range(100_001)]},
            r"100000 of 3145728 bytes can travel; give split",
        ),
        ({"videos": ["v" * 3_200_000]}, r"names of 3200000 bytes"),
    ],
)
def test_what_cannot_be_chosen_is_refused_before_it_is_sent(connection: Connection, options: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        next(connection.batches(2, clip=_CLIP, **options))


def test_as_many_names_as_may_travel_do(connection: Connection) -> None:
    names = [f"{number:030d}" for number in range(100_000)]
    with pytest.raises(ConfigError, match=r"names '0{30}', like 99999 others, which is none of"):
        next(connection.batches(2, clip=Frame(), videos=names))


@pytest.mark.tensorflow
def test_one_service_gives_a_fit_train_and_validation_data(tf: Any, service: Service, reference: Reference) -> None:
    common = {"batch_size": 1, "clip": _CLIP, "fields": ("index",), "drop_remainder": False}
    train, validation = (loader_client.dataset(service.endpoint, split=part, **common) for part in _PARTS)
    assert int(train.cardinality()) + int(validation.cardinality()) == reference.videos
    seen = [sorted(int(index[0]) for (index,) in part) for part in (train, train, validation)]
    assert seen[0] == seen[1]
    assert sorted(seen[0] + seen[2]) == list(range(reference.videos))
