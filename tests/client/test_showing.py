"""Batches, datasets and connections as contact sheets: pictures where there are some, texts escaped, nothing moved."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import cv2
import h5py
import numpy as np
import pytest

import loader_client
from loader_client import Clip, ConfigError, Frame, Image, Ragged, Spec
from loader_client.forms import Batch
from loader_service.contact_sheet import as_picture, evenly, fitted, sheet, strip
from tests.support.services import Service, running_service
from tests.support.videos import frame_jpeg


def clips(samples: int = 3, frames: int = 5) -> Batch:
    rng = np.random.default_rng(0)
    return {
        "frames": rng.integers(0, 256, (samples, frames, 24, 32, 3), dtype=np.uint8),
        "label": np.arange(samples),
        "video": np.array([b"<script>alert(1)</script>"] * samples),
        "qpos": np.ones((samples, frames, 7), np.float32),
    }


def test_each_sample_is_a_row_of_its_frames_in_order() -> None:
    batch = clips()
    made = loader_client.show(batch, samples=2, frames=3)
    assert made.pixels.shape == (24 * 2 + 2, 3 * 34 - 2, 3)
    for row in range(2):
        for place, frame in enumerate((0, 2, 4)):
            part = made.pixels[row * 26 : row * 26 + 24, place * 34 : place * 34 + 32]
            assert np.array_equal(part, batch["frames"][row, frame])
    assert "2 of 3 samples" in repr(made)
    assert "qpos float32 (5, 7)" in repr(made)


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float16", "int16"])
@pytest.mark.parametrize("shape", [(2, 8, 9, 3), (2, 4, 8, 9, 1), (2, 1, 8, 9, 3)])
def test_pictures_of_any_type_and_shape_are_shown(dtype: str, shape: tuple[int, ...]) -> None:
    pixels = np.linspace(0, 120, int(np.prod(shape))).reshape(shape).astype(dtype)
    assert loader_client.show((pixels, np.arange(2))).pixels.dtype == np.uint8
    assert "<img" in loader_client.show({"x": pixels})._repr_html_()


@pytest.mark.parametrize("shape", [(2, 20, 30), (2, 4, 20, 30)])
def test_depth_maps_are_shown_where_nothing_has_colours(shape: tuple[int, ...]) -> None:
    depth = np.linspace(100, 60_000, int(np.prod(shape))).reshape(shape).astype(np.uint16)
    made = loader_client.show({"depth": depth, "qpos": np.zeros((2, 20, 30), np.float32)}, frames=4)
    assert made.pixels.shape == (42, 30 if len(shape) == 3 else 4 * 32 - 2, 3)
    assert (made.pixels[0, 0, 0], made.pixels[-1, -1, 0]) == (0, 255)
    assert "depth: black is 100, white is 60000" in repr(made)
    colours = np.full((*shape, 3), 7, np.uint8)
    assert loader_client.show({"depth": depth, "rgb": colours}).pixels[0, 0].tolist() == [7, 7, 7]
    few = loader_client.show({"codes": np.zeros((2, 12, 30), np.uint16)})
    with pytest.raises(ConfigError, match="no field of this batch has pictures"):
        few.save("nowhere.png")


def test_numbers_that_are_none_are_black_and_do_no_harm() -> None:
    with np.errstate(all="raise"):
        for value in (np.nan, np.inf, -np.inf, 7.0):
            assert as_picture(np.full((5, 6), value)).max() == 0
        mixed = np.array([[np.nan, 0.0], [1.0, np.inf]])
        assert as_picture(mixed)[:, :, 0].tolist() == [[0, 0], [255, 0]]


def test_texts_of_a_batch_are_no_html() -> None:
    batch = {**clips(), "<b>": np.array(["'\"><img src=x onerror=1>"] * 3)}
    told = loader_client.show(batch)._repr_html_()
    assert "<script" not in told
    assert "<img src=x" not in told
    assert "onerror=1&gt;" in told
    assert len(re.findall("<img ", told)) == 3


def test_what_has_no_pictures_is_shown_as_numbers() -> None:
    made = loader_client.show({"x": np.arange(12.0).reshape(4, 3), "box": np.zeros((4, 2, 1, 3))})
    assert repr(made).startswith("4 of 4 samples\n0: x [0, 1, 2]")
    with pytest.raises(ConfigError, match="no field of this batch has pictures"):
        made.save("nowhere.png")
    lists = Ragged(np.arange(6), np.array([0, 2, 6]))
    assert "1: boxes [2, 3, 4, 5]" in repr(loader_client.show({"boxes": lists}))
    for nothing in ({}, {"x": np.zeros((0, 3))}, 7, ()):
        if nothing != 7:
            with pytest.raises(ConfigError, match="no batch with samples"):
                loader_client.show(nothing)


def test_a_sheet_never_takes_the_place_of_a_file_unless_told_to(tmp_path: Path) -> None:
    target = tmp_path / "a.png"
    made = loader_client.show(clips())
    made.save(target)
    written = cv2.imread(str(target))
    assert np.array_equal(written[:, :, ::-1], made.pixels)
    with pytest.raises(ConfigError, match="is there already"):
        made.save(target)
    target.write_bytes(b"x")
    made.save(target, force=True)
    assert target.stat().st_size > 100


def test_frames_are_spread_from_the_first_to_the_last() -> None:
    assert evenly(5, 8) == [0, 1, 2, 3, 4]
    assert evenly(100, 3) == [0, 50, 99]
    assert evenly(9, 1) == [0]
    assert evenly(0, 3) == []
    wide, tall = np.zeros((10, 300, 3), np.uint8), np.zeros((300, 10, 3), np.uint8)
    assert fitted(wide, 100).shape == (3, 100, 3)
    assert fitted(tall, 100).shape == (100, 3, 3)
    assert sheet([strip([wide]), strip([fitted(wide, 100)])]).shape == (15, 300, 3)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("shown") / "a.h5"
    with h5py.File(path, "w") as file:
        for place in range(6):
            group = file.create_group(f"<i>v{place}")
            frames = group.create_dataset("frames", (6,), h5py.vlen_dtype(np.uint8))
            for number in range(6):
                frames[number] = np.frombuffer(frame_jpeg(place * 10 + number, 32, 40), np.uint8)
            group.attrs["label"] = f"<u>{place % 2}"
    with running_service(path, workers=1) as running:
        yield running


def test_first_samples_are_those_of_the_stream_and_move_none_of_its_iterators(service: Service) -> None:
    with loader_client.connect(service.endpoint) as connection:
        spec = Spec(4, Clip(2), Image(size=(16, 16), flip=True), seed=3)
        stream = connection.open(spec)
        first = stream.first_samples(2)
        batch = stream.fetch(0, 0)
        assert set(first) == set(batch)
        for name, values in first.items():
            assert np.array_equal(values, batch[name][:2])
        assert len(connection.status().streams) == 1  # that of the first samples is gone


def test_connections_catalogs_and_streams_show_themselves(service: Service) -> None:
    with loader_client.connect(service.endpoint) as connection:
        told = connection._repr_html_()
        assert told.count("<img ") == 4
        assert "1 file, 6 videos, 36 frames" in told
        for name in ("<i>", "<u>"):
            assert name not in told
        assert "&lt;u&gt;0" in connection.catalog._repr_html_()
        assert loader_client.show(connection, samples=3, side=20).pixels.shape[0] == 3 * 18 - 2
        one = next(connection.batches(None, clip=Frame(), image=Image(size=(12, 12))))
        assert loader_client.show({name: np.asarray(value)[np.newaxis] for name, value in one.items()}).pixels.size
    assert connection._repr_html_().count("closed") == 1  # and no error of somebody who only looks


def test_a_connection_says_what_the_trainers_of_its_service_wait_for(service: Service) -> None:
    with loader_client.connect(service.endpoint) as trainer, loader_client.connect(service.endpoint) as connection:
        assert "stream" not in connection._repr_html_(), "nobody trains"
        batches = trainer.batches(2, clip=Clip(1))
        next(batches)
        told = connection._repr_html_()
        assert re.search(r"<b>stream \d+, [^<]*: (the trainer|too early)", told), told
        batches.close()


@pytest.mark.tensorflow
def test_a_dataset_shows_itself_and_its_first_epoch_is_still_to_come(service: Service, tf: Any) -> None:
    with loader_client.connect(service.endpoint) as connection:
        ds = loader_client.dataset(connection, batch_size=3, clip=Clip(2), image=Image(size=(16, 16)), seed=1)
        told = ds._repr_html_()
        assert "batches of 3" in told
        assert told.count("<img ") == 3
        shown = repr(loader_client.show(ds))
        batch = next(iter(ds))
        assert f"index {batch['index'].numpy()[0]}" in shown
        expected = next(connection.batches(3, clip=Clip(2), image=Image(size=(16, 16)), seed=1))
        assert batch["index"].numpy().tolist() == expected["index"].tolist()
        gone = loader_client.connect(service.endpoint)
        orphan = loader_client.dataset(gone, batch_size=3, clip=Clip(2))
        gone.close()
        assert orphan._repr_html_().count("the connection was closed") == 1, "and no error of who only looks"
        ragged = tf.ragged.constant([[1, 2], [3]])
        assert "0: 0 [1, 2]" in repr(loader_client.show((ragged, batch["label"][:2])))
        del ds, batch, orphan
