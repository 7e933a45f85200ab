"""What every layout has to hold, whatever is written into the file; a new one is a row in `writers.WRITERS`."""

from __future__ import annotations

import os
from dataclasses import replace

import h5py
import numpy as np
import pytest

from loader_service.catalog.columns import RAW
from loader_service.catalog.hdf5.heap import HeapError
from loader_service.catalog.layouts import LAYOUTS, extents
from loader_service.catalog.layouts.extents import locate
from loader_service.catalog.layouts.raw_rows import RawRows
from loader_service.catalog.layouts.singles import Singles
from loader_service.errors import CatalogError
from tests.catalog.layouts.writers import CASES, WRITERS, frames_through, opened, store_elsewhere
from tests.support.catalogs import catalog_of
from tests.support.videos import Storage, make_videos

STORAGES = {
    "contiguous": Storage(),
    "chunked": Storage(chunks=3),
    "gzip": Storage(chunks=3, compression="gzip"),
    "lzf": Storage(chunks=3, compression="lzf"),
    "resized": Storage(resized=True),
    "without lengths": Storage(lengths=False, starts_only=True, opaque=True),
}

each_layout = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def test_each_registered_layout_is_in_this_suite_under_a_name_of_its_own():
    names = [layout.name for layout in LAYOUTS]
    own_tests = [Singles.name, RawRows.name]  # of videos of one frame, and of pixels
    assert sorted(names) == sorted([*WRITERS, *own_tests])
    assert len({*names, RAW}) == len(names) + 1


def direct_frames(case, hdf5, video):
    """Return the frames as they lie in the file, or None where only HDF5 can read them."""
    try:
        places = case.layout.locate(hdf5, video)
    except HeapError:
        return None
    if places is None:
        return None
    return [hdf5.read_at(offset, length) for offset, length in zip(*(each.tolist() for each in places), strict=True)]


def assert_read_back(case, path, videos):
    """Make sure that a layout finds these videos, and that each way to them gives their bytes."""
    with opened(path) as (hdf5, tree):
        found = case.videos_in(hdf5, tree)
        assert {video.name: video.frame_count for video in found} == {name: len(each) for name, each in videos.items()}
        for video in found:
            expected = list(videos[video.name])
            assert video.layout is case.layout
            assert frames_through(case, hdf5, video) == expected
            assert direct_frames(case, hdf5, video) in (None, expected)
            compared = [case.layout.read_frame(hdf5, video, n, len(each)) for n, each in enumerate(expected)]
            assert compared == expected
            if case.layout in LAYOUTS:
                assert locate(hdf5, video).way in {RAW, case.layout.name}


@each_layout
@pytest.mark.parametrize("storage", STORAGES.values(), ids=STORAGES)
def test_frames_are_the_same_by_every_way_however_they_are_stored(tmp_path, case, storage):
    videos = make_videos([5, 2, 8])
    case.write(tmp_path / "a.h5", videos, storage)
    assert_read_back(case, tmp_path / "a.h5", videos)


@each_layout
def test_frames_of_any_length_are_read_back(tmp_path, case):
    rng = np.random.default_rng(3)
    frames = [b"\xff\xd8" + rng.bytes(length) + b"\xff\xd9" for length in (0, 1, 7, 4090, 9000, 3)]
    case.write(tmp_path / "a.h5", {"v1": frames, "v2": frames[::-1]}, Storage())
    assert_read_back(case, tmp_path / "a.h5", {"v1": frames, "v2": frames[::-1]})


@each_layout
def test_a_single_frame_is_a_video(tmp_path, case):
    videos = make_videos([1, 1])
    case.write(tmp_path / "a.h5", videos, Storage())
    assert_read_back(case, tmp_path / "a.h5", videos)


@each_layout
def test_names_of_any_script_are_kept(tmp_path, case):
    videos = dict(zip(("vidéo/ä 1", "录像/二", "भिडियो"), make_videos([2, 3, 2]).values(), strict=True))
    case.write(tmp_path / "a.h5", videos, Storage())
    assert_read_back(case, tmp_path / "a.h5", videos)


@each_layout
def test_a_video_without_frames_breaks_nothing(tmp_path, case):
    videos = {**make_videos([3]), "empty": []}
    case.write(tmp_path / "a.h5", videos, Storage())
    with opened(tmp_path / "a.h5") as (hdf5, tree):
        found = {video.name: video for video in case.videos_in(hdf5, tree)}
        assert found.keys() - {"empty"} == {"video0"}
        assert frames_through(case, hdf5, found["video0"]) == videos["video0"]
        if "empty" in found:
            assert found["empty"].frame_count == 0
            assert frames_through(case, hdf5, found["empty"]) == []


