"""The errors for arrays that can be read in more than one way, each with the schemas that decide. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_whole
from loader_service.catalog.hdf5.tree import in_groups
from loader_service.catalog.inner_paths import grouped, join, key_in
from loader_service.catalog.sides import common_shape
from loader_service.catalog.videos.arrays.number_readings import by_their_numbers, frames_of_groups
from loader_service.catalog.videos.bounds.bound_lists import PAIRS
from loader_service.catalog.videos.encoded.why_samples import why_samples
from loader_service.catalog.videos.frame_axis import have_numbers_or_ids, kind_of_rows
from loader_service.catalog.videos.readings import (
    Reading,
    TwoReadingsError,
    fields_in_groups,
    fields_of,
    of_nearly_one_length,
    without_chance,
)
from loader_service.schema import VIDEO, Schema, SchemaField
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo
    from loader_service.schema import VideoLayout


def rows_or_pictures(maybe: Sequence[DatasetInfo]) -> TwoReadingsError:
    """Return the error for datasets whose first axis can be frames, or lines of a picture."""
    sides = "its sides" if len({info.shape[:2] for info in maybe}) == 1 else "other sides"
    beside = f" and {len(maybe) - 1} more with {sides}" if len(maybe) > 1 else ""
    names = {info.basename for info in maybe}
    grouped = len({info.parent for info in maybe}) * len(names) == len(maybe) > len(names)
    first = [info for info in maybe if info.parent == maybe[0].parent] if grouped else maybe
    one_form = len({(info.dtype, len(info.shape)) for info in maybe}) == 1
    sequences = one_form and len({info.shape[0] for info in maybe}) > 1
    rows = {info.shape[1:] for info in maybe}
    shape = common_shape(rows) if sequences and len(rows) > 1 else None
    each = Reading.of_groups("videos of their own", [SchemaField.in_group("", shape=shape)])
    rows_of, whole_of = (Reading.of_groups, Reading.of_groups) if grouped else (Reading.of_table, Reading.of_file)
    return TwoReadingsError(
        f"found {maybe[0].describe()}{beside}, whose first axis may be time, or one of a picture's",
        [
            *([each] if sequences and not grouped else []),
            rows_of("frames, or rows of a table", fields_in_groups(first) if grouped else fields_of(first)),
            whole_of("one picture, or sample", _wholes(first, maybe) if grouped else fields_of(first, whole=True)),
            *by_their_numbers(maybe),
            *frames_of_groups(maybe),
            *_one_each(maybe),
            *_one_each_across(maybe),
        ],
    )


def _wholes(first: Sequence[DatasetInfo], all_groups: Sequence[DatasetInfo]) -> tuple[SchemaField, ...]:
    """Return each dataset of the first of several groups as one frame, with the sides that all groups share."""
    shapes = {info.basename: [each.shape for each in all_groups if each.basename == info.basename] for info in first}
    return tuple(SchemaField.in_group(name, shape=common_shape(each)) for name, each in shapes.items())


def _one_each(arrays: Sequence[DatasetInfo]) -> list[Reading]:
    """Return the reading of datasets beside each other, which numbers or ids tell apart, as a sample each."""
    names = [info.basename for info in arrays]
    same = len({(info.parent, info.dtype, len(info.shape)) for info in arrays}) == 1
    if len(arrays) < 2 or not same or not have_numbers_or_ids(names):
        return []
    whole = SchemaField.in_group("", shape=common_shape([info.shape for info in arrays]))
    return [Reading.of_groups("a sample each", [whole])]


def _one_each_across(arrays: Sequence[DatasetInfo]) -> list[Reading]:
    """Return the reading of the same numbers, or ids, in groups that words name as samples with an array in each."""
    groups = in_groups(arrays)
    names = [{info.basename for info in each} for each in groups.values()]
    words = "" not in groups and not have_numbers_or_ids(groups)
    alike = len(names[0]) > 1 and all(each == names[0] for each in names) and have_numbers_or_ids(names[0])
    if len(groups) < 2 or not words or not alike:
        return []
    shapes = {group: [info.shape for info in each] for group, each in groups.items()}
    if any(len(set(map(len, each))) > 1 for each in shapes.values()):
        return []
    fields = [SchemaField.across(group, shape=common_shape(each)) for group, each in shapes.items()]
    return [Reading.of_groups("samples with an array in each group", fields)]


def refuse_numbered_sides(arrays: Sequence[DatasetInfo]) -> None:
    """Refuse matrices of other sides each that numbers alone name in a group, beside lists with an entry for each.

    So lie crops, or masks, of objects of any size beside their boxes: some of them have as many lines by chance.

    Raises
    ------
    TwoReadingsError
        With the schemas for a sample each, and for rows of the lists.
    """
    for group, members in grouped(arrays, lambda info: info.parent).items():
        lengths, tails = {info.shape[0] for info in members}, {info.shape[1:] for info in members}
        alike = len({(info.dtype, len(info.shape)) for info in members}) == 1 and len(members[0].shape) > 1
        numbered = all(info.basename.isdecimal() for info in members)
        lists = [info for info in arrays if info.parent != group and info.shape[0] == len(members)]
        if group and alike and numbered and lists and len(lengths) > 1 < len(tails) and len(members) > _LEAST_SIDES:
            each = SchemaField.at(join(group, VIDEO), "array", common_shape([info.shape for info in members]))
            raise TwoReadingsError(
                f"found {members[0].describe()} and {len(members) - 1} more of other sides in {group!r}, beside "
                f"{lists[0].describe()} with an entry for each",
                [
                    Reading.of_groups("a sample each", [replace(each, name="values")]),
                    Reading.of_table("rows of what has an entry for each", fields_of(lists)),
                ],
            )


#: Two matrices with an entry for each in a list may be anything.
_LEAST_SIDES = 2


def tables_of_columns(
    arrays: Sequence[DatasetInfo], counts: Sequence[int], root: str | None = None
) -> TwoReadingsError:
    """Return the error for a file, or a group, of several tables: columns that share one length, beside others.

    `root`: the group that is the video of these, of which there are others like it.
    """
    tables = [[info for info in arrays if info.shape[0] == count] for count in counts]
    shown = [f"{counted(len(each), 'array')} of {each[0].shape[0]} rows such as {each[0].path!r}" for each in tables]
    return TwoReadingsError(
        f"found {' beside '.join(shown)}",
        [
            *(_of_length(each, root) for each in tables),
            *([one_sample(arrays)] if root is None else []),
        ],
    )


def unequal(sequences: Sequence[DatasetInfo], *, grouped: bool = False) -> TwoReadingsError:
    """Return the error for sequences of one video, by their names, that have different lengths.

    `grouped`: whether other groups have sequences of these names too.
    """
    first, second = sequences[:2]
    layout: VideoLayout = "groups" if grouped else "files"
    kind = kind_of_rows(first)
    fields = (fields_in_groups if grouped else fields_of)(sequences, kind)
    what = "cameras" if kind == "image" else "sequences"
    return TwoReadingsError(
        f"found {first.describe()} beside {second.describe()}: two {what} of one video, of which one lost frames, or "
        "two videos",
        [
            *of_nearly_one_length(Schema((layout,), fields), [info.shape[0] for info in sequences]),
            *(
                Reading.of(layout, f"a video by {info.path!r} alone", [field])
                for info, field in zip(sequences[:2], fields, strict=False)
            ),
            _each_a_video(first),
        ],
    )


#: Lengths of which a message shows the schemas: those with most bytes.
_MOST_SHOWN = 4


def rivals(members: Sequence[DatasetInfo], root: str | None = None) -> TwoReadingsError:
    """Return the error for datasets by which time can be counted in more than one way.

    Parameters
    ----------
    members
        Those datasets.
    root
        The group that is the video of these, of which there are others like it; None: the file is a table.
    """
    ordered = sorted(members, key=lambda info: (-len(info.shape), info.path))
    by_length = grouped(ordered, lambda info: info.shape[0])
    tall = [alike for alike in by_length.values() if len(alike[0].shape) > 1]
    candidates = tall if len(tall) > 1 else list(by_length.values())
    largest = sorted(candidates, key=lambda alike: -sum(info.size_bytes for info in alike))[:_MOST_SHOWN]
    shown = [alike for alike in candidates if alike in largest]
    return TwoReadingsError(
        f"found {', '.join(alike[0].describe() for alike in shown)}, of different length, and nothing says which of "
        "them counts the frames",
        [
            *(_one_each(members) if root is None else ()),
            *(_between_pairs(members) if root is None else ()),
            *(_of_length(alike, root, members) for alike in shown),
            *_of_their_own(members, grouped=root is not None),
            *([one_sample(members)] if root is None else []),
        ],
    )


def _between_pairs(members: Sequence[DatasetInfo]) -> list[Reading]:
    """Return the reading of the largest arrays as videos that the pairs of numbers in another one bound."""
    pairs = [
        info for info in members if info.shape[1:] == (2,) and is_whole(info.dtype) and PAIRS.search(info.basename)
    ]
    others = [info for info in members if info not in pairs]
    if len(pairs) != 1 or not others:
        return []
    count = max(others, key=lambda info: info.size_bytes).shape[0]
    rows = [info for info in others if info.shape[0] == count]
    return [Reading.of("spans", f"videos that {pairs[0].path!r} bounds", fields_of(rows))]


def _of_their_own(members: Sequence[DatasetInfo], *, grouped: bool) -> list[Reading]:
    """Return the reading of what differs in its length as a video each, or each group; not `grouped`, in all sides."""
    deep = [info for info in members if len(info.shape) > 1] or (members if grouped else [])
    forms = {(info.dtype, info.shape[1:] if grouped else len(info.shape)) for info in deep}
    alike = len(deep) > 1 and len(forms) == 1 and (grouped or all(map(_differ_in_length, in_groups(deep).values())))
    one = {info.basename for info in deep}
    return [_each_a_video(deep[0], one.pop() if len(one) == 1 else "")] if alike else []


def _differ_in_length(beside: Sequence[DatasetInfo]) -> bool:
    return len({info.shape[0] for info in beside}) == len(beside) > 1


def _each_a_video(first: DatasetInfo, key: str = "") -> Reading:
    return Reading.of_groups("videos of their own", [SchemaField.in_group(key, kind_of_rows(first), name="values")])


def one_sample(members: Sequence[DatasetInfo]) -> Reading:
    """Return the reading of arrays as one sample a file: those of two axes or more, or, without any, lists."""
    deep = [info for info in members if len(info.shape) > 1]
    if deep:
        return Reading.of_file("one sample a file, of arrays of any sides", fields_of(deep, whole=True))
    lists = [SchemaField.at(info.path, shape=(0,)) for info in members]
    return Reading.of_file("one sample a file, of lists of any length", lists)


def _of_length(alike: Sequence[DatasetInfo], root: str | None, members: Sequence[DatasetInfo] = ()) -> Reading:
    """Return the reading as rows of some datasets; of groups, first a name that ends none of its other `members`."""
    words = f"rows of {alike[0].path!r}"
    if root is None:
        return Reading.of_table(words, fields_of(without_chance(alike, members)))
    paths = [info.path for info in members]
    inside = [key_in(root, info.path) for info in alike]
    inside.sort(key=lambda key: sum(path.endswith(f"/{key}") for path in paths) > 1)
    return Reading.of_groups(words, map(SchemaField.in_group, inside))


def classes_or_fields(pictures: Sequence[DatasetInfo]) -> TwoReadingsError:
    """Return the error for sequences of pictures of one form, in several groups and with a name of its own each."""
    kind = kind_of_rows(pictures[0])
    each = SchemaField.in_group("", kind, name="frames")
    more = f" and {len(pictures) - 2} more of this form" if len(pictures) > 2 else ", of one form"
    largest = max(pictures, key=lambda info: info.size_bytes)
    sides = {info.shape[1:] for info in pictures}
    finest = [Reading.of_table(f"{largest.path!r} alone", fields_of([largest], kind_of_rows(largest)))]
    return TwoReadingsError(
        f"found {pictures[0].describe()}, {pictures[-1].describe()}{more}",
        [
            Reading.of_groups("a video, or the pictures of a class, each", [each]),
            Reading.of_table("fields of one table", fields_of(pictures, kind)),
            *(finest if len(sides) > 1 else []),
        ],
    )


def frames_with_gaps(pictures: Sequence[DatasetInfo], groups: int, *, timed: bool = False) -> TwoReadingsError:
    """Return the error for pictures that only numbers, or times, tell apart, the same in each group, as no frames."""
    each = SchemaField.in_group("", "image", common_shape([info.shape for info in pictures]), name="frames")
    why = why_samples([info.path for info in pictures], [info.shape for info in pictures])
    said = "names seem to be times in one" if timed else "numbers seem to count the frames of one"
    return TwoReadingsError(
        f"found {len(pictures)} pictures in {counted(groups, 'group')} such as {pictures[0].describe()}, whose {said} "
        f"video a group{'' if timed else f', though {why}'}; write the frames of each as one dataset, "
        "(frames, height, width, channels), or read them in a Python source of your own (--source "
        "package.module:Name); as they lie, they are",
        [Reading.of_groups("a picture each", [each])],
    )


def channels_or_frames(groups: Sequence[Sequence[DatasetInfo]]) -> TwoReadingsError:
    """Return the error for matrices of as many lines in each group, whose other side differs: sounds, perhaps."""
    first, *others = groups
    lines = first[0].shape[0]
    wholes = [SchemaField.in_group(info.basename, shape=(lines, 0)) for info in first]
    return TwoReadingsError(
        f"found {first[0].describe()} beside {others[0][0].describe()}; time is their last axis, it seems, and "
        "frames come first here: write np.moveaxis(array, -1, 0) for clips of frames; as they lie, they are",
        [
            Reading.of_groups(f"one sample of {lines} channels, and of any length, a group", wholes),
            Reading.of_groups(f"{lines} frames a group", fields_in_groups(first)),
        ],
    )


def lines_or_frames(matrices: Sequence[DatasetInfo]) -> TwoReadingsError:
    """Return the error for datasets of as many lines each, whose other side differs: spectra of sounds, perhaps."""
    first, second, *_ = matrices
    lines = first.shape[0]
    whole = SchemaField.in_group("", shape=(lines, *(0 for _ in first.shape[1:])))
    return TwoReadingsError(
        f"found {first.describe()} beside {second.describe()}",
        [
            Reading.of_groups(f"one sample of {lines} lines each, and of any length", [whole]),
            Reading.of_groups(f"{lines} frames each", [SchemaField.in_group("")]),
            Reading.of_table("fields of one table", fields_of(matrices)),
        ],
    )


#: Numbers of one length, at least, that are columns of a log.
_LEAST_COLUMNS = 3


def parts_or_videos(
    arrays: Sequence[DatasetInfo], members: Sequence[DatasetInfo], inside: str = ""
) -> TwoReadingsError:
    """Return the error for few sequences beside each other whose names do not tell what they are.

    `inside`: where each lies in a group of its own: its path there.
    """
    shown = " and ".join(info.describe() for info in members[:2])
    lengths = Counter(info.shape[0] for info in arrays)
    common = max(arrays, key=lambda info: lengths[info.shape[0]])  # columns of a log, beside sensors of other rates
    also = [common] * (lengths[common.shape[0]] >= _LEAST_COLUMNS and len(common.shape) == 1)
    told = {info.shape[0] for info in [*also, *members]}
    others = [info for info in arrays if len(info.shape) > 1 and info.shape[0] not in told]
    also += [max(others, key=lambda info: info.size_bytes)] if others else []
    by_length = {info.shape[0]: info for info in [*also, *members[1::-1]]}
    rows = [
        Reading.of_table(
            f"rows of {info.path!r}" if len(by_length) > 1 else "fields of one table",
            fields_of(each for each in arrays if each.shape[:1] == info.shape[:1]),
        )
        for info in reversed(by_length.values())
    ]
    whole = SchemaField.in_group(inside, shape=common_shape([info.shape for info in members]))
    together = [one_sample(arrays)] if not inside and len({info.shape[0] for info in arrays}) > 1 else []
    return TwoReadingsError(
        f"found {shown} beside each other, parts of one recording or videos of their own",
        [
            *rows,
            Reading.of_groups("videos of their own", [SchemaField.in_group(inside)]),
            Reading.of_groups("samples of one frame", [whole]),
            *together,
        ],
    )
