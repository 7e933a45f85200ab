"""The face towards TensorFlow: index generator → `tf.py_function` → static shapes. Alone imports TensorFlow.

The index generator is plain tf.data: each iterator gets the next epoch from `loader_client.epochs`, then a range gives
its steps. So the iterator's whole state is in tf.data's own hands, `tf.train.Checkpoint` saves and restores it, and the
cardinality is known. A step's number goes to the connection, the batch comes back in shared memory and enters
TensorFlow by DLPack, without a copy.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from loader_client.connection import Connection, connect
from loader_client.epochs import EpochNumbers
from loader_client.interrupts import INTERRUPTS
from loader_client.leases import Batch
from loader_client.stream import Patience, Stream
from loader_service.daemon.launcher import PrivateService
from loader_service.errors import BY_NAME, ConfigError, LoaderError, from_name
from loader_service.protocol.fields import ALIGNMENT_BYTES, Field
from loader_service.protocol.spec import Clip, Image, Spec

_SCHEME = "ipc://"

#: Any number, but the same for ever: checkpoints of iterators depend on it.
_MARKS_SEED = 20_240_229

#: Values in a mark. Each has 32 bits: of two, a million epochs could have one in common.
_MARK_VALUES = 3

#: Marks that are drawn at a time, in 40 ms the first time: more than most trainings have epochs.
_MARKS_TOGETHER = 1024


def dataset(  # noqa: PLR0913 - the public call: each is a keyword that users know
    source: str | Sequence[str] | None = None,
    *,
    batch_size: int,
    clip: Clip | None = None,
    image: Image | None = None,
    fields: Sequence[str] | None = None,
    workers: int | None = None,
    service: Mapping[str, Any] | None = None,
    patience: Patience | None = None,
    **options: Any,
) -> tf.data.Dataset:
    """Return a `tf.data.Dataset` of batches.

    Each iterator is the next epoch; `cardinality` is known; iterators can be checkpointed and restored at the exact
    step.

    Parameters
    ----------
    source
        ``ipc:///path`` of a running service; None for the default endpoint. A pattern or list of HDF5 files instead
        starts a private service, which ends with this process, however that ends, or with the dataset.
    batch_size
        Samples in a batch.
    clip
        Which frames of a video make a sample; by default 16 neighbouring frames at a random place.
    image
        How frames become pixels; by default as they are.
    fields
        Names of the fields of an element, which is a tuple of them, or the field itself when one name is given as
        ``fields=("frames",)``: a tuple of one. None: a dict of all fields.
    workers
        Worker processes of a private service; by default one per core.
    service
        More options of a private service, as ``loader-service start --help`` lists them: ``{"labels": "labels.csv"}``.
    patience
        How long to wait for the service.
    **options
        More fields of `Spec`: shuffle, seed, shard, drop_remainder, prefetch, on_error.

    Returns
    -------
    tf.data.Dataset
        ``frames``: ``(batch, frames, height, width, channels) uint8``; ``label``: ``(batch,)``; ``index``, ``start``,
        ``length``: ``(batch,) int64``; ``video``: ``(batch,) string``. The batch axis is static with
        ``drop_remainder=True``, the default, and None else. The pixels lie in shared memory until TensorFlow drops the
        tensor.

    Raises
    ------
    ConfigError, CatalogError
        When the service cannot give what is asked for.
    ServiceUnavailable
        When no service answers.

    Notes
    -----
    Errors while iterating reach TensorFlow's caller as `tf.errors.UnknownError`, since TensorFlow rebuilds every
    exception that crosses it; `error_of` gives the `LoaderError` back.
    """
    names = None if fields is None else tuple(fields)
    spec = Spec(batch_size, clip or Clip(frames=16), image or Image(), names, **options)
    INTERRUPTS.watch()
    opened = ExitStack()
    try:
        connection = _reach(opened, source, workers, service, patience)
        return _build(_Feed(connection.open(spec), opened.close), spec)
    except BaseException:
        opened.close()
        raise


def error_of(error: BaseException) -> LoaderError | None:
    """Return the `LoaderError` that TensorFlow wrapped in an exception of its own, None when it is no such exception.

    Examples
    --------
    >>> try:  # doctest: +SKIP
    ...     model.fit(ds)
    ... except tf.errors.OpError as error:
    ...     raise loader_client.error_of(error) or error
    """
    if isinstance(error, LoaderError):
        return error
    found = re.search(rf"\b({'|'.join(BY_NAME)}): (.*?)(?:\nTraceback|\n\n|\Z)", str(error), re.DOTALL)
    return from_name(found[1], found[2].strip()) if found else None


def _reach(
    opened: ExitStack,
    source: str | Sequence[str] | None,
    workers: int | None,
    service: Mapping[str, Any] | None,
    patience: Patience | None,
) -> Connection:
    """Return a connection to a running or private service; `opened` gets what ends them."""
    if source is None or (isinstance(source, str) and source.startswith(_SCHEME)):
        if workers is not None or service is not None:
            raise ConfigError(
                "workers and service configure a private service, but an endpoint was given; "
                "give files instead, or scale the running service with `loader-service scale`"
            )
        return opened.enter_context(connect(source, patience=patience))
    options = {key: str(value) for key, value in (service or {}).items()}
    timeout_s = float(options.pop("start_timeout_s", 600.0))
    if workers is not None:
        options["workers"] = str(workers)
    private = PrivateService([source] if isinstance(source, str) else list(source), options, timeout_s)
    opened.callback(private.stop)
    return opened.enter_context(connect(private.endpoint, patience=patience))


@dataclass(frozen=True)
class _Column:
    """One field on its way into TensorFlow."""

    field: Field

    @property
    def tf_type(self) -> tf.DType:
        return tf.string if self.field.dtype.startswith("S") else tf.as_dtype(self.field.dtype)


class _Feed:
    """What the dataset's graph calls: the next epoch, and a step's tensors. Closes the stream with the graph."""

    def __init__(self, stream: Stream, close: Callable[[], None]) -> None:
        self._stream = stream
        all_marks = _marks().repeat().batch(_MARKS_TOGETHER).with_options(_options())
        self._epochs = EpochNumbers(all_marks.as_numpy_iterator())
        self.steps_per_epoch = stream.steps_per_epoch
        self.columns = [_Column(field) for field in stream.fields]
        self._finalizer = weakref.finalize(self, close)

    def epoch(self, mark: Any) -> int:
        """Return the number of the epoch that an iterator with this mark is."""
        return self._epochs.number(mark.numpy())

    def fetch(self, position: Any) -> list[Any]:
        """Return the tensors of a step, counted through all epochs."""
        epoch, step = divmod(int(position), self.steps_per_epoch)
        batch = self._stream.fetch(epoch, step)
        return [_tensor(batch, column) for column in self.columns]


def _tensor(batch: Batch, column: _Column) -> Any:
    array = batch[column.field.name]
    if array.dtype.kind == "S":  # TensorFlow's strings are objects of its own, so they are copied whatever we do
        return array
    address = array.ctypes.data
    if address % ALIGNMENT_BYTES:  # TensorFlow would abort the process
        raise ConfigError(
            f"field {column.field.name!r} lies at {address:#x}, which is no multiple of {ALIGNMENT_BYTES}"
        )
    return tf.experimental.dlpack.from_dlpack(array.__dlpack__())


def _build(feed: _Feed, spec: Spec) -> tf.data.Dataset:
    steps = feed.steps_per_epoch
    rows = spec.batch_size if spec.drop_remainder else None
    types = [column.tf_type for column in feed.columns]
    shapes = [(rows, *column.field.shape) for column in feed.columns]
    names = [column.field.name for column in feed.columns]
    weak_fetch, weak_epoch = _weakly(feed.fetch), _weakly(feed.epoch)

    def steps_of(epoch: tf.Tensor) -> tf.data.Dataset:
        return tf.data.Dataset.range(epoch * steps, (epoch + 1) * steps)

    @tf.autograph.experimental.do_not_convert
    def fetch(position: tf.Tensor) -> Any:
        tensors = tf.py_function(weak_fetch, [position], types)
        for tensor, shape in zip(tensors, shapes, strict=True):
            tensor.set_shape(shape)
        return tuple(tensors) if spec.fields is not None else dict(zip(names, tensors, strict=True))

    @tf.autograph.experimental.do_not_convert
    def epoch_of(mark: tf.Tensor) -> tf.Tensor:
        epoch = tf.py_function(weak_epoch, [mark], tf.int64)
        epoch.set_shape(())
        return epoch

    marks = _marks()
    # An iterator draws when its first element is asked for: one that is made and not used, as Keras does, is no epoch.
    counted = tf.data.Dataset.range(1).flat_map(lambda _: marks).map(epoch_of).flat_map(steps_of)
    counted = counted.apply(tf.data.experimental.assert_cardinality(steps))
    dataset = counted.map(fetch).with_options(_options())
    dataset.loader_feed = feed  # whatever is made of the dataset refers to it, and so keeps the feed alive
    return dataset


def _marks() -> tf.data.Dataset:
    """Return a dataset of one element ``(values,) int64``, another one for each iterator: the mark of its epoch."""
    values = tf.data.Dataset.random(seed=_MARKS_SEED, rerandomize_each_iteration=True)
    return values.take(_MARK_VALUES).batch(_MARK_VALUES, drop_remainder=True)


def _weakly(method: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that calls a method for as long as its object lives.

    TensorFlow keeps every function that `py_function` was ever given, in a list of the default graph: the stream would
    stay open, and the private service would run, until the process ends.
    """
    reference = weakref.WeakMethod(method)

    def call(argument: Any) -> Any:
        bound = reference()
        if bound is None:
            raise LoaderError("the dataset was deleted while something made of it was in use; keep a reference to it")
        return bound(argument)

    return call


def _options() -> tf.data.Options:
    options = tf.data.Options()
    # The plan shards: TensorFlow must not skip elements of it.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    # The state is in the two numbers of the index generator; what `py_function` calls has none that matters.
    options.experimental_external_state_policy = tf.data.experimental.ExternalStatePolicy.IGNORE
    options.deterministic = True
    # The model-based tuner has nothing to tune here, and its thread holds up the end of every iterator: destroying one
    # takes until the tuner's next look, 10 ms doubling up to a minute. Without it, a user's parallel maps get one call
    # per core.
    options.autotune.enabled = False
    return options
