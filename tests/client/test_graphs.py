"""A dataset may be made where there is no eager mode: in functions, in other datasets' functions, in graphs."""

from __future__ import annotations

import gc
import itertools
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import loader_client
from loader_client import Clip, Connection, LoaderError
from tests.support.services import Service
from tests.support.waiting import eventually

pytestmark = pytest.mark.tensorflow

_CLIP = Clip(frames=4)

Make = Callable[..., Any]


@pytest.fixture(scope="module")
def connection(service: Service) -> Iterator[Connection]:
    with loader_client.connect(service.endpoint) as opened:
        yield opened


@pytest.fixture(scope="module")
def epochs(connection: Connection) -> list[list[list[int]]]:
    """Return the samples of the batches of the first three epochs."""
    return [
        [batch["index"].tolist() for batch in connection.batches(4, clip=_CLIP, start=(epoch, 0))] for epoch in range(3)
    ]


@pytest.fixture
def make(tf: Any, connection: Connection) -> Iterator[Make]:
    """Return what makes a dataset of the sample numbers of batches of four."""
    yield lambda **options: loader_client.dataset(
        connection, **{"batch_size": 4, "clip": _CLIP, "fields": ("index",), **options}
    ).map(lambda index: index)
    gc.collect()


def batches(dataset: Any) -> list[list[int]]:
    return [batch.numpy().tolist() for batch in dataset]


def test_in_a_function_each_call_begins_with_the_first_epoch(
    tf: Any, make: Make, epochs: Any, connection: Connection
) -> None:
    @tf.function
    def read() -> Any:
        found = tf.zeros([0, 4], tf.int64)
        for batch in make().repeat(2):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(found, tf.TensorShape([None, 4]))])
            found = tf.concat([found, batch[None]], axis=0)
        return found

    for _ in range(2):
        assert read().numpy().tolist() == epochs[0] + epochs[1]
    assert len(connection.status().streams) == 1
    del read
    eventually(lambda: gc.collect() is not None and not connection.status().streams, "the stream is closed")


@pytest.mark.parametrize("how", ["flat_map", "interleave", "parallel interleave"])
def test_in_the_function_of_another_dataset_each_element_begins_with_the_first_epoch(
    tf: Any, make: Make, epochs: Any, how: str
) -> None:
    outer = tf.data.Dataset.range(2)
    dataset = {
        "flat_map": lambda: outer.flat_map(lambda _: make()),
        "interleave": lambda: outer.interleave(lambda _: make(), cycle_length=1),
        "parallel interleave": lambda: outer.interleave(lambda _: make(), cycle_length=2, num_parallel_calls=2),
    }[how]()
    gc.collect()
    expected = epochs[0] + epochs[0]
    if how == "parallel interleave":
        expected = list(itertools.chain.from_iterable(zip(epochs[0], epochs[0], strict=True)))
    assert batches(dataset) == expected


@pytest.mark.parametrize("where", ["inside", "outside"])
@pytest.mark.parametrize("kind", ["numbers", "vectors"])
def test_an_index_dataset_may_be_made_inside_or_outside_of_the_function(
    tf: Any, make: Make, where: str, kind: str
) -> None:
    def index() -> Any:
        numbers = tf.data.Dataset.range(8)
        return numbers.batch(3) if kind == "vectors" else numbers

    outside = index()
    dataset = tf.data.Dataset.range(2).flat_map(
        lambda _: make(index=index() if where == "inside" else outside, batch_size=3, drop_remainder=False)
    )
    assert batches(dataset) == [[0, 1, 2], [3, 4, 5], [6, 7]] * 2


def test_in_a_graph_each_initialization_begins_with_the_first_epoch_and_repeat_goes_on(
    tf: Any, make: Make, epochs: Any
) -> None:
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        iterator = v1.data.make_initializable_iterator(make().repeat(3))
        following = iterator.get_next()
        gc.collect()
        with v1.Session() as session:
            for _ in range(2):
                session.run(iterator.initializer)
                seen = [session.run(following).tolist() for _ in range(9)]
                assert seen == epochs[0] + epochs[1] + epochs[2]
                with pytest.raises(tf.errors.OutOfRangeError):
                    session.run(following)


def test_a_one_shot_iterator_is_refused_with_the_one_that_works(tf: Any, make: Make) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"Use `make_initializable_iterator\(\)` instead"):
        tf.compat.v1.data.make_one_shot_iterator(make())


def test_a_strategy_makes_it_from_a_function(tf: Any, make: Make, epochs: Any) -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    distributed = strategy.distribute_datasets_from_function(lambda _context: make())
    assert batches(distributed) == epochs[0]
    assert batches(distributed) == epochs[1]


def test_an_iterator_over_datasets_made_in_a_function_is_saved_with_the_policy_that_the_docs_name(
    tf: Any, make: Make, epochs: Any, tmp_path: Any
) -> None:
    def interleaved() -> Any:
        return tf.data.Dataset.range(2).interleave(lambda _: make(), cycle_length=1)

    with pytest.raises(tf.errors.OpError, match="is stateful"):
        tf.train.Checkpoint(iterator=iter(interleaved())).write(str(tmp_path / "refused"))
    options = tf.data.Options()
    options.experimental_external_state_policy = tf.data.experimental.ExternalStatePolicy.IGNORE
    expected = epochs[0] + epochs[0]
    for step in range(len(expected) + 1):
        iterator = iter(interleaved().with_options(options))
        for _ in range(step):
            next(iterator)
        tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / str(step)))
        restored = iter(interleaved().with_options(options))
        tf.train.Checkpoint(iterator=restored).read(str(tmp_path / str(step))).assert_consumed()
        assert batches(restored) == expected[step:]


def test_a_dataset_is_not_pickled_and_says_what_to_do(tf: Any, make: Make) -> None:
    for dataset in (make(), make().repeat().prefetch(2)):
        with pytest.raises(
            LoaderError, match=r"a dataset cannot be pickled.*call `loader_client.dataset` in the process"
        ):
            pickle.dumps(dataset)


def test_a_new_epoch_has_no_graph_optimizer_run(connection: Connection, tf: Any) -> None:
    dataset = loader_client.dataset(connection, batch_size=4, clip=_CLIP)
    serialized = tf.raw_ops.DatasetToGraphV2(input_dataset=dataset._variant_tensor, external_state_policy=1)
    graph = tf.compat.v1.GraphDef.FromString(serialized.numpy())
    made_for_each_epoch = {node.op for function in graph.library.function for node in function.node_def}
    assert "RangeDataset" in made_for_each_epoch
    assert "RewriteDataset" not in made_for_each_epoch
