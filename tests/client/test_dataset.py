"""The dataset is an ordinary tf.data.Dataset: static, counted, composable, and each of its iterators the next epoch."""

from __future__ import annotations

import gc
import itertools
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loader_client
from loader_client import Clip, ConfigError, DecodeError, Image, LoaderError
from tests.client.reference import Reference
from tests.client.trainers import result_of, trainer
from tests.support.services import Service, running_service
from tests.support.videos import make_videos, write_videos
from tests.support.waiting import eventually

pytestmark = pytest.mark.tensorflow

_CLIP = Clip(frames=4, stride=2)

Make = Callable[..., Any]


@pytest.fixture
def make(tf: Any, service: Service) -> Iterator[Make]:
    """Return what makes a dataset of batches of four clips of four frames."""

    def make_dataset(**options: Any) -> Any:
        return loader_client.dataset(service.endpoint, **{"batch_size": 4, "clip": _CLIP, **options})

    yield make_dataset
    gc.collect()  # tf.data's own cycles: what a test made of its dataset ends with the test


def order(dataset: Any) -> list[int]:
    """Return the samples of all batches of one iterator."""
    return [int(index) for batch in dataset for index in batch["index"]]


@pytest.fixture(scope="module")
def epochs(service: Service) -> list[list[int]]:
    """Return the samples of the first six epochs."""
    with loader_client.connect(service.endpoint) as connection:
        return [
            [int(index) for batch in connection.batches(4, clip=_CLIP, start=(epoch, 0)) for index in batch["index"]]
            for epoch in range(6)
        ]


# ---- what it says of itself


def test_all_shapes_are_static_and_the_number_of_batches_is_known(tf: Any, make: Make) -> None:
    dataset = make()
    assert dataset.element_spec == {
        "frames": tf.TensorSpec((4, 4, 48, 64, 3), tf.uint8),
        "label": tf.TensorSpec((4,), tf.int64),
        "index": tf.TensorSpec((4,), tf.int64),
        "video": tf.TensorSpec((4,), tf.string),
        "start": tf.TensorSpec((4,), tf.int64),
        "length": tf.TensorSpec((4,), tf.int64),
    }
    assert int(dataset.cardinality()) == len(dataset) == 3


def test_without_drop_remainder_the_batch_axis_is_open_and_the_last_batch_is_shorter(tf: Any, make: Make) -> None:
    dataset = make(batch_size=5, drop_remainder=False, fields=("frames", "label"), image=Image(size=(24, 32)))
    assert dataset.element_spec == (
        tf.TensorSpec((None, 4, 24, 32, 3), tf.uint8),
        tf.TensorSpec((None,), tf.int64),
    )
    assert int(dataset.cardinality()) == 3
    assert [frames.shape[0] for frames, _ in dataset] == [5, 5, 2]


def test_one_field_is_a_tuple_of_one(tf: Any, make: Make) -> None:
    dataset = make(fields=("index",))
    assert dataset.element_spec == (tf.TensorSpec((4,), tf.int64),)


def test_every_field_is_what_the_files_hold(make: Make, reference: Reference) -> None:
    batches = list(make(batch_size=5, drop_remainder=False).as_numpy_iterator())
    assert sum(len(batch["index"]) for batch in batches) == reference.videos
    for batch in batches:
        reference.check(batch, frames=4, stride=2)


# ---- epochs


def test_each_iterator_is_the_next_epoch(make: Make, epochs: list[list[int]]) -> None:
    dataset = make()
    assert [order(dataset) for _ in range(3)] == epochs[:3]


def test_repeat_goes_through_the_epochs(make: Make, epochs: list[list[int]]) -> None:
    assert order(make().repeat(3)) == list(itertools.chain(*epochs[:3]))


def test_an_iterator_left_in_mid_epoch_does_not_shift_the_next(make: Make, epochs: list[list[int]]) -> None:
    dataset = make()
    assert next(iter(dataset))["index"].numpy().tolist() == epochs[0][:4]
    assert order(dataset) == epochs[1]


# ---- what users make of it


