"""A `tf.data` training goes on with another number of ranks in the middle of an epoch."""

from __future__ import annotations

from collections import Counter
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
