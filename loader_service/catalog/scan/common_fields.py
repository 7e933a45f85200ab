"""Finds the fields that the videos of all files have in common, and their names. Knows no HDF5 and opens no file."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from loader_service.catalog.dtypes import is_text
from loader_service.catalog.inner_paths import basename_of
from loader_service.catalog.joining import NUMBERS, Joined, how_to_join_scans
from loader_service.catalog.line_folding import folded
from loader_service.catalog.names import LABEL_NAMES, RESERVED
from loader_service.catalog.scan.axes_between import lines_of_axes_between
from loader_service.catalog.scan.kinds_of_wholes import are_wholes
from loader_service.catalog.scan.little_in_common import readings_of_numbers, refuse_little_in_common
from loader_service.catalog.scan.names_in_each_file import line_of_names_in_each_file, refuse_names_in_each_file
from loader_service.catalog.scan.samples_by_name import how_to_join_samples
from loader_service.catalog.scan.static_numbers import lines_of_same_numbers, make_values
from loader_service.catalog.sides import can_differ, common_shape
from loader_service.catalog.videos.lines.class_names import lines_of_other_classes
from loader_service.catalog.videos.readings import FilesQuestionError, TwoReadingsError, as_field
from loader_service.errors import CatalogError
from loader_service.protocol.fields import CatalogField

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.findings import FieldScan, FileScan


def merge_fields(
    files: Sequence[tuple[str, FileScan]], named: frozenset[str], *, labelled: bool
) -> tuple[dict[str, list[FieldScan]], list[str]]:
    """Return the fields that all files have, by name, as each file has them; and a line for each other.

    Parameters
    ----------
    files
        Path and scan of each file that has videos.
    named
        Keys that a schema has given; they are the fields' names, and a file that differs is an error.
    labelled
        Whether the videos have labels, which are the field ``label``; else an array may have that name.

    Raises
    ------
    CatalogError
        When the files have no frames or arrays in common, or differ in a field that a schema names.
    """
    by_file = [(path, by_key(scan, named)) for path, scan in files]
    if len({ONLY_CAMERA in fields for _, fields in by_file}) > 1:  # one that others have beside more keeps its place
        by_file = [(path, by_key(scan, named, alone=False)) for path, scan in files]
    _make_whole(by_file, files)
    make_values([fields for _, fields in by_file])
    table = files[0][1].layout == "table"
    left_out: dict[str, str] = {}
    for path, scan in files:
        for key, reason in scan.left_out.items():
            left_out.setdefault(key, f"{reason} of {path!r}")
    reasons = {path: scan.left_out for path, scan in files}
    left_out |= lines_of_other_classes(list(reasons.items()))
    merged: dict[str, list[FieldScan]] = {}
    for key in dict.fromkeys(key for _, fields in by_file for key in fields):
        difference = _difference(key, by_file, reasons)
        if difference is None:
            merged[key] = [fields[key] for _, fields in by_file]
        elif table and key in LABEL_NAMES and f"{key} (split)" not in left_out:
            raise CatalogError(
                f"expected labels for the rows of all files, or of none; {key!r} is {difference}; write them alike in "
                "all files, or leave out those that differ"
            )
        elif key in named:
            raise CatalogError(f"the field {key!r}: {difference}; leave that file out, or correct the schema")
        else:
            left_out[key] = difference
            left_out.pop(f"{key} (split)", None)  # of the files that have it
            if any(key in fields and fields[key].kind == "value" for _, fields in by_file):
                left_out.pop(f"{key} (constant)", None)  # said above
    _check_any(merged, left_out, files, by_file)
    if not named:
        refuse_names_in_each_file(files)
        refuse_little_in_common(by_file, [scan for _, scan in files], merged, partial(_joined, files))
        left_out = line_of_names_in_each_file(files) | lines_of_same_numbers(merged, table=table) | left_out
        for key in [key for key, fields in merged.items() if fields[0].storage == "value"]:
            left_out.pop(f"{key} (constant)", None)  # it is of the whole video in other files
    if table and not named and not are_wholes(files):
        left_out |= lines_of_axes_between(files, merged)
    names = _choose_names(merged, RESERVED if labelled else RESERVED - {"label"})
    names.update({key: key for key in merged if key in named})
    _rename_taken(names, merged, named)
    order = list(merged) if named else sorted(merged, key=lambda key: _ORDER[merged[key][0].kind])
    lines = folded({key: reason for key, reason in left_out.items() if key not in merged})
    return {names[key]: merged[key] for key in order}, [f"{_shown(key)!r}: {reason}" for key, reason in lines.items()]


def _shown(key: str) -> str:
    """Return a key as people read it."""
    return "the only images" if key == ONLY_CAMERA else key


_ORDER = {"image": 0, "array": 1, "value": 2}

#: The key of frames where a file has but one sequence of them; no path ends with a space and a colon.
ONLY_CAMERA = "the frames :"


def by_key(scan: FileScan, named: frozenset[str], *, alone: bool = True) -> dict[str, FieldScan]:
    """Return a file's fields by key; an only camera has a key of its own, so that it may lie elsewhere in each file.

    `alone`: whether all files have one camera each; else it is called by its path, as in files with more.
    """
    images = [field for field in scan.fields if field.kind == "image"]
    alone = alone and len(images) == 1 and scan.layout != "table" and not named
    alone = alone and not _is_of_another(images[0], scan.fields)
    fields = scan.fields
    if alone:  # `replace` takes 15 calls
        camera = type(images[0])(**{**vars(images[0]), "key": ONLY_CAMERA})
        fields = [camera if field is images[0] else field for field in fields]
    return {field.key: field for field in fields}


def _is_of_another(image: FieldScan, fields: Sequence[FieldScan]) -> bool:
    """Tell whether a file's only image is a mask of an array beside it, and so has a name that must stay."""
    words = set(_LETTERS.findall(basename_of(image.key).lower()))
    return bool(words & _MASKS) and any(field.kind == "array" and len(field.shape) > 1 for field in fields)


