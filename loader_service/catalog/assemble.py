"""Puts the scans of single files together into one catalog's columns. Knows no HDF5 and opens no file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from loader_service.catalog.columns import Header, PathRule
from loader_service.catalog.label_csv import keys_of, match
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from loader_service.catalog.findings import FileScan
    from loader_service.catalog.labels import Label

Column = npt.NDArray[Any]

# Paths that say nothing of the video: the root group, and the one that the layout of one video a file prescribes.
_NAMELESS = frozenset({"", "video"})


@dataclass(frozen=True)
class Scanned:
    """One file of the catalog to be: its path, as the user may name it in a CSV file, and what it holds."""

    path: str
    scan: FileScan


def assemble(
    files: Sequence[Scanned], fingerprint: str, skipped: Sequence[tuple[str, str]], rows: Mapping[str, str] | None
) -> tuple[Header, dict[str, Column]]:
    """Return the catalog's header and columns.

    Parameters
    ----------
    files
        In the order of the catalog.
    fingerprint, skipped
        Go into the header as they are.
    rows
        What a CSV file says of labels, as `label_csv.read_csv` returns it; None: the files' own labels hold.

    Raises
    ------
    CatalogError
        When there is no video with frames; when only some videos have a label, or texts and numbers are mixed.
    ConfigError
        When a row of the CSV file names several videos.
    """
    scans = [each.scan for each in files]
    empty_videos = sum(scan.empty_videos for scan in scans)
    if not any(scan.names for scan in scans):
        raise CatalogError(
            f"no video with frames in {len(files)} files ({empty_videos} videos without frames, "
            f"{len(skipped)} files skipped); check the files with `loader-service inspect`"
        )
    names = _choose_names(files)
    rules, rule_numbers = _path_rules(names, [path for scan in scans for path in scan.dataset_paths])
    columns: dict[str, Column] = {
        "path_rules": rule_numbers,
        **_video_columns(scans),
        **_file_columns(scans),
        **_text_columns("names", "name_bounds", (to_utf8(name) for name in names)),
        **_text_columns("paths", "path_bounds", (to_utf8(each.path) for each in files)),
    }
    labels, classes = _label_column(files, names, rows)
    if labels is not None:
        columns["labels"] = labels
    header = Header(
        fingerprint=fingerprint,
        counts={
            "files": len(files),
            "videos": len(names),
            "frames": len(columns["extent_offsets"]),
            "name_bytes": len(columns["names"]),
            "path_bytes": len(columns["paths"]),
        },
        label_dtype=None if labels is None else labels.dtype.str,
        classes=classes,
        path_rules=rules,
        skipped=tuple(skipped),
        empty_videos=empty_videos,
        name_width=int(np.diff(columns["name_bounds"]).max()),
        largest_frame_bytes=int(columns["extent_lengths"].max()),
        frame_shape=_common_shape(columns["heights"], columns["widths"]),
    )
    return header, columns


def to_utf8(text: str) -> bytes:
    """Return a path or name as the bytes it has in the file system, or in HDF5."""
    return text.encode("utf-8", "surrogateescape")


def _choose_names(files: Sequence[Scanned]) -> list[str]:
    """Return the videos' names: their paths, or the files' stems where a file is one video.

    Only when every file holds at most one video is each file taken for a video. Where others hold many, a file with
    one is the odd case of many, and its video keeps its path.
    """
    alone = all(len(each.scan.names) + each.scan.empty_videos <= 1 for each in files)
    return [_stem(each.path) if alone or name in _NAMELESS else name for each in files for name in each.scan.names]


def _stem(path: str) -> str:
    basename = path.rpartition("/")[2]
    return basename.rpartition(".")[0] or basename


def _label_column(
    files: Sequence[Scanned], names: Sequence[str], rows: Mapping[str, str] | None
) -> tuple[Column | None, tuple[str, ...] | None]:
    owners = [each for each in files for _ in each.scan.names]
    labels: Sequence[Label | None] = [label for each in files for label in each.scan.labels]
    if rows is not None:
        inner = (name for each in files for name in each.scan.names)
        labels = match(
            rows,
            (
                keys_of(owner.path, _all_names(owner.path, name, path))
                for owner, name, path in zip(owners, names, inner, strict=True)
            ),
        )
    missing = [number for number, label in enumerate(labels) if label is None]
    if missing and (rows is not None or len(missing) < len(labels)):
        raise CatalogError(
            f"expected a label for each of {len(labels)} videos, found {len(labels) - len(missing)}; the first without "
            f"one is {names[missing[0]]!r} in {owners[missing[0]].path!r}"
            + ("; add a row for it to --labels" if rows is not None else "")
        )
    return to_column(labels)


def _all_names(path: str, name: str, inner: str) -> list[str]:
    """Return the names that a CSV file may use for a video; where its file is the video, the file's name too."""
    if name == inner:
        return [name]
    return [each for each in dict.fromkeys((name, path.rpartition("/")[2], inner)) if each]


