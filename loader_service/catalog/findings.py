"""What a scan of one file is asked and what it answers, as data and as bytes; knows no HDF5 and no process."""

from __future__ import annotations

import json
import math
import struct
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from loader_service.catalog.columns import FileStat, Int64s
from loader_service.catalog.label_csv import parse_option
from loader_service.catalog.names import FOLDER, GROUP
from loader_service.catalog.schema import FieldKind, Schema, VideoLayout, schema_from_json
from loader_service.errors import ConfigError

if TYPE_CHECKING:
    import numpy.typing as npt

    from loader_service.catalog.header import Storage
    from loader_service.catalog.label_values import Label

_FIELD_FACTS = ("key", "source", "kind", "dtype", "shape", "paths", "sample")
_FILE_FACTS = ("names", "labels", "empty_videos", "layout", "label_source", "left_out")


#: What `unpack` raises for bytes that are cut off or not `pack`'s.
UNPACK_ERRORS = (OSError, ValueError, KeyError, TypeError, struct.error)

#: What a packed scan begins with: the length of its texts, which are JSON. The arrays follow, each at a multiple of 8.
_TEXTS = struct.Struct("<Q")


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
        datasets; ``{folder}`` or ``{group}``: the label is the name of the folder, or group, that holds the video.
        None: found without being told.
    labels_csv
        A CSV file and its columns, as `label_csv.read_csv` takes them. Where it has labels, no others count.
    classes
        Files that list classes, as `class_lists.read_class_lists` takes them.
    on_bad_file
        ``"raise"``, or ``"skip"``: a file that cannot be read is left out, counted and listed.
    allow_external
        Whether files may have datasets that lie in other files, by external storage or as virtual datasets, and
        external links, which are not followed.
    timeout_s
        How long the scan of one file may take, in seconds.
    schema
        Which fields there are; None: found without being told. As JSON says it, when another process was told.

    Raises
    ------
    ConfigError
        When a value is out of range.
    """

    frames: str | None = None
    label: str | None = None
    labels_csv: str | None = None
    classes: tuple[str, ...] = ()
    on_bad_file: Literal["raise", "skip"] = "raise"
    allow_external: bool = False
    timeout_s: float = 600.0
    schema: Schema | None = None

    def __post_init__(self) -> None:
        for name in ("frames", "label", "labels_csv"):
            if getattr(self, name) == "":
                raise ConfigError(f"{name}='' names nothing; leave it out to let the scan find out")
        if isinstance(self.schema, dict):
            object.__setattr__(self, "schema", schema_from_json(self.schema))
        if self.schema is not None and self.frames is not None:
            raise ConfigError(f"frames={self.frames!r} and a schema both say where frames are; leave one out")
        if self.labels_csv is not None and parse_option(self.labels_csv)[1].keys() <= {"video", "label"}:
            self.check_label_free()
        if self.label is not None and self.schema is not None and "label" in self.schema.names:
            raise ConfigError(f"label={self.label!r} and a schema both say where labels are; leave one out")
        if self.label is not None and "{" in self.label and self.label not in {FOLDER, GROUP}:
            raise ConfigError(f"label={self.label!r} is unknown; give '{{folder}}', '{{group}}', a pattern or '@name'")
        if self.on_bad_file not in {"raise", "skip"}:
            raise ConfigError(f"on_bad_file={self.on_bad_file!r} is unknown; choose 'raise' or 'skip'")
        if not 0 < self.timeout_s < math.inf:
            raise ConfigError(f"timeout_s={self.timeout_s!r}; give a number of seconds above 0")

    def check_label_free(self) -> None:
        """Refuse a second place of labels beside a CSV file that has some; ConfigError."""
        if self.label is not None:
            raise ConfigError(
                f"label={self.label!r} and labels={self.labels_csv!r} both say where labels are; leave one out"
            )


@dataclass(frozen=True)
class FieldScan:
    """One field of one file, with an entry for each video with frames.

    Attributes
    ----------
    key
        Path of the dataset within the video; empty when the dataset is the video; ``@name`` for an attribute.
    source
        The pattern of a schema that stands for it.
    kind, dtype, shape
        As in `CatalogField`; of JPEGs the shape is found out later, from `columns`.
    paths
        Of each video's dataset, or group; empty for values.
    columns
        By the names that they have in the catalog: JPEGs ``heights``, ``widths``, ``accesses``, and, with an entry for
        each frame, ``extent_offsets`` and ``extent_lengths``; arrays ``addresses``; values ``values``.
    sample
        What stands for the bytes of a few frames, as from `content_sample.sample_of`; empty for values.
    """

    key: str
    source: str
    kind: FieldKind
    dtype: str
    shape: tuple[int, ...]
    paths: list[str]
    columns: dict[str, npt.NDArray[Any]]
    sample: str = ""

    @property
    def storage(self) -> Storage:
        """Which columns it has."""
        if "accesses" in self.columns:
            return "encoded"
        return "raw" if "addresses" in self.columns else "value"


@dataclass(frozen=True)
class FileScan:
    """What one file holds; lists and arrays have one entry for each video with frames, in natural order of the names.

    Attributes
    ----------
    status
        Size, time and inode of the file that was scanned.
    names
        The videos' paths inside the file.
    labels
        None for a video without.
    frame_counts
        ``(videos,) int64``.
    fields
        Those of all the videos, the label not among them.
    empty_videos
        How many more videos there are, without frames.
    layout
        What a video is.
    label_source
        The pattern of the schema that named the labels, if one did.
    left_out
        What could have been a field, by its key, and why it is none.
    """

    status: FileStat
    names: list[str]
    labels: list[Label | None]
    frame_counts: Int64s
    fields: list[FieldScan]
    empty_videos: int
    layout: VideoLayout = "groups"
    label_source: str = ""
    left_out: dict[str, str] = field(default_factory=dict)


def pack(scan: FileScan) -> bytes:
    """Return a scan as bytes: for the cache, and for the way from one process to another."""
    arrays = [scan.frame_counts]
    fields = []
    for each in scan.fields:
        arrays += each.columns.values()
        fields.append({**{name: getattr(each, name) for name in _FIELD_FACTS}, "columns": list(each.columns)})
    texts = {name: getattr(scan, name) for name in _FILE_FACTS}
    forms = [(array.dtype.str, array.shape) for array in arrays]
    encoded = json.dumps({"status": asdict(scan.status), "fields": fields, "arrays": forms, **texts}).encode("ascii")
    pieces = [_TEXTS.pack(len(encoded)), encoded, *(np.ascontiguousarray(array).tobytes() for array in arrays)]
    return b"".join(piece + bytes(-len(piece) % 8) for piece in pieces)


def unpack(data: bytes) -> FileScan:
    """Return the scan that `pack` made bytes of; raises one of `UNPACK_ERRORS` for anything else."""
    (size,) = _TEXTS.unpack_from(data)
    place = _TEXTS.size + size
    texts = json.loads(data[_TEXTS.size : place])
    arrays = []
    for form, shape in texts.pop("arrays"):
        place += -place % 8
        dtype, count = np.dtype(form), math.prod(shape)
        arrays.append(np.frombuffer(data, dtype, count, place).reshape(shape))
        place += count * dtype.itemsize
    if place + -place % 8 != len(data):
        raise ValueError(f"expected {place} bytes, got {len(data)}")
    frame_counts, *rest = arrays
    following = iter(rest)
    fields = []
    for facts in texts.pop("fields"):
        columns = {name: next(following) for name in facts.pop("columns")}
        fields.append(FieldScan(**{**facts, "shape": tuple(facts["shape"]), "columns": columns}))
    status = FileStat(**texts.pop("status"))
    return FileScan(status=status, fields=fields, frame_counts=frame_counts, **texts)
