"""What a file's frames are is told from few of their bytes, whatever the layout, and however long headers are."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from zlib import crc32

import cv2
import h5py
import numpy as np
import pytest

from loader_service.advice import python_lines
from loader_service.catalog.codecs import JPEG, PNG, picture_size
from loader_service.catalog.columns import RAW
from loader_service.catalog.hdf5.file import HDF5File
from loader_service.catalog.layouts.extents import locate
from loader_service.catalog.layouts.pictures import OddFrames, look_at
from loader_service.catalog.layouts.search import find_frames
from loader_service.catalog.scan.file_scan import scan_file
from loader_service.errors import CatalogError
from loader_service.scan_options import ScanOptions
from tests.catalog.layouts.writers import WRITERS, opened
from tests.public_layouts.pictures import encoded, padded
from tests.support.catalogs import catalog_of, frames_of
from tests.support.videos import Storage, frame_jpeg
from tests.worker.jpegs import with_size

#: The promise, for files of up to 128 videos.
_MOST_BYTES = 64 * 1024


@dataclass(frozen=True)
class _Counting(HDF5File):
    """Counts the bytes of frames that are read."""

    reads: list[int] = field(default_factory=list)

    def read_at(self, offset: int, length: int) -> bytes:
        self.reads.append(length)
        return super().read_at(offset, length)


def _large(jpeg: bytes, size: int) -> bytes:
    """Return a JPEG of a size, with noise before its end."""
    return jpeg[:-2] + np.random.default_rng(0).bytes(size) + jpeg[-2:]


def _look(path):
    """Return the formats and sizes of a file's videos, and how many bytes of their frames were read to learn them."""
    with opened(path) as (hdf5, tree):
        counting = _Counting(**{name: getattr(hdf5, name) for name in HDF5File.__dataclass_fields__})
        videos = find_frames(counting, tree, None)
        located = [locate(hdf5, video) for video in videos]
        assert {each.way for each in located} == {RAW}
        return (*look_at(counting, videos, located, OddFrames([], [], []))[:2], sum(counting.reads))


def _bytes_read() -> int:
    """Return how many bytes this process has read so far, by whatever way."""
    with open("/proc/self/io") as stream:
        return int(stream.readline().removeprefix("rchar:"))


@pytest.mark.parametrize("layout", WRITERS)
def test_a_whole_scan_reads_little_beside_the_one_large_frame_that_it_compares(tmp_path, layout):
    frames = [_large(frame_jpeg(number, 400, 600), 200_000) for number in range(4)]
    WRITERS[layout](tmp_path / "a.h5", {f"video{number}": frames for number in range(6)}, Storage())
    scan_file(str(tmp_path / "a.h5"), ScanOptions())  # imports what is imported late
    before = _bytes_read()
    scan_file(str(tmp_path / "a.h5"), ScanOptions())
    assert 2 * len(frames[-1]) < _bytes_read() - before < 2 * len(frames[-1]) + 3 * _MOST_BYTES


