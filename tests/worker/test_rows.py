"""Every kind of field, in clips, frames and whole videos, equals what h5py, simplejpeg and NumPy make of the file."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import simplejpeg
from numpy.typing import NDArray

from loader_service.catalog.columns import Catalog
from loader_service.plan.randomness import Purpose, draws
from loader_service.protocol.fields import Field, SlotLayout
from loader_service.protocol.rows import Rows
from loader_service.protocol.spec import Clip, Frame, Image, Spec
from loader_service.record_class import record
from loader_service.worker import values
from loader_service.worker.row_writer import RowWriter
from loader_service.worker.transforms import TransformedStreams
from tests.support.catalogs import catalog_of
from tests.support.videos import Storage, frame_image, make_videos, write_videos
from tests.worker.filling import GUARD, fill_slot, filled, origin_of

LENGTHS = (7, 3, 12)


def decoded(jpeg: bytes) -> NDArray[np.uint8]:
    return np.asarray(simplejpeg.decode_jpeg(jpeg, "RGB", fastdct=True, fastupsample=True))


# --- episodes: several cameras, arrays and values ------------------------------------------------------------------


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a file per episode: a camera of JPEGs, one of raw pixels, two arrays, and an attribute of the file."""
    directory = tmp_path_factory.mktemp("episodes")
    rng = np.random.default_rng(0)
    for number, length in enumerate(LENGTHS):
        with h5py.File(directory / f"episode{number}.h5", "w") as file:
            file.attrs["sim"] = bool(number % 2)
            jpegs = make_videos([length], seed=number)["video0"]
            top = file.create_dataset("observations/images/top", (length,), h5py.vlen_dtype(np.uint8))
            for frame, jpeg in enumerate(jpegs):
                top[frame] = np.frombuffer(jpeg, np.uint8)
            wrist = np.stack([frame_image(1000 * number + frame, 24, 32) for frame in range(length)])
            chunks = (3, 24, 32, 3) if number else None  # the first file is contiguous
            file.create_dataset("observations/images/wrist", data=wrist, chunks=chunks, compression=chunks and "gzip")
            file["observations/qpos"] = rng.standard_normal((length, 14))
            file.create_dataset("action", data=rng.standard_normal((length, 2, 3)).astype("f4"), chunks=(2, 2, 3))
    return directory


@pytest.fixture(scope="module")
def plain(episodes: Path) -> list[dict[str, NDArray[Any]]]:
    """Return what each episode holds, read the plain way."""
    found = []
    for path in sorted(episodes.glob("*.h5")):
        with h5py.File(path) as file:
            images = file["observations/images"]
            found.append(
                {
                    "top": np.stack([decoded(frame.tobytes()) for frame in images["top"][:]]),
                    "wrist": images["wrist"][:],
                    "qpos": file["observations/qpos"][:],
                    "action": file["action"][:],
                    "sim": np.asarray(file.attrs["sim"]),
                }
            )
    return found


@pytest.fixture(scope="module")
def robot(episodes: Path) -> Catalog:
    return catalog_of(episodes)


FIELDS = ("top", "wrist", "qpos", "action", "sim")

#: All, and arrays alone, whose rows are read together.
CHOICES = pytest.mark.parametrize("names", [FIELDS[:-1], ("qpos", "action")], ids=["all", "arrays"])


@CHOICES
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("sampling", ["start", "random"])
def test_clip_slices_cameras_and_arrays_alike_and_repeats_the_last_frame(
    robot: Catalog, plain: list[dict[str, NDArray[Any]]], names: tuple[str, ...], stride: int, sampling: Any
) -> None:
    spec = Spec(batch_size=3, clip=Clip(4, stride, sampling), seed=5, fields=(*names, "sim", "start", "length"))
    got = filled(robot, spec, [2, 0, 1], epoch=3)
    assert got.bad == ()
    for row, video in enumerate([2, 0, 1]):
        numbers = got["start"][row] + np.arange(4) * stride
        last = numbers[numbers < LENGTHS[video]][-1]
        assert got["length"][row] == np.count_nonzero(numbers < LENGTHS[video])
        for name in names:
            np.testing.assert_array_equal(got[name][row], plain[video][name][np.minimum(numbers, last)], err_msg=name)
        assert got["sim"][row] == plain[video]["sim"]


