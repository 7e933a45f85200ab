"""A checkpoint saved at any step of any pipeline goes on with exactly what would have come, in epochs to come too."""

from __future__ import annotations

import gc
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import loader_client
from loader_client import Clip, Connection
from tests.client.pipelines import LOSING, PIPELINES
from tests.support.services import running_service
from tests.support.videos import make_videos, write_videos

pytestmark = pytest.mark.tensorflow

_END = "end"
_STEPS = 4

#: Iterators that are restored in one dataset before another one is made, which takes longer than all that they read.
_RESTORED_IN_ONE = 7

Make = Callable[[], Any]


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """Return a connection to a service of four videos, which leave room for many a start."""
    path = tmp_path_factory.mktemp("checkpoints") / "videos.h5"
    write_videos(path, "group_vlen", make_videos([9, 12, 20, 7], height=16, width=16))
    with running_service(path) as service, loader_client.connect(service.endpoint) as opened:
        yield opened
        gc.collect()


def _numbers(connection: Connection, **options: Any) -> Any:
    """Return a dataset of one number for each step, that tells sample and start."""
    dataset = loader_client.dataset(
        connection, **{"batch_size": 1, "clip": Clip(frames=1), "fields": ("index", "start"), "prefetch": 2, **options}
    )
    return dataset.map(lambda index, start: 4 * start[0] + index[0])


@pytest.fixture
def ours(tf: Any, connection: Connection) -> Iterator[Make]:
    yield lambda: _numbers(connection)
    gc.collect()


@pytest.fixture
def control(tf: Any) -> Make:
    """Return what makes the same in plain tf.data."""
    return lambda: tf.data.Dataset.range(_STEPS).shuffle(_STEPS, seed=7, reshuffle_each_iteration=True)


def _value(tf: Any, element: Any) -> Any:
    def plain(tensor: Any) -> Any:
        return tensor.to_list() if isinstance(tensor, tf.RaggedTensor) else tensor.numpy().tolist()

    return tf.nest.map_structure(plain, element)


def _following(tf: Any, iterator: Any, most: int) -> list[Any]:
    """Return an iterator's next elements, and that it ended if it did."""
    found: list[Any] = []
    while len(found) < most and (not found or found[-1] != _END):
        element = next(iterator, None)
        found.append(_END if element is None else _value(tf, element))
    return found


def _first_life(tf: Any, dataset: Any, folder: Path) -> list[Any]:
    """Return all elements, and a checkpoint for each number of elements read, the last one when the end was seen."""
    iterator = iter(dataset)
    checkpoint = tf.train.Checkpoint(iterator=iterator)
    seen: list[Any] = []
    while not seen or seen[-1] != _END:
        checkpoint.write(str(folder / str(len(seen))))
        seen += _following(tf, iterator, 1)
    checkpoint.write(str(folder / str(len(seen))))
    return seen


def _unlike(tf: Any, make: Callable[[], Any], folder: Path, *, restored_in_one: int = _RESTORED_IN_ONE) -> list[int]:
    """Return the steps after which a restored iterator goes on otherwise than the one that was saved."""
    folder.mkdir()
    return _unlike_those_seen(tf, make, folder, _first_life(tf, make(), folder), restored_in_one)


def _unlike_those_seen(
    tf: Any, make: Callable[[], Any], folder: Path, seen: list[Any], restored_in_one: int = _RESTORED_IN_ONE
) -> list[int]:
    """Return the steps after which an iterator of other datasets does not go on with what was seen in a first life."""
    wrong = []
    for step in range(len(seen) + 1):
        if step % restored_in_one == 0:
            dataset = make()
        iterator = iter(dataset)
        tf.train.Checkpoint(iterator=iterator).read(str(folder / str(step))).assert_consumed()
        if _following(tf, iterator, len(seen)) != (seen[step:] or [_END]):
            wrong.append(step)
    return wrong


# ---- every step of every pipeline


