"""What `inspect` tells people of files that it reads: how videos are cut, and where each field lies."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from loader_service.catalog.scan.catalog_scan import scan
from loader_service.commands.reports import catalog_text, describe_catalog
from loader_service.scan_options import ScanOptions
from tests.public_layouts.pictures import jpegs, write_vlen


def text_of(path):
    return catalog_text(describe_catalog(scan([str(path)], ScanOptions(), cache_dir=path.parent / "cache")))


def write_groups(root):
    for number in range(3):
        root[f"ep{number}_obs"] = np.zeros((4 + number, 8, 8, 3), np.uint8)
        root[f"ep{number}_act"] = np.zeros((4 + number, 2), np.float32)


def write_file(root):
    write_vlen(root, "frames", jpegs(0, 5))
    root["actions"] = np.zeros((5, 2), np.float32)


def write_table(root):
    root["x"], root["y"] = np.zeros((9, 8, 8, 3), np.uint8), np.arange(9)


def write_vlen_rows(root):
    rows = root.create_dataset("signals", (3,), h5py.vlen_dtype(np.float32))
    for number in range(3):
        rows[number] = np.arange(4 + number, dtype=np.float32)


def write_spans(root):
    write_vlen(root, "frames", jpegs(0, 9))
    root["episode_ends"] = np.array([4, 9])


def write_padded(root):
    root["videos"], root["lengths"] = np.zeros((3, 6, 8, 8, 3), np.uint8), np.array([4, 6, 5])


@pytest.mark.parametrize(
    ("write", "cut", "place"),
    [
        (write_groups, "a video is a group, or a dataset", "'ep{video}_act'"),
        (write_file, "a file is one video", "'actions'"),
        (write_table, "a file is a table; entry n of its fields is one sample", "'y'"),
        (write_vlen_rows, "a video is one entry of a dataset whose entries differ in length", "'signals'"),
        (write_spans, "videos lie end to end, cut where another dataset says that one ends", "'frames'"),
        (write_padded, "a video is one entry of a dataset (videos, frames, …)", "'videos'"),
    ],
    ids=["groups", "files", "table", "vlen", "spans", "padded"],
)
def test_inspect_says_how_videos_are_cut_and_where_fields_lie(tmp_path, write, cut, place):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        write(root)
    text = text_of(tmp_path / "a.h5")
    assert f"\nread as: {cut}" in text
    assert f"; from {place}, read by " in text


def test_of_many_places_of_a_field_two_are_shown(tmp_path):
    for number, name in enumerate(("left", "right", "top")):
        with h5py.File(tmp_path / f"{number}.h5", "w") as root:
            for video in range(2):
                root[f"v{video}/{name}"] = np.zeros((4 + video, 8, 8, 3), np.uint8)
    assert "from '{video}/left' or '{video}/right' or 1 more, read by" in text_of(tmp_path / "*.h5")
