"""Says where files agree on the first axis of an array and differ in another: that one may be time. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of
from loader_service.catalog.sides import common_shape
from loader_service.catalog.videos.readings import in_one_line
from loader_service.schema import Schema, SchemaField, free_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.findings import FieldScan, FileScan

#: Arrays of which time may be the last axis, by the axes of an entry: what they are, and what turns them.
_TURNED = {1: ("(joints, frames)", "array.T")}
_OTHERS_TURNED = ("(height, width, frames)", "np.moveaxis(array, -1, 0)")


def lines_of_axes_between(
    files: Sequence[tuple[str, FileScan]], merged: Mapping[str, Sequence[FieldScan]]
) -> dict[str, str]:
    """Return a line for each array of as many rows in all files whose entries differ in a side.

    Parameters
    ----------
    files
        The paths and scans of tables.
    merged
        Their fields, by key. An array of one shape has an entry for each row: then rows are what they seem.
    """
    counts = {int(count) for _, scan in files for count in scan.frame_counts}
    arrays = {key: found for key, found in merged.items() if found[0].kind == "array"}
    shapes = {key: common_shape(scan.shape for scan in found) for key, found in arrays.items()}
    differ = [key for key, shape in shapes.items() if 0 in shape and len({scan.shape for scan in arrays[key]}) > 1]
    if len(files) < 2 or len(counts) > 1 or max(counts) < 2 or len(differ) < len(shapes):
        return {}
    return {f"{key} (axes)": _line(key, max(counts), len(shapes[key]), arrays[key]) for key in differ}


def _line(key: str, count: int, axes: int, found: Sequence[FieldScan]) -> str:
    first = found[0].shape
    other = next(scan.shape for scan in found if scan.shape != first)
    shape, turned = _TURNED.get(axes, _OTHERS_TURNED)
    field = SchemaField(free_name(basename_of(key)), "array", (key,), "", (0,) * (axes + 1))
    return (
        f"it has {count} rows in each file, of {first} and of {other}: its first axis may be no time, as with {shape}, "
        f"of which {turned} has frames first; for one sample a file, "
        f"{in_one_line(Schema(('files',), (field,)))} in a --schema FILE"
    )
