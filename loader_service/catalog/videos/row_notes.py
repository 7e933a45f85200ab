"""Says what rows of a table may be besides rows: padded sequences, or times of many videos; reads lengths alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from loader_service.catalog.inner_paths import basename_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from loader_service.catalog.videos.episodes import Found, VideoField

_LENGTHS = re.compile(
    r"(^|_)(lens?|lengths?|(num|n|valid|seq)_?(frames|steps|len|lens|length|lengths))$", re.IGNORECASE
)

_PADDED = (
    "each row seems to be a sequence of up to {} frames, of which {!r} says how many are real; rows are served whole, "
    "with that beside them; for clips of frames write each as a dataset of its own, in a file"
)

#: Of a picture that somebody looks at.
_LEAST_SIDE = 16

#: Axes of the rows of pictures in grey, ``(videos, height, width)``.
_AXES_OF_GREY = 3


def lines_of_rows(found: Found, read: Callable[[str], Any]) -> dict[str, str]:
    """Return what rows may be besides rows, as lines of what is no field.

    Parameters
    ----------
    found
        The file's table; of any other layout nothing is said.
    read
        Gives the numbers of a dataset.
    """
    if found.layout != "table" or len(found.episodes) != 1:
        return {}
    parts = {key: part for key, part in found.episodes[0].parts.items() if part.kind == "array" and part.info}
    count = found.episodes[0].frame_count
    lines = {
        f"{key} (axes)": f"its {count} rows are {part.shape} each; if the first axis is time and the second one counts "
        "videos, as in mnist_test_seq.npy, write np.moveaxis(array, 0, 1) instead, in a file"
        for key, part in parts.items()
        if _may_be_times(part, count) and len(parts) == 1
    }
    return lines | _padded(parts, read)


def _may_be_times(part: VideoField, count: int) -> bool:
    """Tell whether rows are fewer than the grey pictures in each, as in mnist_test_seq.npy."""
    grey = part.dtype == "uint8" and len(part.shape) == _AXES_OF_GREY and min(part.shape[1:]) >= _LEAST_SIDE
    return grey and part.shape[0] not in {1, 3} and count < part.shape[0]


def _padded(parts: Mapping[str, VideoField], read: Callable[[str], Any]) -> dict[str, str]:
    deep = {key: part for key, part in parts.items() if len(part.shape) > 1}
    columns = [part for part in parts.values() if part.shape in {(), (1,)} and _LENGTHS.search(basename_of(part.path))]
    lines: dict[str, str] = {}
    for column in columns if deep else ():
        lengths = np.ravel(read(column.path))
        least, most = lengths.min(initial=0), lengths.max(initial=0)
        for key, part in deep.items():
            if lengths.dtype.kind in "iuf" and least >= 0 and 1 < most <= part.shape[0] and lengths.min() < most:
                lines[f"{key} (padded)"] = _PADDED.format(part.shape[0], column.path)
    masks = [part for part in parts.values() if len(part.shape) == 1 and _MASK.search(basename_of(part.path))]
    for mask in masks:
        padded = [key for key, part in deep.items() if part.shape[:1] == mask.shape]
        if padded and _are_padded(read(mask.path)):
            lines |= {f"{key} (padded)": _PADDED.format(mask.shape[0], mask.path) for key in padded}
    return lines


#: What is called that says which frames of padded sequences are real.
_MASK = re.compile(r"(^|_)(mask|valid|is_valid|padding|pad|is_pad|real)s?(_|$)", re.IGNORECASE)


def _are_padded(mask: Any) -> bool:
    """Tell whether each row of flags begins with some of one kind, and has the other kind behind, in some rows."""
    flags = np.asarray(mask)
    if flags.dtype.kind not in "biu" or not np.isin(flags, (0, 1)).all():
        return False
    changes = flags.astype(bool)[:, 1:] != flags.astype(bool)[:, :-1]
    one_kind = bool((flags[:, 0] == flags[0, 0]).all())
    return one_kind and bool(changes.any()) and int(changes.sum(axis=1).max()) == 1
