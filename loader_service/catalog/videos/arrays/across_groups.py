"""Groups that are fields, with a dataset for each video in them: ``visual/v1`` beside ``audio/v1``. Pure.

In most files a video is a group, and its datasets are fields. Here it is the other way around, which the names tell:
words for the groups, numbers or ids for what is in them, and the same ones in each.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of, grouped, join, parent_of
from loader_service.catalog.sides import common_shape
from loader_service.catalog.videos.beside.fields_beside import array_part, single_part, small_value
from loader_service.catalog.videos.beside.single_entries import MATRICES
from loader_service.catalog.videos.frame_axis import are_fields, have_numbers_or_ids
from loader_service.catalog.videos.numbered import NumberedFrames, in_order
from loader_service.catalog.videos.readings import Reading, TwoReadingsError
from loader_service.catalog.videos.single_pictures import sides_of
from loader_service.schema import VIDEO, SchemaField

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.episodes import Episode, Found, VideoField


def beside_by_name(paths: Iterable[str], names: Collection[str], group: str, *, plain: bool = False) -> list[str]:
    """Return the groups beside one that hold datasets of all these names, which are numbers or ids; no numbered ones.

    Plain names say as much where all these groups are called as fields are: ``images/anna`` beside ``masks/anna``.

    Parameters
    ----------
    paths
        Of all datasets.
    names
        Of the datasets of a group that are videos.
    group
        That group.
    plain
        Whether plain names may say so.
    """
    wanted = set(names)
    called = have_numbers_or_ids(wanted)
    if len(wanted) < 2 or not (called or plain):
        return []
    held: dict[str, set[str]] = {}
    for path in paths:
        if basename_of(path) in wanted and parent_of(parent_of(path)) == parent_of(group):
            held.setdefault(parent_of(path), set()).add(basename_of(path))
    beside = sorted(each for each, names_there in held.items() if names_there == wanted and each != group)
    words = [basename_of(each) for each in [group, *beside]]
    return [] if not group or have_numbers_or_ids(words) or not (called or are_fields(words)) else beside


def by_number(groups: Mapping[str, Mapping[str, DatasetInfo]]) -> bool:
    """Tell whether datasets of groups are numbered alike, or have the same ids: samples, and no fields of groups.

    Those of one group have one form then: times beside ``h1_strain`` and ``l1_strain`` are fields.
    """
    first, *others = groups.values()
    alike = len({(info.dtype, len(info.shape)) for info in first.values()}) == 1
    names = [basename_of(group) for group in groups]
    plain = not have_numbers_or_ids(names)
    inside = have_numbers_or_ids(first)
    return plain and inside and alike and len(first) > 1 and all(set(each) == set(first) for each in others)


def add_across(tree: Tree, found: Found, encoded: Mapping[str, VideoField]) -> None:
    """Give each video that is a dataset what has its name in the groups beside its own.

    Parameters
    ----------
    encoded
        Sequences of encoded frames by path, as fields.

    Raises
    ------
    TwoReadingsError
        When what has its name is numbers of the same kind, and of another length.
    """
    filled = found.filled
    groups = {parent_of(episode.name) for episode in filled}
    if found.layout != "groups" or len(groups) != 1 or not all(map(_is_sequence, filled)):
        return
    (group,) = groups
    names = {basename_of(episode.name) for episode in filled}
    single = all(episode.frame_count == 1 for episode in filled)
    for other in beside_by_name({**tree.datasets, **encoded}, names, group, plain=single):
        key = basename_of(other)
        parts = [_part(tree, episode, join(other, basename_of(episode.name)), encoded) for episode in filled]
        if None not in parts and len({_form(part) for part in parts if part}) == 1:
            for episode, part in zip(filled, parts, strict=True):
                if part is not None:
                    episode.parts[key] = replace(part, pattern=join(other, VIDEO))
        elif all(_looks_alike(tree, episode, other) for episode in filled):
            raise samples_of_groups(tree.datasets.values(), [group, other])
    name_by_group(filled, group)


def _is_sequence(episode: Episode) -> bool:
    """Tell whether a video is one dataset, or the group of its frames."""
    return episode.root is None or episode.root == episode.dataset_path


def name_by_group(filled: Sequence[Episode], group: str) -> None:
    """Call what is each video by its group, where the videos have other fields from elsewhere."""
    if any("" in episode.parts and len(episode.parts) > 1 for episode in filled):
        for episode in filled:
            part = replace(episode.parts.pop(""), pattern=join(group, VIDEO))
            episode.parts = {basename_of(group): part, **episode.parts}


def add_values_across(tree: Tree, found: Found) -> None:
    """Give each video that is a group the value of its name in a group beside: ``target/7`` of the video ``7``."""
    filled = [episode for episode in found.episodes if episode.frame_count and episode.root]
    roots = [episode.root or "" for episode in filled]
    names = {basename_of(root): episode for root, episode in zip(roots, filled, strict=True)}
    above = {parent_of(root) for root in roots}
    if found.layout != "groups" or len(names) < 2 or len(names) < len(filled) or len(above) > 1:
        return
    values: dict[str, dict[str, VideoField]] = {}
    for info in tree.datasets.values():
        part = _value(info) if info.basename in names and parent_of(info.parent) in above else None
        if part is not None and info.parent not in roots:
            values.setdefault(info.parent, {})[info.basename] = part
    for group, parts in values.items():
        for name, part in parts.items() if len(parts) == len(names) else ():
            names[name].parts[basename_of(group)] = replace(part, pattern=join(group, VIDEO))


def _form(part: VideoField) -> tuple[object, ...]:
    return part.kind, part.missing, part.frames is None


def _part(tree: Tree, episode: Episode, path: str, encoded: Mapping[str, VideoField]) -> VideoField | None:
    """Return what has a video's name as a field of it: as many entries as frames, or one less, or one value."""
    if path in encoded:
        frames = encoded[path].frames
        return encoded[path] if frames is not None and frames.frame_count == episode.frame_count else None
    info = tree.datasets[path]
    if not info.shape:
        return _value(info)
    main = episode.parts.get("")
    if main is not None and main.info is not None and main.shape == main.info.shape:  # a single picture
        return single_part(info) if _is_map_of(main.info, info) else _value(info)
    part = array_part(info)
    if part is not None and info.shape[0] == episode.frame_count:
        return part
    if part is not None and info.shape[0] == episode.frame_count - 1 > 1:
        return replace(part, missing=1)
    return _value(info)


