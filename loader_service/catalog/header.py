"""The catalog's few facts that are no columns: fields, counts, paths; as data and as JSON. Knows no file."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from loader_service.protocol.fields import CatalogField
from loader_service.record_class import record

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from loader_service.stores.object_version import ObjectVersion

#: What a sample of the catalog is a part of: a video, a table of rows, or what a user's own Python source yields.
CatalogKind = Literal["videos", "rows", "map", "generator"]

#: How a field is kept: JPEGs, or lists of numbers, with an extent for each frame; numbers of one shape in each video,
#: with one address for it; values in a column of their own; or nothing at all, where a Python source yields it.
Storage = Literal["encoded", "lists", "raw", "value", "source"]


#: The way to encoded frames that lie in the file as they are, where extents are bytes of the file. All other ways are
#: named after a layout, whose `read` goes through HDF5 and says what the first number of an extent counts; the second
#: is the encoded size in bytes, always.
RAW = "raw"


def has_sides(storage: Storage, shape: tuple[int, ...]) -> bool:
    """Tell whether a field has a column of the sides that it has in each video, since these differ."""
    return storage in {"raw", "value"} and 0 in shape


@record(frozen=True)
class FileStat:
    """What tells that a file is still the one that was scanned."""

    size_bytes: int
    mtime_ns: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileStat:
        """Return the part of a `stat` result that the catalog keeps."""
        return cls(status.st_size, status.st_mtime_ns, status.st_ino)

    @classmethod
    def of_version(cls, version: ObjectVersion) -> FileStat:
        """Return what a catalog keeps of an object in a store: the number of its ETag stands for time and inode."""
        return cls(version.size_bytes, 0, version.number)


@record(frozen=True)
class PathRule:
    """How a video's dataset path follows from its name: the name and a suffix, or a path that is not built on it."""

    begins_with_name: bool
    suffix: str


@record(frozen=True)
class FieldFacts:
    """One field, and what the columns of it mean.

    Attributes
    ----------
    field
        What clients know of it.
    storage
        Which columns there are.
    path_rules
        What leads from a video's name to the dataset.
    sources
        Where it was found, as patterns of a schema; there are several when the files are not alike.
    numbering
        Of classes: who has numbered them. The texts found in the files, all rows of a CSV file, or the user's list.
    missing
        How many frames at the end of each video it has no entry for: 1 for what lies between frames, as actions do.
    ways
        Of encoded frames: `RAW` and names of layouts, which the column ``ways`` numbers.
    key
        What `common_fields.by_key` calls it in the scan of a file; None for labels and what comes from no file.
    """

    field: CatalogField
    storage: Storage
    path_rules: tuple[PathRule, ...] = ()
    sources: tuple[str, ...] = ()
    numbering: Literal["files", "csv", "list"] | None = None
    key: str | None = None
    missing: int = 0
    ways: tuple[str, ...] = ()


@record(frozen=True)
class Fetched:
    """What the scans of files in stores have fetched: bytes of so many, in requests."""

    size_bytes: int
    of_bytes: int
    requests: int


@record(frozen=True)
class Header:
    """The catalog's few facts that are no columns; stored as JSON beside them."""

    fingerprint: str
    counts: Mapping[str, int]
    kind: CatalogKind
    fields: tuple[FieldFacts, ...]
    skipped: tuple[tuple[str, str], ...]
    empty_videos: int
    name_width: int
    largest_frame_bytes: int
    layouts: tuple[str, ...] = ()  # as in a schema
    left_out: tuple[str, ...] = ()  # what could have been a field, and why it is none
    split: str = ""  # the split of the files that was asked for; empty: they have none
    fetched: Fetched | None = None


def header_to_json(header: Header) -> dict[str, Any]:
    """Return a header as what `json` can write."""
    return asdict(header)


def header_from_json(facts: dict[str, Any]) -> Header:
    """Return what `header_to_json` took apart; raises KeyError, TypeError or ValueError for anything else."""
    return Header(
        fingerprint=facts["fingerprint"],
        counts=facts["counts"],
        kind=facts["kind"],
        fields=tuple(_read_field(field) for field in facts["fields"]),
        skipped=tuple((path, reason) for path, reason in facts["skipped"]),
        empty_videos=facts["empty_videos"],
        name_width=facts["name_width"],
        largest_frame_bytes=facts["largest_frame_bytes"],
        layouts=tuple(facts["layouts"]),
        left_out=tuple(facts["left_out"]),
        split=facts["split"],
        fetched=None if facts["fetched"] is None else Fetched(**facts["fetched"]),
    )


def _read_field(facts: dict[str, Any]) -> FieldFacts:
    field = facts["field"]
    return FieldFacts(
        CatalogField(**{**field, **{name: tuple(field[name]) for name in ("shape", "classes", "most")}}),
        facts["storage"],
        tuple(PathRule(**rule) for rule in facts["path_rules"]),
        tuple(facts["sources"]),
        facts["numbering"],
        facts["key"],
        facts["missing"],
        tuple(facts["ways"]),
    )
