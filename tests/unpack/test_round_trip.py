"""What is unpacked and packed again holds the same pictures, numbers and labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from loader_service.cli import cli
from tests.support.catalogs import catalog_of, frames_of, names_of
from tests.support.episodes import write_episode
from tests.support.videos import make_videos, write_videos
from tests.unpack.runs import unpacked

LABELS = ("cat", "dog", "cat")


def packed(place: Path, target: Path) -> None:
    ended = CliRunner().invoke(cli, ["pack", str(place), "-o", str(target), "--workers", "1"])
    assert ended.exit_code == 0, ended.output


@pytest.mark.parametrize("target", ["tfrecord", "webdataset", "folders"])
def test_videos_and_their_classes_come_back(tmp_path: Path, target: str) -> None:
    made = make_videos((5, 4, 3))
    write_videos(tmp_path / "a.h5", "group_vlen", made, dict(zip(made, LABELS, strict=True)))
    unpacked(tmp_path, tmp_path / "out", tmp_path / "a.h5", to=target)
    packed(tmp_path / "out", tmp_path / "again.h5")
    catalog = catalog_of(tmp_path, tmp_path / "again.h5")
    found = {tuple(frames_of(catalog, video)): video for video in range(catalog.video_count)}
    videos = [found[tuple(frames)] for frames in made.values()]
    assert len(found) == 3
    assert catalog.labels is not None
    assert catalog.labels[videos].tolist() == [0, 1, 0]
    if target == "folders":
        assert catalog.classes == ("cat", "dog")
        assert sorted(names_of(catalog)) == ["cat/video0", "cat/video2", "dog/video1"]


def test_the_cameras_and_numbers_of_episodes_come_back(tmp_path: Path) -> None:
    made: list[dict[str, Any]] = [
        write_episode(tmp_path / f"e{number}.h5", 4 + number, seed=number) for number in range(2)
    ]
    unpacked(tmp_path, tmp_path / "out", tmp_path / "e*.h5", to="webdataset")
    packed(tmp_path / "out", tmp_path / "again.h5")
    unpacked(tmp_path, tmp_path / "second", tmp_path / "again.h5", to="folders")
    for number, fields in enumerate(made):
        folder = tmp_path / "second" / f"e{number}"
        for camera in ("top", "wrist"):
            assert [each.read_bytes() for each in sorted((folder / camera).iterdir())] == fields[camera]
        for name in ("action", "qpos", "qvel"):
            assert np.array_equal(np.load(folder / f"{name}.npy"), fields[name])
