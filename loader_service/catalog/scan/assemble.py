"""Puts the scans of single files together into one catalog's columns. Knows no HDF5 and opens no file."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from loader_service.catalog.columns import FieldFacts, Header
from loader_service.catalog.header import Fetched
from loader_service.catalog.inner_paths import to_bytes
from loader_service.catalog.joining import how_to_join_scans
from loader_service.catalog.labels.label_fields import LabelField, Labelled, Labelling, label_fields
from loader_service.catalog.labels.row_index import NamedVideo
from loader_service.catalog.names import RESERVED
from loader_service.catalog.scan.common_fields import merge_fields
from loader_service.catalog.scan.field_columns import field_columns
from loader_service.catalog.scan.fingerprints import content_fingerprint, labels_digest
from loader_service.catalog.scan.frames_by_name import frame_names
from loader_service.catalog.scan.given_twice import lines_of_one_file
from loader_service.catalog.scan.kinds_of_wholes import lines_of_file_kinds
from loader_service.catalog.scan.uncut_files import lines_of_uncut
from loader_service.catalog.scan.whole_files import each_file_one_video, labels_of_whole_files
from loader_service.catalog.videos.readings import in_one_line
from loader_service.errors import CatalogError, ConfigError
from loader_service.plan.video_split import words_of_names
from loader_service.protocol.fields import CatalogField
from loader_service.record_class import record
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from loader_service.catalog.findings import FieldScan, FileScan
    from loader_service.catalog.header import CatalogKind

Column = npt.NDArray[Any]

# Paths that say nothing of the video: the root group, and the one that the layout of one video a file prescribes.
_NAMELESS = frozenset({"", "video"})


@record(frozen=True)
class Scanned:
    """One file of the catalog to be: its path, as the user may name it in a CSV file, and what it holds."""

    path: str
    scan: FileScan


def assemble(
    files: Sequence[Scanned],
    skipped: Sequence[tuple[str, str]],
    labelling: Labelling,
    named: frozenset[str] = frozenset(),
) -> tuple[Header, dict[str, Column]]:
    """Return the catalog's header and columns.

    Parameters
    ----------
    files
        In the order of the catalog.
    skipped
        Goes into the header as it is.
    labelling
        What the user has said of labels.
    named
        Keys of fields that a schema names; they are their names.

    Raises
    ------
    CatalogError
        When there is no video with frames; when some files are tables and others are not, or have no field in common;
        when only some videos have a label, or texts and numbers are mixed.
    ConfigError
        When there is a CSV file, and labels have another place; see `label_fields`.
    """
    scans = [each.scan for each in files]
    filled = [each for each in files if each.scan.names]
    if not filled:
        raise _nothing_there(files, len(skipped))
    _check_alike(filled)
    if labelling.table is not None:
        _check_labels_free(filled[0], named, has_label=labelling.table.has_label)
    labelled = labelling.gives_label or any(label is not None for each in filled for label in each.scan.labels)
    video_names = _choose_names(files)
    pairs = [(each.path, each.scan) for each in filled]
    merged, left_out = merge_fields(pairs, named, labelled=labelled)
    columns = _columns_of_all(files, merged.values(), video_names)
    facts = _add_fields(columns, files, merged, video_names)
    labelled_videos = _labelled(filled, video_names, by_rows=labelling.table is not None)
    labels, not_labels = label_fields(labelled_videos, labelling, RESERVED.union(merged))
    for each in labels:
        columns[f"values.{len(facts)}"] = each.values
        facts.append(_label_facts(each, filled))
    kind: CatalogKind = "rows" if filled[0].scan.layout == "table" else "videos"
    header = Header(
        fingerprint=content_fingerprint(kind, facts, columns),
        counts=_counts(columns),
        kind=kind,
        fields=tuple(facts),
        skipped=tuple(skipped),
        empty_videos=sum(scan.empty_videos for scan in scans),
        name_width=int(np.diff(columns["name_bounds"]).max()),
        largest_frame_bytes=_largest_frame_bytes(columns),
        layouts=tuple(dict.fromkeys(each.scan.layout for each in filled)),
        left_out=(
            *left_out,
            *not_labels,
            *lines_of_uncut(pairs),
            *(lines_of_one_file((each.path, each.scan.status) for each in filled) or lines_of_file_kinds(pairs)),
        ),
        fetched=_fetched(scans),
    )
    return header, columns


def _columns_of_all(
    files: Sequence[Scanned], fields: Iterable[Sequence[FieldScan]], video_names: Sequence[str]
) -> dict[str, Column]:
    """Return the columns of files and videos, whatever fields these have."""
    return {
        **_video_columns([each.scan for each in files]),
        **_file_columns(files, fields),
        **name_columns([to_bytes(name) for name in video_names]),
        **text_columns("paths", "path_bounds", (to_bytes(each.path) for each in files)),
    }


def _add_fields(
    columns: dict[str, Column],
    files: Sequence[Scanned],
    merged: Mapping[str, Sequence[FieldScan]],
    video_names: Sequence[str],
) -> list[FieldFacts]:
    """Add the columns of all fields; return what there is to know of each."""
    facts = []
    for number, (name, found_in) in enumerate(merged.items()):
        fact, found = field_columns(name, found_in, video_names)
        columns.update({f"{name}.{number}": column for name, column in found.items()})
        if fact.storage != "value":
            columns[f"samples.{number}"] = _samples(files, found_in)
        facts.append(fact)
    return facts


def _nothing_there(files: Sequence[Scanned], skipped: int) -> CatalogError:
    """Return what to say of files of which no video is left."""
    scans = [each.scan for each in files]
    not_chosen = sum(scan.not_chosen for scan in scans)
    such_as = f" such as {files[0].path!r}" if files else ""
    if not_chosen:
        return CatalogError(
            f"--split leaves nothing of {counted(not_chosen, 'video')}, or table, in {counted(len(scans), 'file')}"
            f"{such_as}; give one of the splits that they say, or leave it out, to be told which"
        )
    empty_videos = sum(scan.empty_videos for scan in scans)
    return CatalogError(
        f"no video with frames in {counted(len(scans), 'file')}{such_as} ({counted(empty_videos, 'video')} without "
        f"frames, {counted(skipped, 'file')} skipped); give files with frames, or write those of these again"
    )


def _fetched(scans: Sequence[FileScan]) -> Fetched | None:
    """Return what the scans of files in stores have fetched; None where all files are local."""
    stored = [each for each in scans if each.requests]
    if not stored:
        return None
    return Fetched(
        sum(each.fetched_bytes for each in stored),
        sum(each.status.size_bytes for each in stored),
        sum(each.requests for each in stored),
    )


def _labelled(files: Sequence[Scanned], names: Sequence[str], *, by_rows: bool) -> list[Labelled]:
    """Return all videos, with what a CSV file may call them, and with the labels that their files give them.

    `by_rows`: whether there is such a file; else no names of frames are looked for.
    """
    videos = []
    chosen = iter(names)
    for each in files:
        inside = zip(each.scan.names, *(field.paths for field in each.scan.fields if field.paths), strict=True)
        of_frames = frame_names(each.scan) if by_rows else [()] * len(each.scan.names)
        for inner, label, frames in zip(inside, each.scan.labels, of_frames, strict=True):
            name = next(chosen)
            paths = tuple(filter(None, dict.fromkeys(inner)))
            videos.append(Labelled(NamedVideo(each.path, name, paths, name != inner[0], frames), label))
    return videos


def _label_facts(label: LabelField, files: Sequence[Scanned]) -> FieldFacts:
    sources = dict.fromkeys(each.scan.label_source for each in files if each.scan.label_source)
    field = CatalogField(label.name, "value", label.values.dtype.name, (), label.classes)
    in_schema = tuple(sources) if label.name == "label" else ()
    return FieldFacts(field, "value", sources=in_schema, numbering=label.numbering)


def _check_alike(files: Sequence[Scanned]) -> None:
    """Refuse tables among files of videos, and the other way round: no field means the same in both."""
    first = files[0]
    for each in files:
        if (each.scan.layout == "table") != (first.scan.layout == "table"):
            table, videos = (each, first) if each.scan.layout == "table" else (first, each)
            joined = how_to_join_scans([(each.path, each.scan) for each in files])
            raise CatalogError(
                f"{table.path!r} holds a table of rows, {videos.path!r} videos; give files of one kind, or say with "
                f"--schema what a video is{_ended_alike(videos.scan)}{joined}"
            )


def _ended_alike(scan: FileScan) -> str:
    """Return the schema by which each file is a video that ends with its shortest field, if one has shorter ones."""
    if scan.layout != "files" or not any(field.missing for field in scan.fields):
        return ""
    return (
        f": {in_one_line(each_file_one_video(scan.fields))} makes each file a video that ends with its shortest field"
    )


def _check_labels_free(first: Scanned, named: frozenset[str], *, has_label: bool) -> None:
    """Refuse labels from a CSV file where it cannot name what they belong to, or another field has their name."""
    if first.scan.layout == "table":
        raise ConfigError(
            f"--labels gives labels to videos, and {first.path!r} holds a table of rows; leave --labels out, and write "
            "the labels of the rows into the file, as a dataset 'label' with an entry for each row"
            f"{labels_of_whole_files(first.scan.fields)}"
        )
    of_frames = any(field.key == "label" for field in first.scan.fields if field.key in named)
    if of_frames or (has_label and first.scan.label_source):
        raise ConfigError(
            "--labels and the field 'label' of the schema both give labels; leave --labels out, or give that field "
            "another name"
        )


def _counts(columns: Mapping[str, Column]) -> dict[str, int]:
    return {
        "files": len(columns["file_sizes"]),
        "videos": len(columns["frame_counts"]),
        "frames": int(columns["frame_counts"].sum()),
        "name_bytes": len(columns["names"]),
        "path_bytes": len(columns["paths"]),
    }


def _largest_frame_bytes(columns: Mapping[str, Column]) -> int:
    lengths = [column for name, column in columns.items() if name.startswith("extent_lengths.")]
    return max((int(column.max()) for column in lengths), default=0)


def _choose_names(files: Sequence[Scanned]) -> list[str]:
    """Return the videos' names: their paths, or the files' stems where a file is one video.

    Only when every file holds at most one video is each file taken for a video. Where others hold many, a file with
    one is the odd case of many, and its video keeps its path.
    """
    alone = all(len(each.scan.names) + each.scan.empty_videos + each.scan.not_chosen <= 1 for each in files)
    stems = _stems([each.path for each in files])
    named = zip(files, stems, strict=True)
    return [stem if alone or name in _NAMELESS else name for each, stem in named for name in each.scan.names]


def _stems(paths: Sequence[str]) -> list[str]:
    """Return files by their names without endings; where most have one, these with the folders that tell them apart.

    So ``0001/data/trajectory.hdf5`` and ``0002/data/trajectory.hdf5`` are videos of two names, and one that is called
    otherwise is added without another name for them.
    """
    stems = list(map(_stem, paths))
    ((common, count),) = Counter(stems).most_common(1) or (("", 0),)
    alike = [number for number, stem in enumerate(stems) if stem == common] if 1 < count > len(paths) / 2 else []
    folders = {number: paths[number].split("/")[:-1] for number in alike}
    for depth in range(1, max(map(len, folders.values()), default=0) + 1):
        for number in alike:
            stems[number] = "/".join([*folders[number][-depth:], common])
        uses = Counter(stems)
        alike = [number for number in alike if uses[stems[number]] > 1]
    for number in alike:
        stems[number] = common  # of one folder, with other endings
    return stems


def _stem(path: str) -> str:
    basename = path.rpartition("/")[2]
    return basename.rpartition(".")[0] or basename


def _video_columns(scans: Sequence[FileScan]) -> dict[str, Column]:
    counts = np.concatenate([scan.frame_counts for scan in scans])
    return {
        "video_file": np.repeat(np.arange(len(scans), dtype=np.int32), [len(scan.names) for scan in scans]),
        "frame_counts": counts,
        "frame_bounds": _bounds(counts),
    }


def _file_columns(files: Sequence[Scanned], fields: Iterable[Sequence[FieldScan]]) -> dict[str, Column]:
    statuses = [each.scan.status for each in files]
    in_file = dict.fromkeys((each.path for each in files), 0)
    filled = [each for each in files if each.scan.names]
    for scans in fields:
        for each, scan in zip(filled, scans, strict=True):
            in_file[each.path] += scan.size_bytes(each.scan.frame_counts) if scan.storage != "value" else 0
    return {
        "file_sizes": np.array([status.size_bytes for status in statuses], np.int64),
        "file_mtimes": np.array([status.mtime_ns for status in statuses], np.int64),
        "file_inodes": np.array([status.inode for status in statuses], np.uint64),
        "file_bytes": np.array(list(in_file.values()), np.int64),
        "file_labels": np.array([labels_digest(each.scan.labels) for each in files], "S32"),
    }


def _samples(files: Sequence[Scanned], scans: Sequence[FieldScan]) -> Column:
    """Return what stands for the bytes of a field's frames in each file; files without videos have none."""
    found = iter(scans)
    return np.array([next(found).sample if each.scan.names else "" for each in files], "S32")


def name_columns(names: Sequence[bytes]) -> dict[str, Column]:
    """Return the columns of the videos' names, with a hash of each: streams choose by it, and read no name."""
    return {**text_columns("names", "name_bounds", names), "name_words": words_of_names(names)}


def text_columns(heap: str, bounds: str, texts: Iterable[bytes]) -> dict[str, Column]:
    """Return the two columns that texts are kept in: all bytes, and where each text begins and ends."""
    pieces = list(texts)
    return {
        heap: np.frombuffer(b"".join(pieces), np.uint8),
        bounds: _bounds(np.fromiter((len(piece) for piece in pieces), np.int64, len(pieces))),
    }


def _bounds(lengths: Column) -> Column:
    bounds = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=bounds[1:])
    return bounds
