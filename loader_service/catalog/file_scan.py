"""Scans one HDF5 file: which videos it holds, where their frames lie, what their labels are. Knows no other file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import h5py
import numpy as np

from loader_service.catalog.columns import FileStat, Int64s
from loader_service.catalog.extents import Located, Source, locate, read_frame
from loader_service.catalog.findings import FileScan, ScanOptions
from loader_service.catalog.jpeg import frame_size
from loader_service.catalog.labels import read_labels
from loader_service.catalog.layouts import FoundVideo, find_videos
from loader_service.catalog.plain import HDF5_ERRORS
from loader_service.catalog.tree import read_tree
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from loader_service.catalog.labels import Label


def scan_file(path: str, options: ScanOptions) -> FileScan:
    """Scan one file.

    Raises
    ------
    CatalogError
        When it cannot be read, is no HDF5 file, or does not hold what is expected; the message names it.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise CatalogError(f"cannot open {path!r}: {error.strerror}") from error
    try:
        status = FileStat.of(os.fstat(descriptor))
        with _open_hdf5(path, status) as file:
            return _scan(Source.of(file, descriptor), status, options)
    except CatalogError as error:
        raise CatalogError(f"{path!r}: {error}") from error
    except HDF5_ERRORS as error:
        raise CatalogError(
            f"{path!r}: HDF5 cannot read it: {error}; check it with `h5dump -H`, or copy it anew"
        ) from error
    finally:
        os.close(descriptor)


def _open_hdf5(path: str, status: FileStat) -> h5py.File:
    if not status.size_bytes:
        raise CatalogError("expected an HDF5 file, got an empty one; write it again or leave it out")
    try:
        return h5py.File(os.fsencode(path), "r")
    except OSError as error:
        raise CatalogError(_explain(str(error))) from error


def _explain(message: str) -> str:
    """Return what HDF5 means by the error with which it refuses to open a file, and what to do."""
    if "signature not found" in message:
        return f"expected an HDF5 file, got something else ({message}); leave it out"
    if "truncated file" in message:
        return f"the file is truncated ({message}); its writer is not finished, or was killed: write it again"
    if "unable to lock" in message or "lock file" in message:
        return f"another program has it open for writing ({message}); wait until the writer has closed it"
    if "consistency flag" in message or "already open for" in message:
        return f"its writer has not closed it ({message}); wait for the writer, or, if it died, run `h5clear -s` on it"
    return f"HDF5 cannot open it: {message}; check it with `h5dump -H`, or copy it anew"


def _scan(source: Source, status: FileStat, options: ScanOptions) -> FileScan:
    tree = read_tree(source.file, allow_external=options.allow_external)
    found = find_videos(source.file, tree, options.frames)
    labels: list[Label | None] = [None] * len(found)
    if options.labels_csv is None:
        labels = read_labels(source.file, tree, found, options.label)
    filled = [number for number, video in enumerate(found) if video.frame_count]
    videos = [found[number] for number in filled]
    located = [locate(source, video) for video in videos]
    sizes = [_picture_size(source, video, places) for video, places in zip(videos, located, strict=True)]
    return FileScan(
        status=status,
        names=[video.name for video in videos],
        dataset_paths=[video.dataset_path for video in videos],
        labels=[labels[number] for number in filled],
        accesses=np.array([places.access for places in located], np.uint8),
        frame_counts=np.array([video.frame_count for video in videos], np.int32),
        sizes=np.array(sizes, np.uint16).reshape(-1, 2),
        offsets=_join([places.offsets for places in located]),
        lengths=_join([places.lengths for places in located]).astype(np.uint32),
        empty_videos=len(found) - len(videos),
    )


def _join(pieces: list[Int64s]) -> Int64s:
    return np.concatenate([np.zeros(0, np.int64), *pieces])


def _picture_size(source: Source, video: FoundVideo, located: Located) -> tuple[int, int]:
    """Return height and width from the first frame; from another where that one is damaged; (0, 0) if all three are."""
    for frame in dict.fromkeys((0, video.frame_count // 2, video.frame_count - 1)):
        size = frame_size(read_frame(source, video, located, frame))
        if size is not None:
            return size
    return 0, 0
