"""The catalog's columns on disk, memory-mapped: what the files hold. Knows no HDF5, no plan and no process."""

from __future__ import annotations

import enum
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Mapping

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
UInt32s = npt.NDArray[np.uint32]
UInt16s = npt.NDArray[np.uint16]
Labels = npt.NDArray[np.int64] | npt.NDArray[np.float32]

#: Part of every fingerprint: a catalog of another version is not read, but made anew.
FORMAT_VERSION = 2

#: Every column's element type, and what it has one entry for; "+1" columns hold N + 1 boundaries of N pieces.
#: 41 bytes a video and its name; 12 bytes a frame.
COLUMNS: dict[str, tuple[str, str]] = {
    "video_file": ("<i4", "videos"),
    "frame_counts": ("<i4", "videos"),
    "heights": ("<u2", "videos"),
    "widths": ("<u2", "videos"),
    "accesses": ("|u1", "videos"),
    "path_rules": ("<i4", "videos"),
    "name_bounds": ("<i8", "videos+1"),
    "frame_bounds": ("<i8", "videos+1"),
    "names": ("|u1", "name_bytes"),
    "extent_offsets": ("<i8", "frames"),
    "extent_lengths": ("<u4", "frames"),
    "file_sizes": ("<i8", "files"),
    "file_mtimes": ("<i8", "files"),
    "file_inodes": ("<u8", "files"),
    "file_bytes": ("<i8", "files"),
    "path_bounds": ("<i8", "files+1"),
    "paths": ("|u1", "path_bytes"),
}
_LABEL_DTYPES = ("<i8", "<f4")


class Access(enum.IntEnum):
    """How the frames of a video are read, and what the two numbers of an extent mean.

    The length is the encoded size in bytes, always. The offset counts bytes in the file for ``RAW``; for the others,
    which go through HDF5, it counts frames (``VLEN``), bytes (``FLAT``) or rows (``PADDED``) of the video's dataset,
    or children of the video's group in natural order (``DATASETS``).
    """

    RAW = 0
    VLEN = 1
    FLAT = 2
    PADDED = 3
    DATASETS = 4


@dataclass(frozen=True)
class FileStat:
    """What tells that a file is still the one that was scanned."""

    size_bytes: int
    mtime_ns: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileStat:
        """Return the part of a `stat` result that the catalog keeps."""
        return cls(status.st_size, status.st_mtime_ns, status.st_ino)


@dataclass(frozen=True)
class PathRule:
    """How a video's dataset path follows from its name: the name and a suffix, or a path that is not built on it."""

    begins_with_name: bool
    suffix: str


@dataclass(frozen=True)
class Header:
    """The catalog's few facts that are no columns; stored as JSON beside them."""

    fingerprint: str
    counts: Mapping[str, int]
    label_dtype: str | None
    classes: tuple[str, ...] | None
    path_rules: tuple[PathRule, ...]
    skipped: tuple[tuple[str, str], ...]
    empty_videos: int
    name_width: int
    largest_frame_bytes: int
    frame_shape: tuple[int, int] | None


