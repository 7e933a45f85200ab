"""What programs of others read of what was unpacked, against what was put into the HDF5 files."""

from __future__ import annotations

import csv
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import av
import cv2
import h5py
import numpy as np
import pytest
import simplejpeg

from loader_service.errors import ConfigError, DecodeError
from loader_service.worker.decode import decode_into
from tests.support.episodes import write_episode, write_table
from tests.support.late_tensorflow import tf
from tests.support.videos import frame_jpeg, make_videos, write_videos
from tests.unpack.runs import compared, files_in, unpacked

pytestmark = pytest.mark.usefixtures("tf")

LENGTHS = (5, 1, 3)
LABELS = ("cat", "dog", "cat")


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[bytes]]]:
    directory = tmp_path_factory.mktemp("videos")
    made = make_videos(LENGTHS)
    write_videos(directory / "a.h5", "group_vlen", made, dict(zip(made, LABELS, strict=True)))
    return directory, made


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    directory = tmp_path_factory.mktemp("episodes")
    return directory, [write_episode(directory / f"e{number}.h5", 3 + number, seed=number) for number in range(2)]


def records(place: Path, features: dict[str, Any]) -> list[dict[str, Any]]:
    paths = sorted(map(str, place.glob("*.tfrecord")))
    return [
        {name: value.numpy() for name, value in tf.io.parse_single_example(data, features).items()}
        for data in tf.data.TFRecordDataset(paths)
    ]


def texts() -> Any:
    return tf.io.FixedLenSequenceFeature([], tf.string, allow_missing=True)


def members(place: Path) -> dict[str, bytes]:
    found = {}
    for path in sorted(place.glob("*.tar")):
        with tarfile.open(path) as tar:
            found |= {info.name: tar.extractfile(info).read() for info in tar}  # type: ignore[union-attr]
    return found


def table(place: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((place / "labels.csv").read_text(encoding="utf-8"))))


def test_tensorflow_reads_videos_with_their_labels(videos: Any, tmp_path: Path) -> None:
    directory, made = videos
    report = unpacked(directory, tmp_path, to="tfrecord", shards=2)
    single = tf.io.FixedLenFeature
    found = records(
        tmp_path,
        {
            "frames": texts(),
            "label": single([], tf.int64),
            "label_text": single([], tf.string),
            "video": single([], tf.string),
            "length": single([], tf.int64),
        },
    )
    assert [each["video"].decode() for each in found] == list(made)
    assert [each["frames"].tolist() for each in found] == list(made.values())
    assert [each["label_text"].decode() for each in found] == list(LABELS)
    assert [int(each["label"]) for each in found] == [0, 1, 0]
    assert [int(each["length"]) for each in found] == list(LENGTHS)
    assert sorted(files_in(tmp_path)) == [
        "data-00000-of-00002.tfrecord",
        "data-00001-of-00002.tfrecord",
        "manifest.json",
    ]
    assert (report.samples, report.left_out) == (3, ())


def test_tensorflow_reads_the_numbers_of_episodes(episodes: Any, tmp_path: Path) -> None:
    directory, made = episodes
    unpacked(directory, tmp_path, to="tfrecord")
    features = {
        "top": texts(),
        "wrist": texts(),
        "qpos": tf.io.FixedLenFeature([], tf.string),
        "action": tf.io.FixedLenSequenceFeature([14], tf.float32, allow_missing=True),
        "sim": tf.io.FixedLenFeature([], tf.int64),
    }
    for number, found in enumerate(records(tmp_path, features)):
        assert found["top"].tolist() == made[number]["top"]
        assert found["wrist"].tolist() == made[number]["wrist"]
        assert np.array_equal(found["action"], made[number]["action"])
        assert np.array_equal(np.frombuffer(found["qpos"], "<f8").reshape(-1, 14), made[number]["qpos"])
        assert found["sim"] == (number % 2 == 0)
    described = {
        each["name"]: each["written_as"] for each in json.loads((tmp_path / "manifest.json").read_text())["fields"]
    }
    assert described["qpos"] == "bytes of float64, little-endian"
    assert described["action"] == "float_list"


def test_tarfile_reads_videos_with_their_labels(videos: Any, tmp_path: Path) -> None:
    directory, made = videos
    unpacked(directory, tmp_path, to="webdataset")
    found = members(tmp_path)
    for place, (name, frames) in enumerate(made.items()):
        assert [found[f"{name}.{frame + 1:06}.jpg"] for frame in range(len(frames))] == frames
        assert found[f"{name}.cls"] == str([0, 1, 0][place]).encode()
        assert json.loads(found[f"{name}.json"])["label_text"] == LABELS[place]
    assert [name.split(".")[0] for name in found] == sorted(
        name.split(".")[0] for name in found
    )  # keys follow each other


