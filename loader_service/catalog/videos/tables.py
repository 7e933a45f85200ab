"""What a file without JPEGs holds: pictures, numbered frames, videos by group or by dataset, a table, vlen rows.

`find_without_frames` is the procedure, in the order of the table in docs/design.md; each step looks at paths, element
types and shapes alone, but for the lengths of vlen rows.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_number, is_vlen
from loader_service.catalog.hdf5.tree import ElementKind
from loader_service.catalog.inner_paths import basename_of, common_group
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.natural import natural_key
from loader_service.catalog.videos.across_groups import (
    Neighbours,
    are_fields,
    by_number,
    samples_of_groups,
)
from loader_service.catalog.videos.array_readings import (
    channels_or_frames,
    classes_or_fields,
    lines_or_frames,
    refuse_frames_in_the_last_axis,
    refuse_samples_in_the_last_axis,
    refuse_time_in_the_last_axis,
    rivals,
    tables_of_columns,
    unequal,
)
from loader_service.catalog.videos.episodes import Episode, Found, found_of
from loader_service.catalog.videos.frame_axis import (
    are_lines,
    are_masked,
    are_numbered,
    frame_counts_of,
    have_any_sides,
    have_numbers_or_ids,
    have_roles,
    is_picture,
    is_sequence_of_pictures,
    longer_columns,
    rival_of,
    with_columns,
)
from loader_service.catalog.videos.frames_in_groups import refuse_groups_of_frames
from loader_service.catalog.videos.group_readings import (
    refuse_channels_of_volumes,
    refuse_numbered_parts,
    with_fields_of_groups,
    with_groups,
    with_whole_groups,
)
from loader_service.catalog.videos.numbered_columns import find_numbered_columns
from loader_service.catalog.videos.numbered_videos import find_numbered_videos
from loader_service.catalog.videos.parts_readings import parts_or_videos
from loader_service.catalog.videos.picture_sequences import of_cameras, of_dataset, of_pictures, parts_of, tails_of
from loader_service.catalog.videos.picture_videos import (
    find_picture_videos,
    refuse_grey_groups,
    refuse_grey_pictures,
    refuse_numbered_pictures,
)
from loader_service.catalog.videos.set_aside import is_aside, set_aside
from loader_service.catalog.videos.sibling_groups import (
    are_levels,
    are_own_tables,
    belong_to_rows,
    have_namesakes,
    have_one_form,
    have_own_data,
    is_recording,
    share_little,
    sibling_groups,
    sounds_of,
)
from loader_service.catalog.videos.split_columns import refuse_columns_of_splits
from loader_service.catalog.videos.time_axes import refuse_colours_before_time, refuse_other_time_axis
from loader_service.catalog.videos.vlen_rows import find_lists

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree

EXPECTED = (
    "a group per video, or a file per episode, with raw uint8 frames or arrays; a table of two or more dimensions; or "
    "a vlen dataset of numbers"
)


def find_without_frames(hdf5: HDF5File, tree: Tree, aside: Mapping[str, str]) -> Found | None:
    """Return the videos of a file that holds no JPEG, in the first of these ways that fits, or None.

    Numbered frames; single pictures; sequences of pictures by dataset or by group; the rows of a vlen dataset of
    numbers; arrays by dataset or by group; a table.

    Raises
    ------
    TwoReadingsError
        When a file fits in two ways.
    """
    numeric = _numeric(tree, aside)
    plain = [info for info in numeric if not is_vlen(info.dtype) and info.kind is not ElementKind.TEXT]
    unnamed = [info for info in plain if info.basename not in LABEL_NAMES]
    scalars = [info for info in tree.datasets.values() if _is_scalar(info, aside)]
    found = find_numbered_videos(tree, [*plain, *scalars], unnamed) or find_picture_videos(plain, scalars)
    found = found or find_numbered_columns([*plain, *scalars])
    if found is not None:
        return found
    refuse_columns_of_splits(unnamed)
    refuse_frames_in_the_last_axis(unnamed)
    pictures = [info for info in unnamed if is_picture(info)]
    found = of_cameras(tree, pictures) or _by_dataset(tree, pictures) or of_pictures(tree, pictures)
    if found is not None:
        return found
    vlen = [info for info in numeric if is_vlen(info.dtype) and len(info.shape) == 1]
    found = find_lists(hdf5, tree, vlen, plain)
    if found is not None:
        return found
    arrays = [info for info in unnamed if info.kind is not ElementKind.BYTES or len(info.shape) > 1]
    refuse_channels_of_volumes(plain)
    refuse_colours_before_time(plain)
    found = _by_dataset(tree, arrays) or _by_group(arrays) or _find_table(unnamed, plain)
    return _of_lone_group(unnamed, found) if found is not None and found.layout == "table" else found


def _numeric(tree: Tree, aside: Mapping[str, str]) -> list[DatasetInfo]:
    return [
        info
        for info in tree.datasets.values()
        if info.dtype and info.shape and 0 not in info.shape and not is_aside(aside, info)
    ]


def _is_scalar(info: DatasetInfo, aside: Mapping[str, str]) -> bool:
    number = is_number(info.dtype)
    return bool(number) and info.shape == () and not is_aside(aside, info)


def find_datasets(tree: Tree) -> list[Episode]:
    """Return the videos of a file that are a dataset each; none, if its datasets are no videos."""
    numeric = _numeric(tree, set_aside(tree))
    plain = [info for info in numeric if not is_vlen(info.dtype) and info.kind is not ElementKind.TEXT]
    unnamed = [info for info in plain if info.basename not in LABEL_NAMES]
    found = find_picture_videos(plain, declared=True) or _by_dataset(tree, unnamed, declared=True)
    return [] if found is None else [episode for episode in found.episodes if episode.root is None]


def _by_dataset(tree: Tree, arrays: Sequence[DatasetInfo], *, declared: bool = False) -> Found | None:
    """Return a video for each dataset of one group, where only lengths, or numbers in names, tell them apart.

    `declared`: a schema says that each is a video, so that names which do not tell are no question.
    """
    tails = tails_of(arrays)
    sets: dict[tuple[str, str, tuple[int, ...]], list[DatasetInfo]] = {}
    for info in arrays:
        sets.setdefault((info.parent, info.dtype, tails[info.path]), []).append(info)
    lengths = Counter(info.shape[0] for info in tree.datasets.values() if info.shape)
    neighbours = Neighbours(arrays, tails)
    chosen = [members for members in sets.values() if _are_videos(members, neighbours.aligned(members, lengths))]
    if not chosen and not declared:
        return None
    for members in sets.values() if not declared else ():
        if len({info.shape[0] for info in members}) > 1 and have_roles(info.basename for info in members):
            groups = {info.parent for info in arrays if info.basename == members[0].basename}
            raise unequal(members, grouped=len(groups) > 1)
    largest = max(arrays, key=lambda info: (len(info.shape) > 1, info.size_bytes))
    dtype, tail = largest.dtype, tails[largest.path]
    if not declared and not any((members[0].dtype, tails[members[0].path]) == (dtype, tail) for members in chosen):
        return None  # coordinates beside what they belong to
    columns = [each for each in sets.values() if len(each) > 1 and each not in chosen]
    if not declared and not tail and any(each[0].dtype == dtype and len(each[0].shape) == 1 for each in columns):
        return None  # columns of tables, of which some have numbers in their names
    members = [info for each in chosen for info in each]
    if not declared and not is_picture(largest) and (_are_few_words(members) or _are_channels(members)):
        raise parts_or_videos(arrays, next(each for each in chosen if tails[each[0].path] == tail))
    if not declared and is_picture(largest) and (are_masked(info.basename for info in members) or are_levels(members)):
        raise classes_or_fields(members)
    alike = [info for info in arrays if info.dtype == dtype and (tails[info.path] == tail or declared)]
    alike = [info for info in alike if len(info.shape) == len(largest.shape)]
    by_name = Counter(info.basename for info in alike)
    parents = {info.parent for info in alike}
    same = len(parents) > 1 and all(count == len(parents) for count in by_name.values())
    if not declared and same and not all(map(is_recording, by_name)):
        return None  # the same names in all groups: those are the videos
    if not declared:
        refuse_grey_pictures(alike)
    return found_of([Episode(info.path, None, info.shape[0], info.path, parts_of(None, info)) for info in alike])


def _are_few_words(members: Sequence[DatasetInfo]) -> bool:
    """Tell whether names are neither numbers nor ids, and so few that each may be another part of one recording."""
    names = {info.basename for info in members}
    return len(members) <= _FEW and not have_numbers_or_ids(names)


def _are_channels(members: Sequence[DatasetInfo]) -> bool:
    """Tell whether few sequences of one length may be parts of one recording: numbered, and not called recordings.

    Those are signals, and what is called as a camera is, or has its number before a word: ``2ch frames``.
    """
    names = [info.basename for info in members]
    signals = all(len(info.shape) == 1 for info in members)
    parts = signals or have_roles(names) or not any(_NUMBER_OF_A_RECORDING.search(name) for name in names)
    few = parts and len(members) <= _FEW and len({info.shape for info in members}) == 1
    return few and are_numbered(names) and not any(map(is_recording, names))


#: At the end of a name, or so long that it counts no parts.
_NUMBER_OF_A_RECORDING = re.compile(r"[0-9]{3}|[0-9]$")

#: So many sequences beside each other may be cameras, sensors or parts.
_FEW = 8


def _are_videos(members: Sequence[DatasetInfo], lengths: Mapping[int, int]) -> bool:
    if len(members) < 2:
        return False
    own = Counter(info.shape[0] for info in members)
    listed = len(members) if len(own) > 1 else 0  # by names or labels, with an entry for each
    if any(lengths[length] > count for length, count in own.items() if length != listed):
        return False  # others are aligned with them
    names = [info.basename for info in members]
    return len(own) > 1 or have_numbers_or_ids(names)


def _by_group(arrays: Sequence[DatasetInfo]) -> Found | None:
    """Return a video for each of the groups beside each other that hold arrays of the same names."""
    groups = sibling_groups(arrays)
    if groups is None:
        return None
    refuse_groups_of_frames(groups)
    counts = {root: frame_counts_of(list(members.values())) for root, members in groups.items()}
    names = [basename_of(root) for root in groups]
    equal = len({count[0] for count in counts.values()}) == 1
    if have_roles(names) and len(groups) <= _FEW:
        if equal:
            return None
        raise with_fields_of_groups(rivals([info for each in groups.values() for info in each.values()]), groups)
    words = not have_numbers_or_ids(names)
    if words and not have_one_form(groups):
        return None
    numbered = by_number(groups)
    if belong_to_rows(groups, arrays, next(iter(counts.values()))[0] if equal else 0, (words, numbered)):
        return None
    if numbered:
        raise samples_of_groups(arrays, list(groups))
    if have_own_data(groups):
        return None  # bands, each in a group of its own
    shared = set.intersection(*(set(members) for members in groups.values()))
    few_words = words and len(groups) <= _FEW
    if few_words and equal and len(shared) == 1:
        raise parts_or_videos(arrays, [members[name] for members in groups.values() for name in shared], *shared)
    if few_words and (share_little(groups) or are_own_tables(groups)):
        raise rivals([info for members in groups.values() for info in members.values()])
    if sounds := sounds_of(groups):
        raise channels_or_frames(sounds)
    refuse_other_time_axis(groups)
    for root, members in groups.items():
        rival = rival_of(list(members.values()), counts[root][0])
        if rival is not None or len(counts[root]) > 1 or have_namesakes(members, counts[root][0]):
            raise with_whole_groups(rivals(list(members.values()), root), groups)
        if longer := longer_columns(list(members.values()), counts[root][0]):
            raise tables_of_columns(list(members.values()), [longer, counts[root][0]])
    timed = [
        name for name in shared if all(members[name].shape[0] == counts[root][0] for root, members in groups.items())
    ]
    sizes = {name: sum(members[name].size_bytes for members in groups.values()) for name in timed or shared}
    main = max(sorted(sizes, key=natural_key), key=lambda name: sizes[name])
    refuse_grey_groups(groups, sorted(timed, key=natural_key) or [main])
    refuse_numbered_parts(groups)
    return found_of([of_dataset(root, members[main]) for root, members in groups.items()])


def _of_lone_group(arrays: Sequence[DatasetInfo], table: Found) -> Found:
    """Return a table as a video where all lies in one group that is called a recording with its number: ``traj_0``."""
    group = common_group([info.parent for info in arrays])
    name = basename_of(group)
    main = next(info for info in arrays if info.path == table.episodes[0].dataset_path)
    lone = is_recording(name) and name[-1].isdigit()
    return found_of([of_dataset(group, main)]) if lone else table


def _find_table(arrays: Sequence[DatasetInfo], named: Sequence[DatasetInfo]) -> Found | None:
    """Return a file as one table, with as many rows as most of its datasets have; `named`: with those called labels."""
    standing = with_columns(arrays)
    counted = [info for info in standing if info.kind is not ElementKind.BYTES or len(info.shape) > 1]
    tall = [info for info in counted if len(info.shape) > 1]
    if not tall:
        return _of_columns(arrays, named)
    refuse_numbered_pictures(arrays)
    if have_any_sides(tall):
        raise rivals(counted)
    best = frame_counts_of(standing if any(is_picture(info) for info in tall) else counted)
    if len(best) > 1 or rival_of(counted, best[0]) is not None:
        refuse_samples_in_the_last_axis(counted)
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
