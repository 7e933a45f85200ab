"""Videos that lie end to end in the same datasets, cut where the numbers beside them say that one ends."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from loader_service.catalog.inner_paths import basename_of, join, key_in
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.split_words import meaning_of
from loader_service.catalog.videos.beside.entries_by_name import values_by_name
from loader_service.catalog.videos.beside.fields_beside import value_of_row
from loader_service.catalog.videos.bounds.attribute_bounds import bounds_of_attributes, named_as_bounds
from loader_service.catalog.videos.bounds.bound_lists import Bounds
from loader_service.catalog.videos.bounds.bounds import find_bounds
from loader_service.catalog.videos.bounds.row_columns import find_by_rows
from loader_service.catalog.videos.bounds.row_marks import find_by_marks
from loader_service.catalog.videos.bounds.row_owners import find_by_owners
from loader_service.catalog.videos.bounds.unread_bounds import paths_of_parts
from loader_service.catalog.videos.episodes import Episode, Found, VideoField, owner_of
from loader_service.catalog.videos.readings import TwoReadingsError
from loader_service.catalog.videos.uncut_rows import (
    note_ends,
    note_parts,
    readings_of_misfits,
    refuse_first_rows,
    refuse_most_lost,
)
from loader_service.catalog.videos.whole_rows import WholeRows
from loader_service.errors import CatalogError
from loader_service.schema import VIDEO

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.bounds.bound_lists import Read


def cut_at_ends(hdf5: HDF5File, tree: Tree, found: Found, *, declared: bool = False) -> Found:
    """Return a file with each of its videos cut where it is many, end to end; as it is where none is.

    Arrays are cut with the frames; what has an entry for each of them is a value, unless a schema declares the fields.
    Where a file has several such videos, each says its ends in its own group, and all are cut or none.

    Raises
    ------
    TwoReadingsError
        When datasets that are named as ends, or such, do not fit.
    """
    filled = found.filled
    alone = len(found.episodes) == 1
    if found.layout == "vlen" or not filled or (not alone and any(not episode.root for episode in filled)):
        return found
    rows = {(each.frame_count,) for each in filled}
    parts = set() if declared else paths_of_parts(tree.datasets)
    parts = {path for path in parts if tree.datasets[path].shape[:1] not in rows}
    noted = named_as_bounds(tree)
    wholes = _wholes(tree, filled, hdf5.entries, tree.unwritten | parts, alone=alone)
    try:
        bounds = [
            find_bounds(each.beside, each.count, each.read, alone=alone, declared=declared)
            or bounds_of_attributes(noted, each.video, each.read, alone=alone)
            or _by_rows(each, declared=declared)
            for each in wholes
        ]
    except CatalogError as error:
        raise TwoReadingsError(str(error), readings_of_misfits(wholes[0], error)) from error
    if not any(each is not None and (alone or len(each.starts) > 1) for each in bounds):
        if alone and not declared:
            refuse_first_rows(wholes[0], found)
        if not declared:
            note_ends(wholes, found, tree)
        if parts:
            note_parts([tree.datasets[path] for path in sorted(parts)], wholes, found)
        return found
    if not declared:
        refuse_most_lost(wholes, bounds, found)
    return _cut_all(wholes, bounds, found, declared=declared)


def _cut_all(wholes: Sequence[WholeRows], bounds: Sequence[Bounds | None], found: Found, *, declared: bool) -> Found:
    episodes: list[Episode] = []
    used: set[str] = set()
    for whole, each in zip(wholes, bounds, strict=True):
        where = each or Bounds(np.zeros(1, np.int64), np.array([whole.count]), frozenset())
        values = {} if declared else whole.values(where)
        own = [] if declared else values_by_name(whole.beside, where, whole.count)
        episodes += _cut(whole, where, values, own, declared=declared)
        paths = {*where.paths, *(info.path for info in values.values())}
        paths |= {part.path for each in own for part in each.values()}
        used |= paths | {info.path for info in whole.beside if info.basename in LABEL_NAMES}
        used |= {key_in(whole.video.root, path) for path in paths}
    left_out = {key: reason for key, reason in found.left_out.items() if key not in used}
    for whole, each in zip(wholes, bounds, strict=True):
        left_out.update(() if each is None else whole.lines_of_cut(each))
    return Found("spans", episodes, left_out)


def _by_rows(whole: WholeRows, *, declared: bool) -> Bounds | None:
    """Return what the rows say of their videos, if they are pictures, or a schema says that there are some."""
    if not declared and "image" not in [part.kind for part in whole.video.parts.values()]:
        return None
    bounds = find_by_rows(whole.beside, whole.count, whole.read, any_end=declared)
    if bounds is None and declared:
        bounds = find_by_owners(whole.beside, whole.count, whole.read)
    marks = find_by_marks(whole.beside, whole.count, whole.read) if bounds is None and declared else None
    return marks.bounds if marks else bounds


def _wholes(
    tree: Tree, filled: Sequence[Episode], read: Read, unused: AbstractSet[str], *, alone: bool
) -> list[WholeRows]:
    """Return each sequence with what can say where its videos end: all of a file with one, or what lies in its group.

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
    return [WholeRows(episode, beside[id(episode)], read, alone) for episode in filled]


def _cut(
    rows: WholeRows,
    bounds: Bounds,
    values: Mapping[str, DatasetInfo],
    own: Sequence[Mapping[str, VideoField]],
    *,
    declared: bool,
) -> list[Episode]:
    whole = rows.video
    taken = bounds.paths.union(*({part.path for part in each.values()} for each in own))
    short = rows.short_keys(bounds)
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
