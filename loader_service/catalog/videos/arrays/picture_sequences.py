"""Sequences of raw pictures: cameras of a video, or a video for each group that holds some. Sees paths and shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.hdf5.tree import in_groups
from loader_service.catalog.inner_paths import basename_of, common_group, grouped, key_in, lies_in, parent_of
from loader_service.catalog.natural import natural_key
from loader_service.catalog.videos.arrays.array_readings import unequal
from loader_service.catalog.videos.arrays.class_groups import are_clips
from loader_service.catalog.videos.beside.fields_beside import array_part
from loader_service.catalog.videos.camera_readings import Sequences
from loader_service.catalog.videos.cameras import find_cameras
from loader_service.catalog.videos.episodes import Episode, Found, VideoField, find_roots, found_of
from loader_service.catalog.videos.frame_axis import have_numbers_or_ids, is_picture
from loader_service.catalog.videos.names_again import with_fields_across
from loader_service.catalog.videos.readings import Reading, TwoReadingsError
from loader_service.catalog.videos.sibling_groups import MOST_PARTS
from loader_service.schema import SchemaField

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree


def of_cameras(tree: Tree, pictures: Sequence[DatasetInfo]) -> Found | None:
    """Return a video for each group whose sequences of pictures are its cameras; None for those of a table.

    What lies in the root group itself are columns of a table.
    """
    counts = {info.path: info.shape[0] for info in pictures}
    sets = find_cameras(tree, Sequences(counts, set(counts)))
    if not sets or any("/" not in path for path in sets.get("", ())):
        return None
    _refuse_beside_arrays(
        tree, {root: {key_in(root, path): tree.datasets[path] for path in paths} for root, paths in sets.items()}
    )
    return _of_roots(tree, {root: paths[0] for root, paths in sets.items()})


def _of_roots(tree: Tree, mains: Mapping[str, str]) -> Found:
    """Return a video for each group, or one above, given the path of a sequence in each; a lone group is the file."""
    infos = [tree.datasets[path] for path in mains.values()]
    if len(mains) == 1 and common_group([info.parent for info in tree.datasets.values()]) not in mains:
        return Found("files", [of_dataset("", infos[0])])
    roots = find_roots(tree, list(mains), [info.shape[0] for info in infos])
    return found_of([of_dataset(root, info) for root, info in zip(roots, infos, strict=True)])


def of_pictures(tree: Tree, pictures: Sequence[DatasetInfo]) -> Found | None:
    """Return a video for each group that holds sequences of pictures of the same names; a lone group is the file.

    Of clips in groups of classes, it is a video for each.

    Raises
    ------
    TwoReadingsError
        When lengths differ, or names are words, and nothing says what these are.
    """
    counts = {info.path: info.shape[0] for info in pictures}
    try:
        return _in_groups(tree, pictures)
    except TwoReadingsError as error:
        raise with_fields_across(error, tree, Sequences(counts, set(counts))) from error.__cause__


def _in_groups(tree: Tree, pictures: Sequence[DatasetInfo]) -> Found | None:
    groups: dict[str, dict[str, DatasetInfo]] = {}
    for info in pictures:
        groups.setdefault(info.parent, {})[info.basename] = info
    shared = set.intersection(*(set(members) for members in groups.values())) if groups else set()
    if not shared or set(groups) == {""}:
        return None
    for members in groups.values():
        lengths = {info.shape[0]: info for info in members.values()}
        if len(lengths) > 1:
            raise unequal(list(lengths.values()), grouped=len(groups) > 1)
    _refuse_beside_arrays(tree, groups)
    if are_clips(tree, groups):
        infos = [info for members in groups.values() for info in members.values()]
        return found_of([Episode(info.path, None, info.shape[0], info.path, parts_of(None, info)) for info in infos])
    main = min(sorted(shared, key=natural_key))
    return _of_roots(tree, {group: members[main].path for group, members in groups.items()})


def _refuse_beside_arrays(tree: Tree, groups: Mapping[str, Mapping[str, DatasetInfo]]) -> None:
    """Refuse groups of one length that words tell apart, beside arrays of that length, in each group above them.

    So lie what is seen and what is seen next, beside actions. Arrays with an entry for each group are of these.
    """
    above = grouped(groups, parent_of)
    names = {frozenset(map(basename_of, each)) for each in above.values()}
    (parts,) = names if len(names) == 1 else (frozenset[str](),)
    if "" in groups or not 1 < len(parts) <= MOST_PARTS or have_numbers_or_ids(parts):
        return
    beside = {
        root: [info for info in members if info.dtype and info.shape]
        for root, members in _outside(tree, groups).items()
    }
    if len(above) == 1:
        beside = {root: [info for members in beside.values() for info in members] for root in above}
    aligned = {root: _of_length(groups, each, beside.get(root, ())) for root, each in above.items()}
    if all(aligned.values()):
        raise _parts_or_videos(groups, above, aligned)


def _outside(tree: Tree, groups: Collection[str]) -> dict[str, list[DatasetInfo]]:
    return in_groups(info for info in tree.datasets.values() if not lies_in(info.path, groups))


def _of_length(
    groups: Mapping[str, Mapping[str, DatasetInfo]], parts: Sequence[str], arrays: Sequence[DatasetInfo]
) -> list[DatasetInfo]:
    """Return the arrays that are as long as all of some groups are; none where these differ, or are as many."""
    lengths = {info.shape[0] for group in parts for info in groups[group].values()}
    if len(lengths) > 1 or lengths & {1, len(parts)}:
        return []
    return [info for info in arrays if info.shape[0] in lengths]


def _parts_or_videos(
    groups: Mapping[str, Mapping[str, DatasetInfo]],
    above: Mapping[str, Sequence[str]],
    aligned: Mapping[str, Sequence[DatasetInfo]],
) -> TwoReadingsError:
    root, parts = next(iter(above.items()))
    inside = [info for group in parts for info in groups[group].values()]
    field = SchemaField.in_group if root or len(above) > 1 else SchemaField.at
    fields = [field(key_in(root, info.path), "image") for info in inside]
    fields += [field(key_in(root, info.path), "array") for info in aligned[root]]
    first = groups[parts[0]]
    length, beside = inside[0].shape[0], aligned[root][0].path
    return TwoReadingsError(
        f"found groups of {length} frames each, {parts[0]!r} and {parts[1]!r}, beside {beside!r} of that length, parts "
        "of one video or videos of their own",
        [
            Reading.of("groups" if root or len(above) > 1 else "files", "one video with a field for each", fields),
            Reading.of_groups("videos of their own", [SchemaField.in_group(name, "image") for name in first]),
        ],
    )


def of_dataset(root: str, info: DatasetInfo) -> Episode:
    """Return the video of one dataset, in the group that is it."""
    parts = parts_of(root, info)
    return Episode(root, root, info.shape[0] if parts else 0, info.path, parts)


def parts_of(root: str | None, info: DatasetInfo) -> dict[str, VideoField]:
    """Return a dataset as the only part of its video so far; nothing if it is none."""
    part = array_part(info)
    return {} if part is None else {key_in(root, info.path): part}


def tails_of(arrays: Sequence[DatasetInfo]) -> dict[str, tuple[int, ...]]:
    """Return what arrays have behind their first axis, by path; sides 0 for pictures that numbers or ids tell apart.

    A video has any sides, and the next one others.
    """
    tails = {info.path: info.shape[1:] for info in arrays}
    for members in in_groups(filter(is_picture, arrays)).values():
        names = [info.basename for info in members]
        if have_numbers_or_ids(names):
            tails |= {info.path: (0, 0, info.shape[3]) for info in members}
    return tails
