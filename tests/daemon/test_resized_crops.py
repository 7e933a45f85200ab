"""Resized crops and drawn short sides through a service: the bytes follow from files, spec and seed alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loader_client
from loader_client import Clip, Image
from loader_service.plan.image_draws import draw_images
from loader_service.plan.image_shape import crop_box
from loader_service.protocol.spec import Spec
from loader_service.worker.image import ImageWriter
from loader_service.worker.turbo_library import decoder_text
from tests.support.videos import make_videos, write_videos

VIDEOS = 6
FRAMES = 4
IMAGES = {
    "boxes": Image(size=24, crop="resized", scale=(0.2, 0.9), flip=True),
    "boxes, lenient": Image(size=(20, 28), crop="resized", strict=False, decode="full"),
    "short sides": Image(size=(24, 24), crop="random", short_side=(26, 40)),
}


@pytest.fixture(scope="module")
def videos() -> dict[str, list[bytes]]:
    return make_videos([FRAMES] * VIDEOS, height=72, width=96)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, videos: dict[str, list[bytes]]) -> Any:
    folder = tmp_path_factory.mktemp("boxes")
    write_videos(folder / "a.h5", "group_vlen", dict(list(videos.items())[:3]))
    write_videos(folder / "b.h5", "group_vlen", dict(list(videos.items())[3:]))
    with loader_client.connect(str(folder / "*.h5"), workers=2) as connection:
        yield connection


def expected(image: Image, videos: dict[str, list[bytes]], epoch: int, seed: int = 9) -> list[np.ndarray]:
    """Return each video's clip, made of its JPEGs in this process, one frame after the other."""
    spec = Spec(2, Clip(FRAMES, sampling="start"), image, shuffle=False, seed=seed)
    drawn = draw_images(spec, epoch, np.arange(len(videos)))
    clips = []
    for frames, draws in zip(videos.values(), drawn, strict=True):
        size = image.size if isinstance(image.size, tuple) else (image.size, image.size)
        clip = np.empty((FRAMES, *size, 3), np.uint8)
        writer = ImageWriter(image, clip.shape[1:])
        for frame, out in zip(frames, clip, strict=True):
            writer.write(frame, out, draws)
        clips.append(clip)
    return clips


@pytest.mark.parametrize("name", IMAGES)
def test_every_epoch_has_the_boxes_of_its_draws(service: Any, videos: dict[str, list[bytes]], name: str) -> None:
    image = IMAGES[name]
    batches = service.batches(
        2, clip=Clip(FRAMES, sampling="start"), image=image, shuffle=False, seed=9, epochs=2, fields=("frames",)
    )
    got = [clip for batch in batches for clip in batch["frames"].copy()]
    first, second = expected(image, videos, 0), expected(image, videos, 1)
    assert all(np.array_equal(one, other) for one, other in zip(got, first + second, strict=True))
    assert not np.array_equal(np.stack(first), np.stack(second))


def test_the_status_says_what_decodes(service: Any) -> None:
    assert {worker.decoder for worker in service.status().workers} == {service.status().workers[0].decoder}
    assert service.status().workers[0].decoder == decoder_text()
    assert "parts of frames are decoded alone, by " in decoder_text()


def test_a_frame_that_is_cut_off_is_named_and_below_the_window_only_where_the_spec_is_strict(
    tmp_path: Path, videos: dict[str, list[bytes]]
) -> None:
    frames = list(videos["video0"])
    frames[2] = frames[2][: len(frames[2]) * 9 // 10]
    write_videos(tmp_path / "a.h5", "group_vlen", {"video0": frames})
    asked: dict[str, Any] = {"batch_size": 1, "clip": Clip(FRAMES, sampling="start"), "fields": ("frames",)}
    small: dict[str, Any] = {"size": 16, "crop": "resized", "scale": (0.1, 0.2)}
    image = Image(**small, strict=False)
    (draws,) = draw_images(Spec(1, Clip(FRAMES), image), 0, np.array([0]))
    box = crop_box(image, (72, 96), draws)
    assert box.top + box.height < 48, "the box of this sample lies in the upper rows, above what is cut off"
    with loader_client.connect(str(tmp_path / "a.h5"), workers=1) as connection:
        with pytest.raises(loader_client.DecodeError, match="frame 2: the JPEG data is damaged"):
            next(iter(connection.batches(**asked, image=Image(**small))))
        lenient = next(iter(connection.batches(**asked, image=image)))["frames"].copy()
    whole = expected(image, {"video0": videos["video0"]}, 0, seed=0)
    assert np.array_equal(lenient[0], whole[0])
