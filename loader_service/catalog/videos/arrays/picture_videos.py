"""Files of single pictures as videos of one frame: a picture, or a group of them, each. Pure: sees paths and shapes."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from loader_service.catalog.hdf5.tree import in_groups
from loader_service.catalog.inner_paths import basename_of, key_in, parent_of
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.natural import are_days, are_moments, words_before_times
from loader_service.catalog.sides import common_shape
from loader_service.catalog.videos.arrays.across_groups import by_number
from loader_service.catalog.videos.arrays.array_readings import frames_with_gaps, one_sample, rows_or_pictures
from loader_service.catalog.videos.arrays.class_groups import refuse_plain_names
from loader_service.catalog.videos.arrays.names_with_gaps import count_with_gaps
from loader_service.catalog.videos.arrays.number_readings import frames_of_groups
from loader_service.catalog.videos.arrays.pictures_apart import samples_of_groups
from loader_service.catalog.videos.arrays.recordings_by_times import videos_of_times
from loader_service.catalog.videos.beside.fields_beside import single_part
from loader_service.catalog.videos.bounds.bounds_by_name import are_bounds_apart
from loader_service.catalog.videos.episodes import Episode, Found, found_of
from loader_service.catalog.videos.frame_axis import (
    LEAST_SIDE,
    MASKS,
    are_ids,
    are_numbered,
    have_numbers_or_ids,
    have_roles,
    is_picture,
)
from loader_service.catalog.videos.numbered import are_called_frames
from loader_service.catalog.videos.readings import Reading, TwoReadingsError
from loader_service.catalog.videos.sibling_groups import datasets_in
from loader_service.catalog.videos.single_pictures import (
    GREY,
    LEAST_GREY_SIDE,
    find_single_pictures,
    is_called_grey,
    is_no_strip,
)
from loader_service.schema import SchemaField

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo


def find_picture_videos(
    plain: Sequence[DatasetInfo],
    scalars: Sequence[DatasetInfo] = (),
    texts: Sequence[DatasetInfo] = (),
    *,
    declared: bool = False,
) -> Found | None:
    """Return a video of one frame for each picture, or for each group of pictures of the same names; None without any.

    Parameters
    ----------
    plain
        All arrays of a file.
    scalars, texts
        Its single numbers, and its lists of texts.
    declared
        Whether a schema says that each picture is a video.

    Raises
    ------
    TwoReadingsError
        When lines can be rows; when names are numbers or ids, which are the same in several groups.
    """
    sure, maybe = find_single_pictures(plain, texts)
    if not sure:
        rest = [info for info in plain if info not in maybe and info.basename not in LABEL_NAMES]
        if maybe and not declared and all(len(info.shape) == 1 for info in rest) and not are_bounds_apart(scalars):
            raise rows_or_pictures(maybe)
        return None
    if any(is_picture(info) for info in plain):
        return None  # thumbnails beside a sequence
    if not declared and (samples := samples_of_groups(sure)):
        return _one_frame_each(samples)
    groups = in_groups(sure)
    names = [frozenset(info.basename for info in members) for members in groups.values()]
    together = len(set(names)) == 1 and (len(groups) > 1 or have_roles(names[0]) or _are_one(sure))
    by_name = {group: {info.basename: info for info in members} for group, members in groups.items()}
    if together and not declared:
        _refuse_frames(groups, plain)
        if len(groups) > 1:
            refuse_plain_names(by_name, [*plain, *scalars, *texts])
    if not together and not declared and (pairs := _pairs_of_sets(by_name)):
        raise _parts_or_classes({group: groups[group] for group in pairs}, videos_of_times(plain, list(groups)))
    if declared or not together:
        return found_of([Episode(info.path, None, 1, info.path, {"": single_part(info)}) for info in sure])
    roots = _roots([*plain, *scalars], list(groups)) if len(groups) > 1 else [""]
    return _one_frame_each(dict(zip(roots, groups.values(), strict=True)))


def _refuse_frames(groups: Mapping[str, Sequence[DatasetInfo]], arrays: Sequence[DatasetInfo]) -> None:
    """Refuse pictures of the same names in each group, whose numbers or times tell of frames, samples or classes."""
    by_name = {group: {info.basename: info for info in members} for group, members in groups.items()}
    pictures = [info for members in groups.values() for info in members]
    names, several = sorted(next(iter(by_name.values()))), len(groups) > 1
    if several and are_numbered(names) and are_called_frames(names):
        raise frames_with_gaps(pictures, len(groups))
    if several and by_number(by_name):
        raise _parts_or_classes(groups, videos_of_times(arrays, list(groups)))
    timed = are_days(names) or bool(words_before_times(names))
    if timed or count_with_gaps(names) or (several and are_numbered(names) and all(map(str.isdecimal, names))):
        raise frames_with_gaps(pictures, len(groups), timed=timed)


def _one_frame_each(samples: Mapping[str, Sequence[DatasetInfo]]) -> Found:
    """Return a video of one frame for each group that has pictures."""
    episodes = []
    for root, members in samples.items():
        parts = {key_in(root, info.path): single_part(info) for info in members}
        episodes.append(Episode(root, root, 1, members[0].path, parts))
    return found_of(episodes)


def _pairs_of_sets(groups: Mapping[str, Mapping[str, DatasetInfo]]) -> Sequence[str]:
    """Return the groups of the first of several sets, each of which has the same groups, with one set of numbers.

    So lie ``Set5/lr/0`` beside ``Set5/hr/0``, and other numbers of pictures in the same groups of ``Set14``.
    """
    sets: dict[str, dict[str, Mapping[str, DatasetInfo]]] = {}
    for group, members in groups.items():
        sets.setdefault(parent_of(group), {})[group] = members
    first, *others = sets.values()
    words = {basename_of(group) for group in first}
    alike = others and all({basename_of(group) for group in each} == words for each in others)
    paired = alike and all(len({frozenset(members) for members in each.values()}) == 1 for each in sets.values())
    return list(first) if paired and len(first) > 1 and by_number(first) else []


def _roots(datasets: Sequence[DatasetInfo], groups: Sequence[str]) -> Sequence[str]:
    """Return the groups that are a sample each: those above ``0/obs``, ``1/obs``, … where more lies in these."""
    above = list(map(parent_of, groups))
    alike = len(set(map(basename_of, groups))) == 1 and len(set(above)) == len(above) and "" not in above
    inside = {info.parent for info in datasets}
    return above if alike and not inside.isdisjoint(above) else groups


def _are_one(pictures: Sequence[DatasetInfo]) -> bool:
    """Tell whether pictures of one group belong together: one alone, or of other forms and names that are no ids.

    Those that differ in their sides alone are pictures of any size, each of its own. Several of one form belong
    together where a map or mask of their sides lies beside them, and no number tells them apart.
    """
    forms = {(info.dtype, info.shape[2:]) for info in pictures}
    names = {info.basename.lower() for info in pictures}
    plain = not any(map(str.isdigit, "".join(names))) and len({info.shape[:2] for info in pictures}) == 1
    if plain and (len(forms) > 1 or 0 < len(names & MASKS) < len(names)):
        return True
    return len(pictures) == 1 or (len(forms) == len(pictures) and not are_ids(info.basename for info in pictures))


def _parts_or_classes(groups: Mapping[str, Sequence[DatasetInfo]], videos: Sequence[Reading] = ()) -> TwoReadingsError:
    """Return the error for pictures of one name in several groups: parts of one sample, or of several classes.

    `videos`: what they may be besides.
    """
    kinds = {group: single_part(members[0]).kind for group, members in groups.items()}
    sides = {group: common_shape([info.shape for info in members]) for group, members in groups.items()}
    across = [SchemaField.across(group, kinds[group], sides[group]) for group in groups]
    each = SchemaField.in_group("", kinds[min(kinds)], common_shape(sides.values()), name="frames")
    shown = " beside ".join(members[0].describe() for members in islice(groups.values(), 2))
    parents = set(map(parent_of, groups))
    above = parents.pop() if len(parents) == 1 else ""
    return TwoReadingsError(
        f"found {shown}, and pictures of the same names in {len(groups)} groups",
        [
            *videos,
            Reading.of_groups(f"samples with a picture in each group{f' of {above!r}' if above else ''}", across),
            Reading.of_groups("pictures of their own, such as of a class", [each]),
        ],
    )


def refuse_grey_pictures(members: Sequence[DatasetInfo]) -> None:
    """Make sure that datasets which would be a video of rows each are no grey pictures, of bytes or words.

    Floats are features, and matrices of one width and any length sequences, unless they are called as pictures are.

    Raises
    ------
    TwoReadingsError
        When they may be.
    """
    if not _are_grey_pictures(members):
        return
    shape = common_shape([info.shape for info in members])
    names = [info.basename for info in members]
    timed = are_moments(names) or bool(words_before_times(names))
    raise TwoReadingsError(
        f"found {len(members)} datasets as {members[0].describe()}{_OF_TIMES if timed else ''}",
        [
            *frames_of_groups(members),
            Reading.of_groups("a grey picture each", [SchemaField.in_group("", shape=shape)]),
            *([one_sample(members)] if len(members) <= _MOST_BANDS and 0 not in shape else []),
            Reading.of_groups("a sequence of rows each", [SchemaField.in_group("")]),
        ],
    )


#: What is said of pictures that are called by times.
_OF_TIMES = (
    ", whose names seem to be times in one video: write the frames of each video as one dataset, (frames, height, "
    "width), or read them in a Python source of your own (--source package.module:Name); as they lie, they may be"
)

#: Bands of one scene, or maps of one place, of one size.
_MOST_BANDS = 32


def refuse_numbered_pictures(arrays: Sequence[DatasetInfo]) -> None:
    """Make sure that matrices of one group, which numbers or ids tell apart, are no grey pictures of any sides.

    Raises
    ------
    TwoReadingsError
        When they may be, as `refuse_grey_pictures` says.
    """
    names = [info.basename for info in arrays]
    if len({info.parent for info in arrays}) == 1 and have_numbers_or_ids(names):
        refuse_grey_pictures(arrays)


def refuse_grey_groups(groups: Mapping[str, Mapping[str, DatasetInfo]], names: Sequence[str]) -> None:
    """Make sure that the matrices of some names in groups are no grey pictures; no list beside them has their length.

    Raises
    ------
    TwoReadingsError
        When they may be, as `refuse_grey_pictures` says, and nothing but a few numbers lies beside them.
    """
    lists = [info for info in datasets_in(groups) if len(info.shape) == 1]
    families = [[members[name] for members in groups.values()] for name in names]
    if all(info.shape[0] < LEAST_GREY_SIDE for info in lists) and all(map(_are_grey_pictures, families)):
        raise rows_or_pictures([info for matrices in families for info in matrices])


def _are_grey_pictures(members: Sequence[DatasetInfo]) -> bool:
    """Tell whether several matrices may be grey pictures, by sizes, types and names, as `refuse_grey_pictures` says.

    What is called by the number of a frame is of one, and so no sequence, however small.
    """
    shapes, dtypes = {info.shape for info in members}, {info.dtype for info in members}
    least = LEAST_SIDE if are_called_frames(info.basename for info in members) else LEAST_GREY_SIDE
    if len(members) < 2 or len(dtypes) != 1 or any(len(each) != 2 or min(each) < least for each in shapes):
        return False
    widths = {width for _, width in shapes}
    is_grey = len(shapes) == 1 or (len(widths) > 1 and all(map(is_no_strip, shapes)))
    return (is_grey and all(map(GREY.search, dtypes))) or all(map(is_called_grey, members))
