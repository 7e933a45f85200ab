"""An index gives the samples that it names, shuffled or as its generator has them, and says which entry each row is."""

from __future__ import annotations

import gc
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loader_client
from loader_client import Clip, ConfigError, Connection, Frame
from tests.client.reference import Reference
from tests.client.trainers import result_of, trainer
from tests.support.services import Service

_CLIP = Clip(frames=4)
_ROWS = np.array([3, 3, 11, 0, 7, 3, 1, 9, 9, 5])


def entries(batches: Any) -> list[tuple[int, int]]:
    """Return (sample, position) of all rows."""
    return [
        (int(sample), int(position))
        for batch in batches
        for sample, position in zip(batch["index"], batch["position"], strict=True)
    ]


# ---- an array


def test_an_epoch_is_a_shuffle_of_the_index_with_the_right_contents(
    connection: Connection, reference: Reference
) -> None:
    batches = list(connection.batches(4, clip=_CLIP, index=_ROWS, drop_remainder=False))
    assert sorted(position for _, position in entries(batches)) == list(range(10))
    assert all(_ROWS[position] == sample for sample, position in entries(batches))
    for batch in batches:
        reference.check(batch, frames=4)


def test_an_entry_that_occurs_again_has_draws_of_its_own(connection: Connection) -> None:
    (batch,) = connection.batches(12, clip=Clip(frames=2), index=[9] * 12)  # a video of 17 frames
    assert len(set(batch["start"].tolist())) > 3


def test_an_index_may_be_longer_and_its_batches_larger_than_the_data_set(
    connection: Connection, reference: Reference
) -> None:
    (batch,) = connection.batches(40, clip=_CLIP, index=np.arange(40) % 12)
    reference.check(batch, frames=4)


def test_shards_of_an_index_are_disjoint_and_cover_it(connection: Connection) -> None:
    parts = [
        entries(connection.batches(2, clip=_CLIP, index=_ROWS, shard=(rank, 3), drop_remainder=False))
        for rank in range(3)
    ]
    assert sorted(position for part in parts for _, position in part) == list(range(10))


def test_keys_stand_for_the_samples_that_they_name(connection: Connection, reference: Reference) -> None:
    names = [reference.names[video] for video in (4, 4, 0, 11)]
    batches = list(connection.batches(2, clip=_CLIP, index_keys=names, shuffle=False))
    assert entries(batches) == [(4, 0), (4, 1), (0, 2), (11, 3)]
    assert [name.decode() for batch in batches for name in batch["video"]] == names


def test_what_is_wrong_with_an_index_is_said_before_anything_starts(connection: Connection) -> None:
    for options, says in (
        ({"index": [0, 12]}, r"index\[1\] is 12, and the service has 12 samples, numbered 0 to 11"),
        ({"index": [0.5, 1]}, "dtype float64"),
        ({"index": [1], "index_keys": ["f0v0"]}, "leave one out"),
        ({"index_keys": ["f0v0", "f9v9"]}, "1 of 2 index_keys name no sample by its field 'video': 'f9v9'"),
        ({"index_keys": ["f0v0"], "key_field": "label"}, "key_field='label' holds int64"),
        ({"index_keys": ["f0v0"], "key_field": "names"}, "names"),
        ({"key_field": "label"}, "there are none"),
        ({"index": [1], "order": "interleave"}, "leave one out"),
    ):
        with pytest.raises(ConfigError, match=says):
            next(iter(connection.batches(1, clip=_CLIP, **options)))  # type: ignore[arg-type]
    assert not connection.status().streams


def test_frames_can_be_looked_up_by_number(connection: Connection, reference: Reference) -> None:
    firsts = np.cumsum([0, *(reference.length(video, 10**6) for video in range(reference.videos))])
    wanted = np.array([firsts[3] + 2, firsts[10], firsts[12] - 1])
    (batch,) = connection.batches(3, clip=Frame(), index=wanted, shuffle=False)
    assert batch["start"].tolist() == [2, 0, reference.length(11, 10**6) - 1]
    np.testing.assert_array_equal(batch["frames"][0], reference.clip(3, 2, 1)[0])


# ---- in TensorFlow


@pytest.fixture
def make(tf: Any, service: Service) -> Iterator[Any]:
    """Return what makes a dataset of batches of four clips of an index."""

    def make_dataset(index: Any, **options: Any) -> Any:
        return loader_client.dataset(service.endpoint, **{"batch_size": 4, "clip": _CLIP, "index": index, **options})

    yield make_dataset
    gc.collect()


@pytest.mark.tensorflow
def test_a_dataset_of_an_index_has_its_steps_and_the_order_of_the_numpy_client(
    tf: Any, make: Any, connection: Connection
) -> None:
    dataset = make(_ROWS)
    assert len(dataset) == 2
    assert dataset.element_spec["position"] == tf.TensorSpec((4,), tf.int64)
    expected = entries(connection.batches(4, clip=_CLIP, index=_ROWS, epochs=2))
    assert entries(dataset.repeat(2).as_numpy_iterator()) == expected


@pytest.mark.tensorflow
def test_what_belongs_to_an_entry_is_gathered_in_the_graph(tf: Any, make: Any) -> None:
    captions = tf.constant([f"caption {place} of {row}" for place, row in enumerate(_ROWS)])
    dataset = make(_ROWS, fields=("index", "position")).map(lambda index, place: (index, tf.gather(captions, place)))
    for index, texts in dataset.as_numpy_iterator():
        for row, text in zip(index, texts, strict=True):
            assert text.decode().endswith(f" of {row}")