def to_column(labels: Sequence[Label | None]) -> tuple[Column | None, tuple[str, ...] | None]:
    """Return labels as a column, and what its numbers stand for when the labels are texts.

    Returns
    -------
    column
        ``(videos,) int64`` for whole numbers and texts, ``float32`` otherwise; None when no video has a label.
    classes
        The different texts, sorted; a text's number is its place among them.

    Raises
    ------
    CatalogError
        When texts and numbers are mixed.
    """
    kinds = {type(label) for label in labels}
    if kinds == {type(None)}:
        return None, None
    if kinds == {str}:
        texts = [label for label in labels if isinstance(label, str)]
        classes = sorted(set(texts))
        number = {text: place for place, text in enumerate(classes)}
        return np.array([number[text] for text in texts], np.int64), tuple(classes)
    if str in kinds:
        text = next(label for label in labels if isinstance(label, str))
        raise CatalogError(f"expected labels that are all texts or all numbers, found {text!r} among numbers")
    return np.array(labels, np.int64 if kinds == {int} else np.float32), None


def _path_rules(names: Sequence[str], paths: Sequence[str]) -> tuple[tuple[PathRule, ...], Column]:
    """Return the few rules that lead from names to dataset paths, and which one holds for each video."""
    numbers: dict[PathRule, int] = {}
    used = np.empty(len(names), np.int32)
    for place, (name, path) in enumerate(zip(names, paths, strict=True)):
        named = path.startswith(name)
        rule = PathRule(named, path[len(name) :] if named else path)
        used[place] = numbers.setdefault(rule, len(numbers))
    return tuple(numbers), used


def _video_columns(scans: Sequence[FileScan]) -> dict[str, Column]:
    counts = np.concatenate([scan.frame_counts for scan in scans])
    sizes = np.concatenate([scan.sizes for scan in scans])
    return {
        "video_file": np.repeat(np.arange(len(scans), dtype=np.int32), [len(scan.names) for scan in scans]),
        "frame_counts": counts,
        "heights": sizes[:, 0],
        "widths": sizes[:, 1],
        "accesses": np.concatenate([scan.accesses for scan in scans]),
        "frame_bounds": _bounds(counts),
        "extent_offsets": np.concatenate([scan.offsets for scan in scans]),
        "extent_lengths": np.concatenate([scan.lengths for scan in scans]),
    }


def _file_columns(scans: Sequence[FileScan]) -> dict[str, Column]:
    return {
        "file_sizes": np.array([scan.status.size_bytes for scan in scans], np.int64),
        "file_mtimes": np.array([scan.status.mtime_ns for scan in scans], np.int64),
        "file_inodes": np.array([scan.status.inode for scan in scans], np.uint64),
        "file_bytes": np.array([scan.lengths.sum(dtype=np.int64) for scan in scans], np.int64),
    }


def _text_columns(heap: str, bounds: str, texts: Iterable[bytes]) -> dict[str, Column]:
    pieces = list(texts)
    return {
        heap: np.frombuffer(b"".join(pieces), np.uint8),
        bounds: _bounds(np.fromiter((len(piece) for piece in pieces), np.int64, len(pieces))),
    }


def _bounds(lengths: Column) -> Column:
    bounds = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=bounds[1:])
    return bounds


def _common_shape(heights: Column, widths: Column) -> tuple[int, int] | None:
    height, width = int(heights[0]), int(widths[0])
    shared = height and (heights == height).all() and (widths == width).all()
    return (height, width) if shared else None
