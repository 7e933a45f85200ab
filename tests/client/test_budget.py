"""Bad samples in real files have a budget: what exceeds it is an error, what does not is one line for each epoch."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loader_client
from loader_client import Clip, Connection, LoaderError
from tests.client.reference import decode
from tests.support.services import Service, running_service
from tests.support.videos import make_videos, write_videos

_CLIP = Clip(frames=6)
_VIDEOS = make_videos([6] * 12, seed=31)

#: Two of twelve: one ends in the middle of its pixels, one has another file's beginning.
_BAD = (3, 10)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run a service of twelve videos of six frames, two of which have a broken JPEG."""
    videos = {name: list(frames) for name, frames in _VIDEOS.items()}
    videos["video3"][2] = videos["video3"][2][: len(videos["video3"][2]) // 3]
    videos["video10"][5] = b"damage" + videos["video10"][5][6:]
    path = tmp_path_factory.mktemp("bad") / "a.h5"
    write_videos(path, "group_vlen", videos, dict.fromkeys(videos, 0))
    with running_service(path, workers=2) as running:
        yield running


def lines_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "loader_client.bad_samples"]


def check_substitutes(batches: list[Any], good: set[int]) -> None:
    """Fail unless all rows are good videos, with the frames of their names."""
    for batch in batches:
        assert good >= set(batch["index"].tolist())
        for frames, video in zip(batch["frames"], batch["index"].tolist(), strict=True):
            np.testing.assert_array_equal(frames[2], decode(_VIDEOS[f"video{video}"][2]))


_GOOD = set(range(12)) - set(_BAD)


# ---- NumPy


@pytest.mark.parametrize("budget", [2, None])
def test_each_epoch_within_the_budget_ends_with_one_line(
    connection: Connection, caplog: pytest.LogCaptureFixture, budget: int | None
) -> None:
    with caplog.at_level(logging.WARNING):
        options: dict[str, Any] = {"on_error": "substitute", "max_bad_samples": budget}
        batches = list(connection.batches(4, clip=_CLIP, epochs=3, **options))
    check_substitutes(batches, _GOOD)
    assert lines_of(caplog) == [
        f"epoch {epoch}: 2 of 12 samples were bad and replaced; see `loader-service status {connection.endpoint}`"
        for epoch in range(3)
    ]