@CHOICES
def test_frame_is_any_frame_of_any_video_without_an_axis_of_time(
    robot: Catalog, plain: list[dict[str, NDArray[Any]]], names: tuple[str, ...]
) -> None:
    spec = Spec(batch_size=8, clip=Frame(), fields=(*names, "index", "video", "start", "length"))
    samples = [21, 0, 6, 7, 9, 10, 10, 11]
    got = filled(robot, spec, samples)
    places = [(video, frame) for video, length in enumerate(LENGTHS) for frame in range(length)]
    assert got.bad == ()
    assert got["index"].tolist() == samples
    assert got["start"].tolist() == [places[sample][1] for sample in samples]
    assert got["length"].tolist() == [1] * 8
    for row, sample in enumerate(samples):
        video, frame = places[sample]
        assert got["video"][row] == robot.name(video)
        for name in names:
            np.testing.assert_array_equal(got[name][row], plain[video][name][frame], err_msg=name)


@CHOICES
def test_padded_whole_videos_end_in_zeros(
    robot: Catalog, plain: list[dict[str, NDArray[Any]]], names: tuple[str, ...]
) -> None:
    got = filled(robot, Spec(batch_size=3, clip=None, fields=names), [1, 2, 0])
    assert got.bad == ()
    assert got["length"].tolist() == [3, 12, 7]
    for row, video in enumerate([1, 2, 0]):
        for name in names:
            frames = got.frames(name, row, 12)
            np.testing.assert_array_equal(frames[: LENGTHS[video]], plain[video][name], err_msg=name)
            assert not frames[LENGTHS[video] :].any()


@CHOICES
def test_ragged_whole_videos_lie_one_after_the_other(
    robot: Catalog, plain: list[dict[str, NDArray[Any]]], names: tuple[str, ...]
) -> None:
    got = filled(robot, Spec(batch_size=3, clip=None, batching="ragged", fields=names), [1, 2, 0])
    assert got["length"].tolist() == [3, 12, 7]
    for name in names:
        np.testing.assert_array_equal(got[name], np.concatenate([plain[video][name] for video in (1, 2, 0)]))


def test_substitute_of_a_whole_video_is_cut_to_its_place(robot: Catalog, plain: list[dict[str, NDArray[Any]]]) -> None:
    got = filled(robot, Spec(batch_size=2, clip=None, fields=FIELDS), [2, 1], lengths=[5, 3])
    assert got["length"].tolist() == [5, 3]
    np.testing.assert_array_equal(got.frames("top", 0, 5), plain[2]["top"][:5])
    np.testing.assert_array_equal(got.frames("qpos", 0, 5), plain[2]["qpos"][:5])


def test_only_the_rows_of_the_task_are_written(robot: Catalog) -> None:
    spec = Spec(batch_size=4, clip=Clip(2), fields=(*FIELDS, "index"))
    got = filled(robot, spec, [2, 0], rows=[3, 1])
    whole = filled(robot, spec, [2, 0])
    for name in (*FIELDS, "index"):
        np.testing.assert_array_equal(got[name][[3, 1]], whole[name][:2])
        untouched = np.ascontiguousarray(got[name][[0, 2]]).view(np.uint8)
        assert (untouched == GUARD).all()


