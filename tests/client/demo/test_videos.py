"""The demo's videos hold what they say: balanced labels, JPEG frames, motion in the direction of the label."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
import simplejpeg
from numpy.typing import NDArray

from loader_client.demo.videos import DIRECTIONS, HEIGHT, WIDTH, write_videos


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("demo")
    write_videos(directory, "train", videos=20, videos_per_file=8, seed=1)
    return directory


def read(directory: Path) -> list[tuple[str, str, NDArray[np.uint8]]]:
    """Return (name, label, frames) of each video."""
    videos = []
    for path in sorted(directory.glob("train-*.h5")):
        with h5py.File(path) as file:
            for name, dataset in file.items():
                frames = [simplejpeg.decode_jpeg(frame.tobytes(), "GRAY")[:, :, 0] for frame in dataset]
                videos.append((name, dataset.attrs["label"], np.stack(frames)))
    return videos


def test_videos_fill_the_files_in_order(directory: Path) -> None:
    paths = sorted(path.name for path in directory.iterdir())
    assert paths == ["train-000.h5", "train-001.h5", "train-002.h5"]
    assert [name for name, _, _ in read(directory)] == [f"video{number:04d}" for number in range(20)]


def test_labels_are_strings_and_balanced(directory: Path) -> None:
    labels = [label for _, label, _ in read(directory)]
    assert {label: labels.count(label) for label in DIRECTIONS} == dict.fromkeys(DIRECTIONS, 5)


def test_lengths_vary_and_frames_have_one_size(directory: Path) -> None:
    lengths = {len(frames) for _, _, frames in read(directory)}
    assert len(lengths) > 5
    assert min(lengths) >= 16
    assert max(lengths) <= 40
    assert {frames.shape[1:] for _, _, frames in read(directory)} == {(HEIGHT, WIDTH)}


def test_shape_moves_the_way_the_label_says(directory: Path) -> None:
    for name, label, frames in read(directory):
        assert moving_way(frames) == label, name


def test_writer_counts_what_it_wrote(tmp_path: Path) -> None:
    written = write_videos(tmp_path, "train", videos=4, videos_per_file=4, seed=3)
    videos = read(tmp_path)
    assert written.videos == len(videos) == 4
    assert written.frames == sum(len(frames) for _, _, frames in videos)
    with h5py.File(tmp_path / "train-000.h5") as file:
        assert written.size_bytes == sum(len(frame) for dataset in file.values() for frame in dataset)


def test_same_seed_gives_the_same_videos_and_another_one_others(tmp_path: Path) -> None:
    for part, seed in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / part).mkdir()
        write_videos(tmp_path / part, "train", videos=2, videos_per_file=2, seed=seed)
    a, b, c = (read(tmp_path / part)[0][2] for part in "abc")
    assert np.array_equal(a, b)
    assert not np.array_equal(a[:10], c[:10])


def moving_way(frames: NDArray[np.uint8]) -> str:
    """Return the direction whose shifts explain what changes: the plain way to tell it, with no learning."""
    pixels = frames.astype(float)
    pixels /= pixels.mean(axis=(1, 2), keepdims=True)  # without the flicker
    moving = pixels - np.median(pixels, axis=0)  # without the background
    agreement = {
        label: max(
            np.vdot(np.roll(moving[:-1], (speed * down, speed * right), axis=(1, 2)), moving[1:])
            for speed in range(2, 6)
        )
        for label, (down, right) in DIRECTIONS.items()
    }
    return max(agreement, key=agreement.__getitem__)
