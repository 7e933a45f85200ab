"""Names of sequences that another group has again: videos with a field in each group, or cameras."""

from __future__ import annotations

import itertools
from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.catalog.scan.file_scan import scan_file
from loader_service.errors import CatalogError
from loader_service.scan_options import ScanOptions
from tests.catalog.advice import schemas_in
from tests.public_layouts.pictures import jpegs
from tests.support.catalogs import catalog_of, declared_catalog, frames_of, names_of

_NAMES = {
    "two words": ("anna", "bob"),
    "twelve words": ("anna", "bob", "carl", "dora", "emil", "fay", "gus", "hana", "ivo", "jan", "kim", "lea"),
    "files": ("good_day.mp4", "hello_world.mp4", "thanks.mp4"),
    "two numbers": ("v_Run_g01_c01", "v_Run_g01_c02", "v_Walk_g02_c01"),
}
_PICTURES = {number: jpegs(number, 8) for number in range(12)}


def _write_encoded(file, path, number, count):
    element = h5py.vlen_dtype(np.uint8)
    frames = file.create_dataset(path, (count,), element)
    for frame in range(count):
        frames[frame] = np.frombuffer(_PICTURES[number][frame], np.uint8)


def _write_numbered(file, path, number, count):
    for frame in range(count):
        file[f"{path}/{frame:04d}.jpg"] = np.frombuffer(_PICTURES[number][frame], np.uint8)


def _write_raw(file, path, number, count):
    file[path] = np.full((count, 12, 16, 3), number, np.uint8)


_STORAGE = {"encoded": _write_encoded, "numbered": _write_numbered, "raw": _write_raw}


def _write_labels(file, path, number, count):
    file[path] = np.arange(count) + number


def _write_keypoints(file, path, number, count):
    file[path] = np.full((count, 17, 2), number, np.float32)


def _write_maps(file, path, number, count):
    file[path] = np.full((count, 12, 16), number, np.uint8)


_BESIDE = {
    "labels": (("labels", _write_labels),),
    "keypoints": (("keypoints", _write_keypoints),),
    "maps": (("masks", _write_maps),),
    "two": (("keypoints", _write_keypoints), ("labels", lambda file, path, number, _: file.update({path: number}))),
    "encoded": (("masks", _write_encoded),),
}


def _write(path, storage, beside, names, lengths):
    """Write the frames of each video in one group, and what lies beside them under its name in others."""
    counts = [6 + number % 3 * (lengths == "unequal") for number in range(len(names))]
    with h5py.File(path, "w") as file:
        for number, (name, count) in enumerate(zip(names, counts, strict=True)):
            _STORAGE[storage](file, f"frames/{name}", number, count)
            for group, write in _BESIDE[beside]:
                write(file, f"{group}/{name}", number, count)
    return counts


def _is_meant(folder, counts, fields):
    """Tell whether the file of a folder is the videos that were written, or is asked about, this being the first."""
    try:
        scan_file(str(folder / "a.h5"), ScanOptions())
    except CatalogError as error:
        found = declared_catalog(folder, schemas_in(str(error))[0])
    else:
        found = catalog_of(folder)
    with closing(found):
        same = sorted(found.frame_counts.tolist()) == sorted(counts)
        return same and sorted(field.name for field in found.fields) == fields


@pytest.mark.parametrize("storage", _STORAGE)
def test_names_that_another_group_has_again_are_those_of_videos(tmp_path, storage):
    silent = []
    for number, (beside, names, lengths) in enumerate(itertools.product(_BESIDE, _NAMES, ("equal", "unequal"))):
        if (storage == "numbered" and beside == "encoded") or (len(_NAMES[names]) > 3 and beside != "labels"):
            continue  # groups of numbered pictures beside datasets of pictures; and twelve videos of all other kinds
        folder = tmp_path / str(number)
        folder.mkdir()
        counts = _write(folder / "a.h5", storage, beside, _NAMES[names], lengths)
        if not _is_meant(folder, counts, sorted(["frames", *(group for group, _ in _BESIDE[beside])])):
            silent.append((beside, names, lengths))
    assert silent == []


def test_the_first_reading_of_such_names_serves_their_frames(tmp_path):
    _write(tmp_path / "a.h5", "encoded", "labels", ("anna", "bob"), "equal")
    with pytest.raises(
        CatalogError, match="videos with a field in each group or one video with 2 cameras or"
    ) as caught:
        catalog_of(tmp_path)
    with closing(declared_catalog(tmp_path, schemas_in(str(caught.value))[0])) as found:
        assert names_of(found) == ["frames/anna", "frames/bob"]
        assert frames_of(found, 1) == list(_PICTURES[1][:6])


@pytest.mark.parametrize("names", [("cam_high", "cam_left_wrist"), ("left", "right"), ("agentview_rgb", "eye_rgb")])
@pytest.mark.parametrize("storage", _STORAGE)
def test_names_of_cameras_stay_those_of_cameras(tmp_path, storage, names):
    _write(tmp_path / "a.h5", storage, "maps", names, "equal")
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == [6]
        assert sum(field.kind == "image" for field in found.fields) == 2


@pytest.mark.parametrize("storage", _STORAGE)
def test_what_is_of_all_sequences_says_that_they_are_cameras(tmp_path, storage):
    _write(tmp_path / "a.h5", storage, "labels", ("kinect", "realsense"), "equal")
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file["actions"] = np.zeros((6, 7), np.float32)
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == [6]


def test_groups_called_by_what_is_in_them_are_no_recordings(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for group in ("jpegs_256", "tvl1_flow/u", "tvl1_flow/v"):
            for number, name in enumerate(("run_a", "walk_b", "wave_c")):
                _write_encoded(file, f"{group}/{name}", number, 6)
    with pytest.raises(CatalogError, match="videos with a field in each group or a video for each group") as caught:
        catalog_of(tmp_path)
    with closing(declared_catalog(tmp_path, schemas_in(str(caught.value))[0])) as found:
        assert [field.name for field in found.fields] == ["jpegs_256", "tvl1_flow_u", "tvl1_flow_v"]
        assert found.video_count == 3


def test_what_lies_in_a_group_of_the_name_is_of_that_video(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for number, name in enumerate(("anna", "bob", "carl")):
            _write_encoded(file, f"frames/{name}", number, 6)
            file[f"marks/{name}/pose"] = np.zeros((6, 17, 2), np.float32)
    with pytest.raises(CatalogError, match="with a field in each group or one video with 3 cameras or") as caught:
        catalog_of(tmp_path)
    with closing(declared_catalog(tmp_path, schemas_in(str(caught.value))[0])) as found:
        assert found.frame_counts.tolist() == [6, 6, 6]
        assert [field.name for field in found.fields] == ["frames", "pose"]


def test_a_raw_dataset_a_frame_is_of_the_video_that_its_group_names(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for number, name in enumerate(("anna", "bob", "carl")):
            for frame in range(6):
                file[f"frames/{name}/{frame}"] = np.full((12, 16, 3), number, np.uint8)
            _write_labels(file, f"labels/{name}", number, 6)
    with pytest.raises(CatalogError, match="with a field in each group or one video with 3 cameras or") as caught:
        catalog_of(tmp_path)
    with closing(declared_catalog(tmp_path, schemas_in(str(caught.value))[0])) as found:
        assert found.frame_counts.tolist() == [6, 6, 6]
        assert [field.name for field in found.fields] == ["frames", "labels"]
