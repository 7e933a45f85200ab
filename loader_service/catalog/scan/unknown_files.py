"""What is said of a file in which no videos are found, with schemas that were tried on it. Knows no other file."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_vlen
from loader_service.catalog.hdf5.tree import DatasetInfo, ElementKind, Tree
from loader_service.catalog.joining import how_to_flatten
from loader_service.catalog.layouts.inner_images import explain_inside
from loader_service.catalog.layouts.search import EXPECTED, ForeignBytesError, explain_texts
from loader_service.catalog.videos.arrays.group_readings import videos_of_groups
from loader_service.catalog.videos.arrays.without_frames import EXPECTED as EXPECTED_WITHOUT_FRAMES
from loader_service.catalog.videos.aside.set_aside import is_aside
from loader_service.catalog.videos.beside.file_labels import LabelOrderError, read_labels, to_label
from loader_service.catalog.videos.declared.declared_videos import declares_label, find_declared
from loader_service.catalog.videos.field_scan import scan_fields
from loader_service.catalog.videos.frame_axis import have_numbers_or_ids
from loader_service.catalog.videos.numbered import find_numbered, kind_of_frames
from loader_service.catalog.videos.readings import Reading, TwoReadingsError, fields_of, in_one_line
from loader_service.catalog.videos.sibling_groups import sibling_groups
from loader_service.errors import CatalogError
from loader_service.schema import VIDEO, Schema, SchemaField
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.videos.numbered import NumberedFrames


#: What a command writes as numbers.
_WRITTEN_PLAINLY = frozenset({ElementKind.COMPOUND, ElementKind.COMPLEX, ElementKind.REFERENCE})


def works(hdf5: HDF5File, tree: Tree, schema: Schema, *, labelled: bool = True) -> bool:
    """Tell whether a schema finds fields in a file: none is advised that was not tried; `labelled`: with its labels."""
    try:
        found = find_declared(hdf5, tree, schema)
        if labelled and found.layout != "table" and not declares_label(schema):
            with suppress(LabelOrderError):  # asked next, with a remedy of its own
                read_labels(hdf5, tree, found.episodes, None)
        fields = scan_fields(hdf5, found, schema)[0]
        for label in (each for each in fields if each.key == "label" and each.kind == "value"):
            for value in label.columns["values"]:
                to_label(value, "")  # an empty text is none
        return bool(fields)
    except (CatalogError, TwoReadingsError):
        return False


def _is_flat_bytes(info: DatasetInfo) -> bool:
    return info.kind is ElementKind.BYTES and len(info.shape) == 1


def nothing_found(hdf5: HDF5File, tree: Tree, aside: Mapping[str, str]) -> CatalogError:
    """Return the error for a file without videos: with what was set aside, if that is why."""
    inside = explain_inside(hdf5, tree.datasets.values())
    if inside:
        return CatalogError(inside)
    helps = explain_texts(hdf5, tree)
    if not helps and all(0 in info.shape or not info.shape for info in tree.datasets.values()):
        return CatalogError(
            f"found no video, but {tree.describe()}, and so no sequence; leave the file out, or serve it by "
            "--source module:Name"
        )
    raw = next((info for info in tree.datasets.values() if _is_flat_bytes(info)), None)
    if raw is not None and not helps and all(map(_is_flat_bytes, tree.datasets.values())):
        return CatalogError(
            f"found no video, but {raw.describe()} of no image format that is known: if it is pixels, nothing says "
            "their sides; write them with these, as (frames, height, width, channels), or read them in a Python source "
            f"of your own (--source package.module:Name); numbers are served by a --schema FILE{_readings(hdf5, tree)}"
        )
    firsts = {reason: path for path, reason in reversed(list(aside.items()))}
    named = "; ".join(f"{path!r}: {reason}" for reason, path in islice(reversed(list(firsts.items())), 4))
    kinds = {info.kind for path, info in tree.datasets.items() if path in aside}
    plainly = how_to_flatten(os.fsdecode(hdf5.file.filename)) if kinds & _WRITTEN_PLAINLY else ""
    if aside and all(is_aside(aside, info) for info in tree.datasets.values()):
        return CatalogError(
            f"found no video, but {named}; leave the file out, or serve it by --source module:Name{plainly}"
        )
    if aside:
        rest = {path: info for path, info in tree.datasets.items() if not is_aside(aside, info)}
        return CatalogError(
            f"found no video, but {named}; and beside it {replace(tree, datasets=rest).describe()}; name numbers among "
            f"these in a --schema FILE, leave the file out, or serve it by --source module:Name{plainly}{helps}"
        )
    shown = helps or _readings(hdf5, tree)
    usable = any(info.dtype for info in tree.datasets.values())
    remedy = "name them with --frames PATTERN or --schema FILE"
    if not usable and not helps:
        remedy = "leave the file out, or serve it by --source module:Name"
    return CatalogError(
        f"found no video: expected {EXPECTED}; or, without JPEGs, {EXPECTED_WITHOUT_FRAMES}; found "
        f"{tree.describe()}; {remedy}{shown}"
    )


def with_numbers_beside(hdf5: HDF5File, tree: Tree, error: ForeignBytesError, foreign: Collection[str]) -> CatalogError:
    """Return the error for bytes of another format, with the schemas that serve the numbers beside them.

    `foreign`: paths of all such bytes.
    """
    paths = error.paths.union(foreign)
    readings = _readings(hdf5, tree, paths) + _as_lists(hdf5, tree, paths)
    return CatalogError(
        f"{error}; what else is there is served by a --schema FILE{readings}" if readings else str(error)
    )


def _as_lists(hdf5: HDF5File, tree: Tree, foreign: Collection[str]) -> str:
    """Return the schema for lists of numbers, and of bytes beside them with as many entries, as `_readings` does."""
    lists = [info for info in tree.datasets.values() if is_vlen(info.dtype) and len(info.shape) == 1]
    for main in (info for info in lists if info.kind is not ElementKind.VLEN_BYTES and info.path not in foreign):
        beside = [info for info in lists if (info.parent, info.shape) == (main.parent, main.shape)]
        schema = Schema(("table",), tuple(SchemaField.at(info.path, shape=(0,)) for info in beside))
        if any(info.path in foreign for info in beside) and works(hdf5, tree, schema):
            words = f"{counted(main.shape[0], 'sample')} of lists of numbers, or bytes"
            return f"; for {words}, {in_one_line(schema)}"
    return ""


def _possible(datasets: Sequence[DatasetInfo]) -> list[Reading]:
    """Return what datasets may be: a video, or recording, for each group or each of them, else rows of a table."""
    usable = [info for info in datasets if info.dtype and not is_vlen(info.dtype) and info.size_bytes]
    numbered = find_numbered(usable)
    if len(numbered) == 1:
        return [_of_numbered(*numbered.values())]
    groups = sibling_groups([info for info in usable if info.shape])
    if groups:
        return videos_of_groups(groups)
    alike = len({(info.parent, info.dtype, info.shape[1:]) for info in usable}) == 1 and len(usable) > 1
    found = []
    if alike and have_numbers_or_ids([info.basename for info in usable]):
        field = SchemaField("values", "array", (VIDEO,))
        found.append(Reading("a recording each", Schema(("groups",), (field,))))
    lists = [info for info in usable if info.shape]
    largest = sorted(lists, key=lambda info: -info.size_bytes)
    counts = Counter(info.shape[0] for info in largest)
    for count, _ in counts.most_common(1):
        fields = fields_of([info for info in lists if info.shape[0] == count])
        if len(counts) > 1:
            found.append(Reading("videos that lie end to end, as what is beside them says", Schema(("spans",), fields)))
        found.append(Reading(f"{counted(count, 'row')} of a table", Schema(("table",), fields)))
    return found


def _of_numbered(frames: Sequence[NumberedFrames]) -> Reading:
    """Return the reading of datasets that their numbers tell apart as the frames of one video."""
    first = [each.members[0] for each in frames]
    fields = [
        SchemaField.at(each.pattern, kind_of_frames(info), info.shape, name=each.key)
        for each, info in zip(frames, first, strict=True)
    ]
    return Reading.of_file(f"one video of {counted(len(frames[0].members), 'frame')}", fields)


def _readings(hdf5: HDF5File, tree: Tree, foreign: Collection[str] = ()) -> str:
    """Return the schemas by which datasets can be served, those of some paths aside, as the end of a message."""
    found = _possible([info for path, info in tree.datasets.items() if path not in foreign])
    return "".join(
        f"; for {each.words}, {in_one_line(each.schema)}" for each in found if works(hdf5, tree, each.schema)
    )
