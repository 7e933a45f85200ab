"""What a file without JPEGs holds: pictures, numbered frames, videos by group or by dataset, a table, vlen rows.

`find_without_frames` is the procedure, in the order of the table in docs/design.md; each step looks at paths, element
types and shapes alone, but for the lengths of vlen rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.hdf5.tree import ElementKind
from loader_service.catalog.inner_paths import basename_of, common_group, differing_parts
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.natural import natural_key
from loader_service.catalog.videos.across_groups import (
    Neighbours,
    by_number,
    by_their_numbers,
    parts_or_videos,
    samples_of_groups,
)
from loader_service.catalog.videos.episodes import Episode, Found, VideoField, find_roots, found_of, key_in
from loader_service.catalog.videos.fields_beside import array_part, single_part
from loader_service.catalog.videos.frame_axis import (
    are_ids,
    are_numbered,
    frame_counts_of,
    have_roles,
    is_picture,
    is_sequence_of_pictures,
    rival_of,
)
from loader_service.catalog.videos.numbered_videos import find_numbered_videos
from loader_service.catalog.videos.readings import Reading, TwoReadingsError, fields_of
from loader_service.catalog.videos.set_aside import is_aside, set_aside
from loader_service.catalog.videos.sibling_groups import sibling_groups
from loader_service.catalog.videos.single_pictures import find_single_pictures, refuse_grey_pictures
from loader_service.catalog.videos.vlen_rows import find_vlen_rows, refuse_table_with_lists
from loader_service.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.schema import VideoLayout

EXPECTED = (
    "a group per video, or a file per episode, with raw uint8 frames or arrays; a table of two or more dimensions; or "
    "a vlen dataset of numbers"
)


#: Labels with more axes than these are a map, or volume, and none of rows.
_LEAST_AXES_OF_A_MAP = 2


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
    plain = [info for info in numeric if not info.dtype.startswith("vlen") and info.kind is not ElementKind.TEXT]
    unnamed = [info for info in plain if info.basename not in LABEL_NAMES]
    numbered = [*plain, *(info for info in tree.datasets.values() if _is_scalar(info, aside))]
    found = find_numbered_videos(tree, numbered, unnamed) or _of_single_pictures(plain)
    if found is not None:
        return found
    pictures = [info for info in unnamed if is_picture(info)]
    found = _by_dataset(tree, pictures) or _of_pictures(tree, pictures)
    if found is not None:
        return found
    vlen = [info for info in numeric if info.dtype.startswith("vlen") and len(info.shape) == 1]
    rows = {(info.parent, info.shape[0]) for info in plain if is_sequence_of_pictures(info)}
    vlen = [info for info in vlen if (info.parent, info.shape[0]) not in rows]  # else lists beside pictures
    if vlen:
        main = max(vlen, key=lambda info: info.size_bytes)
        refuse_table_with_lists(main, unnamed)
        return find_vlen_rows(hdf5, tree, main)
    arrays = [info for info in unnamed if info.kind is not ElementKind.BYTES or len(info.shape) > 1]
    maps = [info for info in plain if info.basename in LABEL_NAMES and len(info.shape) > _LEAST_AXES_OF_A_MAP]
    for info in arrays if len(arrays) == 1 else ():
        if any(info.shape[1:] == each.shape for each in maps):
            raise _rivals([info, *maps])  # channels come first
    return _by_dataset(tree, arrays) or _by_group(arrays) or _find_table(unnamed)


def _numeric(tree: Tree, aside: Mapping[str, str]) -> list[DatasetInfo]:
    return [
        info
        for info in tree.datasets.values()
        if info.dtype and info.shape and 0 not in info.shape and not is_aside(aside, info)
    ]


def _is_scalar(info: DatasetInfo, aside: Mapping[str, str]) -> bool:
    number = info.dtype and not info.dtype.startswith(("S", "vlen"))
    return bool(number) and info.shape == () and not is_aside(aside, info)


def find_datasets(tree: Tree) -> list[Episode]:
    """Return the videos of a file that are a dataset each; none, if its datasets are no videos."""
    numeric = _numeric(tree, set_aside(tree))
    plain = [info for info in numeric if not info.dtype.startswith("vlen") and info.kind is not ElementKind.TEXT]
    unnamed = [info for info in plain if info.basename not in LABEL_NAMES]
    found = _of_single_pictures(plain) or _by_dataset(tree, unnamed, declared=True)
    return [] if found is None else [episode for episode in found.episodes if episode.root is None]


def _of_single_pictures(plain: Sequence[DatasetInfo]) -> Found | None:
    """Return a video of one frame for each picture, or for each group of pictures of the same names."""
    sure, maybe = find_single_pictures(plain)
    if not sure:
        if maybe and len(maybe) == len([info for info in plain if info.basename not in LABEL_NAMES]):
            raise _rows_or_pictures(maybe)
        return None
    if any(is_picture(info) for info in plain):
        return None  # thumbnails beside a sequence
    groups: dict[str, list[DatasetInfo]] = {}
    for info in sure:
        groups.setdefault(info.parent, []).append(info)
    names = [frozenset(info.basename for info in members) for members in groups.values()]
    together = len(set(names)) == 1 and (len(groups) > 1 or have_roles(names[0]) or _are_one(sure))
    if not together:
        return found_of([Episode(info.path, None, 1, info.path, {"": single_part(info)}) for info in sure])
    roots = list(groups) if len(groups) > 1 else [""]
    episodes = []
    for root, members in zip(roots, groups.values(), strict=True):
        parts = {key_in(root, info.path): single_part(info) for info in members}
        episodes.append(Episode(root, root, 1, members[0].path, parts))
    return found_of(episodes)


def _rows_or_pictures(maybe: Sequence[DatasetInfo]) -> TwoReadingsError:
    """Return the error for datasets whose first axis can be frames, or lines of a picture."""
    names = {info.basename for info in maybe}
    grouped = len({info.parent for info in maybe}) * len(names) == len(maybe) > len(names)
    layouts: tuple[VideoLayout, VideoLayout] = ("groups", "groups") if grouped else ("table", "files")
    first = [info for info in maybe if info.parent == maybe[0].parent] if grouped else maybe
    return TwoReadingsError(
        f"found {maybe[0].describe()}, whose first axis nothing else shares",
        [
            Reading("frames, or rows of a table", Schema((layouts[0],), fields_of(first, "array", grouped=grouped))),
            Reading("one picture, or sample", Schema((layouts[1],), fields_of(first, "array", True, grouped=grouped))),
            *by_their_numbers(maybe),
        ],
    )


def _are_one(pictures: Sequence[DatasetInfo]) -> bool:
    """Tell whether pictures of one group belong together: one alone, or of other forms and names that are no ids.

    Those that differ in their sides alone are pictures of any size, each of its own.
    """
    forms = {(info.dtype, info.shape[2:]) for info in pictures}
    return len(pictures) == 1 or (len(forms) == len(pictures) and not are_ids(info.basename for info in pictures))


def _of_pictures(tree: Tree, pictures: Sequence[DatasetInfo]) -> Found | None:
    """Return a video for each group that holds sequences of pictures of the same names; a lone group is the file."""
    groups: dict[str, dict[str, DatasetInfo]] = {}
    for info in pictures:
        groups.setdefault(info.parent, {})[info.basename] = info
    shared = set.intersection(*(set(members) for members in groups.values())) if groups else set()
    if not shared or set(groups) == {""}:
        return None
    for members in groups.values():
        lengths = {info.shape[0]: info for info in members.values()}
        if len(lengths) > 1:
            raise _unequal(list(lengths.values()))
    if len(groups) > 1 and have_roles(differing_parts(list(groups))) and len({info.shape[0] for info in pictures}) == 1:
        return found_of([_of_dataset("", pictures[0])])
    main = min(sorted(shared, key=natural_key))
    mains = [members[main] for members in groups.values()]
    if len(groups) == 1 and common_group([info.parent for info in tree.datasets.values()]) != next(iter(groups)):
        return Found("files", [_of_dataset("", mains[0])])
    roots = find_roots(tree, list(groups), [info.shape[0] for info in mains])
    return found_of([_of_dataset(root, info) for root, info in zip(roots, mains, strict=True)])


def _unequal(sequences: Sequence[DatasetInfo]) -> TwoReadingsError:
    first, second = sequences[:2]
    return TwoReadingsError(
        f"found {first.describe()} beside {second.describe()}: two cameras of one video, of which one lost frames, or "
        "two videos",
        [
            Reading(
                f"a video by {info.path!r} alone",
                Schema(("files",), fields_of([info], "image" if is_picture(info) else "array")),
            )
            for info in sequences[:2]
        ],
    )


def _by_dataset(tree: Tree, arrays: Sequence[DatasetInfo], *, declared: bool = False) -> Found | None:
    """Return a video for each dataset of one group, where only lengths, or numbers in names, tell them apart.

    `declared`: a schema says that each is a video, so that names which do not tell are no question.
    """
    sets: dict[tuple[str, str, tuple[int, ...]], list[DatasetInfo]] = {}
    for info in arrays:
        sets.setdefault((info.parent, info.dtype, info.shape[1:]), []).append(info)
    lengths: dict[int, int] = {}
    for info in tree.datasets.values():
        if info.shape:
            lengths[info.shape[0]] = lengths.get(info.shape[0], 0) + 1
    neighbours = Neighbours(arrays)
    chosen = [members for members in sets.values() if _are_videos(members, neighbours.aligned(members, lengths))]
    if not chosen:
        return None
    for members in sets.values():
        if len({info.shape[0] for info in members}) > 1 and have_roles(info.basename for info in members):
            raise _unequal(members)
    largest = max(arrays, key=lambda info: (len(info.shape) > 1, info.size_bytes))
    dtype, tail = largest.dtype, largest.shape[1:]
    if not any((members[0].dtype, members[0].shape[1:]) == (dtype, tail) for members in chosen):
        return None  # coordinates beside what they belong to
    if not declared and not is_picture(largest) and _are_few_words([info for each in chosen for info in each]):
        raise parts_or_videos(arrays, next(each for each in chosen if each[0].shape[1:] == tail))
    alike = [info for info in arrays if (info.dtype, info.shape[1:]) == (dtype, tail)]
    by_name: dict[str, int] = {}
    for info in alike:
        by_name[info.basename] = by_name.get(info.basename, 0) + 1
    parents = {info.parent for info in alike}
    if not declared and len(parents) > 1 and all(count == len(parents) for count in by_name.values()):
        return None  # the same names in all groups: those are the videos
    if not declared:
        refuse_grey_pictures(alike)
    return found_of([Episode(info.path, None, info.shape[0], info.path, _parts(None, info)) for info in alike])


def _are_few_words(members: Sequence[DatasetInfo]) -> bool:
    """Tell whether names are neither numbers nor ids, and so few that each may be another part of one recording."""
    names = {info.basename for info in members}
    return len(members) <= _FEW and not are_numbered(names) and not are_ids(names)


#: So many sequences beside each other may be cameras, sensors or parts.
_FEW = 8


def _are_videos(members: Sequence[DatasetInfo], lengths: Mapping[int, int]) -> bool:
    if len(members) < 2:
        return False
    own = {info.shape[0]: 0 for info in members}
    for info in members:
        own[info.shape[0]] += 1
    if any(lengths[length] > count for length, count in own.items()):
        return False  # others are aligned with them
    names = [info.basename for info in members]
    return len(own) > 1 or are_numbered(names) or are_ids(names)


def _by_group(arrays: Sequence[DatasetInfo]) -> Found | None:
    """Return a video for each of the groups beside each other that hold arrays of the same names."""
    groups = sibling_groups(arrays)
    if groups is None:
        return None
    counts = {root: frame_counts_of(list(members.values())) for root, members in groups.items()}
    names = [basename_of(root) for root in groups]
    equal = len({count[0] for count in counts.values()}) == 1
    if have_roles(names) and len(groups) <= _FEW:
        if equal:
            return None
        raise _rivals([info for members in groups.values() for info in members.values()])
    if by_number(groups):
        raise samples_of_groups(arrays, list(groups))
    for root, members in groups.items():
        rival = rival_of(list(members.values()), counts[root][0])
        if rival is not None or len(counts[root]) > 1:
            raise _rivals(list(members.values()))
    shared = set.intersection(*(set(members) for members in groups.values()))
    timed = [
        name for name in shared if all(members[name].shape[0] == counts[root][0] for root, members in groups.items())
    ]
    sizes = {name: sum(members[name].size_bytes for members in groups.values()) for name in timed or shared}
    main = max(sorted(sizes, key=natural_key), key=lambda name: sizes[name])
    return found_of([_of_dataset(root, members[main]) for root, members in groups.items()])


def _rivals(members: Sequence[DatasetInfo]) -> TwoReadingsError:
    """Return the error for datasets by which time can be counted in more than one way."""
    by_length: dict[int, list[DatasetInfo]] = {}
    tall = [info for info in members if len(info.shape) > 1]
    for info in sorted(tall or members, key=lambda info: (-len(info.shape), info.path)):
        by_length.setdefault(info.shape[0], []).append(info)
    shown = [alike[0] for alike in by_length.values()][:4]
    return TwoReadingsError(
        f"found {', '.join(info.describe() for info in shown)}, of different length, and nothing says which of them "
        "counts the frames",
        [
            Reading(f"rows of {info.path!r}", Schema(("table",), fields_of(by_length[info.shape[0]], "array")))
            for info in shown
        ],
    )


def _of_dataset(root: str, info: DatasetInfo) -> Episode:
    parts = _parts(root, info)
    return Episode(root, root, info.shape[0] if parts else 0, info.path, parts)


def _parts(root: str | None, info: DatasetInfo) -> dict[str, VideoField]:
    part = array_part(info)
    return {} if part is None else {key_in(root, info.path): part}


def _find_table(arrays: Sequence[DatasetInfo]) -> Found | None:
    """Return a file as one table, with as many rows as most of its datasets have."""
    counted = [info for info in arrays if info.kind is not ElementKind.BYTES or len(info.shape) > 1]
    tall = [info for info in counted if len(info.shape) > 1]
    if not tall:
        return _of_columns(arrays)
    best = frame_counts_of(arrays if any(is_picture(info) for info in tall) else counted)
    if len(best) > 1 or rival_of(counted, best[0]) is not None:
        raise _rivals(counted)
    mains = [info for info in tall if info.shape[0] == best[0]]
    return Found("table", [_of_dataset("", max(mains, key=lambda info: info.size_bytes))]) if mains else None


def _of_columns(arrays: Sequence[DatasetInfo]) -> Found | None:
    """Return a lone sequence of numbers as a file's video, or columns of one length as a table."""
    sequences = [info for info in arrays if info.kind is ElementKind.FLOAT]
    if len(sequences) == 1 and len(arrays) == 1:
        return Found("files", [_of_dataset("", sequences[0])])
    best = frame_counts_of(arrays) if arrays else []
    columns = [info for info in arrays if best and info.shape[0] == best[0]]
    table = len(best) == 1 and len(columns) > 1
    chosen = columns if table else sequences if len(sequences) == 1 else []
    if chosen and any(info.shape[0] >= _SIGNAL * chosen[0].shape[0] for info in arrays):
        raise _rivals(arrays)
    if table:
        return Found("table", [_of_dataset("", max(columns, key=lambda info: info.size_bytes))])
    return Found("files", [_of_dataset("", chosen[0])]) if chosen else None


#: A sequence so many times longer than columns is a signal, and they may be what is said about it.
_SIGNAL = 2
