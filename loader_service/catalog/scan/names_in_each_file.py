"""Asks, or says, of files whose videos have the same names, which may name fields or parts. Opens no file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from loader_service.catalog.inner_paths import basename_of
from loader_service.catalog.joining import Joined, how_to_join_scans
from loader_service.catalog.videos.frame_axis import are_numbered, have_numbers_or_ids
from loader_service.catalog.videos.readings import FilesQuestionError, Reading, TwoReadingsError
from loader_service.schema import VIDEO, Schema, SchemaField, free_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.findings import FieldScan, FileScan


def refuse_names_in_each_file(files: Sequence[tuple[str, FileScan]]) -> None:
    """Refuse files of which two have videos of the same names, a dataset each, that are more than numbers.

    A name that comes back in the next file says what is seen, as ``t2m`` and ``z500``, or both hold a part of each
    video. Numbers in equal steps begin anew in each file, unless lengths that differ come back with them.

    Raises
    ------
    CatalogError
        With the schemas for fields and for videos, and the command that joins the files.
    """
    (path, first), names = files[0], files[0][1].names
    field = next((each for each in first.fields if not each.key), None)
    if field is None or first.layout != "groups" or len(names) < 2:
        return
    counts = first.frame_counts.tolist()
    counted = _are_counted(names)
    told = not counted or (field.kind == "array" and len(names) >= _FEWEST)
    alike = [path for path, scan in files[1:] if told and scan.names == names and (not counted or _have(counts, scan))]
    if not alike:
        return
    single = set(counts) == {1}
    each = SchemaField(
        "frames" if field.kind == "image" else "values",
        field.kind,
        (field.source,),
        "",
        field.shape if single else None,
    )
    readings = [Reading("videos of their own", Schema(("groups",), (each,)))]
    if field.kind == "array":
        shapes = [field.shape if single else (count, *field.shape) for count in counts]
        whole = _fields(names, shapes)
        readings.insert(0, Reading("one sample a file, with a field for each name", Schema(("files",), whole)))
        if len(set(counts)) == 1 and not single:
            rows = Schema(("table",), _fields(names, [None] * len(names)))
            readings.insert(1, Reading("rows with a field for each name", rows))
    elif not single:
        readings = [*_by_one_name(names, field.source), *readings]
    elif not have_numbers_or_ids(names):
        readings.insert(0, Reading("one frame a file, with a field for each name", _of_pictures(names, field)))
    found = f"{path!r} and {alike[0]!r} hold datasets of the same names, such as {names[0]!r} and {names[1]!r}"
    joined = how_to_join_scans(files, Joined.FILES)
    raise FilesQuestionError(TwoReadingsError(found, readings), joined)


def line_of_names_in_each_file(files: Sequence[tuple[str, FileScan]]) -> dict[str, str]:
    """Return the line of files of which two have groups as videos, of the same names and, one by one, lengths."""
    (path, first), names, counts = files[0], files[0][1].names, files[0][1].frame_counts.tolist()
    if first.layout != "groups" or len(names) < _FEWEST or any(not field.key for field in first.fields):
        return {}
    other = next((each for each, scan in files[1:] if scan.names == names and _have(counts, scan)), None)
    if other is None:
        return {}
    joined = how_to_join_scans(files, Joined.GROUPS)
    line = (
        f"{path!r} and {other!r} have videos of the same names and lengths, each of which is a video of its own here"
        f"{joined or '; if they are parts of the same videos, write these into one file'}"
    )
    return {f"{names[0]} (names)": line}


def _are_counted(names: Sequence[str]) -> bool:
    """Tell whether nothing but numbers in equal steps tells names apart."""
    if not are_numbered(map(basename_of, names)):
        return False
    last = [int(numbers[-1]) for name in names for numbers in [_NUMBER.findall(name)] if numbers]
    return len(set(np.diff(sorted(last)).tolist())) == 1


def _have(counts: Sequence[int], scan: FileScan) -> bool:
    """Tell whether the videos of a file have these lengths, which differ."""
    return len(set(counts)) > 1 and scan.frame_counts.tolist() == counts


#: So many lengths of arrays that come back by chance are too seldom.
_FEWEST = 3

_NUMBER = re.compile(r"[0-9]+")


#: Names of which a message shows the schema that serves them alone.
_MOST_ALONE = 2


def _by_one_name(names: Sequence[str], source: str) -> list[Reading]:
    """Return the readings of sequences of pictures, at a path in their video, by which a file is what one name says."""
    paths = [(source.replace(VIDEO, name), free_name(name)) for name in names[:_MOST_ALONE]]
    fields = [SchemaField.at(path, "image", name=name) for path, name in paths]
    return [Reading.of_file(f"one video a file by {field.dataset[0]!r} alone", [field]) for field in fields]


def _of_pictures(names: Sequence[str], field: FieldScan) -> Schema:
    fields = (SchemaField.at(name, "image", field.shape, name=free_name(name)) for name in names)
    return Schema(("files",), tuple(fields))


def _fields(names: Sequence[str], shapes: Sequence[tuple[int, ...] | None]) -> tuple[SchemaField, ...]:
    return tuple(
        SchemaField(free_name(name), "array", (name,), "", shape) for name, shape in zip(names, shapes, strict=True)
    )