def test_all_cameras_share_the_crop_and_the_mirroring(robot: Catalog, plain: list[dict[str, NDArray[Any]]]) -> None:
    image = Image(size=(16, 20), crop="random", flip=True)
    spec = Spec(batch_size=3, clip=Clip(3), image=image, seed=11, fields=("top", "wrist", "start"))
    flipped = set()
    for epoch in range(4):
        got = filled(robot, spec, [0, 1, 2], epoch=epoch)
        samples = np.arange(3)
        tops = draws(11, epoch, samples, Purpose.CROP_TOP).tolist()
        lefts = draws(11, epoch, samples, Purpose.CROP_LEFT).tolist()
        mirrored = draws(11, epoch, samples, Purpose.FLIP) >> np.uint64(63)
        flipped |= set(mirrored.tolist())
        for row in range(3):
            for name in ("top", "wrist"):
                frames = plain[row][name][got["start"][row] :][:3]
                top = tops[row] * (frames.shape[1] - 16 + 1) >> 64
                left = lefts[row] * (frames.shape[2] - 20 + 1) >> 64
                expected = frames[:, top : top + 16, left : left + 20][:, :, :: -1 if mirrored[row] else 1]
                np.testing.assert_array_equal(got[name][row][: len(expected)], expected)
    assert flipped == {0, 1}


def test_positions_key_the_draws_and_samples_do_without(robot: Catalog) -> None:
    image = Image(size=(16, 20), crop="random", flip=True)
    spec = Spec(batch_size=3, clip=Clip(3), image=image, seed=1, indexed=True)
    thrice = filled(robot, spec, [2, 2, 2], positions=[7, 40, 7])
    assert thrice["position"].tolist() == [7, 40, 7]
    assert thrice["index"].tolist() == [2, 2, 2]
    np.testing.assert_array_equal(thrice["top"][0], thrice["top"][2])
    assert not np.array_equal(thrice["top"][0], thrice["top"][1])
    own = filled(robot, spec, [0, 1, 2], positions=[0, 1, 2])
    unkeyed = filled(robot, Spec(batch_size=3, clip=Clip(3), image=image, seed=1), [0, 1, 2])
    np.testing.assert_array_equal(own["top"], unkeyed["top"])


