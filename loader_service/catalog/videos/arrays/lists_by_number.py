"""Datasets that numbers alone tell apart, and that are a list for each row of a table: they count no rows. Pure."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import by_form
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo
    from loader_service.catalog.videos.episodes import Found

#: Fewer may have any length by chance.
_LEAST = 8


def lists_by_number(arrays: Sequence[DatasetInfo]) -> Mapping[str, Sequence[DatasetInfo]]:
    """Return datasets of unlike lengths, as many as another has rows, that numbers tell apart, by a pattern of these.

    So are contours of the cells beside their images: ``contour/0 (31, 2)``, ``contour/1 (27, 2)``.
    """
    alike = by_form(arrays if len(arrays) > _LEAST else (), attrgetter("path"))
    return {
        pattern.replace("#", "*"): infos
        for pattern, infos in alike.items()
        if len(infos) >= _LEAST and len({info.shape[0] for info in infos}) > 1
        if any(other.shape[0] == len(infos) for other in arrays if other not in infos)
    }


def leave_out(lists: Mapping[str, Sequence[DatasetInfo]], table: Found) -> None:
    """Say of each such list that it is no field of a table."""
    for pattern, infos in lists.items():
        table.left_out[pattern] = (
            f"{counted(len(infos), 'dataset')}: expected one dataset for all rows, found lists of unlike lengths, such "
            f"as {infos[0].describe()}; write them as one vlen dataset of numbers, in a file"
        )
        for episode in table.episodes:
            episode.helpers |= {info.path for info in infos}
