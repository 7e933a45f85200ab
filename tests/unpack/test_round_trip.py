"""What is unpacked and packed again holds the same pictures, numbers and labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

from loader_service.cli import cli
from loader_service.formats.tfrecord import read_records
from tests.support.catalogs import catalog_of, frames_of, names_of
from tests.support.episodes import write_episode
from tests.support.videos import frame_jpeg, make_videos, write_videos
from tests.unpack.runs import compared, unpacked

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
    assert catalog.classes == ("cat", "dog")
    assert sorted(names_of(catalog)) == ["video0", "video1", "video2"]


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


def write_all_kinds(path: Path) -> None:
    """Write a packed file with videos that have fields of all kinds, and odd names."""
    with h5py.File(path, "w") as file:
        for number, name in enumerate(("a.b/Clip 1", "größe", "x:y")):
            group, count = file.create_group(name), 3 + number
            for camera, shift in (("frames", 0), ("Top", 50)):
                data = [frame_jpeg(10 * number + frame + shift) for frame in range(count)]
                group[camera] = np.frombuffer(b"".join(data), np.uint8)
                bounds = np.concatenate([[0], np.cumsum([len(each) for each in data])])
                group["offsets" if camera == "frames" else f"{camera}_offsets"] = bounds
            group["qpos"] = np.arange(count * 2, dtype=np.float64).reshape(count, 2) / 3
            group["small"] = np.arange(count, dtype=np.int8)
            group["between"] = np.arange(count - 1, dtype=np.float32)
            group["boxes"] = np.arange(count * 4, dtype=np.float32).reshape(count, 4)
            group["boxes_offsets"] = np.array([0, *([1] * (count - 2)), count - 1, count])
            group.attrs["label"] = ("cat", "dog", "cat")[number]
            group.attrs["frame_rate"] = np.float32(12.5)
            group.attrs["task"] = f"fold {number}"
            group.attrs["name"], group.attrs["file"] = "one", f"{number}.avi"  # as columns of labels.csv are called
            group.attrs["success"] = np.bool_(number % 2)
            group.attrs["key_frames"] = np.arange(number + 1, dtype=np.int16)


def everything(path: Path, *, but: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return all datasets and attributes of a file, with their types."""
    found: dict[str, Any] = {}

    def visit(name: str, item: Any) -> None:
        for key, value in item.attrs.items():
            found[f"{name}@{key}"] = (str(np.asarray(value).dtype), np.asarray(value).tolist())
        if isinstance(item, h5py.Dataset) and name.rpartition("/")[2] not in but:
            found[name] = (str(item.dtype), item[()].tolist())

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


@pytest.mark.parametrize("target", ["tfrecord", "webdataset", "images", "mp4"])
def test_names_labels_types_and_lists_come_back_from_each_target(tmp_path: Path, target: str) -> None:
    write_all_kinds(tmp_path / "a.h5")
    packed(tmp_path / "a.h5", tmp_path / "first.h5")
    unpacked(tmp_path, tmp_path / "out", tmp_path / "first.h5", to=target)
    packed(tmp_path / "out", tmp_path / "again.h5")
    pictures = ("frames", "offsets", "Top", "Top_offsets") if target == "mp4" else ()  # encoded again, with loss
    assert everything(tmp_path / "again.h5", but=pictures) == everything(tmp_path / "first.h5", but=pictures)
    assert compared(tmp_path, tmp_path / "out", tmp_path / "first.h5", to=target) == []


@pytest.mark.parametrize("target", ["tfrecord", "webdataset", "images"])
def test_frames_that_are_samples_come_back_as_videos_of_one(tmp_path: Path, target: str) -> None:
    write_all_kinds(tmp_path / "a.h5")
    unpacked(tmp_path, tmp_path / "out", tmp_path / "a.h5", to=target, sample="frame")
    packed(tmp_path / "out", tmp_path / "again.h5")
    before, after = everything(tmp_path / "a.h5"), everything(tmp_path / "again.h5")
    assert after["größe/000002/qpos"] == ("float64", [before["größe/qpos"][1][1]])
    assert after["größe/000002/small"] == ("int8", [1])
    assert after["größe/000002/boxes"] == ("float32", [])
    assert after["größe/000004/boxes"] == ("float32", [before["größe/boxes"][1][3]])
    assert after["größe/000002@task"] == ("|S6", b"fold 1")
    assert sum(name.endswith("/Top") for name in after) == 12


def test_a_place_that_is_not_as_its_manifest_says_is_refused(tmp_path: Path) -> None:
    write_all_kinds(tmp_path / "a.h5")
    unpacked(tmp_path, tmp_path / "out", tmp_path / "a.h5", to="tfrecord")
    (shard,) = (tmp_path / "out").glob("*.tfrecord")
    records = list(read_records(shard))
    shard.write_bytes(shard.read_bytes()[: records[-1].offset])
    ended = CliRunner().invoke(cli, ["pack", str(tmp_path / "out"), "-o", str(tmp_path / "again.h5")])
    assert ended.exit_code == 1
    assert "holds 2 samples, and its manifest names 3; unpack again" in str(ended.exception)
