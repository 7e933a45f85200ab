"""Lists of numbers as a client has them: padded with lengths, or ragged, in TensorFlow and in NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np
import pytest

import loader_client
from loader_client import Clip, Connection, Frame, Image, Ragged, Window
from loader_client.request import Request
from loader_client.tensor_columns import columns_of
from loader_service.protocol.fields import Field
from loader_service.protocol.spec import Spec
from tests.support.boxes import COUNTS, boxes_of, boxes_schema, write_boxes
from tests.support.services import running_service

FRAMES = [(video, frame) for video, counts in enumerate(COUNTS) for frame in range(len(counts))]
#: The sample whose JPEG cannot be decoded.
BAD = 1

MOST = max(map(max, COUNTS))


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    folder = tmp_path_factory.mktemp("boxes")
    write_boxes(folder / "a.h5")
    with h5py.File(folder / "a.h5", "a") as file:  # one JPEG is damaged
        file["video0/frames"][BAD] = file["video0/frames"][BAD][:100]
    schema = boxes_schema(folder / "schema.toml")
    with (
        running_service(folder / "a.h5", workers=2, schema=schema) as service,
        loader_client.connect(service.endpoint) as connected,
    ):
        yield connected


def lists_of(value: Any) -> list[Any]:
    """Return ragged arrays as plain lists of arrays, however deep."""
    return [lists_of(each) if isinstance(each, Ragged) else each for each in map(value.__getitem__, range(len(value)))]


def check(got: Any, places: list[tuple[int, int]]) -> None:
    assert len(got) == len(places)
    for boxes, place in zip(got, places, strict=True):
        np.testing.assert_array_equal(boxes, boxes_of(*place))


def places_of(video: int) -> list[tuple[int, int]]:
    return [(video, frame) for frame in range(len(COUNTS[video]))]


def test_ragged_lists_of_numpy_have_no_padding_and_no_lengths_that_nobody_asked_for(connection: Connection) -> None:
    (batch,) = connection.batches(len(FRAMES), clip=Frame(), shuffle=False, batching="ragged", fields=("boxes",))
    assert list(batch) == ["boxes"]
    check(lists_of(batch["boxes"]), FRAMES)
    assert batch["boxes"].values.shape == (sum(map(sum, COUNTS)), 4)


@pytest.mark.parametrize("clip", [None, Clip(3, sampling="start")])
def test_ragged_lists_of_videos_and_clips_are_rows_of_frames(connection: Connection, clip: Clip | None) -> None:
    (batch,) = connection.batches(3, clip=clip, shuffle=False, batching="ragged", fields=("boxes", "length"))
    for video, row in enumerate(lists_of(batch["boxes"])):
        check(row, places_of(video)[: 3 if clip else None])
    assert batch["length"].tolist() == ([3, 3, 3] if clip else list(map(len, COUNTS)))


def test_a_single_sample_has_a_list_of_its_own_length(connection: Connection) -> None:
    options: Any = {"clip": Frame(), "shuffle": False, "batching": "ragged", "fields": ("boxes",)}
    check([batch["boxes"] for batch in connection.batches(None, **options)], FRAMES)


def test_shuffled_shards_that_go_on_in_their_middle_have_the_lists_of_their_samples(connection: Connection) -> None:
    options: Any = {
        "clip": Frame(),
        "image": Image(size=(8, 8)),
        "fields": ("index", "frames", "boxes", "boxes_length"),
        "on_error": "substitute",
        "drop_remainder": False,
        "seed": 4,
    }
    seen = []
    for rank in range(2):
        whole = list(connection.batches(2, shard=(rank, 2), epochs=2, **options))
        resumed = list(connection.batches(2, shard=(rank, 2), epochs=2, start=(0, 2), **options))
        for batch, again in zip(whole[2:], resumed, strict=True):
            assert all((batch[name] == again[name]).all() for name in batch)
        for batch in whole:
            lists = [row[:length] for row, length in zip(batch["boxes"], batch["boxes_length"], strict=True)]
            check(lists, [FRAMES[number] for number in batch["index"]])
        seen += [number for batch in whole for number in batch["index"].tolist()]
    assert BAD not in seen
    assert set(range(len(FRAMES))) - {BAD} <= set(seen)


@pytest.mark.tensorflow
@pytest.mark.parametrize("drop_remainder", [True, False])
def test_a_dataset_has_ragged_lists_of_each_frame(tf: Any, connection: Connection, drop_remainder: bool) -> None:
    dataset = loader_client.dataset(
        connection,
        batch_size=5,
        clip=Frame(),
        shuffle=False,
        batching="ragged",
        fields=("index", "boxes"),
        drop_remainder=drop_remainder,
    )
    rows = 5 if drop_remainder else None
    assert dataset.element_spec[1] == tf.RaggedTensorSpec((rows, None, 4), tf.float32, ragged_rank=1)
    for index, boxes in dataset:
        check([row.numpy() for row in boxes], [FRAMES[number] for number in index.numpy()])


@pytest.mark.tensorflow
def test_a_dataset_has_static_shapes_of_padded_lists(tf: Any, connection: Connection) -> None:
    dataset = loader_client.dataset(connection, batch_size=3, clip=Clip(2), fields=("boxes", "boxes_length"))
    assert dataset.element_spec == (tf.TensorSpec((3, 2, MOST, 4), tf.float32), tf.TensorSpec((3, 2), tf.int64))
    capped = loader_client.dataset(
        connection, batch_size=3, clip=Frame(), fields=("boxes",), windows=[Window("boxes", (2, None))]
    )
    assert capped.element_spec == (tf.TensorSpec((3, 2, 4), tf.float32),)
    for boxes, lengths in dataset:
        mask = tf.sequence_mask(lengths, MOST)
        assert not tf.boolean_mask(boxes, ~mask).numpy().any()


@pytest.mark.tensorflow
def test_a_dataset_has_ragged_lists_of_clips_and_whole_videos(tf: Any, connection: Connection) -> None:
    options: Any = {"batch_size": 3, "shuffle": False, "batching": "ragged", "fields": ("boxes", "index")}
    clips = loader_client.dataset(connection, clip=Clip(3, sampling="start"), **options)
    assert clips.element_spec[0] == tf.RaggedTensorSpec((3, 3, None, 4), tf.float32, ragged_rank=2)
    videos = loader_client.dataset(connection, clip=None, **options)
    assert videos.element_spec[0] == tf.RaggedTensorSpec((3, None, None, 4), tf.float32, ragged_rank=2)
    for dataset, frames in ((clips, 3), (videos, None)):
        ((boxes, _),) = list(dataset)
        for video in range(3):
            check([each.numpy() for each in boxes[video]], places_of(video)[:frames])


def test_the_columns_of_a_slot_say_which_axes_are_ragged() -> None:
    boxes, lengths = Field("boxes", "float32", (2, 9, 4), lengths="n"), Field("n", "int64", (2,))
    request = Request(Spec(3, Clip(2), batching="ragged"), None, batched=True)
    (column,) = columns_of([boxes], [boxes, lengths], request)
    assert (column.axes, column.values, column.types) == ((2, None), (None, 4), ["float32", "int64"])
    assert column.shapes((3,)) == [(None, 4), (7,)]
    assert column.shapes((None,)) == [(None, 4), (None,)]


def test_neighbouring_rows_of_a_ragged_array_are_one_too() -> None:
    ragged = Ragged(np.arange(6), np.array([0, 2, 2, 5, 6]))
    some = ragged[1:3]
    assert (some.values.tolist(), some.row_splits.tolist(), some.lengths.tolist()) == ([2, 3, 4], [0, 0, 3], [0, 3])
    assert len(ragged[3:1]) == 0
    with pytest.raises(IndexError, match="give a step of 1"):
        ragged[::2]
