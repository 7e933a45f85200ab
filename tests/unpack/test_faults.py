"""Kills at any point, full disks, files that change, bad frames: what is left, and what the same command does next."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from loader_service.conversion.work_folder import WORK_NAME
from loader_service.conversion.write_remedies import OutputError
from loader_service.errors import CatalogChanged, ConfigError, DecodeError
from loader_service.failpoints import ENVIRONMENT_VARIABLE
from loader_service.unpack.unpack_options import UnpackOptions
from tests.support.catalogs import catalog_of
from tests.support.services import command_line
from tests.support.videos import make_videos, write_videos
from tests.unpack.runs import UnpackingHere, files_in, unheard, unpacked

LENGTHS = (6, 4, 5, 3, 7, 2)


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("videos")
    write_videos(directory / "a.h5", "group_vlen", make_videos(LENGTHS))
    return directory


@pytest.fixture(scope="module")
def expected(videos: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    place = tmp_path_factory.mktemp("expected")
    unpacked(videos, place, to="tfrecord", shards=6)
    return whole(place)


def whole(place: Path) -> dict[str, bytes]:
    """Return the files under their own names, but the manifest, which tells the time."""
    return {
        name: data
        for name, data in files_in(place).items()
        if not name.startswith(WORK_NAME) and name != "manifest.json"
    }


def run(videos: Path, place: Path, *more: str, failpoint: str = "", prefix: tuple[str, ...] = ()) -> Any:
    words = command_line("unpack", str(videos / "a.h5"), "-o", str(place), "--to", "tfrecord", "--shards", "6", *more)
    environment = {**os.environ, ENVIRONMENT_VARIABLE: failpoint}
    return subprocess.run([*prefix, *words], capture_output=True, text=True, timeout=300, check=False, env=environment)


@pytest.mark.parametrize("failpoint", ["unpack=kill@2", "piece_noted=kill@3", "piece_named=kill@1"])
def test_after_a_kill_no_half_file_has_a_name_and_the_same_command_goes_on(
    videos: Path, expected: dict[str, bytes], tmp_path: Path, failpoint: str
) -> None:
    killed = run(videos, tmp_path, "--workers", "2", failpoint=failpoint)
    assert killed.returncode != 0
    found = whole(tmp_path)
    assert found.items() <= expected.items()
    assert not (tmp_path / "manifest.json").exists()
    ended = run(videos, tmp_path, "--workers", "1", "--check")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == "compared with the files: 0 differences"
    assert whole(tmp_path) == expected
    assert not (tmp_path / WORK_NAME).exists()
    inodes = {name: (tmp_path / name).stat().st_ino for name in found}
    assert unpacked(videos, tmp_path, shards=6).was_complete
    assert {name: (tmp_path / name).stat().st_ino for name in found} == inodes


def test_a_worker_that_dies_is_named_with_its_file(videos: Path, tmp_path: Path) -> None:
    killed = run(videos, tmp_path, "--workers", "1", failpoint="unpack=kill@2")
    assert killed.stderr.count("\n") == 1
    assert "a process that converts 'data-00001-of-00006.tfrecord' was killed by SIGKILL" in killed.stderr
    assert "run the same command again: what is finished stays" in killed.stderr


def test_what_ends_processes_is_left_out_and_the_rest_is_written(videos: Path, tmp_path: Path) -> None:
    failpoint = "unpack_sample[video1]=segv;unpack_sample[video2]=segv"
    ended = run(videos, tmp_path, "--workers", "1", "--on-error", "skip", "--shards", "2", failpoint=failpoint)
    assert ended.returncode == 1, ended.stderr  # as `pack`: not all is there
    left_out = [line for line in ended.stderr.splitlines() if line.startswith("left out")]
    for line, name in zip(left_out, ("video1", "video2"), strict=True):
        assert line.startswith(f"left out: {name}: the process that converted it was killed by SIGSEGV")
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert [each["name"] for each in manifest["left_out"]] == ["video1", "video2"]
    assert sum(each["samples"] for each in manifest["entries"]) == len(LENGTHS) - 2
    again = run(videos, tmp_path, "--on-error", "skip", "--shards", "2")
    assert again.returncode == 1, again.stderr
    assert [line for line in again.stderr.splitlines() if line.startswith("left out")] == left_out
    assert "nothing to do" in again.stdout


def test_what_ended_a_process_once_by_chance_is_not_left_out(
    videos: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    place = tmp_path / "out"
    once = f"unpack_sample[video1]=kill:{tmp_path / 'once'}"
    ended = run(videos, place, "--workers", "1", "--on-error", "skip", failpoint=once)
    assert ended.returncode == 0, ended.stderr
    assert "left out" not in ended.stderr
    assert (tmp_path / "once").exists()
    assert whole(place) == expected


def test_a_disk_that_takes_no_more_is_one_line_and_the_same_command_goes_on(
    videos: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    limited = ("sh", "-c", 'ulimit -f 20 && exec "$@"', "sh")  # no file above 10 KiB, where most are larger
    ended = run(videos, tmp_path, "--workers", "1", prefix=limited)
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    assert "and run the same command again: what is finished stays" in ended.stderr
    assert whole(tmp_path).items() < expected.items()
    assert run(videos, tmp_path).returncode == 0
    assert whole(tmp_path) == expected


def test_a_place_without_room_is_refused_before_anything_is_written(
    videos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    little = os.statvfs_result((4096, 4096, 100, 5, 5, 10, 10, 10, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: little)
    with pytest.raises(OutputError, match=r"has 20\.0 KiB left, and .* are to be written: free some space"):
        unpacked(videos, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_changes_while_it_is_read_ends_the_run(tmp_path: Path) -> None:
    write_videos(tmp_path / "a.h5", "group_vlen", make_videos((3, 3)))
    catalog = catalog_of(tmp_path)
    os.utime(tmp_path / "a.h5", ns=(1, 1))
    unpacking = UnpackingHere(catalog, UnpackOptions(output=str(tmp_path / "out"), on_error="skip"), 1)
    with pytest.raises(CatalogChanged, match="it changed while it was read: run the same command again"):
        unpacking.run(unheard)
    assert files_in(tmp_path / "out") == {}


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """Return a folder with a file whose second video has an empty frame and whose third has a damaged one."""
    made = make_videos((3, 3, 3))
    made["video2"][1] = made["video2"][1][:300]
    write_videos(tmp_path / "a.h5", "group_vlen", made)
    with h5py.File(tmp_path / "a.h5", "a") as file:
        place = next(iter(file["video1"].values())) if isinstance(file["video1"], h5py.Group) else file["video1"]
        place[2] = np.empty(0, np.uint8)
    return tmp_path


def test_a_bad_frame_is_one_named_error(damaged: Path) -> None:
    with pytest.raises(DecodeError, match=r"frame 2 of video 'video1' in .*a\.h5'.*expected an image, got 0 bytes"):
        unpacked(damaged, damaged / "out", to="folders")


@pytest.mark.parametrize("target", ["tfrecord", "webdataset", "folders", "mp4"])
def test_what_cannot_be_read_is_left_out_and_listed(damaged: Path, target: str) -> None:
    report = unpacked(damaged, damaged / "out", to=target, on_error="skip", fps=25.0 if target == "mp4" else 0.0)
    bad = ["video1", "video2"] if target == "mp4" else ["video1"]  # bytes that nobody decodes pass through
    assert [each.name for each in report.left_out] == bad
    manifest = json.loads((damaged / "out" / "manifest.json").read_text())
    assert [each["name"] for each in manifest["left_out"]] == bad
    assert not any("video1" in name for name in files_in(damaged / "out"))
    assert not (damaged / "out" / WORK_NAME).exists()


def test_other_options_in_an_unfinished_place_are_refused(videos: Path, tmp_path: Path) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    catalog = catalog_of(videos)
    unpacking = UnpackingHere(catalog, UnpackOptions(output=str(tmp_path), shards=3), 1)
    calls = iter([unheard, killed])
    with pytest.raises(KeyboardInterrupt):
        unpacking.run(lambda *_: next(calls)())
    assert len(whole(tmp_path)) == 2
    with pytest.raises(ConfigError, match="an unfinished conversion of other files, or with other options"):
        unpacked(videos, tmp_path, shards=2)
    unpacked(videos, tmp_path, shards=2, force=True)
    assert {"data-00000-of-00002.tfrecord", "data-00001-of-00002.tfrecord"} <= whole(tmp_path).keys()


def test_a_finished_place_is_not_overwritten_by_other_options(videos: Path, tmp_path: Path) -> None:
    unpacked(videos, tmp_path, shards=2)
    before = files_in(tmp_path)
    with pytest.raises(ConfigError, match=r"manifest\.json' is there already"):
        unpacked(videos, tmp_path, shards=3)
    assert files_in(tmp_path) == before


def test_the_time_and_size_of_a_run_are_told_without_writing(videos: Path, tmp_path: Path) -> None:
    ended = run(videos, tmp_path / "out", "--dry-run")
    assert ended.returncode == 0, ended.stderr
    assert "would write 6 samples" in ended.stdout
    assert "data-00000-of-00006.tfrecord, " in ended.stdout
    assert "in about 0:00:0" in ended.stdout
    assert not (tmp_path / "out").exists()


def test_without_the_extra_all_other_commands_work_and_unpack_names_it(videos: Path, tmp_path: Path) -> None:
    (tmp_path / "google_crc32c.py").write_text("raise ImportError")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    words = command_line("unpack", str(videos / "a.h5"), "-o", str(tmp_path / "out"))
    ended = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert ended.returncode == 2
    assert "needs the package 'google-crc32c': pip install 'loader-service[pack]'" in ended.stderr
    other = subprocess.run(
        command_line("start", "--help"), capture_output=True, text=True, timeout=300, check=False, env=environment
    )
    assert other.returncode == 0, other.stderr
