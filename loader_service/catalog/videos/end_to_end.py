"""Videos that lie end to end in the same datasets, cut where the numbers beside them say that one ends."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from loader_service.catalog.dtypes import is_vlen
from loader_service.catalog.hdf5.tree import DatasetInfo, ElementKind
from loader_service.catalog.inner_paths import basename_of, join
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.split_words import meaning_of
from loader_service.catalog.videos.beside.fields_beside import MOST_VALUE_BYTES, value_of_row
from loader_service.catalog.videos.beside.values_by_name import values_by_name
from loader_service.catalog.videos.bounds.attribute_bounds import bounds_of_attributes, named_as_bounds
from loader_service.catalog.videos.bounds.bound_lists import (
    Bounds,
    LastRowsError,
    Read,
    find_first_rows,
    is_index,
)
from loader_service.catalog.videos.bounds.bounds import find_bounds, find_pairs_apart, find_sums, from_flags
from loader_service.catalog.videos.bounds.cut_lines import lines_of_cut, short_of_rows
from loader_service.catalog.videos.bounds.inner_bounds import line_of_parts, paths_of_parts
from loader_service.catalog.videos.bounds.row_columns import find_by_rows
from loader_service.catalog.videos.bounds.row_owners import find_by_owners, line_of_turns
from loader_service.catalog.videos.bounds.unread_bounds import line_of_unread
from loader_service.catalog.videos.episodes import Episode, Found, VideoField, key_in, owner_of
from loader_service.catalog.videos.readings import Reading, TwoReadingsError, free_name, in_one_line
from loader_service.errors import CatalogError
from loader_service.schema import VIDEO, Schema, SchemaField

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import Tree


def cut_at_ends(hdf5: HDF5File, tree: Tree, found: Found, *, declared: bool = False) -> Found:
    """Return a file with each of its videos cut where it is many, end to end; as it is where none is.

    Arrays are cut with the frames; what has an entry for each of them is a value, unless a schema declares the fields.
    Where a file has several such videos, each says its ends in its own group, and all are cut or none.

    Raises
    ------
    TwoReadingsError
        When datasets that are named as ends, or such, do not fit.
    """
    filled = [episode for episode in found.episodes if episode.frame_count]
    alone = len(found.episodes) == 1
    if found.layout == "vlen" or not filled or (not alone and any(not episode.root for episode in filled)):
        return found
    rows = {(each.frame_count,) for each in filled}
    parts = set() if declared else paths_of_parts(tree.datasets)
    parts = {path for path in parts if tree.datasets[path].shape[:1] not in rows}
    noted = named_as_bounds(tree)
    beside, read = _beside(tree, filled, tree.unwritten | parts, alone=alone), hdf5.entries
    try:
        bounds = [
            find_bounds(beside[id(each)], each.frame_count, read, alone=alone, declared=declared)
            or bounds_of_attributes(noted, each, read, alone=alone)
            or _by_rows(each, beside[id(each)], read, declared=declared)
            for each in filled
        ]
    except CatalogError as error:
        raise TwoReadingsError(str(error), _readings(filled[0], error, alone=alone)) from error
    several = [each for each in bounds if each is not None and (alone or len(each.starts) > 1)]
    if not several:
        if alone and not declared:
            _refuse_first_rows(beside[id(filled[0])], found, read)
        if not declared:
            _note_ends(filled, beside, found, read, tree)
        if parts:
            _note_parts([tree.datasets[path] for path in sorted(parts)], filled, found, read)
        return found
    if not declared:
        _refuse_most_lost(filled, bounds, found, alone=alone)
    episodes: list[Episode] = []
    used: set[str] = set()
    for whole, each in zip(filled, bounds, strict=True):
        where = each or Bounds(np.zeros(1, np.int64), np.array([whole.frame_count]), frozenset())
        values = {} if declared else _values(beside[id(whole)], whole, where, alone=alone)
        own = [] if declared else values_by_name(beside[id(whole)], where, whole.frame_count)
        episodes += _cut(whole, where, values, own, declared=declared)
        paths = {*where.paths, *(info.path for info in values.values())}
        paths |= {part.path for each in own for part in each.values()}
        used |= paths | {info.path for info in beside[id(whole)] if info.basename in LABEL_NAMES}
        used |= {key_in(whole.root, path) for path in paths}
    left_out = {key: reason for key, reason in found.left_out.items() if key not in used}
    for whole, each in zip(filled, bounds, strict=True):
        left_out.update(() if each is None else lines_of_cut(whole, each, alone=alone))
    return Found("spans", episodes, left_out)


def _refuse_most_lost(filled: Sequence[Episode], bounds: Sequence[Bounds | None], found: Found, *, alone: bool) -> None:
    """Refuse bounds that leave most of the rows in no video: events of a recording, such as fixations of eyes.

    Raises
    ------
    TwoReadingsError
        With the schemas for videos of these rows, and for all rows.
    """
    said = [(whole, each) for whole, each in zip(filled, bounds, strict=True) if each is not None]
    rows = sum(whole.frame_count for whole, _ in said)
    inside = sum(int((each.ends - each.starts).sum()) for _, each in said)
    if 2 * inside >= rows:
        return
    whole, first = said[0]
    named = " and ".join(map(repr, sorted(first.paths)[:2]))
    uncut = _uncut(whole, alone)
    raise TwoReadingsError(
        f"{named} say where {len(first.starts)} parts of the {whole.frame_count} rows of {whole.dataset_path!r} begin "
        f"and end, and {rows - inside} of {rows} rows lie in none: videos, or events of a recording",
        [
            Reading(
                "all rows together", replace(uncut, videos=("table",) if found.layout == "table" else uncut.videos)
            ),
            Reading("a video of each part", _spans(whole, alone)),
        ],
    )


def _readings(whole: Episode, error: CatalogError, *, alone: bool) -> list[Reading]:
    """Return the readings of rows with ends that do not fit: all together, or cut where these are last rows."""
    uncut = _uncut(whole, alone)
    all_rows = Reading("one video of all rows", uncut)
    if not isinstance(error, LastRowsError):
        return [all_rows]
    return [Reading("videos of which these are the last rows", _spans(whole, alone)), all_rows]


def _by_rows(whole: Episode, beside: Sequence[DatasetInfo], read: Read, *, declared: bool) -> Bounds | None:
    """Return what the rows say of their videos, if they are pictures, or a schema says that there are some."""
    if not declared and "image" not in [part.kind for part in whole.parts.values()]:
        return None
    bounds = find_by_rows(beside, whole.frame_count, read, any_end=declared)
    return bounds or (find_by_owners(beside, whole.frame_count, read) if declared else None)


def _refuse_first_rows(beside: Sequence[DatasetInfo], found: Found, read: Read) -> None:
    """Refuse a file in which numbers can be the first or last rows of videos, or rows that someone has chosen."""
    whole = found.episodes[0]
    lists = [info for info in beside if is_index(info)]
    bounds = find_first_rows(lists, whole.frame_count, read) if len(lists) == 1 else None  # several divide the rows
    if bounds is None or not all(part.path not in bounds.paths for part in whole.parts.values()):
        return
    uncut = _uncut(whole, alone=True)
    (path,) = bounds.paths
    numbers = read(path)
    which, there = ("last", "end") if numbers[0] else ("first", "begin")
    raise TwoReadingsError(
        f"{path!r} goes from {numbers[0]} to {numbers[-1]} beside {whole.frame_count} rows: the {which} rows of videos "
        "that lie end to end, or some of the rows",
        [
            Reading(
                f"{len(bounds.starts)} videos that {there} there",
                _spans(whole, alone=True, values=_all_values(beside, whole, bounds, alone=True)),
            ),
            Reading(
                "all rows together", replace(uncut, videos=("table",) if found.layout == "table" else uncut.videos)
            ),
        ],
    )


def _note_ends(
    filled: Sequence[Episode], beside: Mapping[int, Sequence[DatasetInfo]], found: Found, read: Read, tree: Tree
) -> None:
    """Say where flags, or columns, seem to end episodes within rows that are served as one table, or video."""
    for whole in filled[:_MOST_LOOKED_AT]:
        alone = len(found.episodes) == 1
        ends = _pairs_seen(whole, beside[id(whole)], read, alone=alone)
        ends = ends or _ends_seen(whole, beside[id(whole)], read, tree, alone=alone)
        own = tree.datasets.values() if alone else beside[id(whole)]
        ends = ends or line_of_unread(own, whole.frame_count, read)
        if ends:
            found.left_out[f"{whole.dataset_path} (episodes)"] = ends
            return


def _ends_seen(whole: Episode, beside: Sequence[DatasetInfo], read: Read, tree: Tree, *, alone: bool) -> str:
    """Return the line for rows that seem to be several episodes, with the schema that cuts there; empty if none do."""
    count = whole.frame_count
    if sums := find_sums(beside, count, read, _LEAST_LENGTHS):
        words = f"numbers that sum to their count, {' and '.join(map(repr, sums.paths))},"
        return _cut_line(words, sums, whole, beside, alone=alone)
    words, rows = "flags such as dones, terminals or timeouts", {(count,), (count, 1)}
    columns = [info for info in beside if info.shape in rows and info.kind is not ElementKind.VLEN_BYTES]
    if not columns:
        return ""
    try:
        bounds = from_flags(columns, count, read, any_end=True)
    except CatalogError as error:
        return f"{error}; until then a clip crosses their ends, in a file"
    if bounds is None:
        words = "names or numbers of videos or pictures, or numbers that begin anew,"
        bounds = find_by_rows(columns, count, read, any_end=True)
    if bounds is None:
        bounds = find_by_owners(columns, count, read)
        words = f"runs of {' and '.join(map(repr, sorted(bounds.paths)))}" if bounds else ""
    if bounds is None:
        turns = line_of_turns(columns, count, read, tree.attributed)
        return f"{turns}, in a file" if turns else ""
    return _cut_line(words, bounds, whole, beside, alone=alone)


def _pairs_seen(whole: Episode, beside: Sequence[DatasetInfo], read: Read, *, alone: bool) -> str:
    """Return the line for rows of which pairs of numbers bound some; empty if none do."""
    try:
        bounds = find_pairs_apart(beside, whole.frame_count, read)
    except CatalogError as error:
        return f"{error}; until then a clip crosses their ends, in a file"
    if bounds is None:
        return ""
    words = f"pairs of numbers, {' and '.join(map(repr, bounds.paths))},"
    return _cut_line(words, bounds, whole, beside, alone=alone)


def _cut_line(words: str, bounds: Bounds, whole: Episode, beside: Sequence[DatasetInfo], *, alone: bool) -> str:
    cut = in_one_line(_spans(whole, alone, _all_values(beside, whole, bounds, alone=alone)))
    return (
        f"{words} seem to end {len(bounds.starts)} episodes in these rows, and a clip crosses their ends; {cut} in a "
        "--schema cuts there, in a file"
    )


#: Videos of which it is said whether they seem to be several.
_MOST_LOOKED_AT = 8

#: So many numbers that sum to the rows by chance are too seldom to be said nothing of.
_LEAST_LENGTHS = 3


def _note_parts(parts: Sequence[DatasetInfo], filled: Sequence[Episode], found: Found, read: Read) -> None:
    """Say where shots, or such, divide the first video whose parts fit its rows."""
    alone = len(found.episodes) == 1
    for whole in filled[:_MOST_LOOKED_AT]:
        own = [info for info in parts if alone or info.parent == whole.root]
        remedy = in_one_line(_spans(whole, alone))
        if line := line_of_parts(own, whole.frame_count, read, remedy):
            found.left_out[f"{whole.dataset_path} (parts)"] = line
            return


def _beside(
    tree: Tree, filled: Sequence[Episode], unused: AbstractSet[str], *, alone: bool
) -> dict[int, list[DatasetInfo]]:
    """Return what can say where the videos of each sequence end: all of a file with one, or what lies in its group.

    What is called as another split is of no use to it: ``test_idx`` beside ``train_data``; nor are `unused`.
    """
    beside: dict[int, list[DatasetInfo]] = {id(episode): [] for episode in filled}
    splits = {id(episode): meaning_of(basename_of(episode.dataset_path)) for episode in filled}
    by_root: dict[str | None, Episode] = {episode.root: episode for episode in filled}
    for info in tree.datasets.values():
        whole = filled[0] if alone else owner_of(by_root, info.path)
        if whole is None or info.path in whole.helpers or not info.dtype or info.path in unused:
            continue
        if splits[id(whole)] is None or meaning_of(info.basename) in {splits[id(whole)], None}:
            beside[id(whole)].append(info)
    return beside


def _values(beside: Sequence[DatasetInfo], whole: Episode, bounds: Bounds, *, alone: bool) -> dict[str, DatasetInfo]:
    """Return the datasets with an entry for each of the videos, by key."""
    count = len(bounds.starts)
    if bounds.names and (np.diff(bounds.starts) < 0).any():
        return {}  # entries in the order of the rows, or in that of the names
    return {
        info.path if alone else key_in(whole.root, info.path): info
        for info in beside
        if info.shape[:1] == (count,) and _is_value(info, bounds, whole.frame_count)
    }


def _cut(
    whole: Episode,
    bounds: Bounds,
    values: Mapping[str, DatasetInfo],
    own: Sequence[Mapping[str, VideoField]],
    *,
    declared: bool,
) -> list[Episode]:
    taken = bounds.paths.union(*({part.path for part in each.values()} for each in own))
    short = short_of_rows(whole, bounds)
    kept = {
        key: part for key, part in whole.parts.items() if declared or (part.place not in taken and key not in short)
    }
    if whole.root and not declared:  # `spans` has no group of its own, so a schema names each by its path in the file
        kept = {key: replace(part, pattern=f"{VIDEO}/{key}") for key, part in kept.items()}
    episodes = []
    for number, (start, end) in enumerate(zip(bounds.starts.tolist(), bounds.ends.tolist(), strict=True)):
        parts = {
            key: part if part.kind == "value" else replace(part, first=part.first + start) for key, part in kept.items()
        }
        parts |= {key: value_of_row(info, number) for key, info in values.items()}
        parts |= {key: part for key, part in (own[number] if own else {}).items() if key not in parts}
        name = join(whole.name, bounds.names[number] if bounds.names else str(number))
        episodes.append(Episode(name, None, end - start, whole.dataset_path, parts, whole.helpers | bounds.paths))
    return episodes


def _spans(whole: Episode, alone: bool, values: Iterable[str] = ()) -> Schema:
    """Return the schema that cuts rows where their ends are found; `values`: paths of what has one entry a video."""
    uncut = _uncut(whole, alone)
    fields = [SchemaField(free_name(path), "value", (path,)) for path in values]
    return replace(uncut, videos=("spans",), fields=(*uncut.fields, *fields))


def _all_values(beside: Sequence[DatasetInfo], whole: Episode, bounds: Bounds, *, alone: bool) -> list[str]:
    """Return the paths of what has an entry for each video of a lone file, labels too, as a schema names them."""
    labels = [info.path for info in beside if info.basename in LABEL_NAMES and info.shape == bounds.starts.shape]
    return [*_values(beside, whole, bounds, alone=True), *labels] if alone else []


def _uncut(whole: Episode, alone: bool) -> Schema:
    """Return the schema that takes all rows for one video."""
    fields = [
        SchemaField(free_name(key) or "frames", part.kind, (path,), "", None if part.digits < 0 else part.shape)
        for key, part in whole.parts.items()
        for numbered in [part.pattern.replace(VIDEO, whole.root or "") if alone else part.pattern]
        for path in [numbered if part.digits >= 0 else part.path if alone else f"{VIDEO}/{key}"]
        if part.kind != "value" and not part.missing
    ]
    return Schema(("files",) if alone else ("groups",), tuple(fields))


def _is_value(info: DatasetInfo, bounds: Bounds, frame_count: int) -> bool:
    small = info.size_bytes <= MOST_VALUE_BYTES * max(1, info.shape[0]) and not is_vlen(info.dtype)
    labels = info.basename in LABEL_NAMES
    return small and not labels and info.path not in bounds.paths and info.shape[0] != frame_count
