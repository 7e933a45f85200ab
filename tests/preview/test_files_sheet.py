"""`inspect --contact-sheet` writes a picture of what files hold, and takes the place of no file unless told to."""

from __future__ import annotations

import subprocess
from contextlib import closing
from pathlib import Path

import cv2
import numpy as np
import pytest

from loader_service.errors import ConfigError
from loader_service.preview.files_sheet import write_files_sheet
from tests.support.catalogs import catalog_of
from tests.support.services import command_line
from tests.support.videos import frame_image, make_videos, write_videos


def test_a_row_is_a_video_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    videos = make_videos((4, 9, 3), height=48, width=64)
    videos["video1"] = [each[:100] for each in videos["video1"]]
    write_videos(tmp_path / "a.h5", "group_datasets", videos)
    target = tmp_path / "out.png"
    with closing(catalog_of(tmp_path)) as catalog:
        lines = write_files_sheet(catalog, str(target))
    assert [line.partition(":")[0] for line in lines] == ["row 1", "no row", "row 2"]
    assert "'video1'" in lines[1]
    picture = cv2.imread(str(target))[:, :, ::-1].astype(int)
    assert picture.shape == (2 * 48 + 2, 4 * 66 - 2, 3)
    first = frame_image(0, 48, 64).astype(int)  # of which a JPEG was made, twice
    assert np.abs(picture[:48, :64] - first).mean() < 20


def test_nothing_takes_the_place_of_a_file_and_that_is_said_before_any_work(small_videos: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.png"
    target.write_bytes(b"mine")
    files = str(small_videos / "part0.h5")

    def inspect(*more: str) -> subprocess.CompletedProcess[str]:
        words = command_line("inspect", files, "--contact-sheet", *more)
        return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)

    refused = inspect(str(target))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "is there already; give another name, or --force" in refused.stderr
    assert target.read_bytes() == b"mine"
    done = inspect(str(target), "--force")
    assert done.returncode == 0, done.stderr
    assert "row 4: file" in done.stderr
    assert cv2.imread(str(target)) is not None


@pytest.mark.parametrize(
    ("name", "words"), [("a.jpg", "ends in .png"), ("no/such/a.png", "make it first"), ("link.png", "is there already")]
)
def test_a_target_that_cannot_be_is_refused(small_videos: Path, tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "link.png").symlink_to(tmp_path / "elsewhere.png")
    with closing(catalog_of(tmp_path, small_videos / "part0.h5")) as catalog, pytest.raises(ConfigError, match=words):
        write_files_sheet(catalog, str(tmp_path / name))
    assert not (tmp_path / "elsewhere.png").exists()
