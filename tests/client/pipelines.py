"""What users make of a dataset of numbers, three epochs of it; knows no service. For tests of checkpoints."""

# ruff: noqa: ARG005 - all are called alike, with TensorFlow and the dataset

from __future__ import annotations

from collections.abc import Callable
from typing import Any

EPOCHS = 3

Pipeline = Callable[[Any, Any], Any]


def _twice(tf: Any) -> Callable[[Any], Any]:
    return lambda number: tf.data.Dataset.from_tensors(number).repeat(2)


def _others(tf: Any, count: int) -> Any:
    return tf.data.Dataset.range(10_000, 10_000 + count)


def _choose(tf: Any, *datasets: Any) -> Any:
    return tf.data.Dataset.choose_from_datasets(datasets, tf.data.Dataset.range(2).repeat(4))


def _sample(tf: Any, *datasets: Any) -> Any:
    return tf.data.Dataset.sample_from_datasets(datasets, seed=3, stop_on_empty_dataset=True)


#: Stages before the dataset is repeated, and after it, that keep their input when it has ended. A `batch` does so after
#: a `map`, such as these datasets end in: TensorFlow makes one stage of the two.
PIPELINES: dict[str, Pipeline] = {
    "repeat": lambda tf, ds: ds.repeat(EPOCHS),
    "repeat for ever": lambda tf, ds: ds.repeat().take(4 * EPOCHS),
    "prefetch(1).repeat": lambda tf, ds: ds.prefetch(1).repeat(EPOCHS),
    "prefetch(2).repeat": lambda tf, ds: ds.prefetch(2).repeat(EPOCHS),
    "prefetch(9).repeat": lambda tf, ds: ds.prefetch(9).repeat(EPOCHS),
    "prefetch(AUTOTUNE).repeat": lambda tf, ds: ds.prefetch(tf.data.AUTOTUNE).repeat(EPOCHS),
    "repeat.prefetch(2)": lambda tf, ds: ds.repeat(EPOCHS).prefetch(2),
    "repeat.prefetch(AUTOTUNE)": lambda tf, ds: ds.repeat(EPOCHS).prefetch(tf.data.AUTOTUNE),
    "prefetch.repeat.prefetch": lambda tf, ds: ds.prefetch(2).repeat(EPOCHS).prefetch(2),
    "map.repeat": lambda tf, ds: ds.map(lambda number: number + 1).repeat(EPOCHS),
    "parallel map.repeat": lambda tf, ds: ds.map(lambda number: number + 1, num_parallel_calls=2).repeat(EPOCHS),
    "parallel map(AUTOTUNE).repeat": lambda tf, ds: ds.map(
        lambda number: number + 1, num_parallel_calls=tf.data.AUTOTUNE
    ).repeat(EPOCHS),
    "parallel map.prefetch.repeat": lambda tf, ds: (
        ds.map(lambda number: number + 1, num_parallel_calls=tf.data.AUTOTUNE).prefetch(2).repeat(EPOCHS)
    ),
    "repeat.parallel map": lambda tf, ds: ds.repeat(EPOCHS).map(lambda number: number + 1, num_parallel_calls=2),
    "repeat.parallel map.batch.prefetch": lambda tf, ds: (
        ds.repeat(EPOCHS).map(lambda number: number + 1, num_parallel_calls=2).batch(3).prefetch(2)
    ),
    "batch without a remainder.repeat": lambda tf, ds: ds.batch(2, drop_remainder=True).repeat(EPOCHS),
    "batch with a remainder.repeat": lambda tf, ds: ds.batch(3).repeat(EPOCHS),
    "ragged_batch with a remainder.repeat": lambda tf, ds: ds.ragged_batch(3).repeat(EPOCHS),
    "batch with a remainder.unbatch.repeat": lambda tf, ds: ds.batch(3).unbatch().repeat(EPOCHS),
    "batch.rebatch with a remainder.repeat": lambda tf, ds: ds.batch(2).rebatch(3).repeat(EPOCHS),
    "parallel batch.repeat": lambda tf, ds: ds.batch(3, num_parallel_calls=2).repeat(EPOCHS),
    "repeat.batch": lambda tf, ds: ds.repeat(EPOCHS).batch(3),
    "repeat.batch.rebatch": lambda tf, ds: ds.repeat(EPOCHS).batch(2).rebatch(3),
    "batch.unbatch.repeat": lambda tf, ds: ds.batch(4).unbatch().repeat(EPOCHS),
    "batch.rebatch.repeat": lambda tf, ds: ds.batch(4).rebatch(2).repeat(EPOCHS),
    "map.batch.prefetch.repeat": lambda tf, ds: (
        ds.map(lambda number: number + 1, num_parallel_calls=2).batch(2).prefetch(2).repeat(EPOCHS)
    ),
    "group_by_window.repeat": lambda tf, ds: ds.group_by_window(
        lambda number: number % 2, lambda _, window: window.batch(2), window_size=2
    ).repeat(EPOCHS),
    "repeat.group_by_window": lambda tf, ds: ds.repeat(EPOCHS).group_by_window(
        lambda number: number % 2, lambda _, window: window.batch(2), window_size=2
    ),
    "bucket_by_sequence_length.repeat": lambda tf, ds: ds.bucket_by_sequence_length(
        lambda number: tf.cast(number % 3, tf.int32), [1], [2, 2]
    ).repeat(EPOCHS),
    "concatenate.repeat": lambda tf, ds: ds.concatenate(_others(tf, 2)).repeat(EPOCHS),
    "concatenate with itself.repeat": lambda tf, ds: ds.concatenate(ds).repeat(2),
    "repeat.concatenate": lambda tf, ds: ds.repeat(EPOCHS).concatenate(_others(tf, 2)),
    "zip.repeat": lambda tf, ds: tf.data.Dataset.zip(ds, _others(tf, 4)).repeat(EPOCHS),
    "zip with a longer.repeat": lambda tf, ds: tf.data.Dataset.zip(ds, _others(tf, 9)).repeat(EPOCHS),
    "zip with a shorter.repeat": lambda tf, ds: tf.data.Dataset.zip(ds, _others(tf, 3)).repeat(EPOCHS),
    "zip of repeat": lambda tf, ds: tf.data.Dataset.zip(ds.repeat(EPOCHS), _others(tf, 99)),
    "take.repeat": lambda tf, ds: ds.take(3).repeat(EPOCHS),
    "take of all.repeat": lambda tf, ds: ds.take(4).repeat(EPOCHS),
    "take of more.repeat": lambda tf, ds: ds.take(9).repeat(EPOCHS),
    "skip.repeat": lambda tf, ds: ds.skip(1).repeat(EPOCHS),
    "skip.take.repeat": lambda tf, ds: ds.skip(1).take(2).repeat(EPOCHS),
    "repeat.take": lambda tf, ds: ds.repeat().take(11),
    "repeat.skip": lambda tf, ds: ds.repeat(EPOCHS).skip(3),
    "shuffle.repeat": lambda tf, ds: ds.shuffle(3, seed=1).repeat(EPOCHS),
    "repeat.shuffle": lambda tf, ds: ds.repeat(EPOCHS).shuffle(3, seed=1),
    "shuffle, always the same.repeat": lambda tf, ds: ds.shuffle(3, seed=1, reshuffle_each_iteration=False).repeat(
        EPOCHS
    ),
    "enumerate.repeat": lambda tf, ds: ds.enumerate().repeat(EPOCHS),
    "repeat.enumerate": lambda tf, ds: ds.repeat(EPOCHS).enumerate(),
    "filter.repeat": lambda tf, ds: ds.filter(lambda number: number % 4 != 2).repeat(EPOCHS),
    "flat_map.repeat": lambda tf, ds: ds.flat_map(_twice(tf)).repeat(EPOCHS),
    "interleave.repeat": lambda tf, ds: ds.interleave(_twice(tf), cycle_length=2).repeat(EPOCHS),
    "parallel interleave.repeat": lambda tf, ds: ds.interleave(
        _twice(tf), cycle_length=2, num_parallel_calls=2, deterministic=True
    ).repeat(EPOCHS),
    "repeat.parallel interleave": lambda tf, ds: ds.repeat(EPOCHS).interleave(
        _twice(tf), cycle_length=2, num_parallel_calls=2, deterministic=True
    ),
    "repeat.window": lambda tf, ds: ds.repeat(EPOCHS).window(2).flat_map(lambda window: window.batch(2)),
    "scan.repeat": lambda tf, ds: ds.scan(
        tf.constant(0, tf.int64), lambda total, number: (total + number, total + number)
    ).repeat(EPOCHS),
    "take_while.repeat": lambda tf, ds: ds.take_while(lambda number: number % 4 != 2).repeat(EPOCHS),
    "shard.repeat": lambda tf, ds: ds.shard(2, 1).repeat(EPOCHS),
    "repeat.shard": lambda tf, ds: ds.repeat(EPOCHS).shard(2, 1),
    "unique.repeat": lambda tf, ds: ds.unique().repeat(EPOCHS),
    "cache.repeat": lambda tf, ds: ds.cache().repeat(EPOCHS),
    "repeat.cache": lambda tf, ds: ds.repeat(EPOCHS).cache(),
    "choose_from_datasets.repeat": lambda tf, ds: _choose(tf, ds, _others(tf, 4)).repeat(EPOCHS),
    "choose_from_datasets of repeat": lambda tf, ds: _choose(tf, ds.repeat(EPOCHS), _others(tf, 12)).take(12),
    "sample_from_datasets.repeat": lambda tf, ds: _sample(tf, ds, _others(tf, 4)).repeat(EPOCHS),
    "sample_from_datasets of repeat": lambda tf, ds: _sample(tf, ds.repeat(), _others(tf, 99)).take(12),
    "ignore_errors.repeat": lambda tf, ds: ds.ignore_errors().repeat(EPOCHS),
    "assert_cardinality.repeat": lambda tf, ds: ds.apply(tf.data.experimental.assert_cardinality(4)).repeat(EPOCHS),
    "prefetch": lambda tf, ds: ds.prefetch(2),
    "parallel map": lambda tf, ds: ds.map(lambda number: number + 1, num_parallel_calls=2),
    "nothing": lambda tf, ds: ds,
}

#: Stages that drop their input with its last element, or before they ask for its first, and so lose any state of it.
LOSING: dict[str, Pipeline] = {
    "skip.batch with a remainder.repeat": lambda tf, ds: ds.skip(1).batch(2).repeat(EPOCHS),
    "padded_batch with a remainder.repeat": lambda tf, ds: ds.padded_batch(3).repeat(EPOCHS),
    "window with a remainder.repeat": lambda tf, ds: (
        ds.window(3).flat_map(lambda window: window.batch(3)).repeat(EPOCHS)
    ),
    "concatenate after another.repeat": lambda tf, ds: _others(tf, 2).concatenate(ds).repeat(EPOCHS),
}