#: Words in the names of pictures that say what is where in another picture.
_MASKS = frozenset({"mask", "masks", "seg", "segmentation", "annotation", "annotations", "label", "labels", "gt"})
_LETTERS = re.compile(r"[a-z]+")


def _check_any(
    merged: dict[str, list[FieldScan]],
    left_out: dict[str, str],
    files: Sequence[tuple[str, FileScan]],
    by_file: Sequence[tuple[str, dict[str, FieldScan]]],
) -> None:
    if not any(scans[0].kind != "value" for scans in merged.values()):
        bare = next((file for file in files if all(field.kind == "value" for field in file[1].fields)), None)
        own = bare[1].left_out if bare else {key for _, fields in by_file for key in fields}
        reasons = "; ".join(f"{_shown(key)!r}: {reason}" for key, reason in left_out.items() if key in own)
        if bare:
            raise CatalogError(
                f"the videos of {bare[0]!r} have no frames or arrays in common: {reasons}; name what all have "
                "with a --schema FILE, or serve them by --source package.module:Name"
            )
        found = f"the {len(files)} files have no frames or arrays in common: {reasons}; give only files that are alike,"
        readings = readings_of_numbers(by_file, files[0][1].layout)
        if readings:
            raise FilesQuestionError(TwoReadingsError(f"{found} or, if they are one field", readings))
        joined = _joined(files) or how_to_join_samples(files)
        if NUMBERS in joined:  # no schema has fields of two files
            raise CatalogError(f"{found.removesuffix(',')}{joined}")
        raise CatalogError(f"{found} or say with --schema where the fields are{joined}")


def _joined(files: Sequence[tuple[str, FileScan]]) -> str:
    return how_to_join_scans(files, _parts_of(files[0][1]))


def _parts_of(scan: FileScan) -> Joined:
    """Return what files with nothing in common may hold a part of each of: videos by their names, or rows."""
    if scan.layout != "groups":
        return Joined.ROWS
    return Joined.FILES if any(not field.key for field in scan.fields) else Joined.GROUPS


def _difference(
    key: str, files: Sequence[tuple[str, dict[str, FieldScan]]], left_out: Mapping[str, Mapping[str, str]]
) -> str | None:
    """Return why a key cannot be a field of all files, or None if it can; `left_out` has the reasons of each file."""
    place, first = next((path, fields[key]) for path, fields in files if key in fields)
    for path, fields in files:
        if key not in fields:
            return f"{left_out[path][key]} of {path!r}" if key in left_out[path] else f"not in {path!r}"
        field = fields[key]
        value = next((each for each in (first, field) if each.kind == "value" and each.shape not in _SINGLE), None)
        if field.missing != first.missing and value is not None:
            there, elsewhere = (place, path) if value is first else (path, place)
            return (
                f"a value of the whole video in {there!r}, and by chance, it seems, one entry less than frames in "
                f"{elsewhere!r}; {as_field(key, value.source)}"
            )
        if field.missing != first.missing:
            counts = f"{field.missing} frames at the end have no entry in {path!r}, {first.missing} in {place!r}"
            return f'{counts}; `lengths = "shortest"` in a --schema ends each video with its shortest field'
        alike = (field.kind, field.storage) == (first.kind, first.storage)
        if not alike or not _have_common_shape(field, first):
            return f"{_describe(first)} in {place!r}, {_describe(field)} in {path!r}"
        if field.dtype != first.dtype and not (is_text(field.dtype) and is_text(first.dtype)):
            return f"{_describe(first)} in {place!r}, {_describe(field)} in {path!r}"
    return None


