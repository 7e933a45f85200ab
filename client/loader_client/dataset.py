"""The face towards TensorFlow: places of steps → `tf.py_function` → tensors with static shapes. Knows no checkpoint.

The index generator (`loader_client.index_generator`) is plain tf.data, so the iterator's whole state is in tf.data's
own hands, and `tf.train.Checkpoint` saves and restores it. A step's place goes to the connection, the batch comes back
in shared memory and enters TensorFlow by DLPack, without a copy. The place after an epoch's last step ends the epoch.

With an index dataset of the user's own, its elements come with the places: one stage announces each to the connection,
`prefetch` lets that stage run ahead, and the next one fetches. Each element carries all that a step holds, so one that
comes out of a checkpoint, unannounced, is simply wanted then.

A dataset may be made where a graph is being built. The graph keeps its stream open then.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeVar

from loader_client import shares
from loader_client.calls import CALLS
from loader_client.connecting import ServiceOrFiles, connection_to, with_ray
from loader_client.feed import Feed
from loader_client.index_generator import (
    announced_steps,
    map_to_the_end,
    places,
)
from loader_client.indexes import AnnouncedIndex
from loader_client.interrupts import INTERRUPTS
from loader_client.patience import Patience
from loader_client.rank_state import RankState
from loader_client.resumption import StartChoice, check_choice
from loader_client.starts import FROM_THE_BEGINNING
from loader_client.stream_options import ClipChoice, StreamChoice, tells_unknown_options
from loader_client.tensor_columns import Column
from loader_client.tensorflow_module import tf
from loader_client.typed_options import ServiceOptions, StreamOptions
from loader_service.errors import BY_NAME, ConfigError, LoaderError, from_name
from loader_service.protocol.numbers import whole_number
from loader_service.protocol.spec import Image
from loader_service.worker_bounds import WorkersGiven

if TYPE_CHECKING:
    from typing_extensions import Unpack  # each type checker has it; at run time nobody asks

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _not_converted(function: _Function) -> _Function:
    """Keep AutoGraph from reading and rewriting all that a function calls; TensorFlow's own decorator has no types."""
    made: _Function = tf.autograph.experimental.do_not_convert(function)
    return made