def test_tarfile_reads_the_numbers_of_episodes(episodes: Any, tmp_path: Path) -> None:
    directory, made = episodes
    unpacked(directory, tmp_path, to="webdataset")
    found = members(tmp_path)
    for number, fields in enumerate(made):
        assert found[f"e{number}.top.000002.jpg"] == fields["top"][1]
        for name in ("qpos", "qvel", "action"):
            assert np.array_equal(np.load(io.BytesIO(found[f"e{number}.{name}.npy"])), fields[name])
        assert json.loads(found[f"e{number}.json"])["sim"] == (number % 2 == 0)


def test_folders_hold_the_frames_as_they_are(videos: Any, tmp_path: Path) -> None:
    directory, made = videos
    unpacked(directory, tmp_path, to="folders")
    expected = {
        f"{label}/{name}/{frame + 1:06}.jpg": data
        for (name, frames), label in zip(made.items(), LABELS, strict=True)
        for frame, data in enumerate(frames)
    }
    found = files_in(tmp_path)
    assert {name: data for name, data in found.items() if name.endswith(".jpg")} == expected
    assert found.keys() - expected.keys() == {"labels.csv", "manifest.json"}
    assert [(row["video"], row["label"], row["label_text"], row["frames"]) for row in table(tmp_path)] == [
        ("cat/video0", "0", "cat", "5"),
        ("dog/video1", "1", "dog", "1"),
        ("cat/video2", "0", "cat", "3"),
    ]


def test_videos_of_one_frame_are_files(tmp_path: Path) -> None:
    made = make_videos((1, 1))
    write_videos(tmp_path / "a.h5", "group_vlen", made, {"video0": "x", "video1": "y"})
    unpacked(tmp_path, tmp_path / "out", to="folders")
    found = files_in(tmp_path / "out")
    assert {name: data for name, data in found.items() if name.endswith(".jpg")} == {
        "x/video0.jpg": made["video0"][0],
        "y/video1.jpg": made["video1"][0],
    }


def test_the_rows_of_a_table_are_samples(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (4, 6, 8, 3), np.uint8)
    features, labels = np.arange(12, dtype=np.float32).reshape(4, 3), np.array([3, 1, 2, 0])
    write_table(tmp_path / "t.h5", {"images": pixels, "features": features, "label": labels})
    unpacked(tmp_path, tmp_path / "out", to="tfrecord")
    found = records(
        tmp_path / "out",
        {
            "images": tf.io.FixedLenFeature([], tf.string),
            "features": tf.io.FixedLenFeature([3], tf.float32),
            "label": tf.io.FixedLenFeature([], tf.int64),
        },
    )
    assert np.array_equal([tf.io.decode_png(each["images"]).numpy() for each in found], pixels)
    assert np.array_equal([each["features"] for each in found], features)
    assert [int(each["label"]) for each in found] == labels.tolist()
    unpacked(tmp_path, tmp_path / "pictures", tmp_path / "t.h5", to="folders")
    rows = table(tmp_path / "pictures")
    assert [int(row["label"]) for row in rows] == labels.tolist()
    pictures = [cv2.imread(str(tmp_path / "pictures" / f"{row['video']}.png"))[..., ::-1] for row in rows]
    assert np.array_equal(pictures, pixels)


@pytest.mark.parametrize("size", [(48, 64), (31, 45)])
def test_pyav_reads_the_frames_of_an_mp4(tmp_path: Path, size: tuple[int, int]) -> None:
    smooth = cv2.resize(np.random.default_rng(0).integers(0, 255, (4, 4, 3), np.uint8), size[::-1])
    frames = [simplejpeg.encode_jpeg(np.roll(smooth, 3 * frame, 1).copy(), 95) for frame in range(7)]
    write_videos(tmp_path / "a.h5", "group_vlen", {"v": frames}, {"v": "x"})
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file["v"].attrs["fps"] = 12.5
    unpacked(tmp_path, tmp_path / "out", to="mp4")
    with av.open(str(tmp_path / "out" / "a.mp4")) as container:
        assert float(container.streams.video[0].average_rate) == 12.5
        found = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert len(found) == 7
    for jpeg, pixels in zip(frames, found, strict=True):
        expected = np.empty((*size, 3), np.uint8)
        decode_into(jpeg, expected, exact=True)
        assert np.abs(pixels.astype(int) - expected).mean() < 6
    assert table(tmp_path / "out")[0]["fps"] == "12.5"


@pytest.mark.parametrize("target", ["tfrecord", "webdataset", "folders", "mp4"])
def test_what_was_written_is_compared_with_what_was_read(videos: Any, tmp_path: Path, target: str) -> None:
    directory, _ = videos
    options = {"to": target, "fps": 25.0 if target == "mp4" else 0.0}
    unpacked(directory, tmp_path, **options)
    assert compared(directory, tmp_path, **options) == []
    path = max((each for each in tmp_path.rglob("*") if each.is_file()), key=lambda each: each.stat().st_size)
    data = bytearray(path.read_bytes())
    place = len(data) // 2
    data[place : place + 40] = bytes(40)
    path.write_bytes(data)
    assert [path.name in each.reason for each in compared(directory, tmp_path, **options)] == [True]
    path.unlink()
    assert ["is not there" in each.reason for each in compared(directory, tmp_path, **options)] == [True]


