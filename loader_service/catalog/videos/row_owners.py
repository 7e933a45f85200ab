"""Which rows belong together by whose they are: an event's, a person's, an environment's. Pure but for reading.

Their numbers lie in runs, one behind the other, or in turns; of both only a line is said, since rows may be all that is
meant.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.dtypes import is_number, is_text
from loader_service.catalog.videos.bound_lists import Bounds
from loader_service.catalog.vocabulary import ACTORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.columns import Int64s
    from loader_service.catalog.hdf5.tree import DatasetInfo
    from loader_service.catalog.videos.bound_lists import Read

_ID = r"(_?(id|idx|index|num|number|nr|no|name|key|uid|uuid)s?)"

#: What has rows of its own, one behind the other, and is no recording.
_OCCASIONS = (
    "event|session|trial|subject|run|shot|participant|patient|person|speaker|user|driver|animal|scan|scene|sentence|"
    "utterance|document|game|match|rally|lap|drive|block|group|track|tracklet|visit|study|series|camera|cam|slide"
)
_COUNTS = r"(?!(n|num|is|has|no|max|min|total|count)_)"
_OWNER = re.compile(rf"^{_COUNTS}(.*_)?({_OCCASIONS}|{ACTORS})s?{_ID}?$", re.IGNORECASE)
_ACTOR = re.compile(rf"(^|_)({ACTORS})s?{_ID}?$", re.IGNORECASE)
_ENDS_IN_ID = re.compile(rf"{_ID}$", re.IGNORECASE)

#: Any other word with an id behind it, but what rows are of, which many recordings share, and what counts them.
_ANY_ID = re.compile(
    r"(?!.*(class|categor|label|target|type|species|split|shard|fold|action|activit|gesture|phase|state|token|word|frame|"
    r"step|row|sample|time|node|edge))[a-z].*(_(id|idx|index|number|nr)|(?-i:Id|ID))s?$",
    re.IGNORECASE,
)


def find_by_owners(datasets: Sequence[DatasetInfo], frame_count: int, read: Read) -> Bounds | None:
    """Return the runs of rows of one owner, if these are more than one and have two rows on average; else None.

    Several such columns, as of persons and of their trials, are read together.
    """
    columns = _columns(datasets, frame_count)
    named = [info for info in columns if _OWNER.search(info.basename)]
    columns = named or [info for info in columns if _ANY_ID.match(info.basename)]
    if not columns:
        return None
    runs = {info.path: found for info in columns if (found := _runs(np.ravel(read(info.path)))) is not None}
    firm = {path for path, (_, values) in runs.items() if len(set(values)) == len(values)}
    outer = _union([runs[path][0] for path in firm])
    paths = [info.path for info in columns if info.path in runs and _is_told(info, *runs[info.path], outer)]
    if not paths:
        return None
    starts = _union([runs[path][0] for path in paths])
    return Bounds(starts, np.append(starts[1:], frame_count), frozenset(paths))


def line_of_turns(datasets: Sequence[DatasetInfo], frame_count: int, read: Read) -> str | None:
    """Return what to say where rows of several owners lie in turns, so that none lies in one piece; None if none do.

    In turns are those that come back one after the other; of environments and agents in any order.
    """
    for info in _columns(datasets, frame_count):
        if not (_OWNER.search(info.basename) or _ANY_ID.match(info.basename)):
            continue
        values = np.ravel(read(info.path))
        kinds = len(set(values.tolist()))
        changes = int((values[1:] != values[:-1]).sum())
        if not 2 <= kinds <= frame_count / 2 < changes:
            continue
        if bool(_ACTOR.search(info.basename)) or (values[kinds:] == values[:-kinds]).all():
            return (
                f"{info.path!r} changes from row to row, and its {kinds} values come back, so a clip goes from one to "
                f"the next; if each is a recording of its own, {in_order_of(info)}"
            )
    return None


def in_order_of(info: DatasetInfo) -> str:
    """Return the remedy for rows in turns."""
    return f"write all datasets anew in the order of rows = np.argsort({info.basename}, kind='stable')"


def are_actors(info: DatasetInfo) -> bool:
    """Tell whether a column says which environment, agent or worker each row is of."""
    return bool(_ACTOR.search(info.basename)) and (is_number(info.dtype) or is_text(info.dtype))


def _columns(datasets: Sequence[DatasetInfo], frame_count: int) -> list[DatasetInfo]:
    shapes = {(frame_count,), (frame_count, 1)}
    rows = [info for info in datasets if info.shape in shapes]
    return [info for info in rows if is_text(info.dtype) or (is_number(info.dtype) and info.dtype != "bool")]


def _runs(values: Any) -> tuple[Int64s, list[Any]] | None:
    """Return the first rows of runs of equal values, and their values, if there are several of two rows on average."""
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    return (starts, values[starts].tolist()) if 1 < len(starts) <= len(values) / 2 else None


def _is_told(info: DatasetInfo, starts: Int64s, values: Sequence[Any], outer: Int64s) -> bool:
    """Tell whether runs are owners': none comes back within an `outer` one, or they count, or are ids or names."""
    within = set(zip(np.searchsorted(outer, starts, "right").tolist(), values, strict=True))
    if len(within) == len(values):
        return True
    if not _OWNER.search(info.basename):
        return False
    names = is_text(info.dtype) and "event" not in info.basename.lower()
    return names or bool(_ENDS_IN_ID.search(info.basename)) or _count_anew(values)


def _count_anew(values: Sequence[Any]) -> bool:
    """Tell whether values count by ones, and begin anew, with more than two of them: codes of events do not."""
    if isinstance(values[0], bytes) or len(set(values)) < 3:
        return False
    return all(after in {before + 1, values[0]} for before, after in pairwise(values))


def _union(starts: Sequence[Int64s]) -> Int64s:
    return np.unique(np.concatenate([np.zeros(1, np.int64), *starts]))
