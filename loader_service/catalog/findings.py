"""What a scan of one file is asked and what it answers, as data and as bytes; knows no HDF5 and no process."""

from __future__ import annotations

import io
import json
import math
import zipfile
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from loader_service.catalog.columns import FileStat, Int64s
from loader_service.errors import ConfigError

if TYPE_CHECKING:
    import numpy.typing as npt

    from loader_service.catalog.labels import Label

_ARRAYS = ("accesses", "frame_counts", "sizes", "offsets", "lengths")
_TEXTS = ("names", "dataset_paths", "labels", "empty_videos")

#: What `unpack` raises for bytes that are cut off or not `pack`'s.
UNPACK_ERRORS = (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile)


@dataclass(frozen=True)
class ScanOptions:
    """What decides how files become a catalog.

    Parameters
    ----------
    frames
        Pattern of the datasets that hold frames, such as ``*/rgb``; see `patterns.matches`. It may also name the
        groups that hold them. None: found without being told.
    label
        Where the labels are: ``@name`` for an attribute of the video, a pattern such as ``/labels`` or ``*/label`` for
        datasets. None: found without being told.
    labels_csv
        Path of a CSV file ``video,label``, which then is the only source of labels.
    on_bad_file
        ``"raise"``, or ``"skip"``: a file that cannot be read is left out, counted and listed.
    allow_external
        Whether files may refer to other files: external storage, external links (not followed), virtual datasets.
    timeout_s
        How long the scan of one file may take, in seconds.

    Raises
    ------
    ConfigError
        When a value is out of range.
    """

    frames: str | None = None
    label: str | None = None
    labels_csv: str | None = None
    on_bad_file: Literal["raise", "skip"] = "raise"
    allow_external: bool = False
    timeout_s: float = 600.0

    def __post_init__(self) -> None:
        for name in ("frames", "label", "labels_csv"):
            if getattr(self, name) == "":
                raise ConfigError(f"{name}='' names nothing; leave it out to let the scan find out")
        if self.on_bad_file not in {"raise", "skip"}:
            raise ConfigError(f"on_bad_file={self.on_bad_file!r} is unknown; choose 'raise' or 'skip'")
        if not 0 < self.timeout_s < math.inf:
            raise ConfigError(f"timeout_s={self.timeout_s!r}; give a number of seconds above 0")


@dataclass(frozen=True)
class FileScan:
    """What one file holds; lists and arrays have one entry for each video with frames, in natural order of the names.

    Attributes
    ----------
    status
        Size, time and inode of the file that was scanned.
    names
        The videos' paths inside the file.
    dataset_paths
        Of the dataset, or group, that holds the frames.
    labels
        None for a video without.
    accesses
        ``(videos,) uint8``, see `columns.Access`.
    frame_counts
        ``(videos,) int32``.
    sizes
        ``(videos, 2) uint16``: height and width of each video's first readable frame, or 0.
    offsets, lengths
        Extents of all frames of all videos, one after the other: ``(frames,) int64`` and ``uint32``.
    empty_videos
        How many more videos there are, without frames.
    """

    status: FileStat
    names: list[str]
    dataset_paths: list[str]
    labels: list[Label | None]
    accesses: npt.NDArray[np.uint8]
    frame_counts: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.uint16]
    offsets: Int64s
    lengths: npt.NDArray[np.uint32]
    empty_videos: int


def pack(scan: FileScan) -> bytes:
    """Return a scan as bytes: for the cache, and for the way from one process to another."""
    texts = {"status": asdict(scan.status), **{name: getattr(scan, name) for name in _TEXTS}}
    content = io.BytesIO()
    encoded = np.frombuffer(json.dumps(texts).encode("ascii"), np.uint8)
    np.savez(content, allow_pickle=False, texts=encoded, **{name: getattr(scan, name) for name in _ARRAYS})
    return content.getvalue()


def unpack(data: bytes) -> FileScan:
    """Return the scan that `pack` made bytes of; raises one of `UNPACK_ERRORS` for anything else."""
    # From memory: np.load leaves a damaged archive's file open.
    stored = np.load(io.BytesIO(data), allow_pickle=False)
    texts = json.loads(stored["texts"].tobytes())
    status = FileStat(**texts.pop("status"))
    return FileScan(status=status, **texts, **{name: stored[name] for name in _ARRAYS})
