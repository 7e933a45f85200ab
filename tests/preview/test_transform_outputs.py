"""What people are shown of a transform is what it returned to the trainer, to the bit; its faults are theirs alone."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import simplejpeg

import loader_client
from loader_client import Clip, Image, Spec
from loader_service.catalog.columns import Catalog
from loader_service.contact_sheet import as_picture
from loader_service.errors import ConfigError, LoaderError, WorkerDied
from loader_service.preview.preview_worker import PreviewWorker
from loader_service.preview.previewer import Previewer
from loader_service.preview.transform_outputs import TransformOutputs, _frames, _shape_text
from loader_service.protocol import wire
from loader_service.protocol.recent_steps import RecentStep, RecentSteps
from loader_service.worker.frame_fields import Origin
from loader_service.worker.reader import Reader
from loader_service.worker.transforms import TransformedStreams
from tests.support.catalogs import catalog_of
from tests.support.services import running_service

OWN = "tests.preview.own_transforms"
SPEC = Spec(4, Clip(3, stride=2), Image(size=(24, 32), crop="random", flip=True), seed=5, drop_remainder=False)


@pytest.fixture(scope="module")
def batches(small_videos: Path) -> list[tuple[RecentStep, dict[str, Any]]]:
    """Return what a service with a transform says of steps, and gives to a trainer."""
    found = []
    own = f"{OWN}:pictures_and_numbers"
    with running_service(small_videos / "*.h5", transform=own) as service, loader_client.connect(service.endpoint) as c:
        for spec, epoch, step in ((SPEC, 0, 0), (SPEC, 3, 2), (dataclasses.replace(SPEC, clip=None), 1, 1)):
            with closing(c.open(spec)) as stream:
                stream.fetch(epoch, step)
                told = max(c.recent_steps().steps, key=lambda each: each.stream)  # this one, or a step ahead of it
                batch = stream.fetch(told.epoch, told.step)
                found.append((told, {name: np.array(value) for name, value in batch.items()}))
    return found


@pytest.fixture
def catalog(small_videos: Path, tmp_path: Path) -> Iterator[Catalog]:
    with closing(catalog_of(tmp_path, small_videos / "*.h5")) as opened:
        yield opened


@pytest.mark.parametrize("place", [0, 1, 2])
def test_each_output_has_the_bytes_that_the_trainer_got(catalog: Catalog, batches: Any, place: int) -> None:
    told, batch = batches[place]
    assert told.transformed
    with closing(Reader(catalog)) as reader:
        made = TransformOutputs(TransformedStreams(Origin(catalog, reader), f"{OWN}:pictures_and_numbers"), told)
    assert len(made.rows) == told.rows == 4
    for row, outputs in enumerate(made.rows):
        assert {"noisy", "frames", "drawn", "odd", "word"} <= set(outputs) <= set(batch)
        for name, value in outputs.items():
            got = batch[name][row]
            got = got[: len(value)] if name in ("noisy", "frames") else got  # padded where lengths differ
            assert np.asarray(value, got.dtype).tobytes() == got.tobytes(), (row, name)


def test_outputs_are_told_in_numbers_and_shown_with_one_scale(catalog: Catalog, batches: Any) -> None:
    told, batch = batches[0]
    worker = PreviewWorker(catalog, f"{OWN}:pictures_and_numbers")
    step = base64.b64encode(wire.encode(RecentSteps(0, (told,)))).decode("ascii")
    answer = worker.answer({"do": "outputs", "step": step})
    strip = worker.answer({"do": "output_strip", "step": step, "field": "noisy", "row": 2, "frames": 3, "side": 64})
    wrong = worker.answer({"do": "output_strip", "step": step, "field": "drawn", "row": 0, "frames": 3, "side": 64})
    worker.close()
    fields = {each["name"]: each for each in answer["fields"]}
    noisy = batch["noisy"].astype(np.float64)
    assert answer["made"] == 4
    assert (fields["noisy"]["dtype"], fields["noisy"]["shape"]) == ("float32", "(3, 24, 32, 3)")
    assert [fields["noisy"][name] for name in ("low", "mean", "high")] == pytest.approx(
        [noisy.min(), noisy.mean(), noisy.max()]
    )
    assert fields["noisy"]["caption"] == f"black is {noisy.min():.6g}, white is {noisy.max():.6g}"
    assert (fields["noisy"]["frames"], fields["drawn"]["frames"]) == ([3] * 4, [])
    assert (fields["frames"]["caption"], fields["frames"]["frames"]) == ("", [3] * 4)
    assert fields["odd"]["not_finite"] == 8
    assert fields["odd"]["high"] <= 1
    assert (fields["word"]["dtype"], fields["word"]["mean"]) == ("text", None)
    pixels = simplejpeg.decode_jpeg(base64.b64decode(strip["jpeg"])).astype(int)
    assert pixels.shape == (24, 3 * 34 - 2, 3)
    for frame in range(3):
        scaled = (noisy[2, frame] - noisy.min()) / (noisy.max() - noisy.min()) * 255
        assert np.abs(pixels[:, frame * 34 : frame * 34 + 32] - scaled).mean() < 12  # once more a JPEG
    assert wrong == {"error": "the transform returns no pictures called 'drawn'"}


def test_a_process_without_a_transform_runs_none(catalog: Catalog, batches: Any) -> None:
    step = base64.b64encode(wire.encode(RecentSteps(0, (batches[0][0],)))).decode("ascii")
    assert PreviewWorker(catalog).answer({"do": "outputs", "step": step}) == {"error": "this process runs no transform"}


@pytest.mark.parametrize(
    ("name", "answer_s", "error", "words"),
    [
        ("hangs_in_preview", 6.0, WorkerDied, r"ran transform '.*hangs_in_preview' for this page said nothing for 6 s"),
        ("ends_preview", 20.0, WorkerDied, r"ran transform '.*ends_preview' for this page exited with code 7"),
        ("nothing", 20.0, LoaderError, r"has no 'nothing'"),
    ],
)
def test_one_that_hangs_ends_or_is_not_there_is_one_line(
    catalog: Catalog, batches: Any, name: str, answer_s: float, error: type[Exception], words: str
) -> None:
    step = base64.b64encode(wire.encode(RecentSteps(0, (batches[0][0],)))).decode("ascii")
    with Previewer(str(catalog.directory), transform=f"{OWN}:{name}", answer_s=answer_s) as previewer:
        with pytest.raises(error, match=words) as said:
            previewer.ask({"do": "outputs", "step": step}).result(60)
        assert "\n" not in str(said.value)


def test_one_that_takes_too_much_memory_is_ended(catalog: Catalog, batches: Any) -> None:
    step = base64.b64encode(wire.encode(RecentSteps(0, (batches[0][0],)))).decode("ascii")
    own = f"{OWN}:grows_in_preview"
    words = r"grows_in_preview' .* has taken .* and was ended; raise --worker-memory"
    with Previewer(str(catalog.directory), transform=own, answer_s=60, memory_bytes=500_000_000) as previewer:
        answer = previewer.ask({"do": "outputs", "step": step})
        with pytest.raises(WorkerDied, match=words):
            answer.result(60)


def test_a_sample_that_was_not_made_is_named(catalog: Catalog, batches: Any) -> None:
    told = batches[0][0]
    with closing(Reader(catalog)) as reader:
        made = TransformOutputs(TransformedStreams(Origin(catalog, reader), f"{OWN}:pictures_and_numbers"), told)
        with pytest.raises(ConfigError, match="sample 4 was not made, only the first 4"):
            made.pictures("noisy", 4, 1, 64)


def test_which_arrays_are_pictures() -> None:
    for shape, count in (((8, 9, 3), 1), ((4, 8, 9, 1), 4), ((2, 4, 8, 9, 3), 8)):
        frames = _frames(np.zeros(shape, np.float16))
        assert frames is not None
        assert len(frames) == count
    for other in (np.zeros((8, 9, 2)), np.zeros((5, 3, 3)), np.zeros((8, 9, 3), np.int32), np.zeros((0, 8, 9, 3))):
        assert _frames(other) is None
    assert [_shape_text(each) for each in ([(3, 4), (5, 4)], [()], [(7,)], [(1,), ()])] == [
        "(3 to 5, 4)", "()", "(7,)", "differs",
    ]  # fmt: skip


def test_numbers_outside_of_given_bounds_are_black_or_white() -> None:
    shown = as_picture(np.array([[-5.0, 0.0], [1.0, 9.0]]), (0.0, 1.0))
    assert shown[:, :, 0].tolist() == [[0, 0], [255, 255]]


def test_a_batch_in_a_notebook_has_one_scale_too() -> None:
    dark, bright = np.full((8, 8, 3), 0.25), np.full((8, 8, 3), 0.75)
    dark[0, 0], bright[0, 0] = 0.0, 1.0
    made = loader_client.show({"x": np.stack([dark, bright])})
    assert "x: black is 0, white is 1" in repr(made)
    assert [int(made.pixels[4 + 10 * row, 4, 0]) for row in range(2)] == [63, 191]
    assert "black is" not in repr(loader_client.show({"x": np.zeros((2, 8, 8, 3), np.uint8)}))
