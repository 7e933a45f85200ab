"""The catalog: what the files hold, in columns. Knows no HDF5, no plan and no process, nor how columns come to disk."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from loader_service.catalog.codecs import SERVED, Codec
from loader_service.catalog.header import (
    RAW,
    FieldFacts,
    FileStat,
    Header,
    PathRule,
    has_sides,
)
from loader_service.catalog.rows_place import RowsPlace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from loader_service.catalog.header import CatalogKind
    from loader_service.protocol.fields import CatalogField

__all__ = [
    "RAW",
    "Catalog",
    "FieldFacts",
    "FileStat",
    "Header",
    "PathRule",
]

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
UInt64s = npt.NDArray[np.uint64]
UInt32s = npt.NDArray[np.uint32]
UInt16s = npt.NDArray[np.uint16]
Labels = npt.NDArray[np.int64] | npt.NDArray[np.float32]


class Catalog:
    """What the files hold, read-only; every process maps the same pages, so a worker's copy costs no memory.

    Videos are numbered by file, in natural order of the paths, and in natural order of the names within a file. Made by
    `open_catalog` and by `scan`. Arrays stay valid after `close` for as long as they are referred to.

    Attributes
    ----------
    directory
        Where the columns lie; what another process gives to `open_catalog`.
    fingerprint
        32 hex digits that stand for what the files hold, as `fingerprints.content_fingerprint` says: not for where they
        lie, nor for their times and inodes.
    kind
        What a sample is a part of.
    fields
        The fields that the files have, `label` included, in the order in which they are offered.
    facts
        The same with where they were found, for people.
    layouts
        What a video is in the files, as a schema says it.
    left_out
        What could have been a field, and why it is none; one line each.
    split
        The split of the files that it holds alone; empty when the files have none.
    file_count, video_count, frame_count
        How many there are.
    video_file, frame_counts
        File number and number of frames of each video, ``(videos,) int32`` and ``int64``; the frames of all fields.
    name_words
        The hash of each video's name, ``(videos,) uint64``, as `video_split.words_of_names` makes it.
    labels
        ``(videos,) int64 or float32``, or None when the videos have none.
    file_bytes
        Bytes of all frames of all fields of each file, ``(files,) int64``: what balances work.
    name_width
        Bytes of the longest video name.
    largest_frame_bytes
        Encoded bytes of the longest frame; 0 when none is encoded.
    frame_shape
        ``(height, width)`` of the first image field when all videos share it, else None.
    fetched
        What the scans of files in stores have fetched; None where there were none.
    skipped
        ``(path, reason)`` of each file that was left out.
    empty_videos
        How many videos without frames were left out.
    """

    def __init__(self, directory: Path, header: Header, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        self.directory = directory
        self.fingerprint = header.fingerprint
        self.kind: CatalogKind = header.kind
        self.facts = header.fields
        self.fields: tuple[CatalogField, ...] = tuple(each.field for each in header.fields)
        self.layouts = header.layouts
        self.left_out = header.left_out
        self.split = header.split
        self.file_count = header.counts["files"]
        self.video_count = header.counts["videos"]
        self.frame_count = header.counts["frames"]
        self.name_width = header.name_width
        self.largest_frame_bytes = header.largest_frame_bytes
        self.skipped = header.skipped
        self.fetched = header.fetched
        self.empty_videos = header.empty_videos
        self.video_file: Int32s = columns["video_file"]
        self.frame_counts: Int64s = columns["frame_counts"]
        self.name_words: UInt64s = columns["name_words"]
        self.file_bytes: Int64s = columns["file_bytes"]
        self._columns = dict(columns)
        self._numbers = {field.name: number for number, field in enumerate(self.fields)}
        self._beside = {field.sides_name: field for field in self.fields if field.differs}
        self._at_close: Callable[[], object] | None = None
        self.frame_shape = self._frame_shape()
        self.labels: Labels | None = None
        if "label" in self._numbers and self.field("label").kind == "value" and header.kind == "videos":
            self.labels = self.values("label")

    @property
    def classes(self) -> tuple[str, ...] | None:
        """What the numbers of the field `label` stand for, in order, when they are classes."""
        return next((field.classes for field in self.fields if field.name == "label" and field.classes), None)

    def file_path(self, file: int) -> str:
        """Return the absolute path of a file; bytes that are not UTF-8 are surrogate-escaped, as in `os.fsdecode`."""
        return os.fsdecode(self._piece("paths", "path_bounds", file))

    def file_stat(self, file: int) -> FileStat:
        """Return size, time and inode of a file as they were when it was scanned."""
        return FileStat(*(int(self._columns[name][file]) for name in ("file_sizes", "file_mtimes", "file_inodes")))

    def name(self, video: int) -> bytes:
        """Return a video's name in UTF-8; unique within its file."""
        return self._piece("names", "name_bounds", video)

    def place(self, video: int) -> tuple[str, str]:
        """Return the path of a video's file, and the video's name, for people."""
        return self.file_path(int(self.video_file[video])), self.name(video).decode("utf-8", "replace")

    def describe(self, video: int) -> str:
        """Return a video's file and name, for errors."""
        path, name = self.place(video)
        return f"file {path!r}, video {name!r}"

    def field(self, name: str) -> CatalogField:
        """Return the field of that name; KeyError if there is none."""
        return self.fields[self._numbers[name]]

    def is_encoded(self, field: str) -> bool:
        """Tell whether a field is kept as encoded images, which `extents` locates; if not, it is numbers, or values."""
        return self.facts[self._numbers[field]].storage == "encoded"

    def has_lists(self, field: str) -> bool:
        """Tell whether a field is a list of numbers for each frame, which `extents` locates."""
        return self.facts[self._numbers[field]].storage == "lists"

    def values(self, field: str) -> npt.NDArray[Any]:
        """Return a value field's column, ``(videos, *shape)`` of its dtype."""
        return self._column("values", field)

    def sizes(self, field: str = "frames") -> tuple[UInt16s, UInt16s]:
        """Return height and width of each video's first readable image, ``(videos,) uint16``; 0 if none is readable."""
        return self._column("heights", field), self._column("widths", field)

    def dataset_path(self, video: int, field: str = "frames") -> str:
        """Return the path, inside its file, of the dataset, or group, that holds a field's frames."""
        rules = self.facts[self._numbers[field]].path_rules
        rule = rules[int(self._column("path_rules", field)[video])]
        if not rule.begins_with_name:
            return rule.suffix
        return self.name(video).decode("utf-8", "surrogateescape") + rule.suffix

    def way(self, video: int, field: str = "frames") -> str:
        """Return how the encoded frames of a video are read: `RAW`, or by the layout of that name."""
        return self.facts[self._numbers[field]].ways[int(self._column("ways", field)[video])]

    def codec(self, video: int, field: str = "frames") -> Codec:
        """Return what the encoded frames of a video are."""
        return SERVED[int(self._column("codecs", field)[video])]

    def codecs(self, field: str = "frames") -> tuple[Codec, ...]:
        """Return what the encoded frames of all videos are; empty for what is not encoded."""
        if not self.is_encoded(field):
            return ()
        return tuple(SERVED[number] for number in sorted(set(self._column("codecs", field).tolist())))

    def shape_in(self, video: int, field: str) -> tuple[int, ...]:
        """Return the shape of a frame of an array, or of a value, as it is in one video; not that of a list."""
        known = self.field(field)
        shape = known.shape
        if known.kind == "array" and self.is_encoded(field):
            return tuple(int(side[video]) for side in self.sizes(field))
        if not has_sides(self.facts[self._numbers[field]].storage, shape):
            return shape
        return tuple(self._column("sides", field)[video].tolist())

    def real_sides(self, field: str) -> Int64s:
        """Return the sides of each video's array or value, ``(videos, axes) int64``, where they differ."""
        return self._column("sides", field)

    def usual_sides(self, field: str) -> list[int]:
        """Return the median of each side of a field whose sides differ, at least 1."""
        return [max(1, int(np.median(side))) for side in self.sides_of_all(field)]

    def range_of_sides(self, field: str) -> list[tuple[int, int]]:
        """Return the shortest and the longest of each side of a field that has sides that differ; else nothing."""
        return [(int(side.min()), int(side.max())) for side in self.sides_of_all(field)]

    def sides_of_all(self, field: str) -> list[Int64s]:
        """Return each side of a field that has sides that differ: of all lists, or of all videos; else nothing."""
        facts = self.facts[self._numbers[field]]
        shape = facts.field.shape
        if facts.storage == "lists":
            entry_bytes = math.prod(shape[1:]) * np.dtype(facts.field.dtype).itemsize
            lengths = self._column("extent_lengths", field).astype(np.int64) // entry_bytes
            return [lengths, *(np.array([side]) for side in shape[1:])]
        if facts.storage == "encoded" and facts.field.differs:
            return [side.astype(np.int64) for side in self.sizes(field)]
        return list(self.real_sides(field).T) if has_sides(facts.storage, shape) else []

    def beside(self, name: str) -> CatalogField | None:
        """Return the field whose real sides are the field of this name; None if there is none."""
        return self._beside.get(name)

    def list_lengths(self, video: int, field: str) -> Int64s:
        """Return how many entries each frame's list has, ``(frames,) int64``."""
        known = self.field(field)
        entry_bytes = math.prod(known.shape[1:]) * np.dtype(known.dtype).itemsize
        return self.extents(video, field)[1].astype(np.int64) // entry_bytes

    def is_swapped(self, video: int, field: str) -> bool:
        """Tell whether a video's lists have another byte order in the file than in memory."""
        return bool(self._column("swapped", field)[video])

    def extents(self, video: int, field: str = "frames") -> tuple[Int64s, UInt32s]:
        """Return offset and length of each frame, as `RAW` says; views, ``(frames,) int64`` and ``uint32``."""
        bounds = self._columns["frame_bounds"]
        frames = slice(int(bounds[video]), int(bounds[video + 1]))
        return self._column("extent_offsets", field)[frames], self._column("extent_lengths", field)[frames]

    def address(self, video: int, field: str) -> int:
        """Return where in the file a video's numbers begin, if they lie there one after the other as in memory.

        -1: they must be read through HDF5, from where `rows_place` says.
        """
        return int(self._column("addresses", field)[video])

    def rows_place(self, video: int, field: str) -> RowsPlace:
        """Return where HDF5 finds a video's numbers."""
        columns = ("elements", "firsts", "digits", "strides")
        element, first, digits, stride = (int(self._column(name, field)[video]) for name in columns)
        return RowsPlace(self.dataset_path(video, field), element, first, digits, stride)

    def missing(self, fields: Iterable[str]) -> int:
        """Return how many frames at the end of each video have no entry in one of these fields: 0 or 1."""
        known = (self._numbers.get(self._beside[name].name if name in self._beside else name) for name in fields)
        return max((self.facts[number].missing for number in known if number is not None), default=0)

    def counts_with(self, fields: Iterable[str]) -> Int64s:
        """Return how many frames of each video have an entry in all of these fields, ``(videos,) int64``."""
        missing = self.missing(fields)
        return self.frame_counts - missing if missing else self.frame_counts

    def heap(self, texts: str, bounds: str) -> tuple[Int64s, npt.NDArray[np.uint8]]:
        """Return all names (`names`, `name_bounds`) or paths (`paths`, `path_bounds`): their ends, and their bytes."""
        return self._columns[bounds], self._columns[texts]

    def videos_of(self, file: int) -> range:
        """Return the numbers of a file's videos."""
        first, end = np.searchsorted(self.video_file, [file, file + 1])
        return range(int(first), int(end))

    def frame_bounds(self, videos: range) -> Int64s:
        """Return where the frames of some videos begin in columns with an entry a frame, and where the last end."""
        bounds: Int64s = self._columns["frame_bounds"][videos.start : videos.stop + 1]
        return bounds

    def column(self, name: str, field: str) -> npt.NDArray[Any]:
        """Return a whole column of a field, as `column_files` names it."""
        return self._column(name, field)

    def sample(self, file: int, field: str) -> str:
        """Return what stands for the bytes of a field's frames in a file; see `FieldScan`."""
        return bytes(self._column("samples", field)[file]).decode("ascii")

    def labels_digest(self, file: int) -> str:
        """Return what stands for the labels in a file, as from `fingerprints.labels_digest`."""
        return bytes(self._columns["file_labels"][file]).decode("ascii")

    def ways(self, field: str) -> dict[str, int]:
        """Return in how many videos a field is read in which way: as `way` says, or raw or by HDF5."""
        facts = self.facts[self._numbers[field]]
        if facts.storage in {"encoded", "lists"}:
            counts = np.bincount(self._column("ways", field), minlength=len(facts.ways)).tolist()
            return {way: count for way, count in zip(facts.ways, counts, strict=True) if count}
        if facts.storage != "raw":
            return {}
        direct = int(np.count_nonzero(self._column("addresses", field) >= 0))
        return {way: count for way, count in (("raw", direct), ("hdf5", self.video_count - direct)) if count}

    def at_close(self, remove: Callable[[], object]) -> None:
        """Make `close` call this once, such as for columns in a temporary directory that this catalog owns."""
        self._at_close = remove

    def close(self) -> None:
        """Let go of the columns; the memory is unmapped when no array of them is referred to any more."""
        self._columns.clear()
        remove, self._at_close = self._at_close, None
        if remove is not None:
            remove()

    def _column(self, name: str, field: str) -> npt.NDArray[Any]:
        return self._columns[f"{name}.{self._numbers[field]}"]

    def _piece(self, heap: str, bounds: str, number: int) -> bytes:
        ends = self._columns[bounds]
        return self._columns[heap][int(ends[number]) : int(ends[number + 1])].tobytes()

    def _frame_shape(self) -> tuple[int, int] | None:
        shape = next((field.shape for field in self.fields if field.kind == "image"), (0,))
        return (shape[0], shape[1]) if shape[0] else None
