"""Compares what was packed with what was read from the sources: bytes by their checksums, videos by the catalog."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import h5py
import numpy as np

from loader_service.catalog.inner_paths import to_bytes
from loader_service.catalog.scan.catalog_scan import scan
from loader_service.config import default_cache_directory
from loader_service.pack.pack_place import PackPlace
from loader_service.pack.records import PackedVideo
from loader_service.scan_options import ScanOptions
from loader_service.sizes import counted


def check_packed(place: PackPlace, records: Sequence[PackedVideo], progress: Callable[[int, int], None]) -> list[str]:
    """Return a line for each video that is not in the output as it was read; all are read through HDF5.

    Parameters
    ----------
    place
        Where the output lies.
    records
        What it is to hold.
    progress
        Called with bytes read, and bytes in all.
    """
    by_file: defaultdict[Path, list[PackedVideo]] = defaultdict(list)
    for record in records:
        by_file[place.shard(record.shard)].append(record)
    total, done, bad = sum(record.size_bytes for record in records), 0, []
    for path, inside in sorted(by_file.items()):
        try:
            with h5py.File(path, "r", locking=False) as file:
                for record in inside:
                    reason = _difference(file, record)
                    if reason:
                        bad.append(f"{str(path)!r}, video {record.name!r}: {reason}")
                    done += record.size_bytes
                    progress(done, total)
        except OSError as error:
            bad.append(f"{str(path)!r}: HDF5 cannot open it: {error}")
    return bad


def check_reading(paths: Sequence[str], records: Sequence[PackedVideo]) -> list[str]:
    """Return a line when the service would read an output as other videos than were packed: it knows no manifest."""
    catalog = scan(paths, ScanOptions(split="all"), cache_dir=default_cache_directory())
    try:
        found, expected = (
            (catalog.video_count, catalog.frame_count),
            (len(records), sum(each.frames for each in records)),
        )
    finally:
        catalog.close()
    if found == expected:
        return []
    return [
        f"{paths[0]!r}: {counted(expected[0], 'video')} of {counted(expected[1], 'frame')} were packed, and "
        f"the service reads {found[0]} of {found[1]}: say what the fields are with --schema when you serve it"
    ]


def _difference(file: h5py.File, record: PackedVideo) -> str:
    """Return in words how a video differs from what was read; nothing where it does not."""
    group = file.get(to_bytes(record.name))  # which may be no UTF-8
    if not isinstance(group, h5py.Group):
        return "it is not there"
    missing = next((each.name for each in record.datasets if to_bytes(each.name) not in group), None)
    if missing is not None:
        return f"its dataset {missing!r} is not there"
    crc = 0
    try:
        for each in record.datasets:
            found = group[to_bytes(each.name)]
            if found.shape != each.shape:
                return f"{each.name!r} is {found.shape}, and was {each.shape}"
            crc = zlib.crc32(np.ascontiguousarray(found[()]).data, crc)
    except OSError as error:
        return f"HDF5 cannot read it: {error}"
    return "" if crc == record.crc32 else "its bytes are not those that were read"
