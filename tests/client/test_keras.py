"""A `LoaderSequence` is a PyDataset like any other: by number, for several threads, each epoch the next."""

from __future__ import annotations

import gc
import itertools
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import loader_client
from loader_client import Clip, ConfigError, Image, LoaderError, ServiceUnavailable
from tests.client.reference import Reference
from tests.support.services import Service

pytestmark = pytest.mark.tensorflow

_CLIP = Clip(frames=4)


@pytest.fixture(scope="module")
def awake(tf: Any) -> None:
    """Have Keras open what it opens once per process for sequences that several threads read."""

    class Nothing(tf.keras.utils.PyDataset):  # type: ignore[misc] # TensorFlow has no types
        """One batch of a zero."""

        def __len__(self) -> int:
            return 1

        def __getitem__(self, _index: int) -> Any:
            return (np.zeros((1, 1), np.float32),)

    model = tf.keras.Sequential([tf.keras.layers.Flatten()])
    assert model.predict(Nothing(workers=2), verbose=0).shape == (1, 1)


@pytest.fixture
def make(awake: None, service: Service) -> Iterator[Any]:
    """Return what makes sequences of batches of two clips; they are closed at the end."""
    from loader_client.keras import LoaderSequence  # noqa: PLC0415 - after TensorFlow's own warnings

    made = []

    def make_sequence(**options: Any) -> Any:
        made.append(LoaderSequence(service.endpoint, **{"batch_size": 2, "clip": _CLIP, **options}))
        return made[-1]

    yield make_sequence
    for sequence in made:
        sequence.close()
    gc.collect()


@pytest.fixture(scope="module")
def epochs(service: Service) -> list[list[list[int]]]:
    """Return the samples of each step of the first three epochs."""
    with loader_client.connect(service.endpoint) as connection:
        return [
            [batch["index"].tolist() for batch in connection.batches(2, clip=_CLIP, start=(epoch, 0))]
            for epoch in range(3)
        ]


def test_items_are_tuples_of_the_fields_in_the_order_of_all_other_clients(
    make: Any, epochs: Any, reference: Reference
) -> None:
    names = ("frames", "index", "start", "label")
    sequence = make(fields=names)
    assert len(sequence) == 6
    for epoch in epochs[:2]:
        seen = [sequence[number] for number in range(6)]
        assert [item[1].tolist() for item in seen] == epoch
        for item in seen:
            reference.check(dict(zip(names, item, strict=True)), frames=4)
        sequence.on_epoch_end()


def test_shuffled_numbers_give_the_same_epoch_and_a_number_the_same_batch(make: Any, epochs: Any) -> None:
    sequence = make(fields=("index",))
    asked = [3, 0, 5, 1, 2, 4]
    assert [sequence[number][0].tolist() for number in asked] == epochs[0]
    assert sequence[5][0].tolist() == epochs[0][2]


def test_without_shuffle_an_item_is_the_step_of_its_number(make: Any) -> None:
    sequence = make(fields=("index",), shuffle=False)
    assert [sequence[number][0].tolist() for number in (4, 0)] == [[8, 9], [0, 1]]
    for number in (6, -1):
        with pytest.raises(IndexError, match="of 6"):
            sequence[number]


def test_numbers_of_numpy_name_items_and_epochs(make: Any, epochs: Any) -> None:
    sequence = make(fields=("index",), shuffle=False, first_epoch=np.int64(1))
    assert [sequence[number][0].tolist() for number in np.array([4, 0])] == [[8, 9], [0, 1]]
    resumed = make(fields=("index",), first_epoch=np.int64(1))
    assert [resumed[number][0].tolist() for number in np.arange(6)] == epochs[1]
    with pytest.raises(ConfigError, match="first_epoch=-1 is out of range"):
        make(first_epoch=-1)


def test_threads_side_by_side_get_each_batch_once(make: Any, epochs: Any) -> None:
    sequence = make(fields=("index",), threads=4)
    with ThreadPoolExecutor(4) as threads:
        for epoch in epochs:
            seen = [item[0].tolist() for item in threads.map(sequence.__getitem__, range(6))]
            assert sorted(seen) == sorted(epoch)
            sequence.on_epoch_end()