def test_one_bad_sample_more_than_the_budget_is_an_error_with_count_budget_epoch_and_remedy(
    connection: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    options: dict[str, Any] = {"on_error": "substitute", "max_bad_samples": 1, "shuffle": False}
    batches = connection.batches(4, clip=_CLIP, start=(7, 0), **options)
    with caplog.at_level(logging.WARNING):
        check_substitutes([next(batches), next(batches)], _GOOD)
        with pytest.raises(LoaderError) as caught:
            next(batches)
    assert type(caught.value) is LoaderError
    assert str(caught.value) == (
        "epoch 7, step 2: 2 samples of this epoch were bad and replaced, more than max_bad_samples=1; "
        f"`loader-service status {connection.endpoint}` names them: repair or remove their files, or raise "
        "max_bad_samples"
    )
    assert not lines_of(caplog)
    assert not connection.status().streams


def test_a_stream_over_its_budget_holds_no_slot_and_goes_on_in_the_next_epoch(connection: Connection) -> None:
    spec = loader_client.Spec(4, _CLIP, shuffle=False, on_error="substitute", max_bad_samples=0)
    stream = connection.open(spec)
    for epoch in range(3 * stream.prefetch):  # more often than there are slots
        with pytest.raises(LoaderError, match=f"epoch {epoch}, step 0: 1 samples"):
            stream.fetch(epoch, 0)
    assert stream.leases_out == 0
    assert stream.fetch(0, 1)["index"].tolist() == [4, 5, 6, 7]
    stream.close()


def test_the_status_lists_how_many_were_replaced_and_which_frames_were_bad(connection: Connection) -> None:
    spec = loader_client.Spec(4, _CLIP, shuffle=False, on_error="substitute")
    stream = connection.open(spec)
    for step in range(3):
        stream.fetch(0, step)
    status = connection.status()
    (figures,) = [each for each in status.streams if each.samples_substituted]
    assert figures.samples_substituted >= 2  # the prefetch is in the next epoch
    told = "\n".join(status.events)
    assert "video 'video3', frame 2" in told
    assert "video 'video10', frame 5" in told
    stream.close()


def test_entries_of_an_index_count_each_and_shards_have_a_budget_each(
    connection: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    index = [3, 0, 3, 1, 10, 2, 3, 4]
    options: dict[str, Any] = {"on_error": "substitute", "shuffle": False, "index": index, "clip": _CLIP}
    with caplog.at_level(logging.WARNING):
        for rank, bad in ((0, 4), (1, 0)):
            list(connection.batches(2, shard=(rank, 2), max_bad_samples=bad, **options))
    assert [line.partition(" samples")[0] for line in lines_of(caplog)] == ["epoch 0: 4 of 4"]
    with pytest.raises(LoaderError, match=r"step 1: 4 samples of this epoch .* max_bad_samples=3"):
        list(connection.batches(2, shard=(0, 2), max_bad_samples=3, **options))


@pytest.mark.parametrize("batching", ["pad", "ragged", "bucket"])
def test_whole_videos_have_a_budget_too(
    connection: Connection, caplog: pytest.LogCaptureFixture, batching: str
) -> None:
    options: dict[str, Any] = {"clip": None, "batching": batching, "on_error": "substitute"}
    with caplog.at_level(logging.WARNING):
        check_substitutes(list(connection.batches(4, max_bad_samples=2, **options)), _GOOD)
    assert [line.partition(" samples")[0] for line in lines_of(caplog)] == ["epoch 0: 2 of 12"]
    with pytest.raises(LoaderError, match=r"2 samples of this epoch .* max_bad_samples=1"):
        list(connection.batches(4, max_bad_samples=1, **options))


# ---- TensorFlow


@pytest.fixture
def make(tf: Any, service: Service) -> Iterator[Any]:
    """Return what makes a dataset of batches of four, substitutes among them."""

    def make_dataset(**options: Any) -> Any:
        options = {"batch_size": 4, "clip": _CLIP, "shuffle": False, "on_error": "substitute", **options}
        return loader_client.dataset(service.endpoint, **options)

    yield make_dataset
    gc.collect()


@pytest.mark.tensorflow
def test_a_dataset_within_its_budget_has_substitutes_and_a_line_for_each_epoch(
    make: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        batches = list(make(max_bad_samples=2).repeat(2).as_numpy_iterator())
    check_substitutes(batches, _GOOD)
    assert [line.partition(" samples")[0] for line in lines_of(caplog)] == ["epoch 0: 2 of 12", "epoch 1: 2 of 12"]


@pytest.mark.tensorflow
def test_a_dataset_over_its_budget_raises_an_error_that_tells_so(tf: Any, make: Any) -> None:
    iterator = iter(make(max_bad_samples=1))
    next(iterator)
    next(iterator)
    with pytest.raises(tf.errors.OpError) as caught:
        next(iterator)
    error = loader_client.error_of(caught.value)
    assert type(error) is LoaderError
    assert "epoch 0, step 2: 2 samples of this epoch were bad and replaced, more than max_bad_samples=1" in str(error)
    assert str(error).endswith("repair or remove their files, or raise max_bad_samples")


@pytest.mark.tensorflow
def test_an_index_dataset_has_a_budget_and_a_line_for_each_epoch(
    tf: Any, make: Any, caplog: pytest.LogCaptureFixture
) -> None:
    index = tf.data.Dataset.from_tensor_slices(np.array([3, 0, 10, 1, 2, 3, 4, 5]))
    with caplog.at_level(logging.WARNING):
        dataset = make(index=index, max_bad_samples=3)
        for _ in range(2):
            check_substitutes(list(dataset.as_numpy_iterator()), _GOOD)
    assert [line.partition(" samples")[0] for line in lines_of(caplog)] == ["epoch 0: 3 of 8", "epoch 1: 3 of 8"]
    with pytest.raises(tf.errors.OpError, match="epoch 0, step 1: 3 samples of this epoch"):
        list(make(index=index, max_bad_samples=2))


@pytest.mark.tensorflow
@pytest.mark.parametrize("threads", [1, 3])
def test_a_keras_sequence_has_a_budget(
    tf: Any, service: Service, caplog: pytest.LogCaptureFixture, threads: int
) -> None:
    from loader_client.keras import LoaderSequence  # noqa: PLC0415 - Keras is for the tests that need it

    options: dict[str, Any] = {"batch_size": 1, "clip": _CLIP, "on_error": "substitute", "threads": threads}
    with caplog.at_level(logging.WARNING):
        sequence = LoaderSequence(service.endpoint, max_bad_samples=2, **options)
        for item in (0, *range(len(sequence))):  # Keras looks at the first one twice
            sequence[item]
        sequence.close()
    assert [line.partition(" samples")[0] for line in lines_of(caplog)] == ["epoch 0: 2 of 12"]


def test_bad_samples_of_a_private_service_are_named_and_not_its_endpoint(
    service: Service, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    videos = {name: list(frames) for name, frames in _VIDEOS.items()}
    videos["video3"][2] = b"damage" + videos["video3"][2][6:]
    path = tmp_path / "a.h5"
    write_videos(path, "group_vlen", videos, dict.fromkeys(videos, 0))
    options: dict[str, Any] = {"clip": _CLIP, "on_error": "substitute"}
    with loader_client.connect(path, workers=1) as connection, caplog.at_level(logging.WARNING):
        with pytest.raises(
            LoaderError, match=r"max_bad_samples=0; the latest: DecodeError: .*a\.h5.*'video3', frame 2"
        ):
            list(connection.batches(4, max_bad_samples=0, **options))
        list(connection.batches(4, **options))
    (line,) = lines_of(caplog)
    assert "'video3', frame 2" in line
    assert "private-" not in caplog.text
