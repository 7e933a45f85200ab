"""Which datasets of a file make one video: its cameras, and the group that is its own. Sees paths and shapes only."""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from loader_service.catalog.codecs import DEPTH
from loader_service.catalog.inner_paths import basename_of, common_group, differing_parts, parent_of
from loader_service.catalog.layouts.search import empty_groups
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.natural import natural_key
from loader_service.catalog.videos.frame_axis import are_ids, are_numbered, have_roles
from loader_service.catalog.videos.readings import Reading, TwoReadingsError, each_by_itself
from loader_service.schema import Schema, SchemaField

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.layouts.layout import FoundVideo
    from loader_service.schema import FieldKind, VideoLayout


@dataclass(frozen=True)
class VideoField:
    """One field of one video, before anyone has looked where its bytes lie.

    Attributes
    ----------
    kind, dtype, shape
        As in `CatalogField`; the dtype may have another byte order.
    path
        Of the dataset, or group; of an attribute: of what has it.
    frames
        For JPEGs: their layout.
    info
        For numbers: the dataset.
    element
        For a row of a vlen dataset, or of one with an entry for each video: its number.
    first
        Of its frames in the dataset, or among the JPEGs: sequences may lie end to end.
    digits
        As in `RowsPlace`: where each frame is a dataset.
    missing
        As in `FieldFacts`.
    attribute
        For an attribute: its name.
    bounds
        For lists that lie end to end: the dataset that says where each begins.
    pattern
        Of the schema that named it, if one did.
    """

    kind: FieldKind
    dtype: str
    shape: tuple[int, ...]
    path: str
    frames: FoundVideo | None = None
    info: DatasetInfo | None = None
    element: int = -1
    first: int = 0
    digits: int = -1
    missing: int = 0
    attribute: str = ""
    pattern: str = ""
    bounds: DatasetInfo | None = None

    @property
    def name(self) -> str:
        """The dtype's name in memory."""
        return native_name(self.dtype)


@functools.cache
def native_name(dtype: str) -> str:
    """Return NumPy's name of a dtype in memory, of texts the dtype itself; NumPy takes 5 µs to find it."""
    return dtype if dtype.startswith("S") else np.dtype(dtype).newbyteorder("=").name


@dataclass
class Episode:
    """One video with its fields.

    Attributes
    ----------
    name
        Path inside the file; empty when the file is the video.
    root
        Path of the group that is this video and nothing else; None when the video is but a dataset.
    frame_count
        Frames that all its fields have.
    dataset_path
        Of its main field.
    parts
        By key: the path within `root`; empty when the dataset is the video; ``@name`` for an attribute.
    helpers
        As of its `FoundVideo`s.
    """

    name: str
    root: str | None
    frame_count: int
    dataset_path: str
    parts: dict[str, VideoField] = field(default_factory=dict)
    helpers: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Found:
    """The videos of one file, in natural order of their names, those without frames included."""

    layout: VideoLayout
    episodes: list[Episode]
    left_out: dict[str, str] = field(default_factory=dict)


def key_in(root: str | None, path: str) -> str:
    """Return a dataset's path within the group of its video."""
    if root is None:
        return ""
    return path[len(root) :].removeprefix("/")


def owner_of(by_root: Mapping[str | None, Episode], path: str) -> Episode | None:
    """Return the video in whose group a dataset lies, at any depth; None where there is none."""
    group = path
    while group and by_root:
        group = parent_of(group)
        if group in by_root:
            return by_root[group]
    return None


def group_frames(tree: Tree, found: Sequence[FoundVideo]) -> Found:
    """Return the videos that sequences of JPEG frames make up: several of one group can be its cameras."""
    sets = _camera_sets(tree, found)
    if sets:
        roots = find_roots(tree, list(sets), [videos[0].frame_count for videos in sets.values()])
        episodes = [_of_cameras(root, videos) for root, videos in zip(roots, sets.values(), strict=True)]
    else:
        episodes = _of_singles(tree, found)
        episodes += [Episode(video.name, None, 0, video.dataset_path) for video in empty_groups(tree, found)]
    return found_of(episodes)


def found_of(episodes: list[Episode]) -> Found:
    """Return a file's videos in order; a single one whose group is the root group is the file."""
    episodes.sort(key=lambda episode: natural_key(episode.name))
    whole_file = len(episodes) == 1 and episodes[0].root == ""
    return Found("files" if whole_file else "groups", episodes)


def find_roots(tree: Tree, parents: Sequence[str], frame_counts: Sequence[int]) -> list[str]:
    """Return the groups that are a video each, given those that hold its frames, or cameras.

    Those are its own; or, when arrays with an entry for each frame lie further up, groups further up, as far as they
    are still one for each video: of ``ep3/observations/images`` it can be ``ep3``.
    """
    parts = [parent.split("/") if parent else [] for parent in parents]
    kept = [len(each) for each in parts]
    while all(kept) and len({each[count - 1] for each, count in zip(parts, kept, strict=True)}) == 1:
        shorter = {tuple(each[: count - 1]) for each, count in zip(parts, kept, strict=True)}
        if len(shorter) < len(parts):
            break
        kept = [count - 1 for count in kept]
    if len(parents) == 1:
        kept = [0]
    roots = ["/".join(each[:count]) for each, count in zip(parts, kept, strict=True)]
    wider = any(
        _is_inside(roots[0], info.path) and not _is_inside(parents[0], info.path)
        for info in aligned(tree, frame_counts[0])
    )
    return roots if wider else list(parents)


def aligned(tree: Tree, frame_count: int) -> Iterable[DatasetInfo]:
    """Return the arrays of a file with an entry for each of so many frames, or one less, labels aside."""
    return (
        info
        for info in tree.datasets.values()
        if info.shape[:1] in {(frame_count,), (frame_count - 1,)} and info.dtype and info.basename not in LABEL_NAMES
    )


