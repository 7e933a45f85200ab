"""Turns the fields of a file's videos into columns: where their bytes lie, and what their values are."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from loader_service.catalog.dtypes import is_text, is_vlen
from loader_service.catalog.findings import FieldScan
from loader_service.catalog.hdf5.vlen_places import places_of_lists
from loader_service.catalog.inner_paths import join, to_bytes
from loader_service.catalog.layouts.pictures import OddFrames
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.schema_text import pattern_of
from loader_service.catalog.sides import can_differ, common_shape, sides_column
from loader_service.catalog.videos.beside.number_lists import LIST_WAYS, is_list, list_columns
from loader_service.catalog.videos.lines.unfilled import lines_of_empty
from loader_service.catalog.videos.part_columns import Columns, NoFieldError, picture_columns, read_values, text_width
from loader_service.errors import CatalogError
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.columns import Int64s
    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.videos.episodes import Episode, Found, VideoField
    from loader_service.schema import Schema

#: Labels of a table that are read at once, to see that they are numbers.
_SLAB = 4096


#: What is said of frames without an end, and of videos without a picture.
_CUT = (
    "{} of the frames that were looked at have no end, such as {}, so their writer was cut off, perhaps; "
    "`loader-service inspect --check=all` decodes all, in a file"
)
_NO_PICTURES = (
    "in {}, such as {!r}, no frame that was looked at is a picture, so they are bad samples; `loader-service inspect "
    "--check=all` names each, in a file"
)
_TOO_LARGE = "{} of the frames that were looked at are bad samples, such as {}, in a file"


def scan_fields(hdf5: HDF5File, found: Found, schema: Schema | None) -> tuple[list[FieldScan], dict[str, str]]:
    """Return the fields that all videos with frames have, and why others are none.

    Parameters
    ----------
    hdf5
        The file.
    found
        Its videos.
    schema
        What named the fields; one that differs between videos then is an error, and not left out.

    Raises
    ------
    CatalogError
        When videos differ in a field of a schema; when data lies beyond the end of the file.
    """
    episodes = found.filled
    left_out = dict(found.left_out)
    fields = []
    declared = {} if schema is None else {field.name: field.shape or () for field in schema.fields}
    for key in dict.fromkeys(key for episode in episodes for key in episode.parts):
        reason = _difference(hdf5, key, episodes)
        if reason is None:
            try:
                parts = [episode.parts[key] for episode in episodes]
                odd = OddFrames([], [], [])
                fields.append(_scan_field(hdf5, key, found, parts, declared.get(key, ()), odd))
                left_out.pop(key, None)
                left_out |= _lines_of_odd(key, odd)
                if fields[-1].storage == "encoded":  # lists may be empty
                    left_out |= lines_of_empty(key, episodes, fields[-1].columns["extent_lengths"])
            except NoFieldError as error:
                reason = str(error)
        if reason is None:
            continue
        if schema is not None:
            raise CatalogError(f"the field {key!r}: {reason}; correct the file, or the field's entry in the schema")
        left_out[key] = reason
    return fields, left_out


def _lines_of_odd(key: str, odd: OddFrames) -> dict[str, str]:
    lines, key = {}, key or "/"
    if odd.without_end:
        lines[f"{key} (cut off)"] = _CUT.format(len(odd.without_end), odd.without_end[0])
    if odd.too_large:
        lines[f"{key} (too large)"] = _TOO_LARGE.format(len(odd.too_large), odd.too_large[0])
    if odd.no_pictures:
        lines[f"{key} (no pictures)"] = _NO_PICTURES.format(counted(len(odd.no_pictures), "video"), odd.no_pictures[0])
    return lines


def _difference(hdf5: HDF5File, key: str, episodes: Sequence[Episode]) -> str | None:
    first = next(episode for episode in episodes if key in episode.parts)
    expected = first.parts[key]
    for episode in episodes:
        part = episode.parts.get(key)
        if part is expected:
            continue
        if part is None:
            return f"expected it in each video, but {episode.name!r} has {_instead(hdf5, key, episode)}"
        fits = can_differ(part.kind, part.dtype, (expected.shape, part.shape))
        if _kind_of(part) != _kind_of(expected) or not fits:
            same = _kind_of(replace(part, missing=expected.missing)) == _kind_of(expected)
            remedy = f"; {_SHORTEST}" if part.missing != expected.missing and same else ""
            forms = f"{_form(expected)} in {first.name!r}, {_form(part)} in {episode.name!r}"
            return f"expected one form, found {forms}{remedy}{', in a file' * bool(remedy)}"
    return None


def _instead(hdf5: HDF5File, key: str, episode: Episode) -> str:
    """Return what a video has in place of a field that it lacks, in words."""
    path = to_bytes(join(episode.root or "", key))
    found = hdf5.file.get(path) if episode.root is not None and path in hdf5.file else None
    if not isinstance(found, h5py.Dataset) or not found.shape or found.shape[0] == episode.frame_count:
        return "none"
    count = found.shape[0]
    behind = found.shape[1:2] == (episode.frame_count,)  # points that are followed: (points, frames, 2)
    remedy = _VALUE if 2 * count <= episode.frame_count or behind else _SHORTEST
    if h5py.check_string_dtype(found.dtype):  # lists of them are of one length in all videos
        remedy = f"{_ONE_TEXT}; {_SHORTEST}, if they are of its frames"
    return f"{count} entries there for {episode.frame_count} frames; {remedy}, in a file"


#: What has half as many entries as frames, or fewer, is of parts of the video, and would end it far too early.
_VALUE = 'kind = "value" of it in a --schema makes it a list of each video'


#: What helps where texts are of the video, and not of its frames.
_ONE_TEXT = "if they are of the whole video, write them as one text of it, such as JSON"

_SHORTEST = '`lengths = "shortest"` in a --schema ends each video with its shortest field'


def _kind_of(part: VideoField) -> tuple[object, ...]:
    """Return what must be the same of a field in all videos; sides may differ."""
    if part.frames is not None:
        return part.kind, part.frames.codec.name if part.kind == "array" else ""
    return part.kind, "text" if is_text(part.dtype) else part.name, part.missing, is_list(part)


def _form(part: VideoField) -> str:
    if part.frames is not None:
        return part.frames.codec.name if part.kind == "array" else "JPEG or PNG frames"
    short = f", {part.missing} row less than frames" if part.missing else ""
    return f"{part.kind} {'text' if is_text(part.dtype) else part.name} {part.shape}{short}"


def _scan_field(
    hdf5: HDF5File,
    key: str,
    found: Found,
    parts: Sequence[VideoField],
    declared: tuple[int, ...],
    odd: OddFrames,
) -> FieldScan:
    first = parts[0]
    pattern = first.pattern or pattern_of(_key_of(found, key, first), found.layout)
    if first.frames is not None:
        counts = [episode.frame_count for episode in found.filled]
        ways, found_columns, are_mixed = picture_columns(hdf5, parts, counts, odd)
        shape = _common_size(found_columns, parts) if first.kind == "array" else (0, 0, 3) * are_mixed
        paths = [part.path for part in parts]
        return FieldScan(key, pattern, first.kind, first.dtype, shape, paths, found_columns, ways=ways)
    shape = common_shape([part.shape for part in parts])
    if 0 in declared:
        shape = tuple(side and found for side, found in zip(declared, shape, strict=True))
    sides = {"sides": sides_column([part.shape for part in parts])} if 0 in shape else {}
    if first.kind == "value":
        if not any(math.prod(part.shape) for part in parts):
            raise NoFieldError("expected at least one number in some video")
        values = read_values(hdf5, parts)
        return FieldScan(key, pattern, "value", _name_of(values.dtype), shape, [], {"values": values, **sides})
    paths = [part.path for part in parts]
    if is_list(first):
        counts = [episode.frame_count for episode in found.filled]
        columns = list_columns(hdf5, parts, counts)
        scan = FieldScan(key, pattern, "array", first.name, first.shape, paths, columns)
        return replace(scan, ways=LIST_WAYS, missing=first.missing)
    columns = {
        f"{name}s" if name != "digits" else name: np.array([getattr(part, name) for part in parts], np.int64)
        for name in ("element", "first", "digits", "stride")
    }
    if first.element >= 0 and first.info is not None and is_vlen(first.info.dtype):
        columns["addresses"] = _vlen_addresses(hdf5, parts, columns["elements"])
    else:
        columns["addresses"] = np.array([_address(hdf5, part) for part in parts], np.int64)
    if found.layout == "table" and key in LABEL_NAMES:
        _check_finite(hdf5, first)
    if is_text(first.dtype):
        dtype = text_width(hdf5, parts, [episode.frame_count for episode in found.filled])
    else:
        dtype = _name_of(np.dtype(first.dtype))
    return FieldScan(key, pattern, first.kind, dtype, shape, paths, {**columns, **sides}, missing=first.missing)


def _check_finite(hdf5: HDF5File, labels: VideoField) -> None:
    """Make sure that the labels of a table are numbers, reading them piece by piece."""
    if np.dtype(labels.dtype).kind != "f" or labels.shape:
        return
    dataset = hdf5.node(labels.path)
    for start in range(0, dataset.shape[0], _SLAB):
        bad = np.flatnonzero(~np.isfinite(dataset[start : start + _SLAB]))
        if len(bad):
            raise CatalogError(
                f"label, entry {start + bad[0]} of {labels.path!r}: expected a finite number, "
                f'got {dataset[start + bad[0]]!s}; correct it, or serve it by another name, with name = "target" for '
                f"the dataset {labels.path!r} in a --schema FILE"
            )


def _key_of(found: Found, key: str, part: VideoField) -> str:
    """Return what a pattern is made of: rows of a vlen dataset have basenames as keys."""
    return part.path if found.layout == "vlen" and not part.attribute else key


@functools.cache
def _name_of(dtype: np.dtype[Any]) -> str:
    return f"S{max(1, dtype.itemsize)}" if dtype.kind == "S" else dtype.newbyteorder("=").name


def _common_size(columns: Columns, parts: Sequence[VideoField]) -> tuple[int, ...]:
    """Return ``(height, width)`` of arrays that are kept as pictures, 0 where they differ between videos."""
    sizes = list(zip(columns["heights"].tolist(), columns["widths"].tolist(), strict=True))
    odd = next((number for number, size in enumerate(sizes) if 0 in size), None)
    if odd is not None:
        raise NoFieldError(f"expected pictures in each video, found none that can be read in {parts[odd].path!r}")
    return common_shape(sizes)


def _address(hdf5: HDF5File, part: VideoField) -> int:
    """Return where a dataset's numbers lie as they do in memory, or -1."""
    info = part.info
    native = not part.dtype.startswith(("S", ">"))
    if info is None or info.address is None or not native or not hdf5.direct or part.digits >= 0:
        return -1
    if info.address + info.size_bytes > hdf5.size_bytes:
        raise CatalogError(
            f"{info.path!r}: expected it to end by byte {hdf5.size_bytes}, the end of the file; "
            f"got {info.address + info.size_bytes}: the file is truncated"
        )
    axes = 2 if part.element >= 0 else 1
    row_bytes = info.size_bytes // max(1, math.prod(info.shape[:axes]))
    rows_before = part.element * info.shape[1] if part.element >= 0 else 0
    return info.address + (rows_before + part.first) * row_bytes


def _vlen_addresses(hdf5: HDF5File, parts: Sequence[VideoField], elements: Int64s) -> Int64s:
    """Return where the rows of a vlen dataset lie; -1 for all where only HDF5 can read them."""
    dtype = np.dtype(parts[0].dtype)
    places = places_of_lists(hdf5, parts[0].path, dtype.itemsize) if dtype.isnative else None
    return np.full(len(elements), -1) if places is None else places[0][elements]
