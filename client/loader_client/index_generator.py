"""The index generator: plain tf.data whose elements say which epoch and step comes; knows no stream and no batch.

What tf.data saves of an iterator is what its stages hold, and most stages drop their input as soon as it has ended.
So nothing in here ends: the stage that fetches a step ends the epoch, by `StopIteration`, and keeps its input. A
checkpoint that is saved when all steps were read, by the trainer or by a stage that runs ahead, is like any other.

A place is ``(mark, step)``, four int64. The mark (see `loader_client.epochs`) is drawn when the first step is asked
for, since an iterator that is made and not used, as Keras does, is no epoch. `scan` keeps it, so it is in the
iterator's own state. The random dataset that it comes from counts the epochs that have begun, and tf.data saves that
count with an iterator that has begun. For one that was saved before that, a second random dataset counts the iterators
that were made: it is there from the beginning, and says how many epochs to leave out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from numpy.typing import NDArray

#: Any number, but the same for ever: checkpoints of iterators depend on it.
_MARKS_SEED = 20_240_229

#: Values in a mark. Each has 32 bits: of two, a million epochs could have one in common.
MARK_VALUES = 3

#: Marks that are drawn at a time, in 40 ms the first time: more than most trainings have epochs.
_MARKS_TOGETHER = 1024

#: Number of what comes after the last step of an index dataset.
NO_STEP = -1


@dataclass(frozen=True)
class AnnouncedSteps:
    """The steps that an index dataset gives."""

    steps: tf.data.Dataset  # ``(step, position of the first, samples)``, and step -1 for ever after the last
    cardinality: int  # of an epoch
    rows: int | None  # of every step, where they are the same


def all_marks() -> Iterator[NDArray[Any]]:
    """Yield blocks of the marks of all epochs, in order: ``(epochs, values) int64``.

    Nothing is made before the first is asked for: where a dataset is made, tf.data may have no eager mode; where its
    Python is called, it has.
    """
    marks = _random().take(MARK_VALUES).batch(MARK_VALUES, drop_remainder=True)
    options = tf.data.Options()
    options.autotune.enabled = False  # it has a thread that holds up the end of every iterator
    yield from marks.repeat().batch(_MARKS_TOGETHER).with_options(options).as_numpy_iterator()


def places(begin: Callable[[Any], Any], origin: int) -> tf.data.Dataset:
    """Return the places of an epoch's steps, another epoch for each iterator, without an end.

    Parameters
    ----------
    begin
        Called by `tf.py_function` when an iterator's first place is asked for, and when one that had begun is restored.
        Gets ``(origin, mark)``, four int64: the origin of the dataset that the iterator was made of, be it in another
        process, and the mark of its place among all that were made. Returns how many epochs are to be left out before
        it, ``() int64``.
    origin
        Number of this dataset, which no other has.
    """
    begun, made = _random(), _random().batch(MARK_VALUES, drop_remainder=True)
    made = made.scan(tf.constant([origin], tf.int64), lambda own, mark: (own, tf.concat([own, mark], axis=0)))

    @tf.autograph.experimental.do_not_convert
    def epoch_of(made_as: tf.Tensor) -> tf.data.Dataset:
        left_out = tf.py_function(begin, [made_as], tf.int64)
        left_out.set_shape(())
        # Each iterator of `begun` counts as an epoch, also one that gives nothing.
        skipped = tf.data.Dataset.range(left_out).flat_map(lambda _: begun.take(1)).skip(left_out)
        return skipped.concatenate(begun).batch(MARK_VALUES, drop_remainder=True)

    return made.flat_map(epoch_of).scan(tf.zeros([MARK_VALUES + 1], tf.int64), _next_place)


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


@tf.autograph.experimental.do_not_convert
def _next_place(following: tf.Tensor, drawn: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the state after this place, and this place; the state is the place that follows, or zeros."""
    step = following[MARK_VALUES:]
    mark = tf.where(tf.equal(step, 0), drawn, following[:MARK_VALUES])
    return tf.concat([mark, step + 1], axis=0), tf.concat([mark, step], axis=0)