def _is_inside(group: str, path: str) -> bool:
    return not group or path.startswith(f"{group}/")


def _camera_sets(tree: Tree, found: Sequence[FoundVideo]) -> dict[str, list[FoundVideo]]:
    """Return the cameras of each group, or nothing if the sequences are videos of their own.

    Raises
    ------
    TwoReadingsError
        When sequences beside each other can be either.
    """
    sets: dict[str, list[FoundVideo]] = {}
    for video in found:
        sets.setdefault(parent_of(video.dataset_path), []).append(video)
    if _are_one(tree, found, list(sets)):
        return {common_group(list(sets)): list(found)}
    names = [frozenset(basename_of(video.dataset_path) for video in videos) for videos in sets.values()]
    if len(set(names)) > 1:
        return sets if _lack_cameras(tree, sets) else {}
    if len(names[0]) < 2 or are_numbered(names[0]):
        return {}  # video0, video1, … are videos, however alike
    equal = all(len({video.frame_count for video in videos}) == 1 for videos in sets.values())
    parents = differing_parts(list(sets))
    told = have_roles(names[0]) or _has_arrays(tree, found) or are_numbered(parents) or are_ids(parents)
    if equal and told:
        return sets
    beside = next(iter(sets.values()))
    lone = all(video.frame_count == 1 for video in found)
    if not told and (are_ids(names[0]) or lone or not equal):
        return {}
    raise _cameras_or_videos(beside, equal=equal)


def _lack_cameras(tree: Tree, sets: Mapping[str, Sequence[FoundVideo]]) -> bool:
    """Tell whether groups hold cameras of which some lack one: named as such, of one length, with arrays beside.

    What not all have becomes no field.
    """
    names = [{basename_of(video.dataset_path) for video in videos} for videos in sets.values()]
    told = have_roles(set[str]().union(*names)) and bool(set.intersection(*names))
    equal = all(len({video.frame_count for video in videos}) == 1 for videos in sets.values())
    return told and equal and all(_has_arrays(tree, videos) for videos in sets.values())


def _are_one(tree: Tree, found: Sequence[FoundVideo], parents: Sequence[str]) -> bool:
    """Tell whether sequences of several groups are one video: of one length, in groups named for what was seen."""
    lengths = {video.frame_count for video in found}
    names = differing_parts(parents)
    return len(parents) > 1 and len(lengths) == 1 and "" not in names and have_roles(names) and _has_arrays(tree, found)


def _cameras_or_videos(beside: Sequence[FoundVideo], *, equal: bool) -> TwoReadingsError:
    """Return the error for sequences beside each other of which nothing says whether they are cameras or videos."""
    fields = [SchemaField(basename_of(each.dataset_path), "image", (each.dataset_path,)) for each in beside]
    cameras = [Reading(f"one video with {len(beside)} cameras", Schema(("files",), tuple(fields)))]
    if not equal:
        cameras = [
            Reading(f"one video by its camera {field.dataset[0]!r} alone", Schema(("files",), (field,)))
            for field in fields[:2]
        ]
    shown = " and ".join(f"{each.dataset_path!r} of {each.frame_count} frames" for each in beside[:2])
    return TwoReadingsError(
        f"found {shown} beside each other, cameras of one video or videos of their own",
        [*cameras, Reading("videos of their own", each_by_itself())],
    )


def _has_arrays(tree: Tree, found: Sequence[FoundVideo]) -> bool:
    """Tell whether a file has arrays with an entry for each frame, besides the frames and what belongs to them."""
    frames = {video.dataset_path for video in found}.union(*(video.helpers for video in found))
    return any(info.path not in frames for info in aligned(tree, found[0].frame_count))


def _of_cameras(root: str, videos: Sequence[FoundVideo]) -> Episode:
    parts = {key_in(root, video.dataset_path): frames_part(video) for video in videos}
    helpers = frozenset[str]().union(*(video.helpers for video in videos))
    return Episode(root, root, videos[0].frame_count, videos[0].dataset_path, parts, helpers)


def _of_singles(tree: Tree, found: Sequence[FoundVideo]) -> list[Episode]:
    """Return the videos that have one sequence of frames each."""
    crowd = Counter(parent_of(video.dataset_path) for video in found)
    own = [_own_group(tree, video, crowd, alone=len(found) == 1) for video in found]
    filled = [number for number, group in enumerate(own) if group is not None and found[number].frame_count]
    groups = [own[number] or "" for number in filled]
    counts = [found[number].frame_count for number in filled]
    roots = dict(zip(filled, find_roots(tree, groups, counts), strict=True)) if filled else {}
    episodes = []
    for number, video in enumerate(found):
        root = roots.get(number, own[number])
        name = video.name if root is None else root
        parts = {key_in(root, video.dataset_path): frames_part(video)}
        episodes.append(Episode(name, root, video.frame_count, video.dataset_path, parts, video.helpers))
    return episodes


def _own_group(tree: Tree, video: FoundVideo, crowd: Counter[str], *, alone: bool) -> str | None:
    """Return the group that holds a video's frames and no other's, or None."""
    if video.layout.in_group:
        return video.dataset_path if video.name == video.dataset_path else None
    parent = parent_of(video.dataset_path)
    if crowd[parent] > 1:
        return None
    return parent if video.name == parent or (alone and _has_arrays(tree, [video])) else None


def frames_part(video: FoundVideo) -> VideoField:
    """Return a sequence of encoded frames as a field of its video."""
    if video.codec is DEPTH:
        return VideoField("array", "uint16", (), video.dataset_path, frames=video)
    return VideoField("image", "uint8", (), video.dataset_path, frames=video)
