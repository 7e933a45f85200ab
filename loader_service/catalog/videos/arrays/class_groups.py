"""Raw pictures, and sequences of such, in groups that words name, as classes are: of their own, or fields. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of, common_pattern, differing_parts, lies_in
from loader_service.catalog.sides import common_shape
from loader_service.catalog.videos.beside.fields_beside import single_part
from loader_service.catalog.videos.camera_readings import Sequences, cameras_or_videos
from loader_service.catalog.videos.cameras import refuse_alike_in_groups
from loader_service.catalog.videos.frame_axis import (
    DEVICE,
    are_ids,
    are_numbered,
    has_arrays,
    have_numbers_or_ids,
    have_roles,
    mention_what_is_seen,
    say_what_is_seen,
)
from loader_service.catalog.videos.names_again import named_after
from loader_service.catalog.videos.readings import Reading, TwoReadingsError
from loader_service.catalog.videos.sibling_groups import datasets_in, is_recording
from loader_service.schema import SchemaField

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.episodes import Found


def are_clips(tree: Tree, groups: Mapping[str, Mapping[str, DatasetInfo]]) -> bool:
    """Tell whether sequences of one length in groups are videos of their own, which only numbers or ids tell apart.

    They are cameras where a word for what is seen, numbered groups, or an array with an entry for each frame says so.
    Names that not all groups have say nothing.

    Raises
    ------
    TwoReadingsError
        When their names are words, and nothing says what these are, or numbers, and their lengths are those of cameras.
    """
    names = sorted(set.intersection(*map(set, groups.values())))
    if "" in groups or len(names) < 2 or _are_told(tree, groups, names):
        return False
    sets = {group: [members[name].path for name in names] for group, members in groups.items()}
    counts = {info.path: info.shape[0] for info in datasets_in(groups)}
    seen = Sequences(counts, set(counts))
    if are_numbered(names) or are_ids(names):
        refuse_alike_in_groups(sets, seen)
        return True
    raise cameras_or_videos(sets, seen, equal=True)


def _are_told(tree: Tree, groups: Mapping[str, Mapping[str, DatasetInfo]], names: Sequence[str]) -> bool:
    """Tell whether names, the groups, or arrays say that sequences are cameras of the video that their group is."""
    if have_roles(names) or say_what_is_seen(names) or any(map(DEVICE.search, names)):
        return True
    words = list(map(basename_of, groups)) if len(groups) == 1 else differing_parts(list(groups))
    recordings = have_numbers_or_ids(words) or all(map(is_recording, words))
    if recordings and not all(map(str.isdecimal, names)):
        return True
    counts = {info.path: info.shape[0] for info in datasets_in(groups)}
    own = {*counts, *named_after(tree, counts)}
    lengths = {next(iter(members.values())).shape[0] for members in groups.values()}
    return all(has_arrays(tree, length, own) for length in lengths)


def refuse_plain_names(groups: Mapping[str, Mapping[str, DatasetInfo]], datasets: Sequence[DatasetInfo]) -> None:
    """Refuse single pictures of one form whose names, plain words, are the same in several groups, named by words too.

    A group is a sample where a word for what is seen, its number or id, or what else lies in it says so.

    Parameters
    ----------
    groups
        Those that hold the pictures, by name.
    datasets
        All of the file.

    Raises
    ------
    TwoReadingsError
        With the schemas for a sample a group, and for a picture each.
    """
    infos = datasets_in(groups)
    names = list(next(iter(groups.values())))
    alike = len({(info.dtype, info.shape[2:]) for info in infos}) == 1
    said = have_roles(names) or mention_what_is_seen(names) or any(map(DEVICE.search, names))
    if len(names) < 2 or not alike or said or have_numbers_or_ids(differing_parts(list(groups))):
        return
    held = {info.path for info in infos}
    if "" in groups or any(info.path not in held and lies_in(info.path, groups) for info in datasets):
        return
    kind = single_part(infos[0]).kind
    shapes = {name: common_shape([members[name].shape for members in groups.values()]) for name in names}
    fields = [SchemaField.in_group(name, kind, shape) for name, shape in shapes.items()]
    each = SchemaField.in_group("", kind, common_shape([info.shape for info in infos]), name="frames")
    raise TwoReadingsError(
        f"found pictures {' and '.join(map(repr, names[:2]))} in {len(groups)} groups such as {next(iter(groups))!r}",
        [
            Reading.of_groups("one sample a group, of single pictures", fields),
            Reading.of_groups("pictures of their own, such as of a class", [each]),
        ],
    )


def refuse_names_of_groups(found: Found) -> None:
    """Refuse videos of raw numbered pictures whose names have the word of their group: ``cat/cat.0.jpg``.

    Nothing but the number is the same in all, so they share no field.

    Raises
    ------
    TwoReadingsError
        With the schemas for a picture each, and for a video of each group.
    """
    filled = found.filled
    parts = [part for episode in filled for part in episode.timed.values()]
    numbered = all(part.digits >= 0 and len(part.shape) > 1 for part in parts)
    groups = [episode.root or "" for episode in filled]
    if found.layout != "groups" or not 1 < len(filled) == len(parts) or not numbered or not all(groups):
        return
    named = all(basename_of(root) in basename_of(part.path) for root, part in zip(groups, parts, strict=True))
    if not named or len({key for episode in filled for key in episode.timed}) < len(parts):
        return
    kind, sides = parts[0].kind, common_shape([part.shape for part in parts])
    raise TwoReadingsError(
        f"found numbered pictures such as {parts[0].path!r} in {len(groups)} groups, called as these are",
        [
            Reading.of_groups(
                "pictures of their own, such as of a class (with --label '{group}')",
                [SchemaField.across(common_pattern(groups), kind, sides, name="frames")],
            ),
            Reading.of_groups("a video of each group", [SchemaField.in_group("*", kind, sides, name="frames")]),
        ],
    )
