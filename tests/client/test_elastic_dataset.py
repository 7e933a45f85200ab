"""A `tf.data` training goes on with another number of ranks in the middle of an epoch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import loader_client
from loader_client import ConfigError, Frame
from tests.support.services import Service

pytestmark = pytest.mark.tensorflow


def test_a_dataset_goes_on_with_other_ranks_and_then_with_whole_epochs(tf: Any, service: Service) -> None:
    common: dict[str, Any] = {"clip": Frame(), "fields": ("index",), "drop_remainder": False}
    with loader_client.connect(service.endpoint) as connection:
        whole = Counter(int(each) for batch in connection.batches(8, **common) for each in batch["index"])
        seen, states, following = Counter[int](), [], Counter[int]()
        for rank in range(4):
            before = loader_client.dataset(connection, batch_size=3, shard=(rank, 4), **common)
            seen.update(int(each) for (batch,) in before.take(rank) for each in batch.numpy())
            states.append(loader_client.state_after(before, rank))
        for rank in range(2):
            ds = loader_client.dataset(connection, batch_size=2, shard=(rank, 2), start=states, **common)
            seen.update(int(each) for (batch,) in ds for each in batch.numpy())
            following.update(int(each) for (batch,) in ds for each in batch.numpy())
        assert seen == following == whole
        with pytest.raises(ConfigError, match=r"not what loader_client\.dataset returned"):
            loader_client.state_after(ds.take(1), 0)


def test_an_iterator_of_another_share_or_order_is_refused_and_not_gone_on_with(
    tf: Any, service: Service, tmp_path: Path
) -> None:
    given: dict[str, Any] = {"clip": Frame(), "fields": ("index",), "batch_size": 2, "shard": (1, 4)}
    with loader_client.connect(service.endpoint) as connection:

        def iterator_of(**other: Any) -> Any:
            return iter(loader_client.dataset(connection, **{**given, **other}).repeat())

        saved = iterator_of()
        for _ in range(2):
            next(saved)
        path = tf.train.Checkpoint(iterator=saved).write(str(tmp_path / "iterator"))
        following = [next(saved)[0].numpy().tolist() for _ in range(3)]
        for other, words in (
            ({"shard": (1, 2)}, "saved by rank 1 of 4, and this is rank 1 of 2"),
            ({"shard": (0, 4)}, "saved by rank 1 of 4, and this is rank 0 of 4"),
            ({"batch_size": 3}, "another batch size, seed or order"),
            ({"seed": 5}, "another batch size, seed or order"),
        ):
            iterator = iterator_of(**other)
            with pytest.raises(tf.errors.OpError) as refused:
                tf.train.Checkpoint(iterator=iterator).read(path)
            assert isinstance(loader_client.error_of(refused.value), ConfigError)
            assert words in str(refused.value)
        same = iterator_of()
        tf.train.Checkpoint(iterator=same).read(path)
        assert [next(same)[0].numpy().tolist() for _ in range(3)] == following