def test_map_prefetch_and_take_see_the_same_batches(tf: Any, make: Make, epochs: list[list[int]]) -> None:
    dataset = make().map(lambda batch: {**batch, "index": batch["index"] + 0}, num_parallel_calls=tf.data.AUTOTUNE)
    assert order(dataset.prefetch(2)) == epochs[0]
    assert order(dataset.take(2)) == epochs[1][:8]
    assert order(dataset.skip(1)) == epochs[2][4:]


def test_shuffle_keeps_every_batch(make: Make, epochs: list[list[int]]) -> None:
    assert sorted(order(make().shuffle(3, seed=1))) == sorted(epochs[0])


def test_cache_keeps_the_first_epoch(make: Make, epochs: list[list[int]], reference: Reference) -> None:
    dataset = make().cache()
    assert [order(dataset) for _ in range(3)] == [epochs[0]] * 3
    for batch in dataset.as_numpy_iterator():
        reference.check(batch, frames=4, stride=2)


def test_a_dataset_zipped_with_itself_gives_two_epochs_side_by_side(
    tf: Any, make: Make, epochs: list[list[int]]
) -> None:
    dataset = make()
    pairs = [
        (one["index"].numpy().tolist(), two["index"].numpy().tolist())
        for one, two in tf.data.Dataset.zip(dataset, dataset)
    ]
    sides = [list(itertools.chain.from_iterable(side)) for side in zip(*pairs, strict=True)]
    assert sorted(sides) == sorted(epochs[:2])


def test_iterators_that_begin_at_the_same_time_are_different_epochs(
    tf: Any, make: Make, epochs: list[list[int]]
) -> None:
    dataset = make()
    barrier = threading.Barrier(4)

    def read(_: int) -> list[int]:
        iterator = iter(dataset)
        barrier.wait()
        return order(iterator)

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(read, range(4))) == sorted(epochs[:4])


def test_batches_may_be_cut_and_joined_again(make: Make, epochs: list[list[int]], reference: Reference) -> None:
    dataset = make().unbatch().batch(6)
    for batch in dataset.as_numpy_iterator():
        assert len(batch["index"]) == 6
        reference.check(batch, frames=4, stride=2)
    assert order(dataset) == epochs[1]


def test_interleaved_datasets_of_different_batch_sizes_do_not_disturb_each_other(
    make: Make, epochs: list[list[int]]
) -> None:
    small, large = make(batch_size=2), make()
    seen: list[list[int]] = [[], []]
    for batches in itertools.zip_longest(small.repeat(2), large.repeat(2)):
        for indices, batch in zip(seen, batches, strict=True):
            indices.extend([] if batch is None else batch["index"].numpy().tolist())
    assert seen == [epochs[0] + epochs[1]] * 2  # the order of samples is one for all batch sizes


def test_it_can_be_iterated_inside_a_tf_function(tf: Any, make: Make, epochs: list[list[int]]) -> None:
    @tf.function
    def total(dataset: Any) -> Any:
        found = tf.constant(0, tf.int64)
        for batch in dataset:
            found += tf.reduce_sum(batch["index"] * batch["index"])
        return found

    assert int(total(make())) == sum(index * index for index in epochs[0])


def test_what_is_made_of_a_dataset_keeps_its_stream_open(make: Make, epochs: list[list[int]]) -> None:
    iterator = iter(make().map(lambda batch: batch["index"]).prefetch(1))
    gc.collect()
    assert [int(index) for batch in iterator for index in batch] == epochs[0]


def test_a_dataset_that_is_gone_closes_its_stream(make: Make, service: Service) -> None:
    dataset = make()
    next(iter(dataset))
    with loader_client.connect(service.endpoint) as onlooker:
        assert len(onlooker.status().streams) == 1
        del dataset
        eventually(lambda: gc.collect() is not None and not onlooker.status().streams, "the stream is closed")


def test_it_can_be_iterated_in_the_debug_mode_of_tf_data(tf: Any, service: Service, epochs: list[list[int]]) -> None:
    program = """
import sys
import tensorflow as tf
import loader_client

tf.data.experimental.enable_debug_mode()
dataset = loader_client.dataset(sys.argv[1], batch_size=4, clip=loader_client.Clip(frames=4, stride=2))
print([int(index) for batch in dataset.repeat(2) for index in batch["index"]])
"""
    with trainer(program, service.endpoint) as process:
        assert json.loads(result_of(process)) == epochs[0] + epochs[1]


# ---- errors


