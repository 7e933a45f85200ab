"""Whole videos of different length come padded, in buckets, or ragged, with all their frames; frames come alone."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import loader_client
from loader_client import ConfigError, Connection, Frame, Image, Ragged
from tests.client.reference import Reference
from tests.support.services import Service


def check_rows(reference: Reference, index: Any, lengths: Any, rows: Any) -> None:
    """Fail unless each row is all of its video, and zeros behind that."""
    for video, length, row in zip(index, lengths, rows, strict=True):
        whole = reference.clip(int(video), 0, reference.length(int(video), 10**6))
        assert length == len(whole)
        np.testing.assert_array_equal(row[:length], whole)
        assert not row[length:].any()


@pytest.mark.parametrize("batching", ["pad", "bucket"])
def test_padded_videos_have_the_room_of_the_longest_of_their_batch(
    connection: Connection, reference: Reference, batching: Any
) -> None:
    seen = []
    for batch in connection.batches(5, clip=None, batching=batching, drop_remainder=False):
        assert batch["frames"].shape[1] == batch["length"].max()
        check_rows(reference, batch["index"], batch["length"], batch["frames"])
        seen.extend(batch["index"].tolist())
    assert sorted(seen) == list(range(reference.videos))


def test_ragged_videos_have_no_padding(connection: Connection, reference: Reference) -> None:
    for batch in connection.batches(4, clip=None, batching="ragged"):
        frames = batch["frames"]
        assert isinstance(frames, Ragged)
        assert len(frames.values) == batch["length"].sum()
        check_rows(reference, batch["index"], frames.lengths, frames)


def test_lengths_are_only_there_when_they_are_asked_for(connection: Connection, reference: Reference) -> None:
    for batching in ("pad", "ragged"):
        (batch,) = itertools.islice(connection.batches(4, clip=None, batching=batching, fields=("frames", "index")), 1)
        assert list(batch) == ["frames", "index"]


def test_single_videos_have_no_batch_axis(connection: Connection, reference: Reference) -> None:
    for sample in connection.batches(None, clip=None, shuffle=False):
        whole = reference.clip(int(sample["index"]), 0, reference.length(int(sample["index"]), 10**6))
        np.testing.assert_array_equal(sample["frames"], whole)


def test_random_frames_over_all_videos_are_each_a_sample(connection: Connection, reference: Reference) -> None:
    seen = []
    for batch in connection.batches(8, clip=Frame(), drop_remainder=False):
        assert batch["frames"].shape[1:] == (48, 64, 3)
        for name, start, frame in zip(batch["video"], batch["start"], batch["frames"], strict=True):
            video = reference.names.index(name.decode())
            np.testing.assert_array_equal(frame, reference.clip(video, int(start), 1)[0])
            seen.append((video, int(start)))
    assert len(set(seen)) == len(seen) == sum(reference.length(video, 10**6) for video in range(reference.videos))


def test_the_memory_of_whole_videos_is_the_slots(connection: Connection) -> None:
    stream = connection.open(loader_client.Spec(4, None))
    batch = stream.fetch(0, 0)
    assert stream.leases_out == 1
    view = batch["frames"][1:, 2:]
    del batch
    assert stream.leases_out == 1
    del view
    assert stream.leases_out == 0


# ---- TensorFlow


@pytest.fixture
def make(tf: Any, service: Service) -> Iterator[Any]:
    """Return what makes a dataset of batches of four whole videos."""
    yield lambda **options: loader_client.dataset(service.endpoint, **{"batch_size": 4, "clip": None, **options})
    gc.collect()


@pytest.mark.tensorflow
def test_a_padded_dataset_has_an_open_time_axis(tf: Any, make: Any, reference: Reference) -> None:
    dataset = make(fields=("frames", "index", "length"))
    assert dataset.element_spec == (
        tf.TensorSpec((4, None, 48, 64, 3), tf.uint8),
        tf.TensorSpec((4,), tf.int64),
        tf.TensorSpec((4,), tf.int64),
    )
    assert len(dataset) == 3
    for frames, index, lengths in dataset.as_numpy_iterator():
        check_rows(reference, index, lengths, frames)


@pytest.mark.tensorflow
@pytest.mark.parametrize("drop_remainder", [True, False])
def test_a_ragged_dataset_has_ragged_tensors(tf: Any, make: Any, reference: Reference, drop_remainder: bool) -> None:
    dataset = make(batch_size=5, batching="ragged", fields=("index", "frames"), drop_remainder=drop_remainder)
    rows = 5 if drop_remainder else None
    assert dataset.element_spec[1] == tf.RaggedTensorSpec((rows, None, 48, 64, 3), tf.uint8, ragged_rank=1)
    sizes = []
    for index, frames in dataset:
        assert frames.flat_values.shape[0] == int(tf.reduce_sum(frames.row_lengths()))
        check_rows(reference, index.numpy(), frames.row_lengths().numpy(), [row.numpy() for row in frames])
        sizes.append(len(index))
    assert sizes == ([5, 5] if drop_remainder else [5, 5, 2])


@pytest.mark.tensorflow
@pytest.mark.parametrize("batching", ["pad", "ragged"])
def test_a_dataset_of_single_videos_has_no_batch_axis(tf: Any, make: Any, reference: Reference, batching: str) -> None:
    dataset = make(batch_size=None, batching=batching, shuffle=False)
    assert dataset.element_spec["frames"] == tf.TensorSpec((None, 48, 64, 3), tf.uint8)
    assert dataset.element_spec["label"] == tf.TensorSpec((), tf.int64)
    assert len(dataset) == reference.videos
    for number, sample in enumerate(dataset.as_numpy_iterator()):
        assert sample["index"] == number
        assert sample["video"] == reference.names[number].encode()
        check_rows(reference, [number], [sample["length"]], [sample["frames"]])


@pytest.mark.tensorflow
def test_bucketed_epochs_repeat_exactly_and_have_each_video_once(make: Any, reference: Reference) -> None:
    def epochs() -> list[list[int]]:
        dataset = make(batching="bucket", image=Image(size=(8, 8)), fields=("index",))
        return [[int(number) for (index,) in dataset for number in index] for _ in range(2)]

    first = epochs()
    assert first == epochs()
    assert first[0] != first[1]
    assert all(sorted(epoch) == list(range(reference.videos)) for epoch in first)


@pytest.mark.tensorflow
def test_options_that_contradict_each_other_are_errors_before_a_service_is_asked(tf: Any) -> None:
    with pytest.raises(ConfigError, match="batching='bucket' is for whole videos"):
        loader_client.dataset("ipc:///nowhere", batch_size=2, batching="bucket")