@pytest.mark.tensorflow
@pytest.mark.parametrize("kind", ["numbers", "vectors", "int32"])
def test_an_index_dataset_of_the_users_own_keeps_its_order(tf: Any, make: Any, reference: Reference, kind: str) -> None:
    index = tf.data.Dataset.from_tensor_slices(_ROWS.astype("int32") if kind == "int32" else _ROWS)
    dataset = make(index.batch(4) if kind == "vectors" else index)
    steps = 3 if kind == "vectors" else 2  # a batch of the user's own may be short
    assert len(dataset) == steps
    assert dataset.element_spec["index"].shape.as_list() == ([None] if kind == "vectors" else [4])
    batches = list(dataset.as_numpy_iterator())
    assert entries(batches) == [(int(row), place) for place, row in enumerate(_ROWS)][: 4 * steps]
    for batch in batches:
        reference.check(batch, frames=4)


@pytest.mark.tensorflow
def test_each_iterator_of_an_index_dataset_is_an_epoch_with_draws_of_its_own(tf: Any, make: Any) -> None:
    dataset = make(tf.data.Dataset.range(8))
    starts = [[int(start) for batch in dataset for start in batch["start"]] for _ in range(4)]
    assert len(set(map(tuple, starts))) > 1


@pytest.mark.tensorflow
def test_an_endless_index_dataset_of_unknown_length_is_read_as_far_as_it_is_used(tf: Any, make: Any) -> None:
    random = tf.data.Dataset.random(seed=3).map(lambda number: number % 12)
    expected = [int(number) for number in random.take(40)]
    dataset = make(random)
    assert int(dataset.cardinality()) == tf.data.INFINITE_CARDINALITY
    assert [sample for sample, _ in entries(itertools.islice(dataset, 10))] == expected
    some = make(tf.data.Dataset.range(12).filter(lambda number: number % 2 == 0), drop_remainder=False)
    assert int(some.cardinality()) == tf.data.UNKNOWN_CARDINALITY
    assert entries(some) == [(2 * place, place) for place in range(6)]


@pytest.mark.tensorflow
def test_steps_of_an_index_dataset_are_made_ahead(tf: Any, make: Any, connection: Connection) -> None:
    from tests.support.waiting import eventually  # noqa: PLC0415 - of this test only

    iterator = iter(make(tf.data.Dataset.range(12).repeat(100), prefetch=6))
    next(iterator)

    def made() -> int:
        return sum(stream.steps_done for stream in connection.status().streams)

    eventually(lambda: made() >= 1 + 6, "six steps are made ahead")
    assert made() == 1 + 6


@pytest.mark.tensorflow
def test_an_entry_of_an_index_dataset_that_is_no_sample_is_an_error_that_names_it(tf: Any, make: Any) -> None:
    iterator = iter(make(tf.data.Dataset.from_tensor_slices([0, 1, 2, 3, 4, 12, 6, 7])))
    next(iterator)
    with pytest.raises(tf.errors.OpError) as caught:
        next(iterator)
    error = loader_client.error_of(caught.value)
    assert isinstance(error, ConfigError)
    assert "entry 5 of the index dataset is 12, and the service has 12 samples, numbered 0 to 11" in str(error)


@pytest.mark.tensorflow
def test_index_datasets_that_give_no_numbers_and_shards_of_them_are_refused(tf: Any, make: Any) -> None:
    with pytest.raises(ConfigError, match=r"give index.shard\(world, rank\) instead"):
        make(tf.data.Dataset.range(8), shard=(0, 2))
    for index in (tf.data.Dataset.from_tensor_slices([0.5]), tf.data.Dataset.from_tensors({"row": 1})):
        with pytest.raises(ConfigError, match="give sample numbers, or vectors of them"):
            make(index)


_RESUMING = """
import json, sys
import tensorflow as tf
import loader_client

endpoint, path, steps, kind = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
index = [3, 3, 11, 0, 7, 3, 1, 9, 9, 5]
if kind == "dataset":
    index = tf.data.Dataset.from_tensor_slices(tf.constant(index, tf.int64)).shuffle(10, seed=5)
dataset = loader_client.dataset(endpoint, batch_size=2, clip=loader_client.Clip(frames=4), index=index)
iterator = iter(dataset.repeat())
checkpoint = tf.train.Checkpoint(iterator=iterator)
restore = tf.train.latest_checkpoint(path)
if restore:
    checkpoint.restore(restore).assert_consumed()
log = []
for number, batch in zip(range(steps), iterator):
    log.append([batch[name].numpy().tolist() for name in ("index", "position", "start")])
    if number == 6 and not restore:
        checkpoint.save(path + "/training")
print(json.dumps(log))
"""


@pytest.mark.tensorflow
@pytest.mark.parametrize("kind", ["array", "dataset"])
def test_a_checkpoint_resumes_an_index_at_the_exact_step(service: Service, tmp_path: Path, kind: str) -> None:
    runs = []
    for steps in (18, 11):
        with trainer(_RESUMING, service.endpoint, tmp_path, steps, kind) as process:
            runs.append(json.loads(result_of(process)))
    whole, resumed = runs
    assert resumed == whole[7:]