#: Shapes of one number, which lies between the only two frames of a video as well.
_SINGLE = frozenset({(), (1,)})


def _make_whole(by_file: Sequence[tuple[str, dict[str, FieldScan]]], files: Sequence[tuple[str, FileScan]]) -> None:
    """Take a dataset of one row for one entry, where in another file it is one of other than one row."""
    if any((scan.frame_counts != 1).any() for _, scan in files):
        return
    for key in {key for _, fields in by_file for key in fields}:
        axes = {len(fields[key].shape) for _, fields in by_file if key in fields and fields[key].storage == "raw"}
        if len(axes) == 2 and max(axes) == min(axes) + 1:
            for _, fields in by_file:
                if key in fields and len(fields[key].shape) == min(axes):
                    fields[key] = whole(fields[key])


def whole(field: FieldScan) -> FieldScan:
    """Return an array of videos of one frame whose dataset of one row is one entry."""
    columns = dict(field.columns)
    if "sides" in columns:
        ones = np.ones((len(columns["sides"]), 1), np.int64)
        columns["sides"] = np.concatenate([ones, columns["sides"]], axis=1)
    return replace(field, shape=(1, *field.shape), columns=columns)


def _have_common_shape(one: FieldScan, other: FieldScan) -> bool:
    if one.storage == "encoded" and one.kind == "image":
        return True
    if one.storage == "lists":
        return one.shape == other.shape
    return can_differ(one.kind, one.dtype, (one.shape, other.shape))


def _describe(field: FieldScan) -> str:
    return f"{'encoded ' if field.storage == 'encoded' else ''}{field.dtype} {field.shape}"


def shape_of_all(scans: Sequence[FieldScan]) -> tuple[int, ...]:
    """Return the shape of a field in all files; a side that differs is 0."""
    if scans[0].storage == "encoded" and scans[0].kind == "image":
        return max((scan.shape for scan in scans), key=len)  # empty but where sizes differ within a video
    return common_shape(scan.shape for scan in scans)


def _rename_taken(names: dict[str, str], merged: dict[str, list[FieldScan]], named: frozenset[str]) -> None:
    """Give another name to a field that is called as the real sides of another are."""
    fields = (
        CatalogField(names[key], scans[0].kind, scans[0].dtype, shape, most=shape)
        for key, scans in merged.items()
        if scans[0].kind != "image" and 0 in (shape := shape_of_all(scans))
    )
    taken = {field.sides_name: field.name for field in fields}
    for key, name in names.items():
        if name not in taken:
            continue
        if key in named:
            raise CatalogError(
                f"the field {name!r} of the schema: that is what the real sides of {taken[name]!r} are called, which "
                "differ; give it another name"
            )
        names[key] = f"./{key}"


def common_dtype(scans: Sequence[FieldScan]) -> str:
    """Return the dtype of all: the same, or, of texts, the widest."""
    return max((scan.dtype for scan in scans), key=lambda dtype: int(dtype[1:]) if is_text(dtype) else 0)


def _choose_names(merged: dict[str, list[FieldScan]], reserved: frozenset[str]) -> dict[str, str]:
    """Return the names of fields by key: basenames where those are unique and free, else paths.

    What is called ``value`` goes by the name of its group, as variables of Octave do. What is called ``frames`` keeps
    its name if it is images, and no only camera has it.
    """
    basenames = {key: basename_of(key.removesuffix("/value")).removeprefix("@") for key in merged}
    uses = Counter(basenames.values())
    names = {}
    for key, basename in basenames.items():
        if key == ONLY_CAMERA:
            names[key] = "frames"
        elif not key:  # each dataset is a video, and its name says which
            names[key] = "values" if uses["values"] == 0 else "./"
        elif uses[basename] == 1 and (basename not in reserved or _are_frames(basename, merged, key)):
            names[key] = basename
        else:
            names[key] = f"./{key}" if key in reserved else key
    return names


def _are_frames(basename: str, merged: Mapping[str, Sequence[FieldScan]], key: str) -> bool:
    return basename == "frames" and merged[key][0].kind == "image" and ONLY_CAMERA not in merged
