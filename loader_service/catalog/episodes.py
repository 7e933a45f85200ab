"""Which datasets of a file make one video: its cameras, and the group that is its own. Sees paths and shapes only."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from loader_service.catalog.columns import Access
from loader_service.catalog.inner_paths import basename_of, parent_of, unnumbered
from loader_service.catalog.layouts import empty_groups
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.natural import natural_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from loader_service.catalog.layouts import FoundVideo
    from loader_service.catalog.schema import FieldKind, VideoLayout
    from loader_service.catalog.tree import DatasetInfo, Tree


@dataclass(frozen=True)
class Part:
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
        For a row of a vlen dataset: its number.
    attribute
        For an attribute: its name.
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
    attribute: str = ""
    pattern: str = ""

    @property
    def name(self) -> str:
        """The dtype's name in memory."""
        return self.dtype if self.dtype.startswith("S") else np.dtype(self.dtype).newbyteorder("=").name


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
    index_paths
        Datasets that are single frames, or only say where frames lie.
    """

    name: str
    root: str | None
    frame_count: int
    dataset_path: str
    parts: dict[str, Part] = field(default_factory=dict)
    index_paths: frozenset[str] = frozenset()


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
    """Return the arrays of a file with an entry for each of so many frames, labels aside."""
    return (
        info
        for info in tree.datasets.values()
        if info.shape[:1] == (frame_count,) and info.dtype and info.basename not in LABEL_NAMES
    )


def _is_inside(group: str, path: str) -> bool:
    return not group or path.startswith(f"{group}/")


def _camera_sets(tree: Tree, found: Sequence[FoundVideo]) -> dict[str, list[FoundVideo]]:
    """Return the cameras of each group, or nothing if the sequences are videos of their own."""
    sets: dict[str, list[FoundVideo]] = {}
    for video in found:
        sets.setdefault(parent_of(video.dataset_path), []).append(video)
    names = [frozenset(basename_of(video.dataset_path) for video in videos) for videos in sets.values()]
    if len(names[0]) < 2 or len(set(names)) > 1:
        return {}
    if any(len({video.frame_count for video in videos}) > 1 for videos in sets.values()):
        return {}
    numbered = len({unnumbered(name) for name in names[0]}) == 1
    if numbered and not all(name.startswith(("cam", "view")) for name in names[0]):
        return {}  # video0, video1, … are videos, however alike
    return sets if len(sets) > 1 or _has_arrays(tree, found) else {}


def _has_arrays(tree: Tree, found: Sequence[FoundVideo]) -> bool:
    """Tell whether a file has arrays with an entry for each frame, besides the frames and what belongs to them."""
    frames = {video.dataset_path for video in found} | {video.index_path for video in found}
    frames |= {info.path for video in found for info in video.members}
    return any(info.path not in frames for info in aligned(tree, found[0].frame_count))


def _of_cameras(root: str, videos: Sequence[FoundVideo]) -> Episode:
    parts = {key_in(root, video.dataset_path): frames_part(video) for video in videos}
    index_paths = frozenset().union(*(_index_paths(video) for video in videos))
    return Episode(root, root, videos[0].frame_count, videos[0].dataset_path, parts, index_paths)


def _index_paths(video: FoundVideo) -> frozenset[str]:
    """Return the datasets that are frames, or say where they lie, and so are no fields of their own."""
    return frozenset({video.index_path, *(info.path for info in video.members)})


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
        episodes.append(Episode(name, root, video.frame_count, video.dataset_path, parts, _index_paths(video)))
    return episodes


def _own_group(tree: Tree, video: FoundVideo, crowd: Counter[str], *, alone: bool) -> str | None:
    """Return the group that holds a video's frames and no other's, or None."""
    if video.access is Access.DATASETS:
        return video.dataset_path
    parent = parent_of(video.dataset_path)
    if crowd[parent] > 1:
        return None
    return parent if video.name == parent or (alone and _has_arrays(tree, [video])) else None


def frames_part(video: FoundVideo) -> Part:
    """Return a sequence of JPEG frames as a field of its video."""
    return Part("image", "uint8", (), video.dataset_path, frames=video)