def _is_map_of(picture: DatasetInfo, info: DatasetInfo) -> bool:
    """Tell whether a dataset has the sides of a picture, or few maps of these sides, whichever of the two comes first.

    So does depth as MATLAB left it, ``(2, W, H)``.
    """
    sides = sides_of(picture) or picture.shape[:2]
    maps = len(info.shape) == len(sides) + 1 and info.shape[1:] in {sides, sides[::-1]}
    return info.shape[:2] == picture.shape[:2] or (maps and info.shape[0] <= _MOST_MAPS)


#: Maps of one picture, such as estimates of its depth.
_MOST_MAPS = 4


def _value(info: DatasetInfo) -> VideoField | None:
    return small_value(info) if info.shape in {(), (1,)} else None


def _looks_alike(tree: Tree, episode: Episode, group: str) -> bool:
    """Tell whether a dataset of a video's name has its type and as many axes, two at least, but another length."""
    main, other = (tree.datasets.get(path) for path in (episode.name, join(group, basename_of(episode.name))))
    if main is None or other is None:
        return False
    alike = main.dtype == other.dtype and len(main.shape) == len(other.shape) > 1
    return alike and main.shape[0] - other.shape[0] not in {0, 1}


def samples_of_groups(datasets: Iterable[DatasetInfo], groups: Sequence[str]) -> TwoReadingsError:
    """Return the error for groups that hold a dataset for each sample, whose first axes do not count the same."""
    shown, fields, wholes, infos = [], [], [], list(datasets)
    names = _names_of(groups)
    for group in groups:
        members = [info for info in infos if info.parent == group]
        shown.append(members[0].describe())
        if len({len(info.shape) for info in members}) == 1:
            sides = common_shape([info.shape for info in members])
            wholes.append(SchemaField.across(group, shape=sides, name=names[group]))
        ordered = in_order(members)
        if ordered is not None:
            fields.append(SchemaField.at(ordered.pattern, shape=members[0].shape, name=names[group]))
    numbered = [Reading.of_file("one video, of which each number is a frame", fields)]
    uneven = len(wholes) == len(groups) and any(0 in field.shape for field in wholes if field.shape)
    samples = [Reading.of_groups("samples of one frame, of sides that differ", wholes)]
    across = [SchemaField.across(group, name=names[group]) for group in groups]
    more = f" and as in {len(groups) - _MOST_SHOWN} more groups" if len(groups) > _MOST_SHOWN else ""
    return TwoReadingsError(
        f"found {' and '.join(shown[:_MOST_SHOWN])}{more}, named alike in each group",
        [
            *(numbered if len(fields) == len(groups) else []),
            *(samples if uneven else []),
            *_sample_a_group([info for info in infos if info.parent in names], len(groups)),
            Reading.of_groups("videos with a field in each group", across),
            Reading.of_groups("videos of their own", [SchemaField.in_group("")]),
        ],
    )