def test_a_file_more_in_a_folder_is_a_difference(videos: Any, tmp_path: Path) -> None:
    unpacked(videos[0], tmp_path, to="folders")
    (tmp_path / "cat" / "video0" / "000006.jpg").write_bytes(b"x")
    assert ["000006.jpg" in each.reason for each in compared(videos[0], tmp_path, to="folders")] == [True]


def test_samples_are_shuffled_once_by_their_seed(tmp_path: Path) -> None:
    write_videos(tmp_path / "a.h5", "group_vlen", make_videos((1,) * 20))
    places = [tmp_path / name for name in ("one", "same", "other", "kept")]
    for place, seed in zip(places, (1, 1, 2, None), strict=True):
        unpacked(tmp_path, place, tmp_path / "a.h5", to="webdataset", shuffle=seed)
    one, same, other, kept = (list(members(place)) for place in places)
    assert one == same
    assert sorted(one) == sorted(other) == sorted(kept)
    assert len({tuple(one), tuple(other), tuple(kept)}) == 3


def test_two_files_with_videos_of_one_name_get_paths_of_their_own(tmp_path: Path) -> None:
    made = [make_videos((2,) * count, seed=count) for count in (2, 3, 1)]
    for name, videos in zip(("a/x.h5", "b/x.h5", "b/y.h5"), made, strict=True):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write_videos(tmp_path / name, "group_vlen", videos)
    unpacked(tmp_path, tmp_path / "out", tmp_path / "*" / "*.h5", to="folders")
    found = files_in(tmp_path / "out")
    places = (("x/video0", made[0]["video0"]), ("x~2/video0", made[1]["video0"]), ("y/video0", made[2]["video0"]))
    for place, frames in places:
        assert [found[f"{place}/00000{frame}.jpg"] for frame in (1, 2)] == frames


def test_names_from_a_file_lead_to_no_other_place(tmp_path: Path) -> None:
    made = {
        "..%2f..%2fx": [frame_jpeg(1)],
        "a\\b:c": [frame_jpeg(2)],
        "A": [frame_jpeg(3)],
        "a": [frame_jpeg(4)],
        "labels.csv": [frame_jpeg(5)],
    }
    write_videos(tmp_path / "a.h5", "group_vlen", made)
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file.move("A", "x" * 300)
    unpacked(tmp_path, tmp_path / "out", to="folders")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.h5", "cache", "out"]
    found = files_in(tmp_path / "out")
    assert len([name for name in found if name.endswith(".jpg")]) == 5
    assert {"labels.csv", "labels.csv~2.jpg", "manifest.json"} < found.keys()
    assert "%2E.%252f..%252fx.jpg" in found


def test_fields_whose_names_differ_in_capitals_have_files_of_their_own(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "e.h5", "w") as file:
        file["Pose"], file["pose"] = np.zeros((4, 3), np.float32), np.ones((4, 3), np.float32)
        frames = file.create_dataset("frames", (4,), h5py.vlen_dtype(np.uint8))
        for frame in range(4):
            frames[frame] = np.frombuffer(frame_jpeg(frame), np.uint8)
    for target in ("folders", "webdataset"):
        unpacked(tmp_path, tmp_path / target, tmp_path / "e.h5", to=target)
    found = files_in(tmp_path / "folders")
    arrays = [np.load(io.BytesIO(data)).mean() for name, data in found.items() if name.endswith(".npy")]
    arrays += [
        np.load(io.BytesIO(data)).mean() for name, data in members(tmp_path / "webdataset").items() if "npy" in name
    ]
    assert sorted(arrays) == [0, 0, 1, 1]


def test_pictures_of_two_sizes_make_no_mp4(tmp_path: Path) -> None:
    write_videos(tmp_path / "a.h5", "group_vlen", {"v": [frame_jpeg(1, 48, 64), frame_jpeg(2, 32, 64)]})
    with pytest.raises(DecodeError, match=r"frame 1 of video 'a' in .* has \(32, 64\) pixels, the first \(48, 64\)"):
        unpacked(tmp_path, tmp_path / "out", to="mp4", fps=25.0)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"to": "mp4"}, "give --fps N"),
        ({"to": "mp4", "fps": 25.0, "sample": "frame"}, "a sample is one picture here"),
        ({"to": "mp4", "shards": 3}, "shards is for tfrecord and webdataset"),
        ({"shards": 3, "shard_size": 100}, "leave one out"),
        ({"to": "zip"}, "choose one of tfrecord, webdataset, folders, images, mp4"),
        ({"quality": 0}, "give 1, the best, to 51"),
        ({"fps": -1.0}, "give frames a second"),
        ({"shuffle": -1}, "a seed of 0 or more"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    videos: Any, tmp_path: Path, options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason):
        unpacked(videos[0], tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
