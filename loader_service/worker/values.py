"""Fields with one value a sample, filled for all rows of a task at once; knows no frame and no slot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loader_service.catalog.columns import Catalog
from loader_service.protocol.fields import SERVICE_FIELDS
from loader_service.worker.picks import Picks

#: Gives a field's values for the rows of a task, one for each.
Column = Callable[[Picks], Any]

_NUMBERS: dict[str, Column] = {
    "index": lambda picks: picks.samples,
    "position": lambda picks: picks.keys,
    "start": lambda picks: picks.starts,
    "length": lambda picks: picks.lengths,
}


def is_column(catalog: Catalog, name: str) -> bool:
    """Return whether a field has one value a sample, rather than frames."""
    return name in SERVICE_FIELDS or catalog.field(name).kind == "value"


def column(catalog: Catalog, name: str) -> Column:
    """Return the function that gives a field's values; KeyError when the catalog has no such column."""
    if name in _NUMBERS:
        return _NUMBERS[name]
    if name == "video":
        return lambda picks: _names(catalog, picks.videos.tolist())
    values = catalog.values(name)
    return lambda picks: values[picks.videos]


def _names(catalog: Catalog, videos: list[int]) -> list[bytes]:
    names = {video: catalog.name(video) for video in set(videos)}  # the rows of a table all have the same
    return [names[video] for video in videos]
