"""Rows of tables and of Python sources: a sample each unless a clip is asked for, and found by their keys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import loader_client
from loader_client import Clip, ConfigError, Connection, Frame
from tests.support.services import Service, running_service

#: More than are read at a time; in two files.
_ROWS = (1500, 700)

_OWN = "tests.daemon.own_sources"


@contextmanager
def connected(*files: object, **options: Any) -> Iterator[Connection]:
    with running_service(*files, **options) as running, loader_client.connect(running.endpoint) as connection:
        yield connection


def key_of(row: int) -> str:
    """Return a key: some are longer than others, some have characters of several bytes, none is in order."""
    return f"{row * 7919 % 100_003}-{'bär' * (row % 3)}"


# ---- keys


@pytest.fixture(scope="module", params=["fixed", "vlen"])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Return a service of two files of ``features[N, 3]``, the number of the row in each, with keys and two more texts.

    ``title`` is the same in all rows, ``caption`` another one in each but the last two.
    """
    directory = tmp_path_factory.mktemp("table")
    first = 0
    for number, rows in enumerate(_ROWS):
        numbers = range(first, first + rows)
        texts = {
            "key": [key_of(row) for row in numbers],
            "caption": [f"of {min(row, sum(_ROWS) - 2)}" for row in numbers],
            "title": ["a title"] * rows,
        }
        with h5py.File(directory / f"{number}.h5", "w") as file:
            file["features"] = np.repeat(np.arange(first, first + rows, dtype=np.float32)[:, None], 3, axis=1)
            for name, column in texts.items():
                if request.param == "fixed":
                    file[name] = np.array([text.encode() for text in column], dtype="S")
                else:
                    file.create_dataset(name, data=column, dtype=h5py.string_dtype())
        first += rows
    with running_service(directory / "*.h5", workers=2) as running:
        yield running


@pytest.fixture
def connection(table: Service) -> Iterator[Connection]:
    with loader_client.connect(table.endpoint) as opened:
        yield opened


_WANTED = [3, 2199, 3, 1499, 1500, 0, 2000, 3]


@pytest.mark.parametrize("form", ["texts", "bytes", "array"])
def test_keys_of_a_table_stand_for_its_rows(connection: Connection, form: str) -> None:
    keys: Any = [key_of(row) for row in _WANTED]
    keys = {"texts": keys, "bytes": [key.encode() for key in keys], "array": np.array(keys)}[form]
    (batch,) = connection.batches(8, index_keys=keys, shuffle=False)
    assert batch["index"].tolist() == batch["features"][:, 0].tolist() == _WANTED
    assert batch["position"].tolist() == list(range(8))
    assert [key.decode() for key in batch["key"]] == [key_of(row) for row in _WANTED]


