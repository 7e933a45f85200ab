"""Fields with one value a sample, filled for all rows of a task at once; knows no frame and no slot."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from loader_service.catalog.columns import Catalog
from loader_service.plan.window_cuts import shape_in_batch, window_of
from loader_service.protocol.spec import Spec
from loader_service.worker.picks import Picks
from loader_service.worker.uneven_fields import sides_of_values, windowed_values

#: Gives a field's values for the rows of a task, one for each.
Column = Callable[[Picks], Any]

_NUMBERS: dict[str, Column] = {
    "index": lambda picks: picks.samples,
    "position": lambda picks: picks.keys,
    "start": lambda picks: picks.starts,
    "length": lambda picks: picks.lengths,
}


def column(catalog: Catalog, spec: Spec, name: str) -> Column | None:
    """Return the function that gives a field's values; None of a field that has frames, rather than one a sample."""
    if name in _NUMBERS:
        return _NUMBERS[name]
    if name == "video":
        return lambda picks: _names(catalog, picks.videos.tolist())
    main = catalog.beside(name)
    field = main or catalog.field(name)
    if field.kind != "value":
        return None
    if main is not None:
        return functools.partial(sides_of_values, catalog, main, spec)
    if window_of(spec, name) is not None:
        return functools.partial(windowed_values, catalog, field, spec, shape_in_batch(field, spec))
    values = catalog.values(name)
    return lambda picks: values[picks.videos]


def _names(catalog: Catalog, videos: list[int]) -> list[bytes]:
    names = {video: catalog.name(video) for video in set(videos)}  # the rows of a table all have the same
    return [names[video] for video in videos]
