"""A scan of a large file in a store fetches a small part of it, whatever its layout is; of sparse files of 10 GB."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
import simplejpeg

from loader_service.catalog.scan.file_scan import scan_file
from loader_service.scan_options import ScanOptions
from tests.support.videos import frame_jpeg, make_videos, write_videos

#: How a frame of 5 MB is stored: its shape, its type, and its chunks.
FORMS = {
    "pixels": ((1080, 1600, 3), "u1", None),
    "bytes": ((5_000_000,), "u1", None),
    "opaque": ((), "V5000000", None),
    "chunks": ((5_000_000,), "u1", (5_000_000,)),
}

_FRAMES = 2000


@pytest.mark.parametrize(
    ("form", "version", "groups"),
    [
        ("pixels", "earliest", 125),
        ("bytes", "earliest", 125),
        ("bytes", "latest", 125),
        ("opaque", "earliest", 20),
        ("chunks", "earliest", 20),
    ],
)
def test_of_frames_of_a_dataset_each_little_is_fetched(server, form, version, groups):
    path = server.folder / "a.h5"
    write_sparse(path, FORMS[form], version, groups)
    scan = scan_file(server.url("a.h5"), ScanOptions())
    assert (len(scan.names), int(scan.frame_counts.sum())) == (groups, _FRAMES)
    assert path.stat().st_size > 10e9
    assert scan.fetched_bytes == server.sent_bytes < (0.007 if form == "chunks" else 0.004) * path.stat().st_size
    assert scan.requests < _FRAMES * (1.2 if form == "chunks" else 0.4)  # the index of each one's chunks is a request


def test_of_raw_films_with_large_frames_no_frame_is_fetched_whole(server):
    path = server.folder / "a.h5"
    with h5py.File(path, "w") as file:
        for number in range(25):
            file.create_dataset(f"film_{number:02}", (80, 1080, 1600, 3), "u1", fill_time="never")
            file[f"film_{number:02}"][0, 0, 0] = 1
    scan = scan_file(server.url("a.h5"), ScanOptions())
    assert scan.frame_counts.tolist() == [80] * 25
    assert scan.fetched_bytes == server.sent_bytes < 0.0001 * path.stat().st_size


def test_of_many_short_videos_little_is_compared(server):
    path, frames = server.folder / "a.h5", [frame_jpeg(1, 256, 342)] * 20
    write_videos(path, "vlen", {f"video{number:03}": frames for number in range(200)})
    scan = scan_file(server.url("a.h5"), ScanOptions())
    assert len(scan.names) == 200
    assert scan.fetched_bytes < 8 * 2**20 + 40_000 * 200  # HDF5 fetches 1.5 frames, and blocks, to compare one


def test_a_small_file_is_one_request(server):
    write_videos(server.folder / "a.h5", "vlen", make_videos([12] * 6))
    scan = scan_file(server.url("a.h5"), ScanOptions())
    assert (len(scan.names), scan.requests) == (6, 1)
    assert scan.fetched_bytes == server.sent_bytes == (server.folder / "a.h5").stat().st_size


def write_sparse(path, form, version, groups):
    """Write frames of which only the begin and the end take room: what is between is never written."""
    shape, dtype, chunks = form
    picture = simplejpeg.encode_jpeg(np.zeros((32, 48, 3), np.uint8))
    begins = []
    with h5py.File(path, "w", libver=(version, "latest")) as file:
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        properties.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        if chunks:
            properties.set_chunk(chunks)
        space = h5py.h5s.create_simple(shape) if shape else h5py.h5s.create(h5py.h5s.SCALAR)
        kind = h5py.h5t.py_create(np.dtype(dtype))
        for number in range(_FRAMES):
            group, frame = divmod(number, _FRAMES // groups)
            above = file.require_group(f"video_{group:03}")
            dataset = h5py.h5d.create(above.id, b"frame_%05d" % frame, kind, space, properties)
            begins.append(dataset.get_chunk_info(0).byte_offset if chunks else dataset.get_offset())
    if len(shape) < 3:
        with path.open("r+b") as stream:
            for begin in begins:
                stream.seek(begin)
                stream.write(picture)
                stream.seek(begin + 5_000_000 - 2)
                stream.write(picture[-2:])
