"""Says where a column of a table has numbers of its pictures that come back: its rows may be of other pictures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.dtypes import is_whole
from loader_service.catalog.inner_paths import basename_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from loader_service.catalog.videos.episodes import Episode

#: What numbers of pictures, and the pictures, are called.
_NUMBERS = re.compile(r"(image|img|picture|photo)s?_?(idxs?|index|indexes|indices|inds?|rows?)", re.IGNORECASE)
_PICTURES = re.compile(r"(image|img|picture|photo)s?", re.IGNORECASE)

_LINE = (
    "{!r} goes from {} to {} in {} rows, and its numbers come back: it may say of which row of {!r} each row of all "
    "else is, and row n of all is served as one sample; if so, write {}[{}] in place of {!r}, in a file"
)


def lines_of_numbers_of_pictures(table: Episode, read: Callable[[str], Any]) -> dict[str, str]:
    """Return a line for numbers by row that rise by ones from the first picture, some of them more than once."""
    parts = {basename_of(part.path): part for part in table.timed.values() if not part.missing}
    pictures = next((part for name, part in parts.items() if _PICTURES.fullmatch(name) and part.kind == "image"), None)
    numbers = next(
        (
            part
            for name, part in parts.items()
            if _NUMBERS.fullmatch(name) and is_whole(part.dtype) and part.shape in {(), (1,)}
        ),
        None,
    )
    if pictures is None or numbers is None or numbers.info is None or len(parts) < _WITH_MORE:
        return {}
    values = np.ravel(read(numbers.path)).astype(np.int64)
    steps = set(np.diff(values).tolist())
    if steps != {0, 1} or values[0] not in {0, 1}:
        return {}
    rows = basename_of(numbers.path) + " - 1" * int(values[0])
    line = _LINE.format(
        numbers.path, values[0], values[-1], len(values), pictures.path, basename_of(pictures.path), rows, pictures.path
    )
    return {f"{numbers.path} (rows)": line}


#: Pictures, numbers, and what is said of them.
_WITH_MORE = 3