def test_an_error_names_file_video_and_frame_and_is_recovered_from_tensorflows(tf: Any, tmp_path: Path) -> None:
    videos = make_videos([6] * 4)
    videos["video1"][3] = videos["video1"][3][:200]
    write_videos(tmp_path / "torn.h5", "group_vlen", videos)
    with running_service(tmp_path / "torn.h5") as running:
        dataset = loader_client.dataset(running.endpoint, batch_size=1, clip=Clip(frames=6), shuffle=False)
        iterator = iter(dataset)
        next(iterator)
        with pytest.raises(tf.errors.OpError, match=r"torn\.h5', video 'video1', frame 3") as caught:
            next(iterator)
        error = loader_client.error_of(caught.value)
        assert type(error) is DecodeError
        assert str(error).startswith("epoch 0, step 1: file '")
        assert "Traceback" not in str(error)
        assert "\n" not in str(error)
        assert next(iterator)["index"].numpy().tolist() == [2]  # the samples after it are as good as before
        del caught, dataset, iterator
        gc.collect()


def test_error_of_passes_on_what_is_ours_and_nothing_else() -> None:
    ours = LoaderError("said so")
    assert loader_client.error_of(ours) is ours
    assert loader_client.error_of(ValueError("no, 'DecodeErrors: many' is none")) is None


def test_a_service_that_was_asked_for_by_endpoint_takes_no_options_of_a_private_one(make: Make) -> None:
    with pytest.raises(ConfigError, match="workers, ray_workers and service configure a private service"):
        make(workers=2)


def test_a_spec_that_cannot_be_met_is_an_error_at_once_and_leaves_no_connection(make: Make) -> None:
    with pytest.raises(ConfigError, match="batch_size=13"):
        make(batch_size=13)
    with pytest.raises(TypeError, match="keyword argument 'shuffel' of dataset and batches; did you mean 'shuffle'"):
        make(shuffel=True)


def test_frames_are_the_same_as_those_of_the_numpy_client(make: Make, service: Service) -> None:
    image = Image(size=(32, 32), crop="random", flip=True)
    with loader_client.connect(service.endpoint) as connection:
        expected = [batch["frames"] for batch in connection.batches(4, clip=_CLIP, image=image, epochs=2)]
        seen = [batch["frames"] for batch in make(image=image).repeat(2).as_numpy_iterator()]
        np.testing.assert_array_equal(seen, expected)


# ---- a start


def _samples(dataset: Any) -> list[list[int]]:
    return [batch["index"].numpy().tolist() for batch in dataset]


def test_a_start_begins_the_first_iterator_there_and_those_after_it_follow(tf: Any, service: Service) -> None:
    options: Any = {"batch_size": 4, "clip": Clip(frames=4)}
    whole = loader_client.dataset(service.endpoint, **options)
    epochs = [_samples(whole) for _ in range(4)]
    for start, cardinality in (((2, 0), 3), ((1, 3), 3), ((2, 1), -2)):
        dataset = loader_client.dataset(service.endpoint, start=start, **options)
        assert int(dataset.cardinality()) == cardinality
        assert _samples(dataset) == (epochs[2][1:] if start == (2, 1) else epochs[2])
        assert _samples(dataset) == epochs[3]
    gone_on = loader_client.dataset(service.endpoint, start=(1, 2), **options).repeat().take(4)
    assert _samples(gone_on) == [*epochs[1][2:], *epochs[2]]


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ((0, 4), "start step=4 is out of range; give 0 to 3"),
        ((0, -1), "start step=-1 is out of range"),
        ((-1, 0), "start epoch=-1 is out of range"),
        ((1.0, 0), r"start epoch=1\.0 is not a whole number"),
        (2, r"start=2 is not a pair; give \(epoch, step\)"),
    ],
)
def test_a_start_that_is_no_step_is_refused_at_once(tf: Any, service: Service, start: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        loader_client.dataset(service.endpoint, batch_size=4, clip=Clip(frames=4), start=start)


def test_an_index_dataset_has_no_start_of_ours(tf: Any, service: Service) -> None:
    index = tf.data.Dataset.range(8)
    with pytest.raises(ConfigError, match="whose order is its own"):
        loader_client.dataset(service.endpoint, batch_size=4, index=index, start=(0, 1))
