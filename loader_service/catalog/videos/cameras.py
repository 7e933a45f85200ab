"""Which sequences of pictures are cameras of one video: by their paths and lengths, and what lies beside them. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from loader_service.catalog.codecs import DEPTH
from loader_service.catalog.inner_paths import (
    basename_of,
    common_group,
    differing_parts,
    grouped,
    key_in,
    lies_in,
    parent_of,
)
from loader_service.catalog.layouts.layout import claimed_by
from loader_service.catalog.natural import words_before_times
from loader_service.catalog.videos.camera_readings import (
    Cameras,
    Sequences,
    cameras_or_videos,
    parts_of,
    parts_or_videos,
)
from loader_service.catalog.videos.frame_axis import (
    DEVICE,
    are_ids,
    are_numbered,
    are_parts,
    has_arrays,
    have_numbers_or_ids,
    have_roles,
    say_what_is_seen,
)
from loader_service.catalog.videos.names_again import are_recordings, named_after, with_fields_across
from loader_service.catalog.videos.readings import TwoReadingsError
from loader_service.catalog.videos.sibling_groups import MOST_PARTS, is_recording

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from loader_service.catalog.hdf5.tree import Tree
    from loader_service.catalog.layouts.layout import FoundVideo

_NUMBER = re.compile(r"[0-9]")

#: More sequences of one video than these are no cameras, unless their names are words.
_MOST_NUMBERED = 16


def camera_sets(tree: Tree, found: Sequence[FoundVideo]) -> Cameras:
    """Return the cameras of each video among sequences of encoded frames; nothing where each is a video of its own.

    Raises
    ------
    TwoReadingsError
        When sequences beside each other can be either.
    """
    counts = {video.dataset_path: video.frame_count for video in found}
    if tree.is_packed:
        packed = grouped(counts, lambda path: parent_of(path) if path in tree.datasets else path)
        return packed if len(packed) < len(counts) else {}
    if found[1:] and set(counts.values()) == {1} and _are_of_times(counts):
        return {}
    own = claimed_by(found)
    seen = Sequences(counts, own, {video.dataset_path for video in found if video.codec is DEPTH}, found=found)
    try:
        return find_cameras(tree, seen) or _beside_each_other(tree, seen)
    except TwoReadingsError as error:
        raise with_fields_across(error, tree, seen) from error.__cause__


def _are_of_times(paths: Iterable[str]) -> bool:
    """Tell whether pictures of each group are called by words and times, and are no cameras for that."""
    groups = [list(map(basename_of, each)) for each in grouped(paths, parent_of).values()]
    return all(map(words_before_times, groups))


def find_cameras(tree: Tree, seen: Sequences) -> Cameras:
    """Return the cameras of each video, where names say that they are such; the highest group that fits is the video.

    Raises
    ------
    TwoReadingsError
        When names are those of cameras, with a number each, and nothing else tells whether they are.
    """
    counts = seen.counts
    for sets in _by_height(counts):
        names = [{key_in(root, path) for path in paths} for root, paths in sets.items()]
        if len(names[0]) < 2 or any(each != names[0] for each in names):
            continue
        varying = _varying(names[0])
        if not (varying and all(map(_are_cameras, varying))) and not _lie_apart(sets, names[0]):
            continue
        equal = all(len({counts[path] for path in paths}) == 1 for paths in sets.values())
        numbered = any(map(are_numbered, varying))  # of devices, but perhaps of videos
        if numbered and set(counts.values()) == {1}:
            continue  # numbers of pictures
        told = _are_told(tree, sets, seen)
        grouped = _are_groups(names[0])
        if equal and (told or not (numbered or grouped)):
            return {common_group(paths): paths for paths in sets.values()}
        if equal and all(map(parts_of, sets.values())):
            raise parts_or_videos(tree, sets, seen)
        if numbered or grouped or ((told or _are_parts_of_more(tree, sets)) and not equal):
            raise cameras_or_videos(sets, seen, equal=equal)
    return {}


def _lie_apart(sets: Cameras, keys: Collection[str]) -> bool:
    """Tell whether groups that numbers tell apart hold the same sequences, at several depths: ``a``, ``gt/b``."""
    depths = {key.count("/") for key in keys}
    return len(depths) > 1 < len(sets) and are_numbered(differing_parts(list(sets)))


def _by_height(counts: Mapping[str, int]) -> Iterator[Cameras]:
    """Yield the sequences by each group that may be their video, the highest first."""
    for depth in range(min((path.count("/") + 1 for path in counts), default=0)):
        yield grouped(counts, lambda path: "/".join(path.split("/")[:depth]))  # noqa: B023 - called at once


def _varying(paths: Collection[str]) -> list[set[str]]:
    """Return the names at each place at which paths differ; nothing if they have other depths."""
    parts = [path.split("/") for path in sorted(paths)]
    if len({len(each) for each in parts}) > 1:
        return []
    return [names for names in map(set, zip(*parts, strict=True)) if len(names) > 1]


def _are_cameras(names: Collection[str]) -> bool:
    """Tell whether names can be those of cameras: words for what is seen, or numbers behind a device."""
    if are_numbered(names):
        return len(names) <= _MOST_NUMBERED and (all(map(DEVICE.search, names)) or are_parts(names))
    return have_roles(names)


def _are_groups(names: Collection[str]) -> bool:
    """Tell whether it is groups that differ, by words that classes have too: ``left/frames``, ``right/frames``."""
    groups = [name.rpartition("/")[0] for name in names]
    return len(set(groups)) > 1 and not all(map(DEVICE.search, groups))


def _are_told(tree: Tree, sets: Cameras, seen: Sequences) -> bool:
    """Tell whether more than names says that they are cameras: arrays, other lengths elsewhere, or numbered groups.

    A lone group that is called as a recording is one, as it is beside others.
    """
    counts = seen.counts
    if len(sets) == 1 and _is_called_recording(common_group(next(iter(sets.values())))):
        return True
    if len(sets) > 1:
        parents = differing_parts(list(sets))
        if len({counts[paths[0]] for paths in sets.values()}) > 1 or have_numbers_or_ids(parents):
            return True
    # What lies in the group of a part would also lie there if each were recorded apart.
    inside = tuple(f"{group}/" for paths in sets.values() for group in parts_of(paths))
    own = {*seen.own, *(path for path in tree.datasets if path.startswith(inside))} if inside else seen.own
    return all(has_arrays(tree, counts[paths[0]], own) for paths in sets.values())


def _is_called_recording(group: str) -> bool:
    """Tell whether a number or a word in a group's name says that it is one of several recordings: ``run0``."""
    name = basename_of(group)
    return bool(_NUMBER.search(name)) or is_recording(name)