def test_keys_are_shuffled_and_cut_into_shards_as_an_index_is(connection: Connection) -> None:
    rows = np.random.default_rng(0).integers(0, sum(_ROWS), 500)
    options: dict[str, Any] = {"fields": ("features", "position"), "shard": (1, 2), "epochs": 2}
    keyed = list(connection.batches(16, index_keys=[key_of(row) for row in rows], **options))
    numbered = list(connection.batches(16, index=rows, **options))
    assert len(keyed) == 2 * (250 // 16)
    for mine, others in zip(keyed, numbered, strict=True):
        np.testing.assert_array_equal(mine["position"], others["position"])
        np.testing.assert_array_equal(mine["features"], others["features"])
        np.testing.assert_array_equal(mine["features"][:, 1], rows[mine["position"]])


def test_keys_may_be_looked_up_in_any_field_of_texts(connection: Connection) -> None:
    (batch,) = connection.batches(2, index_keys=["of 77", "of 5"], key_field="caption", shuffle=False)
    assert batch["index"].tolist() == [77, 5]


def test_keys_that_name_no_row_or_several_are_errors_that_name_them(connection: Connection) -> None:
    for keys, field, says in (
        (["nobody", key_of(0), "none"], None, "2 of 3 index_keys name no sample by its field 'key': 'nobody', 'none'"),
        (["of 2198"], "caption", "1 of 1 index_keys name more than one sample by its field 'caption': 'of 2198'"),
        (["a title"], "title", "'a title'; give a key_field whose values are all different"),
        (["1"], "features", r"key_field='features' holds float32 of shape \(3,\) for each sample"),
    ):
        with pytest.raises(ConfigError, match=says):
            next(connection.batches(1, index_keys=keys, key_field=field))
    assert not connection.status().streams


def test_the_only_field_of_texts_has_the_keys_and_of_several_one_is_to_be_named(tmp_path: Path) -> None:
    columns = {"name": [b"owl", b"cat", b"dog"], "breed": [b"eagle", b"angora", b"poodle"]}
    for count in (1, 2):
        with h5py.File(tmp_path / f"{count}.h5", "w") as file:
            file["features"] = np.arange(6.0).reshape(3, 2)
            for name in list(columns)[:count]:
                file[name] = np.array(columns[name])
    with connected(tmp_path / "1.h5") as connection:
        (batch,) = connection.batches(2, index_keys=["dog", "owl"], shuffle=False)
        assert batch["index"].tolist() == [2, 0]
    with connected(tmp_path / "2.h5") as connection, pytest.raises(ConfigError) as caught:
        next(connection.batches(2, index_keys=["dog", "owl"]))
    assert "the service has 2 fields of strings 'breed' 'name'; name one with key_field=" in str(caught.value)


@pytest.mark.tensorflow
def test_keys_of_a_table_give_a_dataset_of_its_rows(tf: Any, table: Service) -> None:
    keys = [key_of(row) for row in _WANTED]
    dataset = loader_client.dataset(
        table.endpoint, batch_size=4, index_keys=keys, shuffle=False, fields=("features", "key", "position")
    )
    assert len(dataset) == 2
    seen = [
        (float(feature[0]), key.decode())
        for f, k, _ in dataset.as_numpy_iterator()
        for feature, key in zip(f, k, strict=True)
    ]
    assert seen == list(zip(_WANTED, keys, strict=True))


# ---- clip="auto"


def shapes(connection: Connection, **options: Any) -> dict[str, tuple[int, ...]]:
    batch = next(connection.batches(4, **options))
    return {name: array.shape for name, array in batch.items() if array.dtype.kind != "S"}


@pytest.mark.parametrize("shape", [(40, 6), (40, 8, 9, 3), (40, 5, 8, 9, 3)], ids=["features", "images", "clips"])
def test_a_row_of_a_table_is_a_sample_unless_a_clip_is_asked_for(tmp_path: Path, shape: tuple[int, ...]) -> None:
    name = {2: "features", 4: "images", 5: "clips"}[len(shape)]
    data = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file[name], file["label"] = data, np.arange(40)
    with connected(tmp_path / "a.h5") as connection:
        assert connection.catalog.kind == "rows"
        for options in ({}, {"clip": "auto"}, {"clip": Frame()}):
            seen = shapes(connection, **options)
            field = next(each for each in seen if each not in ("label", "index", "start", "length"))
            assert seen[field] == (4, *shape[1:])
            assert seen["label"] == (4,)
        for batch in connection.batches(8, epochs=2):
            np.testing.assert_array_equal(batch[field], data[batch["label"]])
        assert shapes(connection, clip=Clip(frames=3), drop_remainder=False)[field] == (1, 3, *shape[1:])


def test_an_item_of_a_source_is_a_sample_and_may_be_looked_up() -> None:
    with connected(source=f"{_OWN}:Items", workers=2) as connection:
        assert connection.catalog.kind == "map"
        assert shapes(connection)["grid"] == shapes(connection, clip="auto")["grid"] == (4, 4, 3)
        (batch,) = connection.batches(3, index_keys=["item 41", "item 0", "item 41"], shuffle=False)
        assert batch["grid"][:, 0, 0].tolist() == [41, 0, 41]
        assert batch["position"].tolist() == [0, 1, 2]


def test_an_item_of_a_generator_is_a_sample() -> None:
    with connected(source=f"{_OWN}:Scenes.generate_data") as connection:
        assert connection.catalog.kind == "generator"
        assert shapes(connection)["number"] == shapes(connection, clip="auto")["number"] == (4,)


def test_sixteen_neighbouring_frames_of_a_video_are_a_sample(small_videos: Path) -> None:
    with connected(small_videos / "*.h5") as connection:
        assert connection.catalog.kind == "videos"
        assert shapes(connection)["frames"] == shapes(connection, clip="auto")["frames"] == (4, 16, 48, 64, 3)


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("name", "field", "shape"), [("Items", "grid", (4, 4, 3)), ("Scenes.generate_data", "number", (4,))]
)
def test_an_element_of_a_dataset_has_items_of_the_source(
    tf: Any, name: str, field: str, shape: tuple[int, ...]
) -> None:
    with running_service(source=f"{_OWN}:{name}") as running:
        dataset = loader_client.dataset(running.endpoint, batch_size=4, fields=(field,))
        (element,) = next(iter(dataset))
        assert tuple(element.shape) == shape
        del dataset
