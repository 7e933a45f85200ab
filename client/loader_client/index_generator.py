"""The index generator: plain tf.data whose elements say which epoch and step comes; knows no stream and no batch.

What tf.data saves of an iterator is what its stages hold, and most stages drop their input as soon as it has ended.
So nothing in here ends: the stage that fetches a step ends the epoch, by `StopIteration`, and keeps its input. A
checkpoint that is saved when all steps were read, by the trainer or by a stage that runs ahead, is like any other.

A *place* is one number of both, epoch and step. An epoch begins when its first place is asked for, since an iterator
that is made and not used, as Keras does, is no epoch. Its mark (see `loader_client.epochs`) is drawn then, and a range
counts on from there, without a call of a function for each step. The random dataset that marks come from counts the
epochs that have begun, and tf.data saves that count with an iterator that has begun. For one that was saved before, a
second random dataset counts the iterators that were made, from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from loader_client.epochs import MOST_EPOCHS
from loader_client.tensorflow_module import tf

#: Any number, but the same for ever: checkpoints of iterators depend on it.
_MARKS_SEED = 20_240_229

#: Values in a mark. Each has 32 bits: of two, a million epochs could have one in common.
_MARK_VALUES = 3

#: Marks that are drawn at a time, in 40 ms the first time: more than most trainings have epochs.
_MARKS_TOGETHER = 1024

#: Step of the range: places of one step, one for each epoch.
_EPOCHS = MOST_EPOCHS

#: Number of what is no epoch: an iterator that begins there has no places.
NO_PLACES = 2**63 - 1

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
    """Yield blocks of the marks of all epochs, in order: ``(epochs, values) int64``.

    Nothing is made before the first is asked for: where a dataset is made, tf.data may have no eager mode; where its
    Python is called, it has.
    """
    marks = _random().skip(_MARK_VALUES).take(_MARK_VALUES).batch(_MARK_VALUES, drop_remainder=True)
    options = tf.data.Options()
    options.autotune.enabled = False  # it has a thread that holds up the end of every iterator
    yield from marks.repeat().batch(_MARKS_TOGETHER).with_options(options).as_numpy_iterator()


def places(
    begin: Callable[[Any, Any], Any],
    epoch_of: Callable[..., Any],
    origin: int,
    start: int,
    share: int,
) -> tf.data.Dataset:
    """Return the places of an epoch's steps, another epoch for each iterator, without an end.

    The two functions are called by `tf.py_function`, when an iterator's first place is asked for, and when one that had
    begun is restored.

    Parameters
    ----------
    begin
        Gets the origin of the dataset that the iterator was made of, in this process or another, and the mark of its
        place among all that were made. Returns what the iterator is to keep of its epoch, ``() int64``.
    epoch_of
        Gets 0, what is kept and a mark of no epoch, for which it returns `NO_PLACES`; then 1, what is kept plus 1 and
        an epoch's mark, and returns the epoch's number, ``() int64``. With them come origin, start and share of the
        dataset that the iterator was made of, and the mark of its place among all that were made.
    origin
        Number of this dataset, which no other has.
    start
        Where its first iterator begins, counted in steps through all epochs.
    share
        Number of its share and order, see `share_number`.
    """
    begun, iterators = _random(), _random().skip(_MARK_VALUES).batch(_MARK_VALUES, drop_remainder=True)
    # Ranges whose first number is a restored iterator's own.
    origins, starts, shares = (tf.data.Dataset.range(first, tf.int64.max) for first in (origin, start, share))

    @tf.autograph.experimental.do_not_convert
    def begun_by(*made: tf.Tensor) -> tf.data.Dataset:
        made_by, _, _, made_as = made
        # Not `enumerate`: it has a graph optimizer run whenever it is made, which is here, for each epoch: 1 ms.
        numbers = tf.data.Dataset.range(tf.int64.max)
        kept = tf.data.Dataset.range(_called(begin, made_by, made_as), tf.int64.max)
        drawn = begun.batch(_MARK_VALUES, drop_remainder=True)
        return tf.data.Dataset.zip(numbers, kept, drawn).flat_map(lambda *element: counted(*element, *made))

    @tf.autograph.experimental.do_not_convert
    def counted(number: tf.Tensor, kept: tf.Tensor, drawn: tf.Tensor, *made: tf.Tensor) -> tf.data.Dataset:
        # A symbolic checkpoint has the state that `drawn` was in before the element that is being gone through. So the
        # first one, before which there is none, has no places, and the second one is the mark. The function tells them
        # apart: a `tf.cond` takes 6 of the 20 ms that a new iterator takes.
        first = _called(epoch_of, number, kept, drawn, *made)
        return tf.data.Dataset.range(first, tf.int64.max, _EPOCHS)

    return tf.data.Dataset.zip(origins, starts, shares, iterators).flat_map(begun_by)


def map_to_the_end(dataset: tf.data.Dataset, function: Callable[..., Any]) -> tf.data.Dataset:
    """Return what a function makes of each element, until it raises `StopIteration`.

    `Dataset.map` takes that for an error, since it promises as many elements as its input has. Its older form does not.
    """

    @tf.autograph.experimental.do_not_convert
    def until_the_end(*element: Any) -> Any:
        try:
            return function(*element)
        except tf.errors.OutOfRangeError:  # what a `py_function` makes of it in tf.data's debug mode, which is eager
            raise StopIteration from None

    return tf.compat.v1.data.Dataset.map(dataset, until_the_end)


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


def _called(function: Callable[..., Any], *arguments: tf.Tensor) -> tf.Tensor:
    """Return the number that a function of Python's returns: ``() int64``."""
    number = tf.py_function(function, arguments, tf.int64)
    number.set_shape(())
    return number


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
