"""Training as users do it: fit, checkpoints across processes, several devices, several trainers on one service."""

from __future__ import annotations

import gc
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import loader_client
from loader_client import Clip
from tests.client.trainers import result_of, trainer
from tests.support.services import Service, running_service

pytestmark = pytest.mark.tensorflow

_CLIP = Clip(frames=4)


@pytest.fixture(autouse=True)
def without_cycles() -> Iterator[None]:
    yield
    gc.collect()  # tf.data's own: what a test made of its dataset ends with the test


def _order(endpoint: str, batch_size: int, epochs: int, **options: Any) -> list[list[int]]:
    """Return the samples of each epoch."""
    with loader_client.connect(endpoint) as connection:
        return [
            [
                int(index)
                for batch in connection.batches(batch_size, clip=_CLIP, start=(epoch, 0), **options)
                for index in batch["index"]
            ]
            for epoch in range(epochs)
        ]


# ---- Keras


def test_fit_with_validation_data_trains_on_an_epoch_of_each_at_a_time(tf: Any, service: Service) -> None:
    def pairs(batch: Any) -> Any:
        return tf.cast(batch["frames"][:, 0, ::8, ::8], tf.float32) / 255.0, batch["index"]

    training = loader_client.dataset(service.endpoint, batch_size=4, clip=_CLIP)
    validation = loader_client.dataset(
        service.endpoint, batch_size=5, clip=Clip(frames=4, sampling="center"), shuffle=False, drop_remainder=False
    )
    seen: list[int] = []

    class Model(tf.keras.Sequential):  # type: ignore[misc] # TensorFlow has no types
        """Notes which samples its training steps get."""

        def train_step(self, data: Any) -> Any:
            seen.extend(data[1].numpy().tolist())
            return super().train_step(data)

    model = Model([tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)])
    model.compile(loss="mse", run_eagerly=True)
    history = model.fit(training.map(pairs), validation_data=validation.map(pairs), epochs=3, verbose=0, shuffle=False)
    assert len(history.history["loss"]) == len(history.history["val_loss"]) == 3
    assert seen == list(itertools.chain(*_order(service.endpoint, 4, 3)))


def test_fit_in_graph_mode_with_an_endless_dataset(tf: Any, service: Service) -> None:
    dataset = loader_client.dataset(service.endpoint, batch_size=4, clip=_CLIP, fields=("frames", "label"))
    model = tf.keras.Sequential(
        [tf.keras.layers.Rescaling(1 / 255), tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)]
    )
    model.compile(loss="mse", jit_compile=False)
    history = model.fit(dataset.repeat(), steps_per_epoch=7, epochs=2, verbose=0, shuffle=False)
    assert len(history.history["loss"]) == 2


# ---- checkpoints

_RESUMING = """
import json, sys
import tensorflow as tf
import loader_client

endpoint, path, steps, mode = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
dataset = loader_client.dataset(endpoint, batch_size=4, clip=loader_client.Clip(frames=4), drop_remainder=False)
made = {
    "repeat": lambda: dataset.repeat(),
    "plain": lambda: dataset,
    "prefetch": lambda: dataset.map(lambda batch: batch, num_parallel_calls=2).repeat().prefetch(2),
}[mode]()
iterator = iter(made)
checkpoint = tf.train.Checkpoint(iterator=iterator)
restore = tf.train.latest_checkpoint(path)
if restore:
    checkpoint.restore(restore).assert_consumed()
log = []
for _, batch in zip(range(steps), iterator):
    log.append([batch["index"].numpy().tolist(), int(tf.reduce_sum(tf.cast(batch["frames"], tf.int64)))])
if not restore:
    checkpoint.save(path + "/training")
if mode == "plain":
    log += [[batch["index"].numpy().tolist(), 0] for batch in made]  # the next iterator
print(json.dumps(log))
"""


def _run(*arguments: object) -> Any:
    with trainer(_RESUMING, *arguments) as process:
        return json.loads(result_of(process))


@pytest.mark.parametrize("mode", ["repeat", "prefetch"])
def test_a_checkpoint_resumes_in_a_new_process_at_the_exact_step(service: Service, tmp_path: Path, mode: str) -> None:
    before = _run(service.endpoint, tmp_path, 4, mode)
    after = _run(service.endpoint, tmp_path, 5, mode)
    with loader_client.connect(service.endpoint) as connection:
        whole = [
            [batch["index"].tolist(), int(batch["frames"].sum(dtype="int64"))]
            for batch in connection.batches(4, clip=_CLIP, epochs=3, drop_remainder=False)
        ]
    assert before + after == whole


