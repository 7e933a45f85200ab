"""The reader returns the right bytes or an error that names file, video and frame; never anything else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogChanged, CatalogError, ConfigError, DecodeError
from loader_service.plan.image_draws import ImageDraws
from loader_service.worker import catalog_files
from loader_service.worker.frame_ranges import frame_ranges
from loader_service.worker.open_file import stat_of
from loader_service.worker.picks import Pick
from loader_service.worker.reader import Reader
from loader_service.worker.retry_patience import RetryPatience
from loader_service.worker.task_reads import TaskReads
from tests.support.catalogs import catalog_of
from tests.support.videos import Storage, make_videos, write_videos

VIDEOS = make_videos([5, 9])
STORAGES = {"direct": Storage(), "through HDF5": Storage(chunks=2, compression="gzip")}


def descriptors():
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture(params=STORAGES.values(), ids=STORAGES)
def catalog(request, tmp_path):
    for number in range(3):
        write_videos(tmp_path / f"f{number}.h5", "padded", VIDEOS, storage=request.param)
    return catalog_of(tmp_path)


@pytest.fixture
def reader(catalog):
    reader = Reader(catalog)
    yield reader
    reader.close()


def test_frames_come_in_the_order_asked_for(reader):
    frames = VIDEOS["video1"]
    assert reader.read(1, [8, 0, 3]) == [frames[8], frames[0], frames[3]]
    assert reader.read(3, range(0, 9, 2)) == frames[::2]
    assert reader.read(5, []) == []


def test_a_repeated_frame_is_read_once(reader):
    first, *others = reader.read(0, [4, 4, 4])
    assert first == VIDEOS["video0"][4]
    assert all(other is first for other in others)


def test_numpy_integers_are_frame_numbers(reader):
    assert reader.read(0, np.array([1, 2])) == VIDEOS["video0"][1:3]


@pytest.mark.parametrize(("video", "frame"), [(0, 5), (0, -1), (6, 0), (-1, 0)])
def test_numbers_that_the_catalog_does_not_have_are_refused(reader, video, frame):
    with pytest.raises(IndexError, match=r"frame|video"):
        reader.read(video, [frame])


def test_no_more_files_are_open_than_allowed(catalog):
    reader = Reader(catalog, max_open_files=2)
    reader.read(0, [0])
    before = descriptors()
    reader.read(2, [0])
    one_file = descriptors() - before
    for _ in range(3):
        for video in range(6):
            assert reader.read(video, [2]) == [VIDEOS[f"video{video % 2}"][2]]
    assert descriptors() == before + one_file
    reader.close()
    assert descriptors() == before - one_file


def test_a_closed_reader_opens_its_files_again(reader):
    reader.close()
    assert reader.read(0, [0]) == VIDEOS["video0"][:1]


def test_at_least_one_file_must_be_allowed(catalog):
    with pytest.raises(ConfigError, match="max_open_files=0"):
        Reader(catalog, max_open_files=0)


def truncate(path):
    os.truncate(path, path.stat().st_size - 1)


def grow(path):
    with path.open("ab") as stream:
        stream.write(b"\0")


def replace(path):
    status = path.stat()
    shutil.copyfile(path, path.with_suffix(".new"))
    os.utime(path.with_suffix(".new"), ns=(status.st_atime_ns, status.st_mtime_ns))
    os.replace(path.with_suffix(".new"), path)


def overwrite(path):
    status = path.stat()
    with path.open("r+b") as stream:
        stream.write(b"\x89")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))


def delete(path):
    path.unlink()


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("change", [truncate, grow, replace, overwrite, delete])
def test_a_changed_file_is_an_error_that_names_it(tmp_path, reader, change, opened):
    if opened:
        reader.read(0, [0])
    change(tmp_path / "f0.h5")
    with pytest.raises(CatalogChanged, match=r"f0\.h5' is not the file that was scanned: its size"):
        reader.read(0, [0])
    assert reader.read(2, [0]) == VIDEOS["video0"][:1]


def test_a_read_that_stays_short_is_an_error_that_names_it(tmp_path, monkeypatch):
    write_videos(tmp_path / "a.h5", "vlen", VIDEOS)
    reader = Reader(catalog_of(tmp_path), patience=RetryPatience(task_timeout_s=1.0))
    end = int(sum(reader._catalog.extents(0)[index][4] for index in range(2)))
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda descriptor, length, at: real(descriptor, min(length, end - 3 - at), at))
    with pytest.raises(
        CatalogError,
        match=r"frame 4 of video 'video0' in '.*a\.h5': expected \d+ bytes at byte \d+, got \d+, tried \d+ times in",
    ):
        reader.read(0, [4])
    reader.close()


def test_an_empty_frame_is_an_error_that_names_it(tmp_path):
    videos = {"v1": [*VIDEOS["video0"][:2], b""], "v2": VIDEOS["video1"]}
    write_videos(tmp_path / "a.h5", "vlen", videos)
    reader = Reader(catalog_of(tmp_path))
    assert reader.read(0, [0, 1]) == videos["v1"][:2]
    with pytest.raises(DecodeError, match=r"frame 2 of video 'v1' in '.*a\.h5': expected an image, got 0 bytes"):
        reader.read(0, [0, 2])
    reader.close()


def test_frames_never_written_are_errors_and_never_zeros(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name, chunks in (("v1", None), ("v2", (2,))):
            rows = file.create_dataset(name, (6,), h5py.vlen_dtype(np.uint8), chunks=chunks)
            rows[0] = np.frombuffer(VIDEOS["video0"][0], np.uint8)
    reader = Reader(catalog_of(tmp_path))
    for video in range(2):
        assert reader.read(video, [0]) == VIDEOS["video0"][:1]
        with pytest.raises(DecodeError, match="frame 5 of"):
            reader.read(video, [5])
    reader.close()


def test_a_chunk_that_does_not_decompress_is_a_bad_frame(tmp_path):
    write_videos(tmp_path / "a.h5", "padded", VIDEOS, storage=Storage(chunks=1, compression="gzip"))
    with h5py.File(tmp_path / "a.h5") as file:
        offset = file["video1/images"].id.get_chunk_info_by_coord((4, 0)).byte_offset
    with open(tmp_path / "a.h5", "r+b") as stream:
        stream.seek(offset)
        stream.write(b"\0" * 16)
    reader = Reader(catalog_of(tmp_path))
    assert reader.read(1, [3, 5]) == [VIDEOS["video1"][3], VIDEOS["video1"][5]]
    with pytest.raises(DecodeError, match=r"frame 4 of video 'video1' in '.*a\.h5': HDF5 cannot give its bytes"):
        reader.read(1, [4])
    assert reader.read(1, [8]) == [VIDEOS["video1"][8]]
    reader.close()


def test_h5py_is_loaded_only_when_it_is_needed(tmp_path):
    write_videos(tmp_path / "a.h5", "vlen", VIDEOS)
    directory = catalog_of(tmp_path).directory
    program = (
        "import sys\n"
        "from loader_service.catalog.cache.column_files import open_catalog\n"
        "from loader_service.worker.reader import Reader\n"
        "reader = Reader(open_catalog(sys.argv[1]))\n"
        "assert len(reader.read(1, range(9))) == 9\n"
        "sys.exit('h5py' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(directory)], check=False).returncode == 0


def test_frames_read_ahead_cost_one_look_at_their_file(tmp_path, monkeypatch):
    write_videos(tmp_path / "a.h5", "padded", VIDEOS)
    catalog = catalog_of(tmp_path)
    reader = Reader(catalog)
    plain = reader.read(0, range(3))
    looks = []
    monkeypatch.setattr(catalog_files, "stat_of", lambda path: looks.append(path) or stat_of(path))
    monkeypatch.setattr(reader.reads._ahead, "_is_in_memory", lambda *_: False)
    monkeypatch.setattr(reader.reads._pace, "is_slow", True)
    reader.begin(1, lambda: frame_ranges(catalog, "frames", Pick(0, 0, 3, ImageDraws()), 1, reader.fetch_rows))
    assert reader.read(0, range(3)) == plain
    assert len(looks) == 1, "by who takes them, after they were read"
    assert reader.reads._ahead.latency_s > 0
    reader.end()
    reader.close()


def test_chunks_that_only_hdf5_reads_are_fetched_ahead(tmp_path, monkeypatch):
    table = np.arange(40 * 1000, dtype=np.float32).reshape(40, 1000)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=table, chunks=(4, 500), compression="gzip")
        chunks = [file["x"].id.get_chunk_info(number) for number in range(20)]
    catalog = catalog_of(tmp_path)
    reader, fetched, out = Reader(catalog), [], np.empty((1, 1000), np.float32)

    def fetch(frame, count):
        fetched.clear()
        assert not list(frame_ranges(catalog, "x", Pick(0, frame, count, ImageDraws()), 1, reader.fetch_rows))
        return fetched

    monkeypatch.setattr(os, "posix_fadvise", lambda _, offset, size, advice: fetched.append((offset, size, advice)))
    assert fetch(0, 40) == [], "of a file that is not open"
    reader.read_array(0, "x", 39, out)
    expected = [
        (each.byte_offset, each.size, os.POSIX_FADV_WILLNEED) for each in chunks if 6 <= each.chunk_offset[0] + 3 <= 14
    ]
    assert fetch(6, 6) == expected
    assert len(expected) == 4
    reader.close()


@pytest.mark.parametrize("layout", ["padded", "flat"])
def test_chunks_of_encoded_frames_that_only_hdf5_reads_are_fetched_ahead(tmp_path, monkeypatch, layout):
    side = 2 if layout == "padded" else 4096
    write_videos(tmp_path / "a.h5", layout, VIDEOS, storage=Storage(chunks=side, compression="gzip"))
    catalog = catalog_of(tmp_path)
    reader, fetched = Reader(catalog), []
    with h5py.File(tmp_path / "a.h5") as file:
        dataset = file[catalog.dataset_path(1, "frames")]
        stored = [dataset.id.get_chunk_info(number) for number in range(dataset.id.get_num_chunks())]
    positions, lengths = (column[3:8:2].tolist() for column in catalog.extents(1, "frames"))
    ends = [1] * len(lengths) if layout == "padded" else lengths
    rows = {row // side * side for first, end in zip(positions, ends, strict=True) for row in range(first, first + end)}
    monkeypatch.setattr(os, "posix_fadvise", lambda _, offset, size, advice: fetched.append((offset, size)))  # noqa: ARG005
    reader.read(1, [3])
    assert not list(frame_ranges(catalog, "frames", Pick(1, 3, 3, ImageDraws()), 2, reader.fetch_rows))
    assert set(fetched) == {(each.byte_offset, each.size) for each in stored if each.chunk_offset[0] in rows}
    reader.close()


def test_reads_through_hdf5_that_wait_have_the_rest_of_their_task_begun(tmp_path):
    reads, begun = TaskReads(lambda _: None), []
    reads.begin(1, lambda: begun.append(1) or ())
    reads.through_hdf5(0, 100, lambda: sum(range(300_000)))
    assert not reads.are_slow, "it has computed"
    reads.through_hdf5(0, 100, time.sleep, 0.05)
    assert reads.are_slow
    assert begun == [1]
    assert reads.end() >= 0.05
    reads.close()
