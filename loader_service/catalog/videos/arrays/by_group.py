"""Arrays of which each group is a video: groups beside each other that hold the same names. Sees paths and shapes."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_whole
from loader_service.catalog.inner_paths import basename_of
from loader_service.catalog.natural import natural_key
from loader_service.catalog.split_words import meaning_of
from loader_service.catalog.videos.arrays.across_groups import by_number, samples_of_groups
from loader_service.catalog.videos.arrays.array_readings import (
    channels_or_frames,
    parts_or_videos,
    rivals,
    tables_of_columns,
)
from loader_service.catalog.videos.arrays.frames_in_groups import refuse_groups_of_frames
from loader_service.catalog.videos.arrays.group_readings import (
    refuse_numbered_parts,
    with_fields_of_groups,
    with_groups,
    with_whole_groups,
)
from loader_service.catalog.videos.arrays.picture_sequences import of_dataset
from loader_service.catalog.videos.arrays.picture_videos import refuse_grey_groups
from loader_service.catalog.videos.axes.time_axes import refuse_other_time_axis
from loader_service.catalog.videos.episodes import Found, found_of
from loader_service.catalog.videos.frame_axis import (
    are_numbered,
    frame_counts_of,
    have_numbers_or_ids,
    longer_columns,
    rival_of,
)
from loader_service.catalog.videos.sibling_groups import (
    MOST_PARTS,
    are_roles,
    belong_to_rows,
    datasets_in,
    have_namesakes,
    have_one_form,
    have_own_data,
    numbered_among,
    share_little,
    shared_names,
    sibling_groups,
    sounds_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo


def videos_by_group(arrays: Sequence[DatasetInfo]) -> Found | None:
    """Return a video for each of the groups beside each other that hold arrays of the same names."""
    arrays = [info for info in arrays if not _lists_rows(info)] or arrays
    groups = sibling_groups(arrays)
    if groups is None:
        return None
    refuse_groups_of_frames(groups)
    counts = {root: frame_counts_of(list(members.values())) for root, members in groups.items()}
    names = [basename_of(root) for root in groups]
    equal = len({count[0] for count in counts.values()}) == 1
    if are_roles(groups) and not (equal and are_numbered(names)):
        if equal:
            return None
        error = with_groups(rivals(datasets_in(groups)), groups)
        raise error if by_number(groups) else with_fields_of_groups(error, groups)
    words = not have_numbers_or_ids(names)
    if words and not have_one_form(groups):
        numbered_ones = numbered_among(groups)
        return videos_by_group(datasets_in(numbered_ones))
    numbered = by_number(groups)
    if belong_to_rows(groups, arrays, next(iter(counts.values()))[0] if equal else 0, (words, numbered)):
        return None
    if numbered:
        holders = dict.fromkeys(info.parent for info in datasets_in(groups))
        raise samples_of_groups(arrays, list(holders))  # a word apart from the number: `a/train/0`
    if have_own_data(groups):
        return None  # bands, each in a group of its own
    shared = shared_names(groups)
    _take_usual(counts, groups, shared)
    few_words = words and len(groups) <= MOST_PARTS
    if few_words and equal and len(shared) == 1:
        raise parts_or_videos(arrays, [members[name] for members in groups.values() for name in shared], *shared)
    if few_words and share_little(groups):
        raise rivals(datasets_in(groups))
    if sounds := sounds_of(groups):
        raise channels_or_frames(sounds)
    refuse_other_time_axis(groups)
    for root, members in groups.items():
        rival = rival_of(list(members.values()), counts[root][0])
        if rival is not None or len(counts[root]) > 1 or have_namesakes(members, counts[root][0]):
            raise with_whole_groups(rivals(list(members.values()), root), groups)
        if longer := longer_columns(list(members.values()), counts[root][0]):
            tables = tables_of_columns(list(members.values()), [longer, counts[root][0]], root)
            raise with_whole_groups(tables, groups)
    timed = [
        name for name in shared if all(members[name].shape[0] == counts[root][0] for root, members in groups.items())
    ]
    sizes = {name: sum(members[name].size_bytes for members in groups.values()) for name in timed or shared}
    main = max(sorted(sizes, key=natural_key), key=lambda name: sizes[name])
    refuse_grey_groups(groups, sorted(timed, key=natural_key) or [main])
    refuse_numbered_parts(groups)
    return found_of([of_dataset(root, members[main]) for root, members in groups.items()])


def _take_usual(
    counts: dict[str, list[int]], groups: Mapping[str, Mapping[str, DatasetInfo]], names: Sequence[str]
) -> None:
    """Count frames by what counts them in most groups, where no array does in all: another one has them by chance.

    So are 255 points of a picture, or another count of each, beside their descriptors, ``(256, 255)``.
    """
    counting = {
        root: frozenset(name for name in names if members[name].shape[0] == counts[root][0])
        for root, members in groups.items()
    }
    ((usual, times),) = Counter(counting.values()).most_common(1)
    if not usual or frozenset.intersection(*counting.values()) or 2 * times <= len(groups):
        return
    lengths = {root: {members[name].shape[0] for name in usual} for root, members in groups.items()}
    if all(len(each) == 1 for each in lengths.values()):
        counts.update({root: list(each) for root, each in lengths.items()})


def _lists_rows(info: DatasetInfo) -> bool:
    """Tell whether a dataset is called as lists of the rows of a split are, as ``fold0/train_idx``."""
    listed = len(info.shape) == 1 and is_whole(info.dtype) and _ROWS.search(info.basename)
    return bool(listed) and meaning_of(info.basename) is not None


_ROWS = re.compile(r"(^|_)(idx|idxs|ind|inds|index|indexes|indices)(_|$)", re.IGNORECASE)
