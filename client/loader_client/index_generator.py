"""The index generator: plain tf.data whose elements say which epoch and step comes; knows no stream and no batch.

What tf.data saves of an iterator is what its stages hold, and most stages drop their input as soon as it has ended.
So nothing in here ends: the stage that fetches a step ends the epoch, by `StopIteration`, and keeps its input. A
checkpoint that is saved when all steps were read, by the trainer or by a stage that runs ahead, is like any other.

A *place* is one number of both, epoch and step. An epoch begins when its first place is asked for, since an iterator
that is made and not used, as Keras does, is no epoch. Its mark (see `loader_client.epochs`) is drawn then, and tells
its number; from there on a range counts, whose state holds the epoch with the step. The random dataset that marks come
from counts the epochs that have begun: a living iterator of it stands beside the range, so that this count is saved
too. For an iterator that was saved before it had begun, a second random dataset counts those that were made. Nothing of
this calls a function for each step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from numpy.typing import NDArray

from loader_client.epochs import MOST_MARKS, EpochNumbers

#: Any number, but the same for ever: checkpoints of iterators depend on it.
_MARKS_SEED = 20_240_229

#: Values in a mark. Each has 32 bits: of two, a million epochs could have one in common.
_MARK_VALUES = 3

#: Iterators of the random dataset that an epoch has: for its mark, for those that were left out, and beside the range.
_DRAWS = 3

#: Marks that are drawn at a time, in 40 ms the first time: more than most trainings have epochs.
_MARKS_TOGETHER = 1024

#: Places of one step: one for each epoch.
_EPOCHS = MOST_MARKS

#: Number of what comes after the last step of an index dataset.
NO_STEP = -1


@dataclass(frozen=True)
class AnnouncedSteps:
    """The steps that an index dataset gives."""

    steps: tf.data.Dataset  # ``(step, position of the first, samples)``, and step -1 for ever after the last
    cardinality: int  # of an epoch
    rows: int | None  # of every step, where they are the same


def epoch_and_step(place: int) -> tuple[int, int]:
    """Return epoch and step of a place."""
    step, epoch = divmod(place, _EPOCHS)
    return epoch, step


def all_marks() -> Iterator[NDArray[Any]]:
    """Yield blocks of marks, in the order in which iterators draw: ``(marks, values) int64``.

    Nothing is made before the first is asked for: where a dataset is made, tf.data may have no eager mode; where its
    Python is called, it has.
    """
    marks = _random().take(_MARK_VALUES).batch(_MARK_VALUES, drop_remainder=True)
    options = tf.data.Options()
    options.autotune.enabled = False  # it has a thread that holds up the end of every iterator
    yield from marks.repeat().batch(_MARKS_TOGETHER).with_options(options).as_numpy_iterator()


def epoch_begun(numbers: EpochNumbers, mark: NDArray[Any], made_as: NDArray[Any] | None) -> tuple[int, int]:
    """Return which epoch begins, and how many were left out before it.

    Parameters
    ----------
    numbers
        Of `all_marks`.
    mark
        The epoch's.
    made_as
        Mark of its iterator among those that were made, if it was made of another dataset and restored.
    """
    epoch = numbers.number(mark) // _DRAWS
    left_out = 0 if made_as is None else max(0, numbers.number(made_as) - epoch)
    return epoch + left_out, left_out


def places(begin: Callable[[Any, Any, Any], Any], origin: int) -> tf.data.Dataset:
    """Return the places of an epoch's steps, another epoch for each iterator, without an end; each in a pair.

    Parameters
    ----------
    begin
        Called by `tf.py_function` when an iterator's first place is asked for, and when one that had begun is restored.
        Gets the origin of the dataset that the iterator was made of, be it in another process, and the marks that
        `epoch_begun` takes. Returns what that returns, as arrays.
    origin
        Number of this dataset, which no other has.
    """
    begun, made = _random(), _random().batch(_MARK_VALUES, drop_remainder=True)
    origins = tf.data.Dataset.range(origin, tf.int64.max)  # whose first one is a restored iterator's own

    @tf.autograph.experimental.do_not_convert
    def epoch_of(made_by: tf.Tensor, made_as: tf.Tensor) -> tf.data.Dataset:
        mark = begun.take(_MARK_VALUES).batch(_MARK_VALUES, drop_remainder=True).get_single_element()
        epoch, left_out = tf.py_function(begin, [made_by, mark, made_as], [tf.int64, tf.int64])
        epoch.set_shape(())
        left_out.set_shape(())
        others = _DRAWS * left_out
        drawn = begun.take(1).repeat(others + 1).skip(others).get_single_element()
        with tf.control_dependencies([drawn]):
            counted = tf.data.Dataset.range(tf.identity(epoch), tf.int64.max, _EPOCHS)
        return tf.data.Dataset.zip(counted, begun)

    return tf.data.Dataset.zip(origins, made).flat_map(epoch_of)


def map_to_the_end(dataset: tf.data.Dataset, function: Callable[..., Any]) -> tf.data.Dataset:
    """Return what a function makes of each element, until it raises `StopIteration`.

    `Dataset.map` takes that for an error, since it promises as many elements as its input has. Its older form does not.
    """
    return tf.compat.v1.data.Dataset.map(dataset, function)


def announced_steps(generated: tf.data.Dataset, batch_size: int, *, drop_remainder: bool) -> AnnouncedSteps:
    """Return the steps that an index dataset gives: of vectors as they are, of single numbers in batches.

    The stage that runs ahead comes to the end long before the trainer does, and a dataset that has ended drops what it
    was made of, and with that the state which a `shuffle` in it needs for its next epoch: a checkpoint would lack it.
    So the user's dataset is not asked for its end. Where its length is known, that many elements are taken, and others
    follow. Where it is not, no stage of tf.data could tell.
    """
    entries = generated.map(lambda element: tf.cast(element, tf.int64))
    length = _cardinality(generated)
    if entries.element_spec.shape.rank == 0:
        if length >= 0:
            return _steps_of_numbers(entries, length, batch_size, drop_remainder)
        entries = entries.batch(batch_size, drop_remainder=drop_remainder)
    rows = entries.element_spec.shape[0]
    no_step = (tf.constant(NO_STEP, tf.int64), tf.constant(0, tf.int64), tf.zeros([rows or 0], tf.int64))
    return AnnouncedSteps(_followed_by(_numbered(entries), length, no_step), length, rows)


def _steps_of_numbers(entries: tf.data.Dataset, length: int, batch_size: int, drop_remainder: bool) -> AnnouncedSteps:
    steps = length // batch_size if drop_remainder else -(-length // batch_size)
    batches = _followed_by(entries, length, tf.constant(0, tf.int64)).batch(batch_size, drop_remainder=True)

    def cut(step: tf.Tensor, first: tf.Tensor, samples: tf.Tensor) -> Any:
        left = tf.maximum(tf.constant(length, tf.int64) - first, 0)
        kept = samples if drop_remainder else samples[: tf.minimum(left, batch_size)]
        return tf.where(step < steps, step, NO_STEP), first, kept

    return AnnouncedSteps(_numbered(batches).map(cut), steps, batch_size if drop_remainder else None)


def _numbered(batches: tf.data.Dataset) -> tf.data.Dataset:
    def number(following: Any, samples: tf.Tensor) -> Any:
        step, first = following
        return (step + 1, first + tf.size(samples, out_type=tf.int64)), (step, first, samples)

    return batches.scan((tf.constant(0, tf.int64), tf.constant(0, tf.int64)), number)


def _followed_by(elements: tf.data.Dataset, length: int, filling: Any) -> tf.data.Dataset:
    """Return a dataset's elements, and the same one for ever after them."""
    if length == tf.data.INFINITE_CARDINALITY:
        return elements
    fillings = tf.data.Dataset.from_tensors(filling).repeat()
    if length == tf.data.UNKNOWN_CARDINALITY:
        return elements.concatenate(fillings)
    ours, theirs = (tf.data.Dataset.from_tensors(tf.constant(number, tf.int64)) for number in (1, 0))
    return tf.data.Dataset.choose_from_datasets([elements, fillings], theirs.repeat(length).concatenate(ours.repeat()))


def _cardinality(dataset: tf.data.Dataset) -> int:
    """Return the number of a dataset's elements, or that it is unknown: a graph cannot be asked."""
    return int(dataset.cardinality()) if tf.executing_eagerly() else int(tf.data.UNKNOWN_CARDINALITY)


def _random() -> tf.data.Dataset:
    """Return random numbers, others for each iterator, that do not depend on `tf.random.set_seed`."""
    variant = tf.raw_ops.RandomDatasetV2(
        seed=tf.constant(_MARKS_SEED, tf.int64),
        seed2=tf.constant(_MARKS_SEED, tf.int64),
        seed_generator=tf.raw_ops.DummySeedGenerator(),
        rerandomize_each_iteration=True,
        output_types=[tf.int64],
        output_shapes=[tf.TensorShape([])],
    )
    return tf.data.experimental.from_variant(variant, tf.TensorSpec([], tf.int64))