#: Groups that a message describes.
_MOST_SHOWN = 3


def _sample_a_group(infos: Sequence[DatasetInfo], groups: int) -> list[Reading]:
    """Return the reading of groups that hold fewer datasets than there are groups as a sample each."""
    by_name = {name: [info.shape for info in each] for name, each in grouped(infos, attrgetter("basename")).items()}
    axes = [{len(shape) for shape in shapes} for shapes in by_name.values()]
    if len(by_name) >= groups or any(len(each) > 1 for each in axes):
        return []
    fields = (SchemaField.in_group(name, shape=common_shape(shapes)) for name, shapes in by_name.items())
    return [Reading.of_groups("a sample a group, with a field for each name", fields)]


def _names_of(groups: Sequence[str]) -> dict[str, str]:
    """Return what fields of groups are called: as these are, or by their paths where several are called alike."""
    alike = Counter(map(basename_of, groups))
    return {group: basename_of(group) if alike[basename_of(group)] == 1 else group for group in groups}


def numbered_fields(
    found: Mapping[str, Sequence[NumberedFrames]],
) -> dict[str, list[tuple[str, NumberedFrames]]]:
    """Return, by the group above, the groups whose datasets are numbered alike and are fields of one video.

    Their forms differ, or, of those of one form, the names say what they are: classes of videos are alike, and named
    for something else.
    """
    above: dict[str, dict[str, NumberedFrames]] = {}
    for group, families in found.items():
        if group and len(families) == 1:
            above.setdefault(parent_of(group), {})[group] = families[0]
    fields: dict[str, list[tuple[str, NumberedFrames]]] = {}
    for parent, groups in above.items():
        sure = [each for each in groups.values() if each.looks_like_frames or each.members[0].shape in MATRICES]
        main = max(sure, key=lambda each: each.looks_like_frames, default=None)
        if main is None:
            continue
        count = len(main.members)
        kept = {
            group: frames
            for group, frames in groups.items()
            if frames.first_number == main.first_number and len(frames.members) in {count, count - 1}
        }
        words = [basename_of(group) for group in kept]
        forms = {group: (frames.members[0].dtype, frames.members[0].shape) for group, frames in kept.items()}
        counts = Counter(forms.values())
        alike = [group for group, form in forms.items() if counts[form] > 1]
        told = not alike or are_fields(alike)
        if len(kept) > 1 and told and not have_numbers_or_ids(words):
            fields[parent] = [(basename_of(group), frames) for group, frames in kept.items()]
    return fields
