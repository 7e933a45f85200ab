"""Finds the names of datasets that are a frame of a video each, as rows of a CSV file may give them. Opens no file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.labels.frame_names import FrameNames
from loader_service.catalog.videos.readings import in_one_line
from loader_service.schema import VIDEO, Schema, SchemaField

if TYPE_CHECKING:
    from loader_service.catalog.findings import FieldScan, FileScan


def frame_names(scan: FileScan) -> list[tuple[FrameNames, ...]]:
    """Return, for each video of a file, the names of the datasets that are its frames, of each field of such."""
    names: list[tuple[FrameNames, ...]] = [()] * len(scan.names)
    counts = scan.frame_counts.tolist()
    for field in scan.fields:
        if "digits" in field.columns and field.said_shape is not None:
            schema, columns = _schema_of_samples(scan, field), field.columns
            rows = zip(field.paths, columns["digits"].tolist(), columns["strides"].tolist(), counts, strict=True)
            each = [FrameNames(path, digits, stride, count, schema) for path, digits, stride, count in rows]
            names = [(*before, more) for before, more in zip(names, each, strict=True)]
    return names


def _schema_of_samples(scan: FileScan, field: FieldScan) -> str:
    """Return the schema by which each dataset is a video; empty where others in groups would be taken for such, too."""
    if len(scan.fields) == 1 and not scan.left_out:
        return in_one_line(Schema(("groups",), (_sample(field, VIDEO),)))
    if VIDEO in field.source:
        return ""
    alike = [each for each in scan.fields if each.said_shape is not None and each.source.count("*") == 1]
    return in_one_line(Schema(("groups",), tuple(_sample(each, each.source.replace("*", VIDEO)) for each in alike)))


def _sample(field: FieldScan, source: str) -> SchemaField:
    return SchemaField.at(source, field.kind if field.shape else "value", field.shape, name=field.key or "values")
