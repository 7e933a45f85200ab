"""The readings of arrays in groups beside each other: a sample or video a group, or a field in each. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of, grouped
from loader_service.catalog.sides import common_shape
from loader_service.catalog.videos.arrays.across_groups import by_number
from loader_service.catalog.videos.arrays.array_readings import rivals
from loader_service.catalog.videos.arrays.number_readings import frames_of_groups
from loader_service.catalog.videos.beside.single_entries import MATRICES
from loader_service.catalog.videos.frame_axis import are_numbered, have_numbers_or_ids
from loader_service.catalog.videos.readings import Reading, TwoReadingsError
from loader_service.catalog.videos.sibling_groups import datasets_in, shared_names, sibling_groups
from loader_service.schema import SchemaField

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo

    #: Datasets by their path inside, by group.
    Groups = Mapping[str, Mapping[str, DatasetInfo]]


def with_groups(error: TwoReadingsError, groups: Groups) -> TwoReadingsError:
    """Return an error with what groups may be besides: fields, where their datasets have ids; else samples, or videos.

    `groups` may be empty: then there are no others.
    """
    if not groups:
        return error
    if by_number(groups):
        return with_fields_of_groups(error, groups)
    whole = with_whole_groups(TwoReadingsError(error.found, [*videos_of_groups(groups), *error.readings]), groups)
    return with_fields_of_groups(whole, groups) if are_paired(groups) else whole


def are_paired(groups: Groups) -> bool:
    """Tell whether groups that words name hold datasets of the same names and one form, each as long as its like.

    Their lengths differ: ``rgb/v_abc`` and ``flow/v_abc`` beside longer ones.
    """
    first, *others = ({name: info.shape[0] for name, info in members.items()} for members in groups.values())
    alike = len({(info.dtype, len(info.shape)) for info in datasets_in(groups)}) == 1
    plain = not have_numbers_or_ids(map(basename_of, groups))
    return bool(others) and alike and plain and len(set(first.values())) > 1 and all(each == first for each in others)


def with_whole_groups(error: TwoReadingsError, groups: Groups) -> TwoReadingsError:
    """Return an error with one more reading: each group is one sample, of all arrays that all groups have."""
    first = next(iter(groups.values()))
    shapes = {name: [each[name].shape for each in groups.values()] for name in shared_names(groups)}
    fields = (
        SchemaField.in_group(name, shape=common_shape(each))
        for name, each in shapes.items()
        if len({len(shape) for shape in each}) == 1
    )
    whole = Reading.of_groups("one sample a group, of arrays of any length", fields)
    return TwoReadingsError(error.found, [whole, *_each_inner_group(first), *error.readings])


def _each_inner_group(members: Mapping[str, DatasetInfo]) -> list[Reading]:
    """Return the reading of groups inside a group as a video each, if all hold the same names: ``water/set.000``.

    They lie in it, or below it, and hold all of it, at any depth: ``Walking/pose`` beside ``Walking/views/left``.
    `members`: by their paths inside the group.
    """
    for depth in range(1, max(path.count("/") for path in members) + 1):
        inner: dict[str, dict[str, DatasetInfo]] = {}
        for path, info in members.items():
            parts = path.split("/")
            if len(parts) > depth:
                inside = "/".join(parts[depth:])
                inner.setdefault(info.path.removesuffix(f"/{inside}"), {})[inside] = info
        first, *others = inner.values()
        if others and len(first) > 1 and all(each.keys() == first.keys() for each in others):
            return _by_length(next(iter(inner)), first)
    return []


def _by_length(group: str, members: Mapping[str, DatasetInfo]) -> list[Reading]:
    """Return the readings of a group, and of those beside it, as a video each: of the arrays of each length."""
    lengths = grouped(members, lambda name: members[name].shape[0])
    readings = []
    for names in sorted(lengths.values(), key=lambda names: -sum(members[name].size_bytes for name in names)):
        rows = f", with the rows of {names[0]!r}" if len(lengths) > 1 else ""
        words = f"a video each of the groups such as {group!r}{rows}"
        readings.append(Reading.of_groups(words, map(SchemaField.in_group, names)))
    return readings[:_MOST_LENGTHS]


#: Lengths of which a reading is shown, those of the most bytes first.
_MOST_LENGTHS = 2


def with_fields_of_groups(error: TwoReadingsError, groups: Groups) -> TwoReadingsError:
    """Return an error with one more reading, where all groups hold the same names: videos, a field in each group."""
    first, *others = groups.values() or [{"/": None}]
    if any("/" in name for name in first) or any(set(each) != set(first) for each in others):
        return error
    videos = Reading.of_groups("videos with a field in each group", map(SchemaField.across, groups))
    wholes = [
        SchemaField.across(group, shape=common_shape(shapes))
        for group, members in groups.items()
        for shapes in [[info.shape for info in members.values()]]
        if len(set(map(len, shapes))) == 1
    ]
    samples = Reading.of_groups("samples with an array in each group", wholes)
    return TwoReadingsError(error.found, [videos, samples, *error.readings])


def videos_of_groups(groups: Groups) -> list[Reading]:
    """Return the reading of groups as videos with the rows of their largest array of two axes or more."""
    first, shared = next(iter(groups.values())), shared_names(groups)
    deep = {name: sum(each[name].size_bytes for each in groups.values()) for name in shared if first[name].shape[1:]}
    if not deep:
        return []
    main = max(deep, key=lambda name: deep[name])
    timed = [name for name in shared if all(each[name].shape[0] == each[main].shape[0] for each in groups.values())]
    return [Reading.of_groups(f"a video each group, with the rows of {main!r}", map(SchemaField.in_group, timed))]


def refuse_numbered_parts(groups: Groups) -> None:
    """Refuse groups of sequences of one form, two axes at least, which only numbers tell apart: parts, or videos each.

    Raises
    ------
    TwoReadingsError
        With the schemas for both.
    """
    infos = datasets_in(groups)
    forms = {(info.dtype, info.shape[1:]) for info in infos}
    if len(forms) > 1 or not infos[0].shape[1:] or not are_numbered(map(basename_of, next(iter(groups.values())))):
        return
    error = TwoReadingsError(
        f"found {infos[0].describe()} and {len(infos) - 1} more of its form in {len(groups)} groups, which only "
        "numbers tell apart",
        [
            *frames_of_groups(infos),
            Reading.of_groups("videos of their own", [SchemaField.in_group("")]),
            Reading.of_groups(
                "one video a group, with a field for each number", map(SchemaField.in_group, shared_names(groups))
            ),
        ],
    )
    raise with_whole_groups(error, groups)


def refuse_channels_of_volumes(arrays: Sequence[DatasetInfo]) -> None:
    """Refuse an array whose entries have the whole form of a volume beside it: its first axis is channels, perhaps.

    So is a scan ``(modalities, depth, height, width)`` beside its segmentation. Rows are rows where something else has
    an entry for each; a matrix of the scanner, of as many lines, says nothing.

    Raises
    ------
    TwoReadingsError
        With the schemas for rows of either, and for one sample.
    """
    volumes = [info for info in arrays if len(info.shape) > _AXES_OF_A_MAP]
    forms = {(info.parent, info.shape) for info in volumes}
    for info in volumes:
        if (info.parent, info.shape[1:]) not in forms:
            continue  # looked up: a group may hold thousands
        beside = [each for each in arrays if each.parent == info.parent and each.path != info.path]
        wholes = [each for each in beside if each.shape == info.shape[1:] and len(each.shape) > _AXES_OF_A_MAP]
        rows = [each for each in beside if each.shape[:1] == info.shape[:1] and each.shape not in MATRICES]
        if wholes and not rows:
            groups = sibling_groups(volumes) or {}
            raise with_groups(rivals([info, *wholes], info.parent if groups else None), groups)


#: What has no more axes may be a mean of pictures, or a mask of their detector.
_AXES_OF_A_MAP = 2
