"""A file that is one table: as many rows as most of its arrays have, or columns, or one sequence. Pure."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from loader_service.catalog.hdf5.tree import ElementKind
from loader_service.catalog.inner_paths import basename_of, by_form, common_group
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.videos.arrays.array_readings import (
    classes_or_fields,
    lines_or_frames,
    refuse_numbered_sides,
    rivals,
    tables_of_columns,
)
from loader_service.catalog.videos.arrays.group_readings import with_groups
from loader_service.catalog.videos.arrays.last_axes import refuse_samples_in_the_last_axis, refuse_time_in_the_last_axis
from loader_service.catalog.videos.arrays.picture_sequences import of_dataset
from loader_service.catalog.videos.arrays.picture_videos import refuse_numbered_pictures
from loader_service.catalog.videos.bounds.bound_lists import are_length_columns, without_bounds
from loader_service.catalog.videos.episodes import Found, found_of
from loader_service.catalog.videos.frame_axis import (
    are_fields,
    are_lines,
    frame_counts_of,
    have_any_sides,
    have_roles,
    have_shorter_namesake,
    is_picture,
    is_sequence_of_pictures,
    longer_columns,
    rival_of,
    with_columns,
)
from loader_service.catalog.videos.sibling_groups import is_recording, sibling_groups
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo


def find_table(arrays: Sequence[DatasetInfo], named: Sequence[DatasetInfo]) -> Found | None:
    """Return a file as one table, as the video of its only sequence, or as that of its only group, if so called.

    Parameters
    ----------
    arrays
        Its numbers, but for those that are called as labels are.
    named
        The same with these.

    Raises
    ------
    TwoReadingsError
        When rows can be counted in more than one way.
    """
    lists = lists_by_number(arrays)
    of_lists = {info.path for infos in lists.values() for info in infos}
    table = _find_rows(*([info for info in infos if info.path not in of_lists] for infos in (arrays, named)))
    if table is not None:
        leave_out(lists, table)
    return _of_lone_group(arrays, table) if table is not None and table.layout == "table" else table


def _of_lone_group(arrays: Sequence[DatasetInfo], table: Found) -> Found:
    """Return a table as a video where all lies in one group that is called a recording with its number: ``traj_0``."""
    group = common_group([info.parent for info in arrays])
    name = basename_of(group)
    main = next(info for info in arrays if info.path == table.episodes[0].dataset_path)
    lone = is_recording(name) and name[-1].isdigit()
    return found_of([of_dataset(group, main)]) if lone else table


def _find_rows(arrays: Sequence[DatasetInfo], named: Sequence[DatasetInfo]) -> Found | None:
    """Return a file as one table, with as many rows as most of its datasets have."""
    arrays = without_bounds(arrays)
    standing = [info for info in with_columns(arrays) if not are_length_columns(info)]
    counted = [info for info in standing if info.kind is not ElementKind.BYTES or len(info.shape) > 1]
    tall = [info for info in counted if len(info.shape) > 1]
    if not tall:
        return _of_columns(arrays, named)
    refuse_numbered_pictures(arrays)
    refuse_numbered_sides(arrays)
    if have_any_sides(tall):
        raise rivals(counted)
    best = frame_counts_of(standing if any(is_picture(info) for info in tall) else counted)
    if len(best) > 1 or rival_of(counted, best[0]) is not None or have_shorter_namesake(counted, best[0]):
        refuse_samples_in_the_last_axis(counted)
        refuse_time_in_the_last_axis(tall, tall[0].shape[0])
        raise with_groups(rivals(counted), sibling_groups(counted) or {})
    longer = longer_columns(counted, best[0])
    if longer:
        raise tables_of_columns(arrays, [longer, best[0]])
    if are_lines(tall):
        raise lines_or_frames(tall)
    pictures = [info for info in tall if is_sequence_of_pictures(info)]
    alone = len(pictures) == sum(info.shape[0] == best[0] for info in arrays)
    if _are_classes(pictures, alone=alone):
        raise classes_or_fields(pictures)
    mains = [info for info in tall if info.shape[0] == best[0]]
    if mains:
        refuse_time_in_the_last_axis(tall, best[0])
    return Found("table", [of_dataset("", max(mains, key=lambda info: info.size_bytes))]) if mains else None


def _are_classes(pictures: Sequence[DatasetInfo], *, alone: bool) -> bool:
    """Tell whether pictures of one form may be classes: each named apart, in several groups, or `alone` in a file."""
    forms = {(info.dtype, info.shape[1:]) for info in pictures}
    groups, names = {info.parent for info in pictures}, {info.basename for info in pictures}
    told = have_roles(names) or (have_roles(groups) or are_fields(groups) if len(groups) > 1 else are_fields(names))
    return len(forms) == 1 and (alone or len(groups) > 1) and len(names) == len(pictures) > 1 and not told


def _of_columns(arrays: Sequence[DatasetInfo], named: Sequence[DatasetInfo]) -> Found | None:
    """Return a lone sequence of numbers as a file's video, or columns of one length as a table."""
    sequences = [info for info in arrays if info.kind is ElementKind.FLOAT]
    if len(sequences) == 1 and len(arrays) == 1:
        return Found("files", [of_dataset("", sequences[0])])
    best = frame_counts_of(arrays) if arrays else []
    columns = [info for info in arrays if best and info.shape[0] == best[0]]
    table = len(best) == 1 and len(columns) > 1
    chosen = columns if table else sequences if len(sequences) == 1 else []
    lengths = [info.shape[0] for info in arrays]
    several = not chosen and len({length for length in lengths if lengths.count(length) > 1}) > 1
    if several or (chosen and any(length >= _SIGNAL * chosen[0].shape[0] for length in lengths)):
        raise rivals([*arrays, *(info for info in named if info.basename in LABEL_NAMES and len(info.shape) > 1)])
    if table:
        return Found("table", [of_dataset("", max(columns, key=lambda info: info.size_bytes))])
    return Found("files", [of_dataset("", chosen[0])]) if chosen else None


#: A sequence so many times longer than columns is a signal, and they may be what is said about it.
_SIGNAL = 2


#: Fewer may have any length by chance.
_LEAST = 8


def lists_by_number(arrays: Sequence[DatasetInfo]) -> Mapping[str, Sequence[DatasetInfo]]:
    """Return datasets of unlike lengths, as many as another has rows, that numbers tell apart, by a pattern of these.

    So are contours of the cells beside their images: ``contour/0 (31, 2)``, ``contour/1 (27, 2)``.
    """
    alike = by_form(arrays if len(arrays) > _LEAST else (), attrgetter("path"))
    return {
        pattern.replace("#", "*"): infos
        for pattern, infos in alike.items()
        if len(infos) >= _LEAST and len({info.shape[0] for info in infos}) > 1
        if any(other.shape[0] == len(infos) for other in arrays if other not in infos)
    }


def leave_out(lists: Mapping[str, Sequence[DatasetInfo]], table: Found) -> None:
    """Say of each such list that it is no field of a table."""
    for pattern, infos in lists.items():
        table.left_out[pattern] = (
            f"{counted(len(infos), 'dataset')}: expected one dataset for all rows, found lists of unlike lengths, such "
            f"as {infos[0].describe()}; write them as one vlen dataset of numbers, in a file"
        )
        for episode in table.episodes:
            episode.helpers |= {info.path for info in infos}