#: What people write most; `make soak` goes through all of `PIPELINES`.
_USUAL = (
    *(
        "repeat",
        "repeat for ever",
        "prefetch(2).repeat",
        "prefetch(AUTOTUNE).repeat",
        "repeat.prefetch(2)",
        "map.repeat",
    ),
    *(
        "parallel map.repeat",
        "parallel map(AUTOTUNE).repeat",
        "repeat.parallel map.batch.prefetch",
        "batch.unbatch.repeat",
    ),
    *("batch with a remainder.repeat", "batch.rebatch with a remainder.repeat", "batch.rebatch.repeat", "zip.repeat"),
    *("group_by_window.repeat", "concatenate.repeat", "take.repeat", "shuffle.repeat", "interleave.repeat"),
    *("map.batch.prefetch.repeat", "cache.repeat", "prefetch", "parallel map", "nothing"),
)


def _all_but_the_usual_in_the_soak() -> list[Any]:
    return [pytest.param(name, marks=() if name in _USUAL else pytest.mark.soak) for name in PIPELINES]


def test_the_usual_pipelines_are_pipelines() -> None:
    assert set(_USUAL) < set(PIPELINES)


@pytest.mark.parametrize("name", _all_but_the_usual_in_the_soak())
def test_each_step_of_three_epochs_is_restored(tf: Any, ours: Make, tmp_path: Path, name: str) -> None:
    assert _unlike(tf, lambda: PIPELINES[name](tf, ours()), tmp_path / "ours") == []


#: After how many elements: those that end an epoch, and of a stage behind another input all of its last ones.
_LOST = {
    "skip.batch with a remainder.repeat": [2, 4],
    "padded_batch with a remainder.repeat": [2, 4],
    "window with a remainder.repeat": [2, 4],
    "concatenate after another.repeat": [7, 8, 13, 14],
}


@pytest.mark.parametrize("name", LOSING)
def test_a_stage_that_drops_its_input_loses_the_ends_of_epochs_as_of_a_plain_dataset(
    tf: Any, ours: Make, control: Make, tmp_path: Path, name: str
) -> None:
    assert _unlike(tf, lambda: LOSING[name](tf, ours()), tmp_path / "ours", restored_in_one=1) == _LOST[name]
    plain = tf.data.Options()
    plain.experimental_optimization.inject_prefetch = False  # which would lose as many steps more as it runs ahead
    plain.autotune.enabled = False
    make = lambda: LOSING[name](tf, control()).with_options(plain)  # noqa: E731
    assert _unlike(tf, make, tmp_path / "control", restored_in_one=1) == _LOST[name]


_SYMBOLIC = ("repeat", "prefetch(2).repeat", "parallel map.repeat", "take.repeat", "zip.repeat", "nothing", "prefetch")


@pytest.mark.parametrize("name", _SYMBOLIC)
def test_a_symbolic_checkpoint_restores_each_step_too(tf: Any, ours: Make, tmp_path: Path, name: str) -> None:
    symbolic = _symbolic(tf)
    assert _unlike(tf, lambda: PIPELINES[name](tf, ours()).with_options(symbolic), tmp_path / "ours") == []


def _symbolic(tf: Any) -> Any:
    options = tf.data.Options()
    options.experimental_symbolic_checkpoint = True
    return options


# ---- an index


def _index(tf: Any, kind: str) -> Any:
    """Return ten numbers of samples, in another order each epoch."""
    numbers = tf.data.Dataset.from_tensor_slices(tf.constant([3, 3, 1, 0, 2, 3, 1, 0, 0, 2], tf.int64))
    shuffled = numbers.shuffle(10, seed=5)
    return {"numbers": shuffled, "vectors": numbers.batch(2).shuffle(5, seed=5)}.get(kind, [3, 3, 1, 0, 2, 3, 1, 0])


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("kind", ["array", "numbers", "a remainder", "vectors"])
def test_an_index_is_restored_at_each_step_with_its_draws(
    tf: Any, connection: Connection, tmp_path: Path, kind: str, symbolic: bool
) -> None:
    options = _symbolic(tf) if symbolic else tf.data.Options()
    batching = {"batch_size": 3, "drop_remainder": False} if kind == "a remainder" else {"batch_size": 2}

    def make() -> Any:
        index = _index(tf, "numbers" if kind == "a remainder" else kind)
        dataset = loader_client.dataset(
            connection, clip=Clip(frames=1), fields=("index", "position", "start"), index=index, prefetch=2, **batching
        )
        return dataset.repeat(3).with_options(options)

    assert _unlike(tf, make, tmp_path / "ours") == []


# ---- the epoch after