def test_the_epoch_after_a_resumed_one_is_the_next(service: Service, tmp_path: Path) -> None:
    epochs = _order(service.endpoint, 4, 3, drop_remainder=False)
    before = _run(service.endpoint, tmp_path, 2, "plain")
    assert [samples for samples, _ in before] == [epochs[0][:4], epochs[0][4:8], *_cut(epochs[1])]
    after = _run(service.endpoint, tmp_path, 99, "plain")
    assert [samples for samples, _ in after] == [epochs[0][8:], *_cut(epochs[1])]


def _cut(epoch: list[int]) -> list[list[int]]:
    return [epoch[first : first + 4] for first in range(0, len(epoch), 4)]


# ---- several devices, several trainers


def test_a_mirrored_strategy_gives_each_batch_to_its_devices_in_parts(tf: Any, service: Service) -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    dataset = loader_client.dataset(service.endpoint, batch_size=4, clip=_CLIP)
    distributed = strategy.experimental_distribute_dataset(dataset)
    expected = _order(service.endpoint, 4, 2)
    for epoch in range(2):
        seen: list[int] = []
        for batch in distributed:
            parts = strategy.experimental_local_results(batch["index"])
            assert [len(part) for part in parts] == [2, 2]
            seen += [int(index) for part in parts for index in part]
        assert seen == expected[epoch]


def test_datasets_made_per_input_pipeline_read_their_shards(tf: Any, service: Service) -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

    def make(context: Any) -> Any:
        size = context.get_per_replica_batch_size(4)
        shard = (context.input_pipeline_id, context.num_input_pipelines)
        return loader_client.dataset(service.endpoint, batch_size=size, clip=_CLIP, shard=shard)

    distributed = strategy.distribute_datasets_from_function(make)
    seen: list[int] = []
    for batch in distributed:
        parts = strategy.experimental_local_results(batch["index"])
        assert [len(part) for part in parts] == [2, 2]
        seen += [int(index) for part in parts for index in part]
    assert sorted(seen) == list(range(12))


_SHARD = """
import json, sys
import loader_client

endpoint, rank, batch_size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
dataset = loader_client.dataset(
    endpoint, batch_size=batch_size, clip=loader_client.Clip(frames=4), shard=(rank, 2), drop_remainder=False
)
next(iter(dataset))
print("ready", flush=True)
sys.stdin.readline()
print(json.dumps([[int(index) for batch in dataset for index in batch["index"]] for _ in range(3)]))
"""


def test_two_trainers_at_once_read_disjoint_shards_that_cover_each_epoch(service: Service) -> None:
    with trainer(_SHARD, service.endpoint, 0, 2) as first, trainer(_SHARD, service.endpoint, 1, 3) as second:
        both = (first, second)
        for process in both:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in both:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        logs = [json.loads(result_of(process)) for process in both]
    for one, other in zip(*logs, strict=True):
        assert sorted(one + other) == list(range(12))
        assert (len(one), len(other)) == (6, 6)


def test_two_datasets_of_one_trainer_read_side_by_side(tf: Any, service: Service) -> None:
    small = loader_client.dataset(service.endpoint, batch_size=2, clip=_CLIP, seed=1)
    large = loader_client.dataset(service.endpoint, batch_size=6, clip=Clip(frames=2), seed=1)
    seen: list[list[int]] = [[], []]
    for pair in tf.data.Dataset.zip(small.repeat(2), large.repeat(6)):
        for indices, batch in zip(seen, pair, strict=True):
            indices.extend(batch["index"].numpy().tolist())
    assert seen[0] == list(itertools.chain(*_order(service.endpoint, 2, 2, seed=1)))
    assert seen[1] == list(itertools.chain(*_order(service.endpoint, 6, 6, seed=1)))


def test_scaling_under_a_training_changes_neither_bytes_nor_order(tf: Any, small_videos: Path) -> None:
    with running_service(small_videos / "*.h5", workers=1) as scaled:
        dataset = loader_client.dataset(scaled.endpoint, batch_size=4, clip=_CLIP).repeat(6)
        with loader_client.connect(scaled.endpoint) as connection:
            expected = [batch["frames"].tobytes() for batch in connection.batches(4, clip=_CLIP, epochs=6)]
            seen = []
            for number, batch in enumerate(dataset.as_numpy_iterator()):
                seen.append(batch["frames"].tobytes())
                if number in (2, 8, 12):
                    connection.scale({2: 4, 8: 2, 12: 1}[number])
        assert seen == expected
        del dataset
        gc.collect()
