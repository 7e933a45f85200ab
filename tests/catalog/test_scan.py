"""A scan reads only what is new, gives the same catalog however it is run, and puts up with a broken cache."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

from loader_service.catalog.cache.cache_folder import cache_path
from loader_service.catalog.cache.column_files import COLUMNS, open_catalog
from loader_service.catalog.scan import catalog_scan as scan
from loader_service.catalog.scan import file_scan
from loader_service.scan_options import ScanOptions
from tests.support.catalogs import catalog_of, frames_of, names_of
from tests.support.videos import make_videos, write_videos


@pytest.fixture
def data(tmp_path):
    for number in range(4):
        videos = make_videos([2, 3], seed=number)
        write_videos(tmp_path / f"f{number}.h5", "group_vlen", videos, {"video0": "a", "video1": "b"})
    return tmp_path


@pytest.fixture
def scanned(monkeypatch):
    """Record the names of the files that are really read."""
    names = []
    real = file_scan.scan_file

    def recording(path, options, known):
        names.append(os.path.basename(path))
        return real(path, options)

    monkeypatch.setattr(file_scan, "scan_file", recording)
    return names


def content_of(catalog):
    columns = {name: np.load(catalog.directory / f"{name}.npy").tolist() for name in (*COLUMNS, "values.1")}
    return columns, catalog.classes, catalog.fingerprint


def test_videos_are_numbered_by_file_and_then_by_name(data):
    catalog = catalog_of(data)
    assert names_of(catalog) == ["video0", "video1"] * 4
    assert catalog.video_file.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [os.path.basename(catalog.file_path(file)) for file in range(4)] == ["f0.h5", "f1.h5", "f2.h5", "f3.h5"]
    assert catalog.frame_counts.tolist() == [2, 3] * 4
    data_sets = [make_videos([2, 3], seed=number) for number in range(4)]
    sizes = [sum(len(frame) for frames in videos.values() for frame in frames) for videos in data_sets]
    assert catalog.file_bytes.tolist() == sizes


def test_an_unchanged_data_set_is_not_read_again(data, scanned):
    first = content_of(catalog_of(data))
    assert scanned == ["f0.h5", "f1.h5", "f2.h5", "f3.h5"]
    assert content_of(catalog_of(data)) == first
    shutil.rmtree(cache_path(data / "cache") / "catalogs")
    assert content_of(catalog_of(data)) == first
    assert len(scanned) == 4


def test_only_the_changed_file_is_read_again(data, scanned):
    before = catalog_of(data).fingerprint
    write_videos(data / "f2.h5", "group_vlen", make_videos([1, 7]), {"video0": "c", "video1": "b"})
    scanned.clear()
    catalog = catalog_of(data)
    assert scanned == ["f2.h5"]
    assert catalog.fingerprint != before
    assert catalog.frame_counts.tolist() == [2, 3, 2, 3, 1, 7, 2, 3]
    assert catalog.classes == ("a", "b", "c")


def test_a_replaced_file_of_the_same_size_and_time_is_read_again(data, scanned):
    catalog_of(data)
    status = (data / "f1.h5").stat()
    shutil.copyfile(data / "f1.h5", data / "copy")
    os.utime(data / "copy", ns=(status.st_atime_ns, status.st_mtime_ns))
    os.replace(data / "copy", data / "f1.h5")
    scanned.clear()
    catalog_of(data)
    assert scanned == ["f1.h5"]


def test_other_options_are_another_scan(data, scanned):
    catalog_of(data)
    scanned.clear()
    assert catalog_of(data, frames="*/frames").video_count == 8
    assert len(scanned) == 4


def test_progress_counts_files(data):
    calls = []
    arguments = {"cache_dir": data / "cache", "progress": lambda done, total: calls.append((done, total))}
    scan.scan([str(data / "*.h5")], ScanOptions(), processes=0, **arguments)
    assert calls[0] == (0, 4)
    assert calls[-4:] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    calls.clear()
    scan.scan([str(data / "*.h5")], ScanOptions(), processes=0, **arguments)
    assert (calls[0], calls[-1]) == ((0, 4), (4, 4))


def test_a_damaged_cache_is_made_anew(data, scanned, caplog):
    first = content_of(catalog_of(data))
    for entry in (cache_path(data / "cache") / "scans").rglob("*.npz"):
        entry.write_bytes(entry.read_bytes()[:100])
    (kept,) = (cache_path(data / "cache") / "catalogs").iterdir()
    (kept / "catalog.json").write_text("{")
    scanned.clear()
    assert content_of(catalog_of(data)) == first
    assert len(scanned) == 4
    assert "making the catalog anew" in caplog.text
    assert "cached scan cannot be read" in caplog.text
    assert len(list((cache_path(data / "cache") / "catalogs").iterdir())) == 1


def test_a_cache_that_cannot_be_written_is_done_without(data, caplog):
    (data / "cache").write_text("a file where the directory should be")
    catalog = catalog_of(data)
    assert frames_of(catalog, 1) == list(make_videos([2, 3])["video1"])
    assert "cannot keep scans" in caplog.text
    assert "cannot keep the catalog" in caplog.text
    assert catalog.directory.exists()
    catalog.close()
    assert not catalog.directory.exists()


def test_closing_a_kept_catalog_leaves_it_in_the_cache(data):
    catalog = catalog_of(data)
    catalog.close()
    assert open_catalog(catalog.directory).video_count == 8


def test_a_process_that_was_faster_with_the_same_catalog_wins(data, monkeypatch):
    other = catalog_of(data)
    monkeypatch.setattr(scan, "find_catalog", lambda *_: None)
    inode = other.directory.stat().st_ino
    assert catalog_of(data).directory.stat().st_ino == inode
    assert len(list(other.directory.parent.iterdir())) == 1