def _are_parts_of_more(tree: Tree, sets: Cameras) -> bool:
    """Tell whether other recordings, of whatever length, lie beside groups of sequences of a file: a log of sensors."""
    groups = tuple(f"{path.rpartition('/')[0]}/" for path in sets.get("", ()) if "/" in path)
    others = [info for info in tree.datasets.values() if info.shape and not info.path.startswith(groups)]
    return bool(groups) and any("/" in info.path and info.dtype for info in others)


def cameras_of_numbered(tree: Tree, seen: Sequences) -> Cameras:
    """Return the cameras of each video among groups of raw numbered frames; nothing where each is a video of its own.

    Groups of plain names and one length are classes here.

    Raises
    ------
    TwoReadingsError
        When names, or arrays, say that they are cameras, and lengths that they are not.
    """
    try:
        return find_cameras(tree, seen) or _beside_each_other(tree, seen, classes=True)
    except TwoReadingsError as error:
        raise with_fields_across(error, tree, seen) from error.__cause__


def _beside_each_other(tree: Tree, seen: Sequences, *, classes: bool = False) -> Cameras:
    """Return the cameras of each group whose names do not say that they are such, or of which a group lacks some.

    `classes`: groups that nothing tells from classes are such, and not asked about.
    """
    counts = seen.counts
    if len(counts) > 1:
        _refuse_groups_beside_arrays(tree, seen)
    sets = grouped(counts, parent_of)
    names = [frozenset(map(basename_of, paths)) for paths in sets.values()]
    equal = all(len({counts[path] for path in paths}) == 1 for paths in sets.values())
    if len(set(names)) > 1:
        lack = have_roles(set[str]().union(*names)) and bool(set.intersection(*map(set, names)))
        arrays = all(has_arrays(tree, counts[paths[0]], seen.own) for paths in sets.values())
        return sets if lack and equal and arrays else {}
    if len(names[0]) < 2:
        return {}
    numbered = are_numbered(names[0])
    if numbered and not (equal and _are_few_beside_arrays(tree, sets, seen)):
        refuse_alike_in_groups(sets, seen)
        return {}  # video0, video1, … are videos, however alike, unless something else has an entry for each frame
    parents = differing_parts(list(sets))
    named = set[str]() if numbered else named_after(tree, counts)
    roles = have_roles(names[0]) or has_arrays(tree, next(iter(counts.values())), {*seen.own, *named})
    told = roles or have_numbers_or_ids(parents)
    if equal and (roles or are_recordings(parents)) and not numbered:
        if not roles and _are_own_ids(names[0]):
            raise cameras_or_videos(sets, seen, equal=True)
        return sets
    lengths = [[counts[path] for path in paths] for paths in sets.values()]
    between = not any(map(_NUMBER.search, names[0])) and all(max(each) - min(each) <= 1 for each in lengths)
    alike = equal or between or say_what_is_seen(names[0]) or bool(named)
    if not told and ((classes and not named) or are_ids(names[0]) or set(counts.values()) == {1} or not alike):
        return {}
    raise cameras_or_videos(sets, seen, equal=equal)


