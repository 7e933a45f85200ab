"""Every layout is found without being told, and every way to its bytes gives what h5py gives."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loader_service.catalog.columns import RAW
from loader_service.errors import CatalogError
from tests.support.catalogs import catalog_of, frames_of, names_of
from tests.support.videos import LAYOUTS, Storage, frame_jpeg, make_videos, write_videos

STORAGES = {
    "plain": Storage(),
    "chunked": Storage(chunks=3),
    "gzip": Storage(chunks=3, compression="gzip"),
    "lzf": Storage(chunks=3, compression="lzf"),
    "resized": Storage(resized=True),
    "opaque, starts, no lengths": Storage(opaque=True, starts_only=True, lengths=False),
    "gzip, no lengths": Storage(chunks=2, compression="gzip", lengths=False),
}
NATURAL = ["video0", "video1", "video2", "video10"]

#: Of a JPEG of 16 x 16 grey pixels.
HEADER = b"\xff\xd8\xff\xc0\x00\x0b\x08\x00\x10\x00\x10\x01\x01\x11\x00"


def some_videos(layout):
    videos = make_videos([5, 1, 8] if layout != "file" else [7])
    if layout != "file":
        videos["video10"] = [*videos.pop("video1"), frame_jpeg(77)]
        videos["video1"] = [frame_jpeg(78)]
    return videos


@pytest.mark.parametrize("storage", STORAGES.values(), ids=STORAGES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_found_and_read_back(tmp_path, layout, storage):
    videos = some_videos(layout)
    write_videos(tmp_path / "a.h5", layout, videos, storage=storage)
    catalog = catalog_of(tmp_path)
    expected = ["a"] if layout == "file" else NATURAL
    assert names_of(catalog) == expected
    for number, name in enumerate(expected):
        frames = videos["video0" if layout == "file" else name]
        assert frames_of(catalog, number) == list(frames)
        assert [side[number] for side in catalog.sizes()] == [48, 64]
    assert catalog.frame_count == sum(map(len, videos.values()))
    assert catalog.frame_shape == (48, 64)


@pytest.mark.parametrize(
    ("layout", "storage", "way"),
    [
        ("group_vlen", Storage(), RAW),
        ("vlen", Storage(chunks=3), RAW),
        ("vlen", Storage(chunks=3, compression="gzip"), RAW),
        ("vlen", Storage(chunks=3, compression="lzf"), "vlen"),
        ("group_datasets", Storage(), RAW),
        ("group_datasets", Storage(opaque=True), RAW),
        ("group_datasets", Storage(chunks=9000), RAW),
        ("group_datasets", Storage(chunks=500, compression="gzip"), "datasets"),
        ("flat", Storage(), RAW),
        ("flat", Storage(chunks=700, compression="gzip"), "flat"),
        ("padded", Storage(), RAW),
        ("padded", Storage(chunks=3), RAW),
        ("padded", Storage(chunks=3, compression="gzip"), "padded"),
    ],
)
def test_bytes_that_lie_plainly_in_the_file_are_read_without_hdf5(tmp_path, layout, storage, way):
    videos = make_videos([4, 6])
    write_videos(tmp_path / "a.h5", layout, videos, storage=storage)
    catalog = catalog_of(tmp_path)
    assert {catalog.way(video) for video in range(2)} == {way}
    assert catalog.ways("frames") == {way: 2}
    assert [frames_of(catalog, video) for video in range(2)] == list(videos.values())


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    lengths=st.lists(st.integers(0, 9000), min_size=1, max_size=60),
    chunks=st.sampled_from([None, 1, 7]),
    layout=st.sampled_from(["vlen", "flat", "group_datasets", "padded"]),
    starts_only=st.booleans(),
)
def test_extents_equal_h5py_for_frames_of_any_length(tmp_path_factory, lengths, chunks, layout, starts_only):
    directory = tmp_path_factory.mktemp("extents")
    rng = np.random.default_rng(len(lengths))
    # Empty frames, frames below and above the 4 KiB of a heap collection, many frames in one.
    # The scan begins at once: random bytes before it may declare a picture of 12 bits.
    frames = [HEADER + b"\xff\xda" + rng.bytes(length) + b"\xff\xd9" for length in lengths]
    storage = Storage(chunks=chunks and chunks * (1 if layout in {"vlen", "padded"} else 900), starts_only=starts_only)
    write_videos(directory / "a.h5", layout, {"v1": frames, "v2": frames[::-1]}, storage=storage)
    catalog = catalog_of(directory)
    assert [frames_of(catalog, 0), frames_of(catalog, 1)] == [frames, frames[::-1]]


def test_frames_overwritten_with_longer_ones_are_found_in_their_new_place(tmp_path):
    videos = make_videos([6])
    write_videos(tmp_path / "a.h5", "vlen", {**videos, "other": [frame_jpeg(1)] * 5})
    longer = frame_jpeg(9, 200, 300)
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file["video0"][2] = np.frombuffer(longer, np.uint8)
        file["video0"][4] = np.frombuffer(frame_jpeg(3, 8, 8), np.uint8)
    frames = list(videos["video0"])
    frames[2], frames[4] = longer, frame_jpeg(3, 8, 8)
    catalog = catalog_of(tmp_path)
    assert frames_of(catalog, names_of(catalog).index("video0")) == frames


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("userblock", [0, 512])
def test_files_of_every_version_and_with_a_userblock_are_read(tmp_path, libver, userblock):
    frames = [frame_jpeg(seed) for seed in range(9)]
    with h5py.File(tmp_path / "a.h5", "w", libver=libver, userblock_size=userblock) as file:
        for chunks in (None, (2,), (9,)):
            maxshape = (None,) if chunks else None
            group = file.create_group(f"v{chunks}")
            rows = group.create_dataset("frames", (9,), h5py.vlen_dtype(np.uint8), chunks=chunks, maxshape=maxshape)
            for number, frame in enumerate(frames):
                rows[number] = np.frombuffer(frame, np.uint8)
    catalog = catalog_of(tmp_path)
    assert [frames_of(catalog, video) for video in range(3)] == [frames] * 3
    assert {(catalog.way(video) == RAW) for video in range(3)} == {userblock == 0}


def test_padded_rows_split_over_chunks_are_read_through_hdf5(tmp_path):
    frames = [frame_jpeg(seed) for seed in range(4)]
    rows = np.zeros((4, 20_000), np.uint8)
    for row, frame in zip(rows, frames, strict=True):
        row[: len(frame)] = np.frombuffer(frame, np.uint8)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("one/images", data=rows, chunks=(2, 600))
        file.create_dataset("two/images", data=rows)
    catalog = catalog_of(tmp_path)
    assert [catalog.way(video) for video in range(2)] == ["padded", RAW]
    assert catalog.ways("frames") == {"raw": 1, "padded": 1}
    assert [frames_of(catalog, video) for video in range(2)] == [frames, frames]


def test_a_padded_frame_full_of_zeros_keeps_them(tmp_path):
    frame = HEADER + b"\0" * 9000 + b"\xff\xd9"
    row = np.zeros((1, 30_000), np.uint8)
    row[0, : len(frame)] = np.frombuffer(frame, np.uint8)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["v/images"] = row
    assert frames_of(catalog_of(tmp_path), 0) == [frame]


def test_videos_at_any_depth_are_named_by_their_path(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for path in ("indoor/day2/v10", "indoor/day2/v9", "garden/v1"):
            file.create_dataset(path, (1,), h5py.vlen_dtype(np.uint8))[0] = np.frombuffer(frame_jpeg(0), np.uint8)
    catalog = catalog_of(tmp_path)
    assert names_of(catalog) == ["garden/v1", "indoor/day2/v9", "indoor/day2/v10"]
    assert catalog.dataset_path(1) == "indoor/day2/v9"


def test_one_video_files_are_named_by_their_stems(tmp_path):
    for stem in ("ep10", "ep9"):
        write_videos(tmp_path / f"{stem}.h5", "group_vlen", make_videos([2]))
    write_videos(tmp_path / "ep1.h5", "file", make_videos([2]))
    catalog = catalog_of(tmp_path)
    assert names_of(catalog) == ["ep1", "ep9", "ep10"]
    assert [catalog.dataset_path(video) for video in range(3)] == ["video", "video0/frames", "video0/frames"]


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["0001/data/t.h5", "0002/data/t.h5"], ["0001/data/t", "0002/data/t"]),
        (["train/1/t.h5", "val/1/t.h5"], ["train/1/t", "val/1/t"]),
        (["a/x/t.h5", "b/x/t.h5", "b/y/t.h5"], ["a/x/t", "b/x/t", "y/t"]),
        (["a/t.h5", "b/t.h5", "b/u.h5"], ["a/t", "b/t", "u"]),
        (["a/t.h5", "b/t.h5", "a/u.h5", "b/u.h5"], ["t", "u", "t", "u"]),
        (["a/t.h5", "a/t.hdf5"], ["t", "t"]),
        (["a/t.h5"], ["t"]),
    ],
)
def test_one_video_files_of_one_name_are_told_apart_by_their_folders(tmp_path, paths, names):
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        write_videos(tmp_path / path, "group_vlen", make_videos([2]))
    assert names_of(catalog_of(tmp_path, *(tmp_path / path for path in paths), split="all")) == names


def test_a_file_with_one_video_among_files_of_many_keeps_its_name(tmp_path):
    write_videos(tmp_path / "a.h5", "group_vlen", make_videos([2, 2]))
    write_videos(tmp_path / "b.h5", "group_vlen", make_videos([3]))
    assert names_of(catalog_of(tmp_path)) == ["video0", "video1", "video0"]


def test_vlen_frames_are_preferred_to_thumbnails_beside_them(tmp_path):
    write_videos(tmp_path / "a.h5", "group_vlen", make_videos([2, 2]))
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file["video0/thumbnail"] = np.frombuffer(frame_jpeg(3), np.uint8)
    assert names_of(catalog_of(tmp_path)) == ["video0", "video1"]


def test_a_frame_that_is_no_jpeg_keeps_its_number(tmp_path):
    videos = {"v1": [frame_jpeg(0), b"\x89PNG", frame_jpeg(1)], "v2": [frame_jpeg(2)]}
    write_videos(tmp_path / "a.h5", "group_datasets", videos)
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file["v1/mask"] = np.zeros(9, np.uint8)
    assert frames_of(catalog_of(tmp_path), 0) == videos["v1"]


def test_a_pattern_chooses_among_cameras(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for video in range(2):
            for camera in ("rgb", "depth"):
                rows = file.create_dataset(f"v{video}/{camera}", (1,), h5py.vlen_dtype(np.uint8))
                rows[0] = np.frombuffer(frame_jpeg(video, 8, 8 if camera == "rgb" else 16), np.uint8)
    assert [field.name for field in catalog_of(tmp_path).fields] == ["depth", "rgb"]
    chosen = catalog_of(tmp_path, frames="*/rgb")
    assert names_of(chosen) == ["v0", "v1"]
    assert chosen.frame_shape == (8, 8)


@pytest.mark.parametrize("pattern", ["v*", "v*/frame*"])
def test_a_pattern_may_name_groups_or_the_datasets_in_them(tmp_path, pattern):
    videos = make_videos([2, 1])
    write_videos(tmp_path / "a.h5", "group_datasets", {"v1": videos["video0"], "v2": videos["video1"]})
    catalog = catalog_of(tmp_path, frames=pattern)
    assert names_of(catalog) == ["v1", "v2"]
    assert frames_of(catalog, 0) == videos["video0"]


def test_a_pattern_says_where_frames_are_and_the_bytes_what_they_are(tmp_path):
    write_videos(tmp_path / "a.h5", "group_datasets", {"v1": [b"raw", b"bytes"], "v2": [b"!"]})
    with pytest.raises(CatalogError, match=r"'v1/frame0', frame 0: expected JPEG or PNG images, found raw bytes"):
        catalog_of(tmp_path, frames="v*")


def test_a_pattern_that_matches_nothing_says_what_there_is(tmp_path):
    write_videos(tmp_path / "a.h5", "vlen", make_videos([2]))
    with pytest.raises(CatalogError, match=r"a\.h5.*matches --frames '\*/rgb'.*'video0' vlen uint8 \(2,\).*; correct"):
        catalog_of(tmp_path, frames="*/rgb")


@pytest.mark.parametrize("shape", [(3,), (3, 4, 5)])
def test_a_pattern_that_matches_another_type_is_refused(tmp_path, shape):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["v/rgb"] = np.zeros(shape, np.float32)
    with pytest.raises(CatalogError, match=r"matches 'v/rgb' float \(3.*expected a vlen uint8 dataset"):
        catalog_of(tmp_path, frames="*/rgb")


def test_a_file_without_videos_is_refused_with_what_it_holds(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["features"] = np.zeros(3, np.complex64)
        file["pixels"] = np.zeros(4, np.uint8)
    held = r"found no video, but 'features': found complex numbers; .*beside it 'pixels' uint8 \(4,\); name numbers"
    with pytest.raises(CatalogError, match=held):
        catalog_of(tmp_path)


@pytest.mark.parametrize("offsets", [[0, 5, 3, 20], [-1, 20], [0, 2**40]])
def test_offsets_that_do_not_fit_are_refused(tmp_path, offsets):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["v/data"] = np.frombuffer(frame_jpeg(0)[:20], np.uint8)
        file["v/offsets"] = np.array(offsets)
    with pytest.raises(
        CatalogError, match=r"a\.h5.*'v/offsets': expected offsets that never fall, from 0 to at most 20"
    ):
        catalog_of(tmp_path)


@pytest.mark.parametrize("lengths", [[5], [5, 2**30], [-1, 5]])
def test_lengths_that_do_not_fit_are_refused(tmp_path, lengths):
    write_videos(tmp_path / "a.h5", "padded", make_videos([2]))
    with h5py.File(tmp_path / "a.h5", "a") as file:
        del file["video0/lengths"]
        file["video0/lengths"] = np.array(lengths)
    with pytest.raises(CatalogError, match=r"'video0/lengths': expected 2 lengths of 0 to \d+ bytes"):
        catalog_of(tmp_path)


def test_videos_without_frames_are_left_out_and_counted(tmp_path):
    write_videos(tmp_path / "a.h5", "group_vlen", make_videos([2, 0, 3]))
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file.create_group("video5")
    catalog = catalog_of(tmp_path)
    assert names_of(catalog) == ["video0", "video2"]
    assert catalog.empty_videos == 2


def test_soft_links_and_circles_add_no_videos(tmp_path):
    write_videos(tmp_path / "a.h5", "group_vlen", make_videos([2, 2]))
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file["video0/alias"] = h5py.SoftLink("/video1")
        file["video0/dangling"] = h5py.SoftLink("/nowhere")
        file["video1/up"] = file["/"]
    assert names_of(catalog_of(tmp_path)) == ["video0", "video1"]


def test_names_that_are_not_utf8_are_kept(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name in (b"caf\xe9", "日本\n".encode()):
            rows = file.create_dataset(name, (1,), h5py.vlen_dtype(np.uint8))
            rows[0] = np.frombuffer(frame_jpeg(0), np.uint8)
    catalog = catalog_of(tmp_path)
    assert {catalog.name(video) for video in range(2)} == {b"caf\xe9", "日本\n".encode()}
    assert frames_of(catalog, 0) == [frame_jpeg(0)]