class Catalog:
    """What the files hold, read-only; every process maps the same pages, so a worker's copy costs no memory.

    Videos are numbered by file, in natural order of the paths, and in natural order of the names within a file. Made by
    `open_catalog` and by `scan`. Arrays stay valid after `close` for as long as they are referred to.

    Attributes
    ----------
    directory
        Where the columns lie; what another process gives to `open_catalog`.
    fingerprint
        32 hex digits that stand for the files' paths, sizes, times and inodes, and for the options of the scan.
    file_count, video_count, frame_count
        How many there are.
    video_file, frame_counts
        File number and number of frames of each video, ``(videos,) int32``.
    heights, widths
        Size of each video's first readable frame in pixels, ``(videos,) uint16``; 0 when no header could be read.
    labels
        ``(videos,) int64 or float32``, or None when the data set has none.
    classes
        What integer labels stand for, in order, when the labels were texts.
    file_bytes
        Encoded bytes of all frames of each file, ``(files,) int64``: what balances work.
    name_width
        Bytes of the longest video name.
    largest_frame_bytes
        Encoded bytes of the longest frame.
    frame_shape
        ``(height, width)`` when all videos share it, else None.
    skipped
        ``(path, reason)`` of each file that was left out.
    empty_videos
        How many videos without frames were left out.
    """

    def __init__(self, directory: Path, header: Header, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        self.directory = directory
        self.fingerprint = header.fingerprint
        self.file_count = header.counts["files"]
        self.video_count = header.counts["videos"]
        self.frame_count = header.counts["frames"]
        self.classes = header.classes
        self.name_width = header.name_width
        self.largest_frame_bytes = header.largest_frame_bytes
        self.frame_shape = header.frame_shape
        self.skipped = header.skipped
        self.empty_videos = header.empty_videos
        self.video_file: Int32s = columns["video_file"]
        self.frame_counts: Int32s = columns["frame_counts"]
        self.heights: UInt16s = columns["heights"]
        self.widths: UInt16s = columns["widths"]
        self.labels: Labels | None = columns.get("labels")
        self.file_bytes: Int64s = columns["file_bytes"]
        self._columns = dict(columns)
        self._path_rules = header.path_rules
        self._temporary = False

    def file_path(self, file: int) -> str:
        """Return the absolute path of a file; bytes that are not UTF-8 are surrogate-escaped, as in `os.fsdecode`."""
        return os.fsdecode(self._piece("paths", "path_bounds", file))

    def file_stat(self, file: int) -> FileStat:
        """Return size, time and inode of a file as they were when it was scanned."""
        return FileStat(*(int(self._columns[name][file]) for name in ("file_sizes", "file_mtimes", "file_inodes")))

    def name(self, video: int) -> bytes:
        """Return a video's name in UTF-8; unique within its file."""
        return self._piece("names", "name_bounds", video)

    def describe(self, video: int) -> str:
        """Return a video's file and name, for errors."""
        path = self.file_path(int(self.video_file[video]))
        return f"file {path!r}, video {self.name(video).decode('utf-8', 'replace')!r}"

    def dataset_path(self, video: int) -> str:
        """Return the path, inside its file, of the dataset (``DATASETS``: the group) that holds the frames."""
        rule = self._path_rules[int(self._columns["path_rules"][video])]
        if not rule.begins_with_name:
            return rule.suffix
        return self.name(video).decode("utf-8", "surrogateescape") + rule.suffix

    def access(self, video: int) -> Access:
        """Return how the video's frames are read."""
        return Access(int(self._columns["accesses"][video]))

    def extents(self, video: int) -> tuple[Int64s, UInt32s]:
        """Return offset and length of each frame, as `Access` says; views, ``(frames,) int64`` and ``uint32``."""
        bounds = self._columns["frame_bounds"]
        frames = slice(int(bounds[video]), int(bounds[video + 1]))
        return self._columns["extent_offsets"][frames], self._columns["extent_lengths"][frames]

    def remove_on_close(self) -> None:
        """Make `close` delete the columns, because they lie in a temporary directory that this catalog owns."""
        self._temporary = True

    def close(self) -> None:
        """Let go of the columns; the memory is unmapped when no array of them is referred to any more."""
        self._columns.clear()
        if self._temporary:
            self._temporary = False
            shutil.rmtree(self.directory)

    def _piece(self, heap: str, bounds: str, number: int) -> bytes:
        ends = self._columns[bounds]
        return self._columns[heap][int(ends[number]) : int(ends[number + 1])].tobytes()


def write_catalog(directory: Path, header: Header, columns: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write a catalog into an empty directory.

    Raises
    ------
    OSError
        When the directory cannot be written to, or the disk is full.
    """
    for name, column in columns.items():
        np.save(directory / f"{name}.npy", column, allow_pickle=False)
    facts = {"format": FORMAT_VERSION, **vars(header)}
    facts["path_rules"] = [[rule.begins_with_name, rule.suffix] for rule in header.path_rules]
    (directory / "catalog.json").write_text(json.dumps(facts), encoding="ascii")


def open_catalog(directory: str | os.PathLike[str]) -> Catalog:
    """Map a catalog that `scan` has written.

    Raises
    ------
    CatalogError
        When it is missing, damaged, or of another format version.
    """
    place = Path(directory)
    try:
        facts = json.loads((place / "catalog.json").read_text(encoding="ascii"))
        if facts["format"] != FORMAT_VERSION:
            raise CatalogError(
                f"opening the catalog {str(place)!r}: expected format {FORMAT_VERSION}, got {facts['format']!r}; "
                "scan the files again with this version"
            )
        header = _read_header(facts)
        return Catalog(place, header, _map_columns(place, header))
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise CatalogError(
            f"the catalog {str(place)!r} is damaged or incomplete ({error}); delete it and scan the files again"
        ) from error


def _read_header(facts: dict[str, Any]) -> Header:
    return Header(
        fingerprint=facts["fingerprint"],
        counts=facts["counts"],
        label_dtype=facts["label_dtype"],
        classes=None if facts["classes"] is None else tuple(facts["classes"]),
        path_rules=tuple(PathRule(named, suffix) for named, suffix in facts["path_rules"]),
        skipped=tuple((path, reason) for path, reason in facts["skipped"]),
        empty_videos=facts["empty_videos"],
        name_width=facts["name_width"],
        largest_frame_bytes=facts["largest_frame_bytes"],
        frame_shape=None if facts["frame_shape"] is None else tuple(facts["frame_shape"]),
    )


def _map_columns(directory: Path, header: Header) -> dict[str, npt.NDArray[Any]]:
    wanted = dict(COLUMNS)
    if header.label_dtype is not None:
        if header.label_dtype not in _LABEL_DTYPES:
            raise ValueError(f"labels of type {header.label_dtype!r}")
        wanted["labels"] = (header.label_dtype, "videos")
    columns = {}
    for name, (dtype, unit) in wanted.items():
        length = header.counts[unit.removesuffix("+1")] + unit.endswith("+1")
        # asarray drops the memmap subclass, whose every slice costs microseconds; the mapping stays its base.
        column = np.asarray(np.load(directory / f"{name}.npy", mmap_mode="r", allow_pickle=False))
        if column.dtype != np.dtype(dtype) or column.shape != (length,):
            raise ValueError(f"column {name}: expected {length} of {dtype}, got {column.shape} of {column.dtype.str}")
        columns[name] = column
    return columns
