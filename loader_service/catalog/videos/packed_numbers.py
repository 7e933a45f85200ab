"""Says of fields what their numbers stand for, where attributes scale them or name one that stands for nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.dtypes import is_number
from loader_service.catalog.hdf5.attributes import read_attribute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import DatasetInfo

#: Attributes of NetCDF's conventions (CF): what numbers are multiplied by, what is added then, and what is no number.
_FACTOR, _OFFSET = ("scale_factor",), ("add_offset",)
_MISSING = ("_FillValue", "missing_value", "MissingValue")


def lines_of_packing(hdf5: HDF5File, members: Mapping[str, DatasetInfo]) -> dict[str, str]:
    """Return what the numbers of fields stand for, where they are packed or some are missing, as lines of no field.

    Parameters
    ----------
    hdf5
        The file.
    members
        The datasets of a video's fields that have attributes, by key.
    """
    lines = {}
    for key, info in members.items():
        if not is_number(info.dtype):
            continue
        there = set(hdf5.node(info.path).attrs)
        factor, offset, missing = (
            _number(hdf5, info, [name for name in names if name in there]) for names in (_FACTOR, _OFFSET, _MISSING)
        )
        said = []
        if factor not in {None, 1} or offset not in {None, 0}:
            said.append(f"its numbers are served as stored, and stand for number * {factor or 1} + {offset or 0}")
        if missing is not None and not np.isnan(missing):
            said.append(f"{missing} stands for a number that is missing")
        if said:
            lines[f"{key} (packed)"] = f"{', and '.join(said)}, by its attributes in a file"
    return lines


def _number(hdf5: HDF5File, info: DatasetInfo, names: Sequence[str]) -> Any:
    """Return the first of these attributes of a dataset that is one number; None without any."""
    for name in names:
        value = np.ravel(read_attribute(hdf5.file, info.path, name))
        if len(value) == 1 and value.dtype.kind in "iuf":
            return value[0].item()
    return None
