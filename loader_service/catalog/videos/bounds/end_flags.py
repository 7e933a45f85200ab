"""Which rows begin a video, by flags of 0 and 1 that each row has. Pure but for reading them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.dtypes import is_number
from loader_service.catalog.videos.bounds.row_owners import are_actors, in_order_of
from loader_service.catalog.vocabulary import RECORDINGS
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.columns import Int64s
    from loader_service.catalog.hdf5.tree import DatasetInfo
    from loader_service.catalog.videos.bounds.bound_lists import Read

_EPISODE = rf"({RECORDINGS})s?"
_FIRST_FLAG = re.compile(rf"(is_(first|init)|({_EPISODE}_)(starts?|begins?|first))$", re.IGNORECASE)
_LAST_FLAG = re.compile(rf"(is_last|({_EPISODE}_)(ends?|terminals?|dones?|last))$", re.IGNORECASE)
_ANY_END_FLAG = re.compile(
    r"((is|env)_)?(terminals?|terminated|terminations?|truncated|truncations?|timeouts?|dones?|game_?overs?)"
    r"(_?(status|flags?|signals?|floats?))?$",
    re.IGNORECASE,
)

#: What is 1 in each row but those: TD3's ``not_done``, PlaNet's ``nonterminals``.
_NO_END_FLAG = re.compile(r"(not|non)_?(terminals?|terminated|dones?)$", re.IGNORECASE)


def flagged_rows(
    datasets: Sequence[DatasetInfo], frame_count: int, read: Read, *, any_end: bool = False
) -> Int64s | None:
    """Return the first rows of the videos that flags of rows begin or end, if these are more than one.

    `any_end`: also flags that can end less than an episode, such as ``terminals`` without the ``timeouts`` beside them.

    Raises
    ------
    CatalogError
        When rows of several environments, or agents, lie in turns.
    """
    rows = {(frame_count,), (frame_count, 1)}
    columns = [(info, info.basename) for info in datasets if info.shape in rows]
    if not columns:
        return None
    starts = [_flags(info, read) for info, name in columns if _FIRST_FLAG.match(name)]
    starts += [_first_steps(info, read) for info, name in columns if name.lower() == "step_type"]
    lasts = [_flags(info, read) for info, name in columns if _LAST_FLAG.match(name)]
    weak = [_flags(info, read) for info, name in columns if any_end and _ANY_END_FLAG.match(name)]
    on = [_flags(info, read) for info, name in columns if any_end and _NO_END_FLAG.match(name)]
    weak += [~flags for flags in on if flags is not None and 2 * flags.sum() >= frame_count]  # few rows are ends
    first = next((flags for flags in starts if flags is not None), None)
    if first is None:
        ends = next((flags for flags in lasts if flags is not None), None)
        others = [flags for flags in weak if flags is not None]
        ends = np.any(others, axis=0) if ends is None and others else ends
        first = None if ends is None else np.append(True, ends[:-1])
    if first is None or not first[0] or first.sum() < 2:
        return None
    return with_owners([info for info, _ in columns], np.flatnonzero(first), read)


def with_owners(columns: Sequence[DatasetInfo], begins: Int64s, read: Read) -> Int64s:
    """Return the first rows of videos, of which each also ends where another environment, or agent, begins.

    Raises
    ------
    CatalogError
        When rows of several of these lie in turns: then no episode lies in one piece.
    """
    for info in columns:
        if not are_actors(info):
            continue
        owners = np.ravel(read(info.path))
        changes = np.flatnonzero(owners[1:] != owners[:-1]) + 1
        if np.isin(changes, begins).all():
            continue
        kinds = len(set(owners.tolist()))
        if kinds <= len(changes):
            raise CatalogError(
                f"{info.path!r} changes within episodes, as flags of rows begin or end them, and its values come back: "
                f"rows of {kinds} environments, or agents, lie in turns, and no episode lies in one piece; "
                f"{in_order_of(info)}"
            )
        begins = np.union1d(begins, changes)
    return begins


def _flags(info: DatasetInfo, read: Read) -> Any:
    """Return a column of flags as bools; None if it has other numbers than 0 and 1."""
    values = np.ravel(read(info.path)) if is_number(info.dtype) else np.full(1, 2)
    return values.astype(bool) if np.isin(values, (0, 1)).all() else None


def _first_steps(info: DatasetInfo, read: Read) -> Any:
    """Return where a column is 0, if it is 0, 1, …, 2 in each episode, as the step types of dm_env are; else None."""
    steps = np.ravel(read(info.path)) if is_number(info.dtype) else np.full(1, 3)
    fits = np.isin(steps, (0, 1, 2)).all() and steps[0] == 0 and ((steps[1:] == 0) == (steps[:-1] == 2)).all()
    return steps == 0 if fits else None