@_not_converted
@tells_unknown_options
def dataset(  # noqa: PLR0913 - the public call: each is a keyword that users know
    source: ServiceOrFiles = None,
    *,
    batch_size: int | None,
    clip: ClipChoice = "auto",
    image: Image | None = None,
    fields: Sequence[str] | None = None,
    index: Any = None,
    start: StartChoice = FROM_THE_BEGINNING,
    workers: WorkersGiven | None = None,
    ray_workers: WorkersGiven | None = None,
    service: ServiceOptions | None = None,
    patience: Patience | None = None,
    **options: Unpack[StreamOptions],
) -> tf.data.Dataset:
    """Return a `tf.data.Dataset` of batches.

    Each iterator is the next epoch; `cardinality` is known; iterators can be checkpointed and restored at the exact
    step.

    Parameters
    ----------
    source
        ``ipc:///path`` of a running service; None for the default endpoint; or a `Connection`. A pattern or list of
        HDF5 files instead starts a private service, which ends with this process, however that ends, or with the
        dataset.
    batch_size
        Samples in a batch; None: an element is one sample without a batch axis, for sources whose items are batches.
    clip
        Which frames of a video make a sample: those of a `Clip`; a single `Frame`; None: all of them. By default 16
        neighbouring frames at a random place, or, of tables and Python sources, a row.
    image
        How frames become pixels; by default as they are.
    fields
        Names of the fields of an element, which is a tuple of them, or the field itself when one name is given as
        ``fields=("frames",)``: a tuple of one. None: a dict of all fields.
    index
        Sample numbers, any of them any number of times. An int64 array: an epoch is a shuffle of it. A
        `tf.data.Dataset` of numbers, or of vectors of up to `batch_size` numbers, each of which is a batch: its order
        is kept, and an iterator of it is an epoch; `shuffle` and `shard` belong in that dataset. The field ``position``
        says which entry a row comes from, so what belongs to it can be gathered in the graph.
    start
        Epoch and step of the first iterator's first element: where a training goes on that was not restored from an
        iterator's checkpoint: such an iterator goes on where it was saved. The step after an epoch's last one is the
        next epoch's first. With a step other than 0 the first iterator is shorter, so `cardinality` is unknown: `fit`
        then needs ``repeat`` and `steps_per_epoch`, or `keras.Resume`; checkpoints suit only others such. Or a
        `RankState` of this rank, or a list of those of all ranks, which need not be as many as now; see
        `state_after`.
    workers
        Worker processes of a private service; by default one per core.
    ray_workers
        Remote workers of a private service, on the Ray cluster that this host belongs to, or that `service` names;
        see `connect`.
    service
        More options of a private service, as ``loader-service start --help`` lists them: ``{"labels": "labels.csv"}``.
        `source` and `transform` may be a class or function that a module defines.
    patience
        How long to wait for the service.
    **options
        ``index_keys``: strings instead of an index, which are looked up in the field ``key_field``; by default in
        ``key``, in the only field of strings, or among the names of the videos. ``shard``: None, all samples, of which
        a `tf.distribute` strategy gives each worker its part of each batch; (rank, world), a share of each epoch;
        ``"auto"``, the share of this process as its strategy or launcher says it (TF_CONFIG, RANK and WORLD_SIZE,
        SLURM, Open MPI, PMI, Ray Train), ``"auto:slurm"`` that of one launcher alone. And more fields of
        `Spec`: split, videos, windows, batching, shuffle, order, cycle_length, block_length, seed, drop_remainder,
        prefetch, on_error, max_bad_samples.

    Returns
    -------
    tf.data.Dataset
        ``frames``: ``(batch, frames, height, width, channels) uint8``; ``label``: ``(batch,)``; ``index``, ``start``,
        ``length``: ``(batch,) int64``; ``video``: ``(batch,) string``. The batch axis is static with
        ``drop_remainder=True``, the default, and None else. Whole videos: ``(batch, None, height, width, channels)``,
        zeros after the ``length`` of each, or a `tf.RaggedTensor` with ``batching="ragged"``. Lists of numbers, and
        arrays whose sides differ, have the room of the longest, zeros behind, and ``<name>_length`` or ``<name>_shape``
        beside them; lists are a `tf.RaggedTensor` too with ``batching="ragged"``. The pixels lie in shared
        memory until TensorFlow drops the tensor.

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

    Where there is no eager mode, in a `tf.function`, in the function of an `interleave` or `flat_map`, in a graph of
    TensorFlow 1, each call of that function, each element and each initialization makes the dataset anew, from its
    first epoch; `repeat` it there. The options of a dataset made in the function of another are lost. To save an
    iterator of the outer one, set its ``options.experimental_external_state_policy`` to `ExternalStatePolicy.IGNORE`:
    what TensorFlow calls external state there is none.
    """
    check_choice(start)
    options["shard"] = shard = shares.own_share(options.get("shard"), tf.distribute.get_strategy().cluster_resolver)
    generated = index if isinstance(index, tf.data.Dataset) else None
    if generated is not None:
        if start != FROM_THE_BEGINNING:
            raise ConfigError(f"start={start!r} with an index dataset, whose order is its own; skip there instead")
        _check_generated(generated, shard or (0, 1))
        index = AnnouncedIndex(batch_size or 1)
    # Checked before a private service scans its files.
    choice = StreamChoice(batch_size, clip, image, index=index, fields=fields, start=start, **options)
    INTERRUPTS.watch()
    opened = ExitStack()
    try:
        connection = connection_to(opened, source, workers, with_ray(service, ray_workers), patience)
        request = choice.request(connection)
        stream = connection.open(request)
        opened.callback(connection.drop, stream)
        return _build(Feed(stream, request, opened.close, choice.place(stream)), generated, is_shared=shard is not None)
    except BaseException:
        opened.close()
        raise


def state_after(dataset: tf.data.Dataset, batches: int) -> RankState:
    """Return the state of a training that has consumed some batches of a dataset, one iterator after the other.

    Parameters
    ----------
    dataset
        What `dataset` returned; not what was made of it.
    batches
        That were consumed since it was made, in this process.

    Raises
    ------
    ConfigError
        When it is another dataset, or its order is that of an index dataset.

    Examples
    --------
    >>> state = loader_client.state_after(ds, batches_so_far)  # doctest: +SKIP
    >>> path.write_text(state.to_json())  # doctest: +SKIP
    """
    feed = getattr(dataset, "loader_feed", None)
    if not isinstance(feed, Feed):
        raise ConfigError(
            f"{dataset!r:.80} is not what loader_client.dataset returned; give that, and not what follows"
        )
    return feed.state_after(whole_number("batches", batches, 0, 2**62))


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


def _build(feed: Feed, generated: tf.data.Dataset | None, *, is_shared: bool) -> tf.data.Dataset:
    spec = feed.request.spec
    counted = places(_weakly(feed.begin), _weakly(feed.epoch_of), feed.origin, feed.starts.position, feed.share)
    if generated is None:
        cardinality, rows = feed.cardinality, spec.batch_size if spec.drop_remainder else None
        dataset = map_to_the_end(counted, _element_maker(feed, feed.fetch, rows))
    else:
        announced = announced_steps(generated, spec.batch_size, drop_remainder=spec.drop_remainder)
        cardinality, rows = announced.cardinality, announced.rows
        counted = tf.data.Dataset.zip(counted, announced.steps).map(_announcer(feed)).prefetch(feed.prefetch)
        dataset = map_to_the_end(counted, _element_maker(feed, feed.fetch_announced, rows))
    if cardinality != tf.data.UNKNOWN_CARDINALITY:
        dataset = dataset.apply(tf.data.experimental.assert_cardinality(cardinality))
    dataset = tf.data.Dataset.with_options(dataset, _options(is_shared=is_shared))
    attributes = vars(dataset)
    others = dict(attributes)
    attributes.clear()
    # Whatever is made of the dataset refers to it, and so keeps the feed alive. It comes before what TensorFlow has
    # put there, so that it is the first thing to be pickled, and says why that cannot be.
    attributes.update(loader_feed=feed, _repr_html_=feed.html, **others)
    if not tf.executing_eagerly():
        _keep_in_graph(feed)
    return dataset


