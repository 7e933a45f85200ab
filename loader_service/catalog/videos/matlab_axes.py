"""Says of matrices that MATLAB wrote that their axes are HDF5's, the reverse of MATLAB's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import DatasetInfo

#: What MATLAB writes beside each variable of a file of version 7.3.
_MARK = "MATLAB_class"


def lines_of_axes(hdf5: HDF5File, members: Mapping[str, DatasetInfo]) -> dict[str, str]:
    """Return how the axes of fields lie that MATLAB wrote, as lines of what is no field.

    Parameters
    ----------
    hdf5
        The file.
    members
        The datasets of a video's fields that have attributes, by key.
    """
    lines = {}
    for key, info in members.items():
        several = sum(side > 1 for side in info.shape) > 1
        if several and _MARK in hdf5.node(info.path).attrs:
            size = " ".join(map(str, reversed(info.shape)))
            lines[f"{key} (axes)"] = (
                f"served as HDF5 has it, {info.shape} with the first axis as rows or time: MATLAB, which wrote it, "
                f"reverses axes, so size(…) is [{size}] there, in a file"
            )
    return lines
