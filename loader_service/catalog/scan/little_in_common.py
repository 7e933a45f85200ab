"""Refuses files of which most is left out since they differ: what they share is not what they hold. Opens no file."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of, unnumbered
from loader_service.catalog.videos.readings import FilesQuestionError, Reading, TwoReadingsError
from loader_service.schema import Schema, SchemaField

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from loader_service.catalog.findings import FieldScan, FileScan
    from loader_service.schema import VideoLayout

    #: The fields of each file by key, with its path.
    Files = Sequence[tuple[str, Mapping[str, FieldScan]]]

_NUMBER = re.compile(r"[0-9]+")

#: Names of such fields that a message shows.
_MOST_SHOWN = 3


def refuse_little_in_common(
    files: Files, scans: Sequence[FileScan], shared: Mapping[str, object], joined: Callable[[], str]
) -> None:
    """Refuse files of which each has more bytes in fields that others lack, or have in another form, than in others.

    Parameters
    ----------
    files
        The fields of each by key.
    scans
        Each file's scan.
    shared
        The keys of the fields that all have in one form.
    joined
        Gives the command that makes one file of them, if they may hold parts of the same samples, as of `how_to_join`.

    Raises
    ------
    CatalogError
        With the schema for what lies under another number in each file, and that for what all have.
    """
    if len(files) < 2 or not all(map(partial(_has_most_apart, shared), files, scans)):
        return
    (path, first), (other, second) = files[:2]
    apart, beside = (_largest_apart(shared, each, scan) for (_, each), scan in zip(files[:2], scans, strict=False))
    command = joined()
    found = (
        f"{path!r} has most of its bytes in {_said(first[apart])}, and {other!r} in {_said(second[beside])}, which "
        f"are no field of all files; give only files that are alike{command}{';' if command else ','} or"
    )
    readings = readings_of_numbers(files, scans[0].layout)
    same = _fields({key: first[key] for key in shared if key in first and first[key].kind != "value"})
    if same:
        readings.append(Reading("what all have alone", Schema((scans[0].layout,), same)))
    raise FilesQuestionError(TwoReadingsError(found, readings))


def readings_of_numbers(files: Files, layout: VideoLayout) -> list[Reading]:
    """Return the reading of fields that only a number in their paths tells apart, one in each file, as one field."""
    if layout not in {"files", "table", "groups"}:
        return []
    fields = []
    for name in {unnumbered(key): None for key in files[0][1]}:
        keys = [[key for key in each if unnumbered(key) == name] for _, each in files]
        alike = [each[own[0]] for (_, each), own in zip(files, keys, strict=True) if len(own) == 1]
        forms = {(field.kind, field.storage, field.dtype, len(field.shape)) for field in alike}
        if len(alike) == len(files) and len(forms) == 1 and len({field.key for field in alike}) > 1:
            fields.append(_of_any_number(alike[0]))
    words = f"{' and '.join(repr(field.dataset[0]) for field in fields[:_MOST_SHOWN])} of whatever number in each file"
    return [Reading(words, Schema((layout,), tuple(fields)))] if fields else []


def _of_any_number(field: FieldScan) -> SchemaField:
    name = _NUMBER.sub("", basename_of(field.key)).strip("_- .") or "values"
    return SchemaField.at(_NUMBER.sub("[0-9]*", field.source), field.kind, field.said_shape, name=name)


def _fields(shared: Mapping[str, FieldScan]) -> tuple[SchemaField, ...]:
    return tuple(SchemaField.at(each.source, each.kind, each.said_shape, name=key) for key, each in shared.items())


def _apart(fields: Mapping[str, FieldScan], shared: Mapping[str, object]) -> list[str]:
    return [key for key, field in fields.items() if key not in shared and field.kind != "value"]


def _has_most_apart(shared: Mapping[str, object], file: tuple[str, Mapping[str, FieldScan]], scan: FileScan) -> bool:
    _, fields = file
    apart = _apart(fields, shared)
    sizes = {key: field.size_bytes(scan.frame_counts) for key, field in fields.items()}
    return 2 * sum(sizes[key] for key in apart) > sum(sizes.values())


def _largest_apart(shared: Mapping[str, object], fields: Mapping[str, FieldScan], scan: FileScan) -> str:
    return max(_apart(fields, shared), key=lambda key: fields[key].size_bytes(scan.frame_counts))


def _said(field: FieldScan) -> str:
    encoded = "encoded " if field.storage == "encoded" else ""
    return f"{field.paths[0] if field.paths else field.key!r} ({encoded}{field.dtype} {field.shape})"
