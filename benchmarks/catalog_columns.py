"""Measures the columns of a synthetic catalog: their bytes, the time to open them, memory, look-ups. Reads no HDF5.

A million videos must fit in 100 MB of columns, names included; the extents of frames are columns of their own.
"""

from __future__ import annotations

import argparse
import json
import mmap
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

from loader_service.catalog.cache.column_files import open_catalog, write_catalog
from loader_service.catalog.columns import FileStat
from loader_service.catalog.findings import FieldScan, FileScan
from loader_service.catalog.labels.label_fields import Labelling
from loader_service.catalog.scan.assemble import Scanned, assemble
from loader_service.private_folders import open_folder

#: Columns that have an entry for each frame, and so do not count as columns of videos.
PER_FRAME = {"extent_offsets.0.npy", "extent_lengths.0.npy"}
MEBIBYTE = 2**20


def synthetic_scan(file: int, videos: int, frames: int) -> FileScan:
    """Return the scan of a file of `videos` videos with names of 24 bytes."""
    names = [f"activity/clip_{file:05d}{video:05d}" for video in range(videos)]
    lengths = np.random.default_rng(file).integers(20_000, 26_000, videos * frames, dtype=np.uint32)
    frames_field = FieldScan(
        key="frames",
        source="{video}/frames",
        kind="image",
        dtype="uint8",
        shape=(),
        paths=[f"{name}/frames" for name in names],
        columns={
            "heights": np.full(videos, 256, np.uint16),
            "widths": np.full(videos, 342, np.uint16),
            "ways": np.zeros(videos, np.uint8),
            "extent_offsets": np.cumsum(lengths, dtype=np.int64),
            "extent_lengths": lengths,
        },
    )
    return FileScan(
        status=FileStat(size_bytes=int(lengths.sum()), mtime_ns=file, inode=file),
        names=names,
        labels=list(range(videos)),
        frame_counts=np.full(videos, frames, np.int64),
        fields=[frames_field],
        empty_videos=0,
    )


def write_synthetic(directory: Path, videos: int, files: int, frames: int) -> None:
    scans = [
        Scanned(f"/data/train/{file:05d}.h5", synthetic_scan(file, videos // files, frames)) for file in range(files)
    ]
    header, columns = assemble(scans, [], Labelling())
    with open_folder(directory) as folder:
        write_catalog(folder, header, columns)


def resident_mib() -> float:
    """Return this process's memory in use; not the high-water mark, which a child inherits from its parent."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * mmap.PAGESIZE / MEBIBYTE


def measure_here(directory: Path, lookups: int) -> dict[str, float]:
    """Open the catalog in this fresh process, look videos up at random, and return times and memory."""
    before = resident_mib()
    started = time.perf_counter()
    catalog = open_catalog(directory)
    opened = time.perf_counter()
    after = resident_mib()
    chosen = np.random.default_rng(0).integers(0, catalog.video_count, lookups).tolist()
    looking = time.perf_counter()
    for video in chosen:
        catalog.name(video)
        catalog.extents(video)
        catalog.file_path(int(catalog.video_file[video]))
    ended = time.perf_counter()
    return {
        "open_ms": (opened - started) * 1e3,
        "open_rss_mib": after - before,
        "lookup_us": (ended - looking) / lookups * 1e6,
        "lookups_rss_mib": resident_mib() - after,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--videos", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--frames", type=int, default=16, help="frames of each video")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure is not None:
        print(json.dumps(measure_here(arguments.measure, lookups=100_000)))
        return
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        started = time.perf_counter()
        write_synthetic(directory, arguments.videos, arguments.files, arguments.frames)
        written_s = time.perf_counter() - started
        sizes = {path.name: path.stat().st_size for path in directory.iterdir()}
        command = [sys.executable, "-m", "benchmarks.catalog_columns", "--measure", place]
        rounds = [json.loads(subprocess.check_output(command)) for _ in range(arguments.rounds)]
    per_frame = sum(size for name, size in sizes.items() if name in PER_FRAME)
    per_video = sum(sizes.values()) - per_frame
    frames = arguments.videos * arguments.frames
    print(f"{arguments.videos:,} videos in {arguments.files:,} files, {frames:,} frames; medians of {arguments.rounds}")
    print(
        f"columns of videos, names and files  {per_video / 1e6:8.1f} MB  {per_video / arguments.videos:.1f} bytes each"
    )
    print(f"extents of frames                   {per_frame / 1e6:8.1f} MB  {per_frame / frames:.1f} bytes a frame")
    print(f"assembled and written in            {written_s:8.1f} s")
    for key, text in (
        ("open_ms", "opened in                           {:8.1f} ms"),
        ("open_rss_mib", "memory that opening took            {:8.1f} MiB"),
        ("lookup_us", "one random video: name, path, extents{:7.1f} µs"),
        ("lookups_rss_mib", "pages touched by 100,000 look-ups   {:8.1f} MiB, shared by all processes"),
    ):
        print(text.format(median(each[key] for each in rounds)))


if __name__ == "__main__":
    main()
