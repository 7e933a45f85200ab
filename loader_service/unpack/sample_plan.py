"""Which samples there are, what they are called and how large they are, and how they are shared among files.

Knows no target and reads no frame. Everything here is a pure function of the catalog and the options, so a second run
finds the same pieces.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from loader_service.catalog.columns import Catalog
from loader_service.conversion.safe_names import distinct_paths, safe_path
from loader_service.conversion.unpack_manifest import MANIFEST_NAME, TABLE_NAME
from loader_service.unpack.source_samples import SampleRange
from loader_service.unpack.unpack_options import UnpackOptions

Int64s = npt.NDArray[np.int64]

#: What no sample may be called.
RESERVED_NAMES = (MANIFEST_NAME, TABLE_NAME)

#: What a sample takes beside its pictures and numbers: its names, and the frame around them.
_OVERHEAD_BYTES = 200


@dataclass(frozen=True)
class SamplePlan:
    """All samples, in the order in which they are written.

    Attributes
    ----------
    videos, starts, stops, sizes
        ``(samples,) int64``: of each its video, its first frame and the one after its last, and its bytes, about.
    keys, frame_counts
        Of each video: the path that stands for it, and its frames, ``(videos,) int64``.
    by_frame
        Whether a sample is one frame.
    """

    videos: Int64s
    starts: Int64s
    stops: Int64s
    sizes: Int64s
    keys: list[str]
    frame_counts: Int64s
    by_frame: bool

    def __len__(self) -> int:
        return len(self.videos)

    @property
    def size_bytes(self) -> int:
        """Of all samples, about."""
        return int(self.sizes.sum())

    def samples(self, first: int, stop: int) -> list[SampleRange]:
        """Return some of the samples, by their places."""
        columns = (each[first:stop].tolist() for each in (self.videos, self.starts, self.stops))
        return [
            SampleRange(self._key(video, start), video, start, end) for video, start, end in zip(*columns, strict=True)
        ]

    def _key(self, video: int, start: int) -> str:
        """Return the name of a sample: its video's, and of one of several frames also the frame's, from 1."""
        key = self.keys[video]
        return f"{key}/{frame_name(start)}" if self.by_frame and self.frame_counts[video] > 1 else key


def frame_name(frame: int) -> str:
    """Return what the file of a frame is called, from 000001, without its extension."""
    return f"{frame + 1:06}"


def plan_samples(catalog: Catalog, options: UnpackOptions, *, dots: bool, by_class: bool) -> SamplePlan:
    """Return the samples of a catalog.

    Parameters
    ----------
    catalog, options
        What there is, and what is asked for.
    dots
        Whether the name of a file may have a dot before its extension.
    by_class
        Whether videos are put into a folder of their class, where they have one and no folder of their own.
    """
    counts = np.asarray(catalog.frame_counts, np.int64)
    by_frame = options.sample == "frame" or (
        options.sample == "auto" and (catalog.kind == "rows" or int(counts.max(initial=1)) == 1)
    )
    frame_sizes, value_bytes = _frame_sizes(catalog), _OVERHEAD_BYTES
    bounds = np.concatenate(([0], np.cumsum(counts)))
    videos = np.arange(len(counts), dtype=np.int64)
    if by_frame:
        videos = np.repeat(videos, counts)
        starts = np.arange(int(bounds[-1]), dtype=np.int64) - np.repeat(bounds[:-1], counts)
        stops, sizes = starts + 1, frame_sizes + value_bytes
    else:
        starts, stops = np.zeros_like(counts), counts
        sizes = np.add.reduceat(frame_sizes, bounds[:-1]) + value_bytes if len(counts) else counts
    if options.shuffle is not None:
        order = np.random.default_rng(options.shuffle).permutation(len(videos))
        videos, starts, stops, sizes = (each[order] for each in (videos, starts, stops, sizes))
    paths = video_paths(catalog, dots=dots, by_class=by_class)
    return SamplePlan(videos, starts, stops, sizes, paths, counts, by_frame)


def cut(sizes: Int64s, most_bytes: int, count: int = 0) -> Int64s:
    """Return where a row of samples is cut into files: ``(files + 1,) int64``, from 0 to the number of samples.

    Parameters
    ----------
    sizes
        Bytes of each sample.
    most_bytes
        Of a file; one sample alone may be larger.
    count
        How many files of about one size, instead; 0 for as many as `most_bytes` asks for. Never more than samples.
    """
    if not len(sizes):
        return np.zeros(1, np.int64)
    ends = np.cumsum(sizes)
    if count:
        count = min(count, len(sizes))
        inner = np.searchsorted(ends, ends[-1] * np.arange(1, count) / count, side="left") + 1
        least, most = np.arange(1, count), len(sizes) - np.arange(count - 1, 0, -1)
        inner = np.maximum.accumulate(np.clip(inner, least, most) - least) + least  # no file is empty
        return np.concatenate(([0], np.minimum(inner, most), [len(sizes)])).astype(np.int64)
    cuts = [0]
    while cuts[-1] < len(sizes):
        before = int(ends[cuts[-1] - 1]) if cuts[-1] else 0
        cuts.append(max(cuts[-1] + 1, int(np.searchsorted(ends, before + most_bytes, side="right"))))
    return np.array(cuts, np.int64)


def video_paths(catalog: Catalog, *, dots: bool, by_class: bool) -> list[str]:
    """Return the path that stands for each video: its name in the file, and the file's before it where that is needed.

    It is needed where two files have videos of one name.
    """
    names = [catalog.name(video).decode("utf-8", "surrogateescape").strip("/") for video in range(catalog.video_count)]
    paths = [safe_path(name, dots=dots) for name in names]
    if len(set(names)) < len(names):
        own = [safe_path(Path(catalog.file_path(file)).stem, dots=dots) for file in range(catalog.file_count)]
        stems = distinct_paths(own)
        paths = [  # a video that is called as its file is alone in it
            stems[file] if path == own[file] else f"{stems[file]}/{path}"
            for file, path in zip(catalog.video_file.tolist(), paths, strict=True)
        ]
    elif by_class and catalog.classes and catalog.labels is not None and not any("/" in name for name in names):
        texts = [catalog.classes[int(label)] if label >= 0 else "" for label in catalog.labels]
        paths = [f"{safe_path(text.replace('/', '_'))}/{path}" for text, path in zip(texts, paths, strict=True)]
    return distinct_paths([*RESERVED_NAMES, *paths])[len(RESERVED_NAMES) :]


def _frame_sizes(catalog: Catalog) -> Int64s:
    """Return the bytes of each frame of all videos, ``(frames,) int64``."""
    sizes = np.zeros(catalog.frame_count, np.int64)
    for field in catalog.fields:
        if field.kind == "value":
            continue
        if catalog.is_encoded(field.name) or catalog.has_lists(field.name):
            sizes += catalog.column("extent_lengths", field.name)
        elif field.differs:
            entries = np.prod(catalog.real_sides(field.name), axis=1, dtype=np.int64)
            sizes += np.repeat(entries * np.dtype(field.dtype).itemsize, catalog.frame_counts)
        else:
            sizes += int(np.prod(field.shape, dtype=np.int64)) * np.dtype(field.dtype).itemsize
    return sizes
