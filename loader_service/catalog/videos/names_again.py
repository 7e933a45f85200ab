"""Names of sequences that another group has again: those of videos with a field in each group, not of cameras. Pure.

So lie ``frames/anna`` and ``frames/bob`` beside ``labels/anna`` and ``labels/bob``. Names that say what is seen are
those of cameras wherever they are: ``images/left`` beside ``times/left``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_number, is_text, is_vlen
from loader_service.catalog.inner_paths import (
    basename_of,
    differing_parts,
    grouped,
    join,
    key_in,
    lies_in,
    parent_of,
    upwards,
)
from loader_service.catalog.videos.frame_axis import (
    are_numbered,
    are_of_cameras,
    have_numbers_or_ids,
    kind_of_rows,
    mention_fields,
)
from loader_service.catalog.videos.readings import Reading, TwoReadingsError
from loader_service.catalog.videos.sibling_groups import MOST_PARTS
from loader_service.schema import VIDEO, SchemaField

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.camera_readings import Sequences
    from loader_service.schema import FieldKind

    #: What groups hold under the names of sequences, by group: the paths of datasets, or groups, by name.
    Holders = dict[str, dict[str, str]]


def named_after(tree: Tree, counts: Mapping[str, int]) -> set[str]:
    """Return the datasets of other groups that have, or lie in what has, the name of a sequence, and its length.

    They are of that sequence alone. There are none where names say what is seen, or a group has but one of them.

    Parameters
    ----------
    tree
        What is in the file.
    counts
        The frames of each sequence, by its path.
    """
    lengths = {(basename_of(path), count - less) for path, count in counts.items() for less in (0, 1)}
    places = {place: name for held in _holders(tree, counts).values() for name, place in held.items()}
    return {
        info.path
        for info in (tree.datasets.values() if places else ())
        for place in upwards(info.path)
        if place in places and info.shape and (places[place], info.shape[0]) in lengths
    }


def are_recordings(words: Sequence[str]) -> bool:
    """Tell whether names of groups look like those of recordings: by numbers, or as ids without a word for a field."""
    return are_numbered(words) or (have_numbers_or_ids(words) and not mention_fields(words))


def with_fields_across(error: TwoReadingsError, tree: Tree, seen: Sequences) -> TwoReadingsError:
    """Return an error with one more reading, the first, where other groups have the names of sequences: as videos."""
    fields = _fields_across(tree, seen)
    if len(fields) < 2:
        return error
    return TwoReadingsError(
        error.found, [Reading.of_groups("videos with a field in each group", fields), *error.readings]
    )


def _holders(tree: Tree, paths: Collection[str]) -> Holders:
    """Return the groups that hold something of two names, or more, of sequences in others; none of names of cameras."""
    groups, names = set(map(parent_of, paths)), set(map(basename_of, paths))
    if len(names) < 2 or are_of_cameras(names):
        return {}
    held: Holders = {}
    for path in tree.datasets:
        for place in upwards(path):
            if basename_of(place) in names and parent_of(place) not in groups and not lies_in(place, paths):
                held.setdefault(parent_of(place), {})[basename_of(place)] = place
    return {group: members for group, members in held.items() if len(members) > 1}


def _fields_across(tree: Tree, seen: Sequences) -> list[SchemaField]:
    """Return a field for each group of sequences, and for each other one that holds something of all their names."""
    groups = grouped(seen.counts, parent_of)
    counts, *others = ({basename_of(path): seen.counts[path] for path in paths} for paths in groups.values())
    if len(counts) < 2 or any(each != counts for each in others) or len(groups) > MOST_PARTS:
        return []
    words = differing_parts(list(groups))
    if are_of_cameras(counts) or (others and (are_numbered(words) or not mention_fields(words))):
        return []  # recordings, or classes
    fields = []
    for group, paths in groups.items():
        kind: FieldKind = "array" if paths[0] in seen.maps else "image"
        whole = group and (others or paths[0] in tree.datasets)
        name = group or "frames"
        own = SchemaField.across(group, kind, name=name) if whole else None
        fields.append((name, own or seen.field(paths[0], "", in_group=True, name=name)))
    for group, held in _holders(tree, seen.counts).items():
        for inner in _shared_inside(tree, held) if held.keys() == counts.keys() else ():
            beside = _kind(tree, counts, {name: join(place, inner) for name, place in held.items()})
            name = join(group, inner)
            if beside:
                fields.append((name, SchemaField.at(join(join(group, VIDEO), inner), beside, name=name)))
    alike = Counter(basename_of(name) for name, _ in fields)
    return [replace(each, name=basename_of(n)) if alike[basename_of(n)] == 1 else each for n, each in fields]


def _shared_inside(tree: Tree, held: Mapping[str, str]) -> list[str]:
    """Return the paths at which all that a group holds by name has a dataset; an empty one where it is a dataset."""
    inside: dict[str, list[str]] = {place: [] for place in held.values()}
    for path in tree.datasets:
        for place in upwards(path):
            if place in inside:
                inside[place].append(key_in(place, path))
    first, *others = inside.values()
    return [key for key in first if all(key in each for each in others)] or [""]


def _kind(tree: Tree, counts: Mapping[str, int], paths: Mapping[str, str]) -> FieldKind | None:
    """Return what is at a path for each video, by its name; None where it fits no video, or is of no one kind."""
    kinds = {_kind_of(tree.datasets.get(path), counts[name]) for name, path in paths.items()}
    return kinds.pop() if len(kinds) == 1 else None


def _kind_of(info: DatasetInfo | None, count: int) -> FieldKind | None:
    if info is None or not info.dtype or is_vlen(info.dtype):
        return None
    if not info.shape:
        return "value" if is_number(info.dtype) or is_text(info.dtype) else None
    return kind_of_rows(info) if info.shape[0] == count else None