def _keep_in_graph(feed: Feed) -> None:
    """Keep a feed alive for as long as the graph that is being built, whose datasets nothing in Python refers to."""
    graph = tf.compat.v1.get_default_graph()
    graph.loader_feeds = [*getattr(graph, "loader_feeds", ()), feed]


def _announcer(feed: Feed) -> Callable[..., Any]:
    """Return the function of the graph that announces a step, and gives on what its fetch needs."""
    weak_announce = _weakly(feed.announce)

    @tf.autograph.experimental.do_not_convert
    def announce(place: tf.Tensor, step: tuple[tf.Tensor, tf.Tensor, tf.Tensor]) -> Any:
        number, first, samples = step
        announced = tf.py_function(weak_announce, [place, number, first, samples], tf.int64)
        announced.set_shape(())
        return place, announced, first, samples

    made: Callable[..., Any] = announce
    return made


def _element_maker(feed: Feed, fetch: Callable[..., Any], rows: int | None) -> Callable[..., Any]:
    """Return the function of the graph that makes an element of a place; ``rows`` is that of every step, if alike."""
    batch = (rows,) if feed.request.batched else ()
    names = [column.field.name for column in feed.columns]
    types = [tf.as_dtype(name) for column in feed.columns for name in column.types]
    shapes = [each for column in feed.columns for each in column.shapes(batch)]
    weak_fetch = _weakly(fetch)
    columns = feed.columns  # and not the feed itself, which the graph would keep alive with this function
    is_tuple = feed.request.spec.fields is not None

    @tf.autograph.experimental.do_not_convert
    def to_element(*place: tf.Tensor) -> Any:
        tensors = tf.py_function(weak_fetch, place, types)
        for tensor, shape in zip(tensors, shapes, strict=True):
            tensor.set_shape(shape)
        following = iter(tensors)
        values = [_assembled(column, following) for column in columns]
        return tuple(values) if is_tuple else dict(zip(names, values, strict=True))

    made: Callable[..., Any] = to_element
    return made


def _assembled(column: Column, tensors: Iterator[tf.Tensor]) -> Any:
    """Return the tensor, or ragged tensor, that the next tensors are, which have their static shapes."""
    values = next(tensors)
    splits = [next(tensors) if count is None else None for count in column.axes]
    for each, count in zip(reversed(splits), reversed(column.axes), strict=True):
        if count is None:
            values = tf.RaggedTensor.from_row_splits(values, each, validate=False)
        else:
            values = tf.RaggedTensor.from_uniform_row_length(values, count, validate=False)
    return values


def _check_generated(generated: tf.data.Dataset, shard: Any) -> None:
    element = generated.element_spec
    if not isinstance(element, tf.TensorSpec) or not element.dtype.is_integer or element.shape.rank not in (0, 1):
        raise ConfigError(
            f"the index dataset has elements {element!r}; give sample numbers, or vectors of them, of an integer type"
        )
    if tuple(shard) != (0, 1):
        raise ConfigError(
            f"shard={shard!r} with an index dataset, whose order is its own; give index.shard(world, rank) instead"
        )


def _weakly(method: Any) -> Callable[..., Any]:
    """Return a function that calls a method for as long as its object lives.

    TensorFlow keeps every function that `py_function` was ever given, in a list of the default graph: the stream would
    stay open, and the private service would run, until the process ends.
    """
    # Not `weakref.WeakMethod`, which is written in Python.
    reference, function = weakref.ref(method.__self__), method.__func__

    def call(*arguments: Any) -> Any:
        owner = reference()
        if owner is None:
            raise LoaderError("the dataset was deleted while something made of it was in use; keep a reference to it")
        with CALLS:
            return function(owner, *arguments)

    return call


def _options(*, is_shared: bool) -> tf.data.Options:
    options = tf.data.Options()
    policies = tf.data.experimental.AutoShardPolicy
    # A share is one worker's already, and TensorFlow must not take a part of it. What is none is divided by
    # TensorFlow when a strategy distributes it: each worker keeps its rows of each batch.
    options.experimental_distribute.auto_shard_policy = policies.OFF if is_shared else policies.DATA
    # The state is the index generator's; what `py_function` calls has none that matters.
    options.experimental_external_state_policy = tf.data.experimental.ExternalStatePolicy.IGNORE
    options.deterministic = True
    # The model-based tuner has nothing to tune here, and its thread holds up the end of every iterator: destroying one
    # takes until the tuner's next look, 10 ms doubling up to a minute. Without it, a user's parallel maps get one call
    # per core.
    options.autotune.enabled = False
    return options