@pytest.mark.parametrize(
    "image",
    [
        Image(),
        Image(flip=True),
        Image(channels=1),
        Image(size=(10, 14)),
        Image(size=20, crop="center"),
        Image(colors="bgr"),
    ],
)
def test_many_raw_frames_are_scaled_one_by_one(tmp_path: Path, image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loader_service.worker.frame_fields._SCRATCH_BYTES", 3 * 24 * 32 * 3)  # three frames
    pixels = np.stack([frame_image(frame, 24, 32) for frame in range(11)])
    with h5py.File(tmp_path / "table.h5", "w") as file:
        file.create_dataset("images", data=pixels, chunks=(2, 24, 32, 3), compression="gzip")
    catalog = catalog_of(tmp_path)
    clips = filled(catalog, Spec(batch_size=1, clip=Clip(11), image=image, fields=("images",)), [0])["images"][0]
    flip = Spec(batch_size=1, clip=Frame(), image=Image(**{**vars(image), "flip": False}), fields=("images",))
    single = np.stack([filled(catalog, flip, [frame])["images"][0] for frame in range(11)])
    mirrored = image.flip and bool(draws(0, 0, np.arange(1), Purpose.FLIP)[0] >> np.uint64(63))
    np.testing.assert_array_equal(clips, single[:, :, ::-1] if mirrored else single)
    if image in (Image(), Image(colors="bgr")):
        np.testing.assert_array_equal(clips, pixels[..., :: 1 if image == Image() else -1])


# --- tables --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["contiguous", "chunked", "compressed"])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp(f"table_{request.param}")
    rng = np.random.default_rng(1)
    options: dict[str, Any] = {} if request.param == "contiguous" else {"chunks": (8, 16)}
    if request.param == "compressed":
        options.update(compression="gzip", shuffle=True)
    for number, rows in enumerate((50, 20)):
        with h5py.File(directory / f"part{number}.h5", "w") as file:
            file.create_dataset("features", data=rng.standard_normal((rows, 32)).astype("f4"), **options)
            file["label"] = rng.integers(0, 10, rows)
    return directory


def rows_of(directory: Path) -> dict[str, NDArray[Any]]:
    parts: dict[str, list[NDArray[Any]]] = {"features": [], "label": []}
    for path in sorted(directory.glob("*.h5")):
        with h5py.File(path) as file:
            for name, found in parts.items():
                found.append(file[name][:])
    return {name: np.concatenate(found) for name, found in parts.items()}


@pytest.mark.parametrize(
    "samples",
    [list(range(40, 60)), [69, 0, 0, 3, 50, 49, 3, 4, 5, 68], [5]],
    ids=["neighbours over two files", "any, some twice", "one"],
)
def test_rows_of_a_table_are_found_in_any_order_and_multiplicity(table: Path, samples: list[int]) -> None:
    spec = Spec(batch_size=20, clip=Frame(), indexed=True, fields=("features", "label", "index", "position"))
    positions = [1000 + 7 * place for place in range(len(samples))]
    got = filled(catalog_of(table), spec, samples, positions=positions)
    assert got.bad == ()
    expected = rows_of(table)
    for name in ("features", "label"):
        np.testing.assert_array_equal(got[name][: len(samples)], expected[name][samples])
    assert got["index"][: len(samples)].tolist() == samples
    assert got["position"][: len(samples)].tolist() == positions


@pytest.mark.parametrize("stride", [1, 3])
def test_windows_of_a_table_equal_slices(table: Path, stride: int) -> None:
    spec = Spec(batch_size=9, clip=Clip(4, stride, "every", 1), fields=("features", "start"))
    got = filled(catalog_of(table), spec, list(range(9)))
    expected = rows_of(table)["features"]
    for row in range(9):
        np.testing.assert_array_equal(got["features"][row], expected[row:][::stride][:4])


def test_rows_of_a_file_that_has_changed_are_bad_and_those_of_others_are_not(table: Path, tmp_path: Path) -> None:
    copies = [shutil.copy(path, tmp_path) for path in sorted(table.glob("*.h5"))]
    catalog = catalog_of(tmp_path)
    with open(copies[0], "ab") as stream:
        stream.write(b"more")
    got = filled(catalog, Spec(batch_size=4, clip=Frame(), fields=("features",)), [51, 3, 50, 0])
    assert [(bad.row, bad.error) for bad in got.bad] == [(1, "FileTouched"), (3, "FileTouched")]
    assert all("part0.h5" in bad.message for bad in got.bad)
    np.testing.assert_array_equal(got["features"][[0, 2]], rows_of(table)["features"][[51, 50]])


def test_a_row_that_was_never_written_is_bad_alone(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "table.h5", "w") as file:
        features = file.create_dataset("features", (32, 4), "f4", chunks=(8, 4))
        features[:8] = 1
        features[16:] = 2
    spec = Spec(batch_size=6, clip=Frame(), fields=("features",))
    got = filled(catalog_of(tmp_path), spec, [7, 8, 9, 16, 15, 0])
    assert [bad.row for bad in got.bad] == [1, 2, 4]
    assert {bad.error for bad in got.bad} == {"DecodeError"}
    assert all("table.h5" in bad.message for bad in got.bad)
    assert "frame 15" in got.bad[-1].message
    for row, value in ((0, 1), (3, 2), (5, 1)):
        assert (got["features"][row] == value).all()


# --- sequences of numbers, and bad frames ---------------------------------------------------------------------------


def test_sounds_of_different_length_are_whole_videos(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    waves = [rng.standard_normal(length).astype("f4") for length in (1000, 50, 400)]
    with h5py.File(tmp_path / "sounds.h5", "w") as file:
        dataset = file.create_dataset("waves", (3,), h5py.vlen_dtype(np.float32))
        for number, wave in enumerate(waves):
            dataset[number] = wave
    catalog = catalog_of(tmp_path)
    padded = filled(catalog, Spec(batch_size=3, clip=None, fields=("waves",)), [2, 1, 0])
    for row, number in enumerate([2, 1, 0]):
        frames = padded.frames("waves", row, 1000)
        np.testing.assert_array_equal(frames[: len(waves[number])], waves[number])
        assert not frames[len(waves[number]) :].any()
    ragged = filled(catalog, Spec(batch_size=3, clip=None, batching="ragged", fields=("waves",)), [2, 1, 0])
    np.testing.assert_array_equal(ragged["waves"], np.concatenate([waves[2], waves[1], waves[0]]))


def test_a_damaged_frame_is_bad_with_file_video_and_frame_and_no_other_row_is(tmp_path: Path) -> None:
    videos = make_videos([5, 5])
    videos["video1"][3] = videos["video1"][3][:-60]
    write_videos(tmp_path / "a.h5", "group_vlen", videos)
    got = filled(catalog_of(tmp_path), Spec(batch_size=10, clip=Frame(), fields=("frames",)), list(range(10)))
    (bad,) = got.bad
    assert (bad.row, bad.error) == (8, "DecodeError")
    assert "a.h5" in bad.message
    assert "'video1', frame 3: " in bad.message
    for row in (0, 4, 5, 7, 9):
        jpeg = videos[f"video{row // 5}"][row % 5]
        np.testing.assert_array_equal(got["frames"][row], decoded(jpeg))


def test_many_frames_of_a_video_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loader_service.worker.frame_fields._FRAMES_AT_ONCE", 4)
    videos = make_videos([13])
    write_videos(tmp_path / "a.h5", "padded", videos, storage=Storage(chunks=3, compression="gzip"))
    catalog = catalog_of(tmp_path)
    got = filled(catalog, Spec(batch_size=1, clip=None, fields=("frames",)), [0])
    np.testing.assert_array_equal(got["frames"], [decoded(jpeg) for jpeg in videos["video0"]])
    strided = filled(catalog, Spec(batch_size=1, clip=Clip(6, 2, "start"), fields=("frames",)), [0])
    np.testing.assert_array_equal(strided["frames"][0], [decoded(jpeg) for jpeg in videos["video0"][:12:2]])


# --- columns -------------------------------------------------------------------------------------------------------


@record(frozen=True)
class WeightedRows(Rows):
    """Rows with one number more, as a new column of a task would have it."""

    weights: tuple[int, ...] = ()


@pytest.mark.parametrize("transformed", [False, True])
def test_a_column_more_of_a_task_reaches_its_field_by_itself(
    robot: Catalog, transformed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(values._NUMBERS, "weight", lambda picks: np.asarray(picks.asked.weights))
    layout = SlotLayout((Field("qpos", "float64", (3, 14)), Field("weight", "int64", ())), 3)
    spec = Spec(batch_size=3, clip=Clip(3, sampling="start"))
    rows = WeightedRows((2, 0, 1), (0, 1, 2), weights=(70, 50, 60))
    with origin_of(robot) as origin:
        if transformed:
            streams = TransformedStreams(origin, "tests.user_code.own_code:unchanged")
            got = fill_slot(streams.writer(spec, layout.fields, layout), rows)
        else:
            got = fill_slot(RowWriter(origin, spec, layout), rows)
    assert got.bad == ()
    assert got["weight"].tolist() == [50, 60, 70]


def test_a_row_alone_keeps_each_column_and_fills_its_slot() -> None:
    rows = WeightedRows((4, 2), (9, 8), (5, 6), (0, 30), (7, 11), 20, weights=(1, 2))
    assert rows.alone(1) == WeightedRows((0,), (8,), (6,), (0,), (11,), 11, weights=(2,))
    assert Rows((4, 2), (9, 8)).alone(0) == Rows((0,), (9,))