def _are_own_ids(names: Collection[str]) -> bool:
    """Tell whether names look like ids, as of utterances of each speaker, and no word calls them devices."""
    return are_ids(names) and not any(map(DEVICE.search, names))


def refuse_alike_in_groups(sets: Cameras, seen: Sequences) -> None:
    """Refuse sequences named by a number alone, the same in each group, whose lengths differ between groups alone.

    So cameras of recordings are, and videos hardly by chance.

    Raises
    ------
    TwoReadingsError
        With the schemas for both.
    """
    lengths = [{seen.counts[path] for path in paths} for paths in sets.values()]
    differ = all(len(each) == 1 for each in lengths) and len(set[int]().union(*lengths)) > 1
    if differ and have_same_numbers(sets):
        raise cameras_or_videos(sets, seen, equal=True)


def have_same_numbers(sets: Cameras) -> bool:
    """Tell whether the sequences of each group are named by a number alone, the same few in all of them."""
    names = {frozenset(map(basename_of, paths)) for paths in sets.values()}
    few = all(1 < len(each) <= _MOST_NUMBERED and all(map(str.isdecimal, each)) for each in names)
    return few and len(names) == 1


def _refuse_groups_beside_arrays(tree: Tree, seen: Sequences) -> None:
    """Refuse sequences of one length in few groups that words tell apart, beside arrays of that length, in each video.

    Arrays with an entry for each group are of these, and no rows of all.
    """
    counts = seen.counts
    for sets in _by_height(counts):
        keys = [{key_in(root, path) for path in paths} for root, paths in sets.items()]
        places = _varying(keys[0]) if 1 < len(keys[0]) <= MOST_PARTS and keys.count(keys[0]) == len(keys) else []
        if len(places) != 1 or {basename_of(key) for key in keys[0]} == places[0]:
            continue
        lengths = [{counts[path] for path in paths} for paths in sets.values()]
        if have_numbers_or_ids(places[0]) or any(len(each) > 1 or each & {1, len(keys[0])} for each in lengths):
            return
        groups = set(map(parent_of, counts))
        own = {*seen.own, *(path for path in tree.datasets if lies_in(path, groups))}
        if all(has_arrays(tree, max(each), own) for each in lengths):
            raise cameras_or_videos(sets, seen, equal=True)


def _are_few_beside_arrays(tree: Tree, sets: Cameras, seen: Sequences) -> bool:
    """Tell whether sequences of several frames are as few as cameras, and arrays have an entry for each of theirs.

    What lies in a group with the name of one of them is of that one alone: ``labels/v0/actions`` beside ``frames/v0``.
    """
    few = all(len(paths) <= _MOST_NUMBERED for paths in sets.values()) and set(seen.counts.values()) != {1}
    names = {basename_of(path) for paths in sets.values() for path in paths} if few else set()
    of_one = {path for path in tree.datasets if not names.isdisjoint(path.split("/")[:-1])} if few else set()
    return few and all(has_arrays(tree, seen.counts[paths[0]], {*seen.own, *of_one}) for paths in sets.values())