def test_a_whole_scan_of_large_pixels_reads_little(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(8):
            root[f"video{number}/rgb"] = np.random.default_rng(number).integers(0, 256, (6, 200, 300, 3), np.uint8)
    scan_file(str(tmp_path / "a.h5"), ScanOptions())
    before = _bytes_read()
    scan_file(str(tmp_path / "a.h5"), ScanOptions())
    assert _bytes_read() - before < 2 * _MOST_BYTES


@pytest.mark.parametrize("layout", WRITERS)
def test_128_videos_of_large_frames_are_told_from_less_than_64_kb(tmp_path, layout):
    frames = [_large(frame_jpeg(number, 24, 32), 5000) for number in range(3)]
    WRITERS[layout](tmp_path / "a.h5", {f"video{number}": frames for number in range(128)}, Storage())
    codecs, sizes, read = _look(tmp_path / "a.h5")
    assert (set(codecs), set(sizes)) == ({JPEG}, {(24, 32)})
    assert 0 < read <= _MOST_BYTES


def test_names_that_all_differ_cost_no_more(tmp_path):
    rng = np.random.default_rng(1)
    letters = np.array(list("abcdefghijklmnop"))
    names = {
        f"{''.join(rng.choice(letters, 12))}/{''.join(rng.choice(letters, 6))}": [frame_jpeg(1)] * 3 for _ in range(128)
    }
    WRITERS["vlen"](tmp_path / "a.h5", names, Storage())
    assert _look(tmp_path / "a.h5")[2] <= _MOST_BYTES


def test_a_long_header_is_followed_and_not_read(tmp_path):
    plain = frame_jpeg(3, 24, 32)
    notes = b"".join(b"\xff\xe1" + (60_002).to_bytes(2, "big") + bytes(60_000) for _ in range(4))
    long = plain[:2] + notes + plain[2:]
    assert picture_size(long) == picture_size(plain) == (24, 32)
    WRITERS["vlen"](tmp_path / "a.h5", {"a": [long] * 3, "b": [long]}, Storage())
    codecs, sizes, read = _look(tmp_path / "a.h5")
    assert (codecs, sizes) == ([JPEG] * 2, [(24, 32)] * 2)
    assert read < 2**15 + 2048  # the beginning of the file's first frame, in which a second picture is looked for


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_a_padded_picture_ends_behind_the_picture_that_its_header_holds(tmp_path, kind):
    inner, outer = encoded(1, "PNG" if kind == "JPEG" else "JPEG"), encoded(2, kind)
    if kind == "JPEG":
        frame = outer[:2] + b"\xff\xed" + (len(inner) + 2).to_bytes(2, "big") + inner + outer[2:]
    else:
        chunk = b"tHMb" + inner
        frame = outer[:33] + len(inner).to_bytes(4, "big") + chunk + crc32(chunk).to_bytes(4, "big") + outer[33:]
    WRITERS["padded"](tmp_path / "a.h5", {"a": [frame] * 3, "b": [encoded(3, kind)]}, Storage())
    with closing(catalog_of(tmp_path)) as catalog:
        assert frames_of(catalog, 0) == [frame] * 3


def test_pngs_are_told_from_their_first_bytes(tmp_path):
    WRITERS["padded"](tmp_path / "a.h5", {f"v{number}": [encoded(number, "PNG")] * 3 for number in range(4)}, Storage())
    codecs, _, read = _look(tmp_path / "a.h5")
    assert set(codecs) == {PNG}
    assert read < 4096


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
@pytest.mark.parametrize("layout", WRITERS)
def test_a_frame_without_its_end_is_named_by_the_scan_and_whole_ones_are_not(tmp_path, layout, kind):
    frames = [encoded(number, kind) for number in range(3)]
    for name, last in (("whole", frames[2]), ("cut", frames[2][: len(frames[2]) // 2] + b"\1" * 70)):
        WRITERS[layout](tmp_path / f"{name}.h5", {"video0": [*frames[:2], last]}, Storage())
        with opened(tmp_path / f"{name}.h5") as (hdf5, tree):
            (video,) = find_frames(hdf5, tree, None)
            odd = OddFrames([], [], [])
            look_at(hdf5, [video], [locate(hdf5, video)], odd)
        assert [each.rpartition(", ")[2] for each in odd.without_end] == ["frame 2"] * (name == "cut")


@pytest.mark.parametrize(("odd", "count"), [(0, 8), (4, 8), (7, 8), (14, 40)])
def test_pictures_of_several_sizes_in_one_dataset_are_told_before_a_batch(tmp_path, odd, count):
    frames = [frame_jpeg(number, 32 if number == odd else 24, 32) for number in range(count)]
    WRITERS["vlen"](tmp_path / "a.h5", {"images": frames}, Storage())
    with closing(catalog_of(tmp_path)) as catalog:
        lines = "\n".join(python_lines(catalog, ["a.h5"], {}))
        assert catalog.fields[0].shape == (0, 0, 3)
        assert "image=Image(size=" in lines
        assert "clip=Frame()" in lines


def test_a_video_of_several_sizes_beside_others_has_no_size_for_all(tmp_path):
    for name, heights in (("a", (24, 24, 24)), ("b", (24, 24, 32))):
        frames = [frame_jpeg(number, height, 32) for number, height in enumerate(heights)]
        WRITERS["vlen"](tmp_path / f"{name}.h5", {"v": frames}, Storage())
    with closing(catalog_of(tmp_path)) as catalog:
        assert catalog.fields[0].shape == (0, 0, 3)


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
@pytest.mark.parametrize("chunks", [None, (100, 1)])
def test_padded_pictures_in_the_columns_of_a_matrix_are_refused_with_what_serves_them(tmp_path, kind, chunks):
    frames = [encoded(number, kind) for number in range(4)]
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root.create_dataset("v0/frames", data=padded(frames).T, chunks=chunks)
        root["v0/pose"] = np.zeros((4, 3))
    with pytest.raises(CatalogError, match=rf"'v0/frames' has {kind} in each column .* as array.T in NumPy"):
        catalog_of(tmp_path)
    with h5py.File(tmp_path / "a.h5", "r+") as root:
        turned = root["v0/frames"][()].T
        del root["v0/frames"]
        root["v0/frames"] = turned
    with closing(catalog_of(tmp_path)) as catalog:
        assert frames_of(catalog, 0) == frames


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_pictures_of_which_a_side_is_too_long_for_workers_are_refused_by_a_look(tmp_path, kind):
    wide = bytes(cv2.imencode(f".{kind.lower()}", np.zeros((2, 20_000, 3), np.uint8))[1])
    WRITERS["vlen"](tmp_path / "a.h5", {"v0": [wide] * 2}, Storage())
    with pytest.raises(CatalogError, match=rf"'v0/frames', frame 0: .* a {kind} that declares 2 x 20000 .* write it"):
        catalog_of(tmp_path)


def test_a_jpeg_that_declares_too_many_pixels_has_a_line_beside_others_and_is_refused_alone(tmp_path):
    bomb = with_size(frame_jpeg(0), 60_000, 60_000)
    WRITERS["datasets"](tmp_path / "a.h5", {"v0": [frame_jpeg(0), bomb, frame_jpeg(2)]}, Storage())
    with closing(catalog_of(tmp_path)) as catalog:
        (line,) = [line for line in catalog.left_out if "(too large)" in line]
        assert "'v0', frame 1: " in line
    WRITERS["datasets"](tmp_path / "a.h5", {"v0": [bomb, bomb]}, Storage())
    with pytest.raises(CatalogError, match=r"'v0', frame 0: expected .* found a JPEG that declares 60000 x 60000"):
        catalog_of(tmp_path)
