"""HDF5 of other layouts is packed anew: the service reads the same from both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from loader_service.catalog.schema_text import schema_toml
from loader_service.pack.pack_check import check_reading
from loader_service.worker.reader import Reader
from tests.pack.runs import catalog_in, contents, run_pack
from tests.support.boxes import COUNTS, write_boxes
from tests.support.catalogs import catalog_of
from tests.support.videos import frame_jpeg, make_videos, write_videos


def arrays_of(directory: Path, file: Path, name: str) -> list[Any]:
    catalog = catalog_in(directory, file)
    reader = Reader(catalog)
    field = catalog.field(name)
    found = []
    for video in range(catalog.video_count):
        out = np.empty((int(catalog.frame_counts[video]) - catalog.missing((name,)), *field.shape), field.dtype)
        reader.read_array(video, name, 0, out)
        found.append(out.tolist())
    reader.close()
    catalog.close()
    return found


@pytest.mark.parametrize("layout", ["group_vlen", "vlen", "group_datasets", "padded", "flat"])
def test_frames_and_labels_of_each_layout_are_the_same(tmp_path: Path, layout: Any) -> None:
    videos = make_videos((3, 5, 2))
    write_videos(tmp_path / "in.h5", layout, videos, {name: f"class{number % 2}" for number, name in enumerate(videos)})
    run_pack(tmp_path / "in.h5", output=tmp_path / "out.h5")
    assert contents(tmp_path, tmp_path / "out.h5") == contents(tmp_path, tmp_path / "in.h5") == videos
    for file in ("in.h5", "out.h5"):
        catalog = catalog_in(tmp_path, tmp_path / file)
        assert catalog.classes == ("class0", "class1")
        assert catalog.labels is not None
        assert catalog.labels.tolist() == [0, 1, 0]
        catalog.close()


def test_cameras_numbers_between_frames_and_values_travel_along(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "in.h5", "w") as file:
        for episode in range(2):
            group = file.create_group(f"demo_{episode}")
            for camera in ("top", "wrist"):
                frames = group.create_dataset(f"observations/images/{camera}", (4,), h5py.vlen_dtype(np.uint8))
                for number in range(4):
                    frames[number] = np.frombuffer(frame_jpeg(episode * 50 + number + len(camera)), np.uint8)
            group["observations/qpos"] = np.arange(4 * 14, dtype=np.float32).reshape(4, 14) + episode
            group["action"] = np.arange(3 * 2, dtype=np.float64).reshape(3, 2) - episode
            group.attrs["success"] = episode
            group.attrs["task"] = "fold"
    run_pack(tmp_path / "in.h5", output=tmp_path / "out.h5")
    before, after = catalog_in(tmp_path, tmp_path / "in.h5"), catalog_in(tmp_path, tmp_path / "out.h5")
    fields = {each.name: (each.kind, each.dtype, each.shape) for each in before.fields}
    assert {each.name: (each.kind, each.dtype, each.shape) for each in after.fields} == fields
    for name, (kind, *_) in fields.items():
        if kind == "value":
            assert after.values(name).tolist() == before.values(name).tolist()
        elif kind == "array":
            assert arrays_of(tmp_path, tmp_path / "out.h5", name) == arrays_of(tmp_path, tmp_path / "in.h5", name)
        else:
            readers = Reader(before), Reader(after)
            assert readers[0].read(1, range(4), name) == readers[1].read(1, range(4), name)
            for reader in readers:
                reader.close()
    before.close()
    after.close()


def test_several_files_put_their_videos_into_a_group_each(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(2):
        write_videos(tmp_path / "in" / f"part{number}.h5", "flat", make_videos((2, 3), seed=number))
    run_pack(tmp_path / "in", output=tmp_path / "out.h5")
    assert list(contents(tmp_path, tmp_path / "out.h5")) == [
        f"part{file}/video{video}" for file in range(2) for video in range(2)
    ]


def test_what_was_packed_can_be_packed_again_into_the_same_bytes(tmp_path: Path) -> None:
    write_videos(tmp_path / "in.h5", "padded", make_videos((3, 5, 2)), {f"video{n}": n for n in range(3)})
    run_pack(tmp_path / "in.h5", output=tmp_path / "a.h5")
    run_pack(tmp_path / "a.h5", output=tmp_path / "b.h5")
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()


def lists_of(directory: Path, file: Path, name: str, **options: Any) -> list[list[Any]]:
    catalog = catalog_of(directory, file, **options)
    reader = Reader(catalog)
    found = [
        [each.tolist() for each in reader.read_lists(video, range(int(catalog.frame_counts[video])), name)]
        for video in range(catalog.video_count)
    ]
    reader.close()
    catalog.close()
    return found


@pytest.mark.parametrize("dtype", ["<f4", ">f4"])
def test_lists_of_boxes_are_packed_with_their_lengths(tmp_path: Path, dtype: str) -> None:
    write_boxes(tmp_path / "in.h5", dtype)
    run_pack(tmp_path / "in.h5", output=tmp_path / "out.h5")
    assert lists_of(tmp_path, tmp_path / "out.h5", "boxes") == lists_of(tmp_path, tmp_path / "in.h5", "boxes")
    catalog = catalog_in(tmp_path, tmp_path / "out.h5")
    assert catalog.ways("boxes") == {"raw": len(COUNTS)}
    assert not catalog.left_out
    (tmp_path / "found.toml").write_text(schema_toml(catalog))
    catalog.close()
    declared = lists_of(tmp_path, tmp_path / "out.h5", "boxes", schema=str(tmp_path / "found.toml"))
    assert declared == lists_of(tmp_path, tmp_path / "in.h5", "boxes")


def test_arrays_whose_sides_differ_between_videos_are_packed_as_they_are(tmp_path: Path) -> None:
    depths = [np.arange(3 * 5 * side, dtype=np.float32).reshape(3, 5, side) for side in (3, 7, 2)]
    videos = make_videos((3, 3, 3))
    write_videos(tmp_path / "in.h5", "group_vlen", videos)
    with h5py.File(tmp_path / "in.h5", "a") as file:
        for name, depth in zip(videos, depths, strict=True):
            file[f"{name}/depth"] = depth
    run_pack(tmp_path / "in.h5", output=tmp_path / "out.h5")
    before, after = catalog_in(tmp_path, tmp_path / "in.h5"), catalog_in(tmp_path, tmp_path / "out.h5")
    assert {each.name: each.shape for each in after.fields} == {each.name: each.shape for each in before.fields}
    reader = Reader(after)
    for video, depth in enumerate(depths):
        out = np.empty((3, *after.shape_in(video, "depth")), np.float32)
        reader.read_array(video, "depth", 0, out)
        assert np.array_equal(out, depth)
    reader.close()
    before.close()
    after.close()


def test_a_schema_says_what_files_hold_that_are_unclear(tmp_path: Path) -> None:
    frames = [frame_jpeg(number) for number in range(4)]
    with h5py.File(tmp_path / "in.h5", "w") as file:
        for video in range(2):
            for camera in ("a", "b"):
                data = file.create_dataset(f"v{video}/{camera}", (2,), h5py.vlen_dtype(np.uint8))
                for number in range(2):
                    data[number] = np.frombuffer(frames[2 * video + number], np.uint8)
    (tmp_path / "schema.toml").write_text('[[field]]\nname = "frames"\ndataset = "{video}/a"\nkind = "image"\n')
    run_pack(tmp_path / "in.h5", output=tmp_path / "out.h5", schema=str(tmp_path / "schema.toml"))
    assert contents(tmp_path, tmp_path / "out.h5") == {"v0": frames[:2], "v1": frames[2:]}


def test_splits_stay_apart(tmp_path: Path) -> None:
    videos = make_videos((2, 3))
    (tmp_path / "in").mkdir()
    for split in ("train", "val"):
        write_videos(tmp_path / "in" / f"{split}.h5", "group_vlen", videos, {})
    packed = run_pack(tmp_path / "in", output=tmp_path / "out.h5")
    assert {record.name.split("/")[0] for record in packed.records} == {"train", "val"}


def test_values_with_axes_keep_them(tmp_path: Path) -> None:
    write_videos(tmp_path / "in.h5", "group_vlen", make_videos((2, 3)), {})
    with h5py.File(tmp_path / "in.h5", "r+") as file:
        for name in file:
            file[name].attrs["pose"] = np.arange(6, dtype=np.float32).reshape(2, 3)
    run_pack(tmp_path / "in.h5", output=tmp_path / "out.h5")
    catalog = catalog_in(tmp_path, tmp_path / "out.h5")
    assert catalog.field("pose").dtype == "float32"
    assert catalog.values("pose").tolist() == [[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]] * 2
    catalog.close()


def test_a_check_says_when_the_service_would_read_other_videos(tmp_path: Path) -> None:
    write_videos(tmp_path / "in.h5", "group_vlen", make_videos((2, 3)), {})
    packed = run_pack(tmp_path / "in.h5", output=tmp_path / "out.h5")
    assert check_reading(packed.paths, packed.records) == []
    (line,) = check_reading(packed.paths, packed.records[:1])
    assert "1 video of 2 frames were packed, and the service reads 2 of 5" in line