@pytest.mark.parametrize("name", ["nothing", "prefetch", "parallel map"])
def test_after_an_epoch_that_was_read_to_its_end_the_next_iterator_is_the_next_epoch(
    tf: Any, ours: Make, tmp_path: Path, name: str
) -> None:
    dataset = PIPELINES[name](tf, ours())
    epochs = []
    for epoch in range(3):
        iterator = iter(dataset)
        checkpoint = tf.train.Checkpoint(iterator=iterator)
        read = []
        for element in iterator:
            read.append(_value(tf, element))
            checkpoint.write(str(tmp_path / f"{epoch}-{len(read)}"))
        checkpoint.write(str(tmp_path / f"{epoch}-end"))
        epochs.append([*read, _END])
    epochs.append(_following(tf, iter(dataset), 99))
    assert len(set(map(str, epochs))) == 4
    for epoch in range(3):
        for step in (1, _STEPS - 1, _STEPS, "end"):
            restored = PIPELINES[name](tf, ours())
            iterator = iter(restored)
            tf.train.Checkpoint(iterator=iterator).read(str(tmp_path / f"{epoch}-{step}")).assert_consumed()
            if step == 1:
                assert _following(tf, iterator, 99) == epochs[epoch][1:]
            assert _following(tf, iter(restored), 99) == epochs[epoch + 1], (epoch, step)


def test_an_iterator_that_was_saved_before_its_first_element_is_the_epoch_that_it_would_have_been(
    tf: Any, ours: Make, tmp_path: Path
) -> None:
    dataset = ours()
    for epoch in range(3):
        iterator = iter(dataset)
        tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / str(epoch)))
        expected = _following(tf, iterator, 99)
        for _ in range(2):  # as in a training that is interrupted twice
            restored = ours()
            again = iter(restored)
            tf.train.Checkpoint(iterator=again).read(str(tmp_path / str(epoch))).assert_consumed()
            assert _following(tf, again, 2) == expected[:2]
            tf.train.Checkpoint(iterator=again).write(str(tmp_path / "later"))
            third = ours()
            last = iter(third)
            tf.train.Checkpoint(iterator=last).read(str(tmp_path / "later")).assert_consumed()
            assert _following(tf, last, 99) == expected[2:]
            assert _following(tf, iter(third), 99) == _following(tf, iter(restored), 99)


def test_an_iterator_that_is_made_and_not_used_is_no_epoch(tf: Any, ours: Make, tmp_path: Path) -> None:
    expected = _following(tf, iter(ours().repeat(3)), 99)
    dataset = ours()
    seen = []
    for epoch in range(3):
        for _ in range(2):
            iter(dataset)
        iterator = iter(dataset)
        seen += _following(tf, iterator, 2)
        tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / str(epoch)))
        seen += _following(tf, iterator, 99)[:-1]
    assert [*seen, _END] == expected
    for epoch in range(3):
        iterator = iter(ours())
        tf.train.Checkpoint(iterator=iterator).read(str(tmp_path / str(epoch)))
        assert _following(tf, iterator, 2) == seen[_STEPS * epoch + 2 :][:2]


# ---- a start


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("start", [(0, 2), (2, 0), (1, 3), (1, 4)])
def test_each_step_is_restored_after_a_start(
    tf: Any, connection: Connection, tmp_path: Path, start: tuple[int, int], symbolic: bool
) -> None:
    options = _symbolic(tf) if symbolic else tf.data.Options()

    def make() -> Any:
        return _numbers(connection, start=start).prefetch(2).repeat(3).with_options(options)

    assert _unlike(tf, make, tmp_path / "ours") == []


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize(
    ("saved", "now"), [((2, 0), (0, 0)), ((0, 0), (2, 0)), ((1, 0), (3, 0)), ((1, 2), (0, 1)), ((0, 4), (0, 0))]
)
def test_an_iterator_goes_on_where_it_was_saved_whatever_the_start_is_now(
    tf: Any, connection: Connection, tmp_path: Path, saved: tuple[int, int], now: tuple[int, int], symbolic: bool
) -> None:
    options = _symbolic(tf) if symbolic else tf.data.Options()
    epochs = _following(tf, iter(_numbers(connection).repeat(8)), 32)
    first = saved[0] * _STEPS + saved[1]

    def make(start: tuple[int, int]) -> Any:
        return _numbers(connection, start=start).repeat(3).with_options(options)

    seen = _first_life(tf, make(saved), tmp_path)
    assert len(seen) > 2 * _STEPS
    assert seen == [*epochs[first:][: len(seen) - 1], _END]
    assert _unlike_those_seen(tf, lambda: make(now), tmp_path, seen) == []