@each_layout
def test_an_empty_file_has_no_videos(tmp_path, case):
    h5py.File(tmp_path / "a.h5", "w").close()
    with opened(tmp_path / "a.h5") as (hdf5, tree):
        assert case.videos_in(hdf5, tree) == []


#: Datasets that are no frames, whatever they are called.
FOREIGN = {
    "int16": np.zeros((4, 20), np.int16),
    "float": np.zeros((4, 20), np.float32),
    "bytes that are no JPEG": np.arange(200, dtype=np.uint8).reshape(4, 50),
    "bytes in a row": np.arange(200, dtype=np.uint8),
    "pictures": np.zeros((4, 8, 8, 3), np.uint8),
    "texts": np.array([b"walk", b"run"]),
    "structs": np.zeros(4, [("x", "f4"), ("y", "i4")]),
    "a number": np.int64(3),
    "complex": np.zeros(3, np.complex64),
}


@each_layout
@pytest.mark.parametrize("data", FOREIGN.values(), ids=FOREIGN)
def test_what_is_no_encoded_frame_is_no_video(tmp_path, case, data):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for number, name in enumerate(("frames", "images", "data", "lengths", "offsets", "frame0")):
            file.create_dataset(f"clip{number}/{name}", data=data)
    with opened(tmp_path / "a.h5") as (hdf5, tree):
        assert case.videos_in(hdf5, tree) == []


@each_layout
def test_frames_in_other_files_are_read_through_hdf5_or_not_at_all(tmp_path, case):
    videos = make_videos([4, 3])
    case.write(tmp_path / "a.h5", videos, Storage())
    moved = store_elsewhere(tmp_path / "a.h5")
    assert_read_back(case, tmp_path / "a.h5", videos)
    if not moved:
        return  # elements and texts lie in heaps, which HDF5 keeps in the file
    with opened(tmp_path / "a.h5") as (hdf5, tree):
        for video in case.videos_in(hdf5, tree):
            assert direct_frames(case, hdf5, video) is None


@each_layout
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.99])
def test_a_file_that_was_cut_off_is_an_error_that_names_it(tmp_path, case, share):
    path = tmp_path / "a.h5"
    case.write(path, make_videos([12]), Storage())
    os.truncate(path, int(path.stat().st_size * share))
    with pytest.raises(CatalogError, match=r"a\.h5.*truncated"):
        catalog_of(tmp_path)


@each_layout
def test_places_beyond_the_end_of_the_file_are_an_error(tmp_path, case):
    case.write(tmp_path / "a.h5", make_videos([5]), Storage())
    with opened(tmp_path / "a.h5") as (hdf5, tree):
        (video,) = case.videos_in(hdf5, tree)
        if direct_frames(case, hdf5, video) is None:
            return
        shorter = replace(hdf5, size_bytes=hdf5.size_bytes // 8)
        if direct_frames(case, shorter, video) is None:
            assert locate(shorter, video).way == case.layout.name  # left to HDF5, which says what is wrong
        else:
            with pytest.raises(CatalogError, match="the file is truncated"):
                locate(shorter, video)


class Elsewhere:
    """What reads a file as one of a store is read."""

    fetched_bytes = 0

    def __init__(self, descriptor):
        self.descriptor = descriptor

    def read_at(self, offset, length):
        return os.pread(self.descriptor, length, offset)

    def read_each(self, offsets, length):
        return [self.read_at(offset, length) for offset in offsets]


@pytest.mark.parametrize("is_local", [True, False])
@pytest.mark.parametrize(
    ("bounds", "compared"),
    [
        ({}, ["video0", "video1", "video2"]),
        ({"_COMPARED_BYTES": 1}, ["video0"]),
        ({"_COMPARED_VIDEOS": 2}, ["video0", "video2"]),
    ],
)
def test_all_videos_of_a_small_file_are_compared_with_hdf5_and_some_of_a_large_one(
    tmp_path, monkeypatch, is_local, bounds, compared
):
    for name, bound in bounds.items():
        monkeypatch.setattr(extents, name, bound)
    looked_at = []
    kind = type(CASES["vlen"].layout)
    plain = kind.read_frame
    monkeypatch.setattr(kind, "read_frame", lambda *given: looked_at.append(given[2].name) or plain(*given))
    CASES["vlen"].write(tmp_path / "a.h5", make_videos([5, 2, 8]), Storage())
    with opened(tmp_path / "a.h5") as (hdf5, tree):
        videos = CASES["vlen"].videos_in(hdf5, tree)
        source = hdf5 if is_local else replace(hdf5, descriptor=Elsewhere(hdf5.descriptor))
        assert {located.way for located in extents.locate_all(source, videos)} == {RAW}
    assert sorted(set(looked_at)) == compared
