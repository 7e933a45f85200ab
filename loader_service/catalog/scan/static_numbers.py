"""Finds small arrays that have as many entries as frames by chance, by what other videos and files have of them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.dtypes import is_text
from loader_service.catalog.hdf5.plain import HDF5_ERRORS

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping, Sequence

    from numpy.typing import NDArray

    from loader_service.catalog.columns import Int64s
    from loader_service.catalog.findings import FieldScan
    from loader_service.catalog.hdf5.file import HDF5File

#: Frames, bytes and videos of a file of which such numbers are read, at most: of cameras' matrices, limits of joints.
_MOST_FRAMES, _MOST_BYTES, _MOST_VIDEOS = 64, 512, 64

_SAME = (
    "it has {} entries, and so one for each frame, and the same in all {} videos; if it is of a whole video, {} in "
    "what `inspect --toml` prints{}"
)


def numbers_of(hdf5: HDF5File, field: FieldScan, counts: Int64s) -> dict[str, NDArray[Any]]:
    """Return all numbers of a small array, ``(videos, frames, …)``, as the column ``values``; none of any other field.

    Parameters
    ----------
    hdf5, field
        The file, and one of its fields.
    counts
        The frames of each video.
    """
    if field.storage != "raw" or field.kind != "array" or field.missing or 0 in field.shape:
        return {}
    if not 0 < len(counts) <= _MOST_VIDEOS or not 1 < counts[0] <= _MOST_FRAMES or (counts != counts[0]).any():
        return {}
    form, dtype = (int(counts[0]), *field.shape), np.dtype(field.dtype)
    columns = field.columns
    cut = columns["firsts"].any() or (columns["elements"] >= 0).any() or (columns["digits"] >= 0).any()
    if cut or math.prod(form) * dtype.itemsize > _MOST_BYTES:
        return {}
    try:
        places = zip(field.paths, columns["addresses"].tolist(), strict=True)
        found = [_read(hdf5, path, address, form, dtype) for path, address in places]
    except HDF5_ERRORS as error:
        if getattr(error, "errno", None):  # the disk's fault, and not the file's
            raise
        return {}  # a bad frame, when it is asked for
    return {"values": np.stack(found)} if all(each.shape == form for each in found) else {}


def _read(hdf5: HDF5File, path: str, address: int, form: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    if address < 0:
        return np.asarray(hdf5.node(path)[()], dtype)
    return np.frombuffer(hdf5.read_at(address, math.prod(form) * dtype.itemsize), dtype).reshape(form)


def make_values(files: Sequence[MutableMapping[str, FieldScan]]) -> None:
    """Make a value of an array that has the sides of a value of that name in another file, time for its first one."""
    shapes = {key: field.shape for fields in files for key, field in fields.items() if field.storage == "value"}
    for fields in files if shapes else ():
        for key, field in fields.items():
            values = field.columns.get("values")
            if field.storage == "raw" and values is not None and values.shape[1:] == shapes.get(key):
                fields[key] = replace(
                    field, kind="value", shape=values.shape[1:], paths=[], columns={"values": values}, sample=""
                )


def lines_of_same_numbers(merged: Mapping[str, Sequence[FieldScan]], *, table: bool) -> dict[str, str]:
    """Return a line for each array of which several videos have the same numbers, which are no times and no flags."""
    lines = {}
    for key, fields in merged.items():
        first = fields[0].columns.get("values")
        videos = sum(len(field.paths) for field in fields)
        if first is None or fields[0].storage != "raw" or videos < 2 or not _seem_static(first[0]):
            continue
        if all("values" in field.columns and _are_all(field.columns["values"], first[0]) for field in fields):
            text = is_text(fields[0].dtype)
            remedy = f"take {key!r} out" if text else f'say kind = "value" of {key!r}, without its shape,'
            files = ', and videos = "files"' if table and not text else ""
            lines[f"{key} (constant)"] = _SAME.format(len(first[0]), videos, remedy, files)
    return lines


#: Values of a flag.
_FLAGS = 2


def _are_all(values: NDArray[Any], one: NDArray[Any]) -> bool:
    return values.shape[1:] == one.shape and bool((values == one).all())


def _seem_static(entries: NDArray[Any]) -> bool:
    """Tell whether entries differ, and are no numbers that rise or fall, as times do, or have but two values."""
    distinct = len({entry.tobytes() for entry in entries})  # np.unique would import numpy.ma
    if is_text(entries.dtype.str.lstrip("|")):
        return distinct == len(entries)
    if entries.size > len(entries):
        return distinct > 1
    steps = np.diff(entries.ravel().astype(np.float64))
    return distinct > _FLAGS and bool((steps > 0).any() and (steps < 0).any())