def test_the_epoch_after_a_restored_one_follows_it_whatever_the_start_is_now(
    tf: Any, connection: Connection, tmp_path: Path
) -> None:
    epochs = _following(tf, iter(_numbers(connection).repeat(8)), 32)
    iterator = iter(_numbers(connection, start=(2, 0)))
    _following(tf, iterator, 99)
    tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "saved"))
    for now in ((0, 0), (2, 0), (5, 0)):
        dataset = _numbers(connection, start=now)
        restored = iter(dataset)
        tf.train.Checkpoint(iterator=restored).read(str(tmp_path / "saved")).assert_consumed()
        assert _following(tf, restored, 99) == [_END]
        assert _following(tf, iter(dataset), 99) == [*epochs[3 * _STEPS : 4 * _STEPS], _END]


# ---- what is in it


def test_a_checkpoint_holds_no_batch(tf: Any, connection: Connection, tmp_path: Path) -> None:
    dataset = loader_client.dataset(connection, batch_size=4, clip=Clip(frames=7))  # 21 KiB of pixels
    iterator = iter(dataset.repeat())
    next(iterator)
    tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "saved"))
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 6_000


def test_the_seed_of_tensorflow_may_be_another_one_when_a_training_is_resumed(
    tf: Any, ours: Make, tmp_path: Path
) -> None:
    try:
        tf.random.set_seed(1)
        iterator = iter(ours().repeat(3))
        _following(tf, iterator, 5)
        tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "saved"))
        tf.random.set_seed(2)
        restored = iter(ours().repeat(3))
        tf.train.Checkpoint(iterator=restored).read(str(tmp_path / "saved")).assert_consumed()
        assert _following(tf, restored, 99) == _following(tf, iterator, 99)
    finally:
        tf.random.set_seed(None)


def test_a_manager_keeps_and_restores_the_last_of_several(tf: Any, ours: Make, tmp_path: Path) -> None:
    iterator = iter(ours().repeat())
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(iterator=iterator), str(tmp_path), max_to_keep=2)
    for _ in range(6):
        next(iterator)
        manager.save()
    expected = _following(tf, iterator, 9)
    restored = iter(ours().repeat())
    other = tf.train.CheckpointManager(tf.train.Checkpoint(iterator=restored), str(tmp_path), max_to_keep=2)
    assert other.restore_or_initialize() == manager.latest_checkpoint
    assert _following(tf, restored, 9) == expected


# ---- TensorFlow's own conformance tests


@pytest.mark.parametrize("kind", ["repeat", "nothing", "index", "symbolic"])
@pytest.mark.parametrize(
    "check",
    ["verify_unused_iterator", "verify_fully_used_iterator", "verify_exhausted_iterator", "verify_multiple_breaks"],
)
def test_tensorflows_own_checkpoint_tests_pass(tf: Any, connection: Connection, check: str, kind: str) -> None:
    from tensorflow.python.data.kernel_tests.checkpoint_test_base import CheckpointTestBase  # noqa: PLC0415

    def make() -> Any:
        index = _index(tf, "numbers") if kind == "index" else None
        dataset = _numbers(connection, index=index)
        return {
            "repeat": lambda: dataset.repeat(3),
            "nothing": lambda: dataset,
            "index": lambda: dataset.repeat(2),
            "symbolic": lambda: dataset.repeat(3).with_options(_symbolic(tf)),
        }[kind]()

    class Conformance(CheckpointTestBase):  # type: ignore[misc] # TensorFlow has no types
        """Runs one check."""

        def runTest(self) -> None:  # noqa: N802 - unittest's name
            outputs = {"repeat": 12, "nothing": 4, "index": 20, "symbolic": 12}[kind]
            getattr(self, check)(make, outputs)

    result = unittest.TestResult()
    Conformance().run(result)
    assert result.testsRun == 1
    assert not result.errors + result.failures, (result.errors + result.failures)[0][1]