def test_shards_are_disjoint_and_a_resumed_training_begins_at_its_epoch(make: Any, epochs: Any) -> None:
    parts = [make(fields=("index",), shard=(rank, 2), first_epoch=2) for rank in range(2)]
    seen = [{int(index) for number in range(3) for index in part[number][0]} for part in parts]
    assert not seen[0] & seen[1]
    assert seen[0] | seen[1] == set(range(12))
    whole = make(fields=("index",), first_epoch=2)
    assert [whole[number][0].tolist() for number in range(6)] == epochs[2]


@pytest.mark.parametrize("threads", [1, 3])
def test_fit_trains_on_each_sample_once_an_epoch(tf: Any, make: Any, threads: int) -> None:
    seen: list[int] = []

    class Model(tf.keras.Sequential):  # type: ignore[misc] # TensorFlow has no types
        """Notes which samples its training steps get."""

        def train_step(self, data: Any) -> Any:
            seen.extend(data[1].numpy().tolist())
            return super().train_step(data)

    sequence = make(fields=("frames", "index"), image=Image(size=(8, 8)), threads=threads)
    validation = make(fields=("frames", "index"), image=Image(size=(8, 8)), shuffle=False)
    model = Model([tf.keras.layers.Rescaling(1 / 255), tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)])
    model.compile(loss="mse", run_eagerly=True)
    history = model.fit(sequence, validation_data=validation, epochs=3, verbose=0)
    assert len(history.history["val_loss"]) == 3
    parts = [seen[first : first + 12] for first in range(0, 36, 12)]
    assert all(sorted(part) == list(range(12)) for part in parts)
    assert len(set(map(tuple, parts))) == 3
    assert sequence.epoch == 3
    assert validation.epoch == 3


def test_predictions_are_in_the_order_of_the_samples(tf: Any, make: Any) -> None:
    model = tf.keras.Sequential([tf.keras.layers.Lambda(lambda index: tf.cast(index, tf.float32)[:, None])])
    predicted = model.predict(make(fields=("index",), shuffle=False), verbose=0)
    np.testing.assert_array_equal(predicted[:, 0], np.arange(12))


def test_a_sequence_that_was_closed_says_so_and_its_arrays_stay(make: Any, reference: Reference) -> None:
    sequence = make(fields=("frames", "index", "start"))
    item = sequence[0]
    sequence.close()
    reference.check(dict(zip(("frames", "index", "start"), item, strict=True)), frames=4)
    with pytest.raises(ServiceUnavailable, match="closed"):
        sequence[1]


def test_a_connection_may_be_shared_by_sequences_and_datasets(tf: Any, service: Service, epochs: Any) -> None:
    from loader_client.keras import LoaderSequence  # noqa: PLC0415 - as above

    with loader_client.connect(service.endpoint) as connection:
        sequence = LoaderSequence(connection, batch_size=2, clip=_CLIP, fields=("index",))
        dataset = loader_client.dataset(connection, batch_size=2, clip=_CLIP, fields=("index",))
        both = list(itertools.islice(zip((sequence[number] for number in range(6)), dataset, strict=True), 6))
        assert [one[0].tolist() for one, _ in both] == [two[0].numpy().tolist() for _, two in both] == epochs[0]
        sequence.close()
        assert len(connection.status().streams) == 1
        del dataset
        gc.collect()


def test_ragged_batches_are_refused(make: Any) -> None:
    with pytest.raises(ConfigError, match="give 'pad' or 'bucket'"):
        make(clip=None, batching="ragged")


def test_a_sequence_is_not_pickled_and_says_what_to_do(make: Any) -> None:
    with pytest.raises(LoaderError, match=r"a LoaderSequence cannot be pickled.*make it in the process that uses it"):
        pickle.dumps(make())


def test_a_sequence_begins_at_its_start_and_goes_on_with_whole_epochs(make: Any, epochs: Any) -> None:
    sequence = make(fields=("index",), start=(1, 4))
    assert len(sequence) == 6  # what Keras takes for the length of all epochs
    sequence.on_epoch_begin()
    assert len(sequence) == 2
    assert [sequence[number][0].tolist() for number in range(2)] == epochs[1][4:]
    with pytest.raises(IndexError, match="batch 2 of 2"):
        sequence[2]
    sequence.on_epoch_end()
    assert [sequence[number][0].tolist() for number in range(6)] == epochs[2]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"start": (0, 7)}, "start step=7 is out of range; give 0 to 6"),
        ({"start": (0.5, 0)}, "is not a whole number"),
        ({"start": (1, 0), "first_epoch": 2}, "both say where to begin"),
    ],
)
def test_a_start_of_a_sequence_that_is_none_is_refused(make: Any, options: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        make(**options)
