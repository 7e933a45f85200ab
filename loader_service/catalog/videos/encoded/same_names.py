"""Encoded pictures whose names several groups have: parts of one sample, or pictures of their own. Pure.

So lie ``images/anna.jpg`` and ``masks/anna.png``; and ``pair_7/before``, ``pair_7/after``, in every pair.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from loader_service.catalog.inner_paths import basename_of, parent_of, unnumbered
from loader_service.catalog.layouts.datasets import DatasetsVideo
from loader_service.catalog.videos.frame_axis import are_fields, are_ids, are_numbered
from loader_service.catalog.videos.readings import Reading, TwoReadingsError, each_by_itself
from loader_service.catalog.videos.sibling_groups import MOST_PARTS
from loader_service.schema import VIDEO, SchemaField
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from loader_service.catalog.hdf5.tree import DatasetInfo
    from loader_service.catalog.videos.episodes import Found

    #: The pictures of each group, by name.
    Groups = Mapping[str, Mapping[str, DatasetInfo]]

    #: Tells whether an encoded picture is 16-bit, and so an array.
    IsDepth = Callable[[DatasetInfo], bool]

#: More groups than these are classes.
_MOST_GROUPS = 8


def refuse_same_names(found: Found, is_depth: IsDepth) -> None:
    """Refuse encoded pictures as a video each where several groups have the same names.

    Of few names one is a word: a picture for each number in groups of classes is nothing else. Many are such as nobody
    counts, unless the groups are called as fields are; endings, and what all names of a group begin with, may differ.

    Parameters
    ----------
    found
        The videos.
    is_depth
        Whether an encoded picture is 16-bit, and so an array.

    Raises
    ------
    TwoReadingsError
        With all readings.
    """
    if not found.episodes or found.episodes[0].root is not None:
        return
    groups = _pictures_by_group(found)
    if len(groups) < 2 or "" in groups:
        return
    root, first = next(iter(groups.items()))
    few = 1 < len(first) <= MOST_PARTS and not all(map(_HAS_NUMBER.search, first))
    few = few and all(set(each) == set(first) for each in groups.values())
    across = _across(groups, is_depth)
    if not few and across is None:
        return
    fields = [SchemaField.in_group(name, "array" if is_depth(info) else "image") for name, info in first.items()]
    names = list(map(repr, first))
    more = f" and {len(names) - 2} more" if len(names) > MOST_PARTS else ""
    shown = " and ".join(names[:2] if more else names)
    raise TwoReadingsError(
        f"found pictures {shown}{more} in {counted(len(groups), 'group')} such as {root!r}",
        [
            *([across] if across else []),
            *([Reading.of_groups("one sample a group, of single pictures", fields)] if few else []),
            each_by_itself("a video of one frame each, as of classes (or give --label '{group}')"),
        ],
    )


def _pictures_by_group(found: Found) -> dict[str, dict[str, DatasetInfo]]:
    """Return the datasets by group and name if each video is one encoded picture; else nothing."""
    groups: dict[str, dict[str, DatasetInfo]] = {}
    for episode in found.filled:
        part = episode.parts.get("") if episode.root is None and episode.frame_count == 1 else None
        frames = part and part.frames
        if not isinstance(frames, DatasetsVideo) or len(frames.members) > 1:
            return {}
        groups.setdefault(frames.members[0].parent, {})[frames.members[0].basename] = frames.members[0]
    return groups


def _across(groups: Groups, is_depth: IsDepth) -> Reading | None:
    """Return the reading as a sample of each name, with a field in each group; None where names do not pair them."""
    words = list(map(basename_of, groups))
    if len(groups) > _MOST_GROUPS or len(set(map(parent_of, groups))) > 1 or are_numbered(words) or are_ids(words):
        return None
    affixes = {group: _affixes_of(each) for group, each in groups.items()}
    if len(set(affixes.values())) == 1:
        affixes = dict.fromkeys(groups, _Affixes("", ""))
    stems = [{affixes[group].without(name) for name in each} for group, each in groups.items()]
    shared = set.intersection(*stems)
    fields = are_fields(groups)
    alike = 2 * len(shared) >= min(map(len, stems)) if fields else all(each == shared for each in stems)
    if len(shared) < 2 or not alike or (not fields and _are_counted(shared)):
        return None
    return Reading.of_groups(
        "a sample for each name",
        [
            SchemaField.at(
                f"{group}/{affixes[group].before}{VIDEO}{affixes[group].behind}",
                "array" if is_depth(next(iter(each.values()))) else "image",
                name=basename_of(group),
            )
            for group, each in groups.items()
        ],
    )


class _Affixes(NamedTuple):
    """What all names of a group begin, and end, with."""

    before: str
    behind: str

    def without(self, name: str) -> str:
        return name[len(self.before) : len(name) - len(self.behind)]


def _affixes_of(names: Collection[str]) -> _Affixes:
    """Return the word, and the ending, that all names have: ``mask_`` and ``.png``, or ``_gt.png``."""
    first = next(iter(names))
    before = next((word for word in _BEFORE.findall(first) if all(name.startswith(word) for name in names)), "")
    behind = next((each for each in _endings_of(first[len(before) :]) if all(n.endswith(each) for n in names)), "")
    return _Affixes(before, behind)


def _endings_of(name: str) -> list[str]:
    """Return what a name ends with, from the longest on, that words make and points or dashes part from the rest."""
    return [name[found.start() :] for found in _PARTED.finditer(name) if _ENDING.fullmatch(name, found.start())]


_BEFORE = re.compile(r"^[A-Za-z]+[_\-]")
_PARTED = re.compile(r"(?<=.)[_.\-]")
_ENDING = re.compile(r"([_.\-][A-Za-z]+[0-9]?)+")
_HAS_NUMBER = re.compile(r"[0-9]")


def _are_counted(names: Collection[str]) -> bool:
    """Tell whether one number tells names apart, and counts: most of its span are there."""
    numbers = [int(each[0]) for each in map(_NUMBERS.findall, names) if len(each) == 1]
    alike = len(numbers) == len(names) and len(set(map(unnumbered, names))) == 1
    return alike and max(numbers) - min(numbers) < 2 * len(numbers)


_NUMBERS = re.compile(r"[0-9]+")
