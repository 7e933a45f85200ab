"""A checkpoint saved at any step of any pipeline goes on with exactly what would have come, in epochs to come too."""

from __future__ import annotations

import gc
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


def _unlike(tf: Any, make: Callable[[], Any], folder: Path) -> list[int]:
    """Return the steps after which a restored iterator goes on otherwise than the one that was saved."""
    folder.mkdir()
    seen = _first_life(tf, make(), folder)
    wrong = []
    for step in range(len(seen) + 1):
        iterator = iter(make())
        tf.train.Checkpoint(iterator=iterator).read(str(folder / str(step))).assert_consumed()
        if _following(tf, iterator, len(seen)) != (seen[step:] or [_END]):
            wrong.append(step)
    return wrong


# ---- every step of every pipeline


@pytest.mark.parametrize("name", PIPELINES)
def test_each_step_of_three_epochs_is_restored(tf: Any, ours: Make, tmp_path: Path, name: str) -> None:
    assert _unlike(tf, lambda: PIPELINES[name](tf, ours()), tmp_path / "ours") == []


@pytest.mark.parametrize("name", LOSING)
def test_a_stage_that_drops_its_input_loses_no_more_than_of_a_plain_dataset(
    tf: Any, ours: Make, control: Make, tmp_path: Path, name: str
) -> None:
    lost = _unlike(tf, lambda: LOSING[name](tf, ours()), tmp_path / "ours")
    lost_of_control = _unlike(tf, lambda: LOSING[name](tf, control()), tmp_path / "control")
    assert 0 < len(lost) <= len(lost_of_control)


@pytest.mark.parametrize("name", ["repeat", "prefetch(2).repeat", "parallel map.repeat", "nothing", "prefetch"])
def test_a_symbolic_checkpoint_restores_each_step_too(tf: Any, ours: Make, tmp_path: Path, name: str) -> None:
    options = tf.data.Options()
    options.experimental_symbolic_checkpoint = True
    assert _unlike(tf, lambda: PIPELINES[name](tf, ours()).with_options(options), tmp_path / "ours") == []
