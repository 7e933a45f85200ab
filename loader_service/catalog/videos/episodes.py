"""Which datasets of a file make one video: its cameras, and the group that is its own. Sees paths and shapes only."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from loader_service.catalog.codecs import DEPTH
from loader_service.catalog.dtypes import is_number, native_name
from loader_service.catalog.inner_paths import basename_of, key_in, parent_of
from loader_service.catalog.layouts.search import empty_groups
from loader_service.catalog.natural import natural_key
from loader_service.catalog.videos.cameras import camera_sets
from loader_service.catalog.videos.frame_axis import aligned, has_arrays
from loader_service.record_class import record
from loader_service.schema import VIDEO

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.layouts.layout import FoundVideo
    from loader_service.schema import FieldKind, VideoLayout


@record(frozen=True)
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
        For a row of a vlen dataset, of one with an entry for each video, or of one ``(videos, frames, …)``: its number.
    first
        Of its frames in the dataset, or among the JPEGs: sequences may lie end to end.
    digits, stride
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
    stride: int = 1
    missing: int = 0
    attribute: str = ""
    pattern: str = ""
    bounds: DatasetInfo | None = None

    @property
    def name(self) -> str:
        """The dtype's name in memory."""
        return native_name(self.dtype)

    @property
    def has_plain_rows(self) -> bool:
        """Whether it has a row of numbers in one dataset for each frame, from the first row on."""
        own = self.info is not None and self.frames is None and self.digits < 0 and self.element < 0
        return own and not self.first and is_number(self.dtype)

    @property
    def form(self) -> tuple[object, ...]:
        """What fields of the same form have in common, wherever they lie."""
        return self.kind, self.dtype, self.shape, self.frames is None

    @property
    def place(self) -> str:
        """The path of its dataset or group; of an attribute with its name behind an @."""
        return f"{self.path}@{self.attribute}" if self.attribute else self.path


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

    @property
    def timed(self) -> dict[str, VideoField]:
        """Its fields with an entry for each frame, by key."""
        return {key: part for key, part in self.parts.items() if part.kind != "value"}

    @property
    def rows(self) -> list[DatasetInfo]:
        """The datasets of numbers with an entry for each frame."""
        return [part.info for part in self.parts.values() if part.kind != "value" and part.info is not None]

    @property
    def holder(self) -> str:
        """The group that holds it, and has labels beside it; of a row of a dataset, the group of that dataset."""
        above = parent_of(self.name)
        return parent_of(above) if above and above == self.dataset_path else above

    def is_outside(self, path: str) -> bool:
        """Tell whether something lies outside of its group."""
        return bool(self.root) and not path.startswith(f"{self.root}/")


@dataclass(frozen=True)
class Found:
    """The videos of one file, in natural order of their names, those without frames included.

    `left_out` says what is no field, by its key. Where the words depend on values of this file alone it has an empty
    text, and `words` what reads them: the same is found in another file of which the values differ.
    """

    layout: VideoLayout
    episodes: list[Episode]
    left_out: dict[str, str] = field(default_factory=dict)
    words: dict[str, Callable[[HDF5File], str]] = field(default_factory=dict)

    def add_words(self, words: Mapping[str, Callable[[HDF5File], str]]) -> None:
        """Add lines whose words are read when all is found, and not before."""
        self.left_out.update(dict.fromkeys(words, ""))
        self.words.update(words)

    @cached_property
    def filled(self) -> list[Episode]:
        """The videos with frames; of these none comes, or goes, once they are found."""
        return [episode for episode in self.episodes if episode.frame_count]

    @cached_property
    def sole(self) -> dict[str, VideoField]:
        """The field of each video with frames, by what that is called, where none has a second one; else nothing."""
        if any(len(episode.parts) != 1 for episode in self.filled):
            return {}
        return {episode.name: next(iter(episode.parts.values())) for episode in self.filled}

    @cached_property
    def names(self) -> frozenset[str]:
        """What the videos are called in their groups; empty where the file is the video."""
        return frozenset(basename_of(episode.name) for episode in self.episodes)

    @property
    def by_root(self) -> dict[str | None, Episode]:
        """The videos that are a group each, by its path."""
        return {episode.root: episode for episode in self.episodes if episode.root is not None}

    @property
    def helpers(self) -> frozenset[str]:
        """The datasets that belong to videos and are no fields of their own."""
        return frozenset().union(*[episode.helpers for episode in self.episodes])


def pattern_in(root: str | None, key: str) -> str:
    """Return how a schema names what lies at a path within the group of its video, or in a file that is one."""
    return f"{VIDEO}/{key}" if root else key


def owner_of(by_root: Mapping[str | None, Episode], path: str) -> Episode | None:
    """Return the video in whose group a dataset lies, at any depth; None where there is none."""
    group = path
    while group and by_root:
        group = parent_of(group)
        if group in by_root:
            return by_root[group]
    return None


def group_frames(tree: Tree, found: Sequence[FoundVideo], *, apart: bool = False) -> Found:
    """Return the videos that sequences of JPEG frames make up: several of one group can be its cameras.

    `apart`: whether each is known to be a video of its own.
    """
    sets = {} if apart else camera_sets(tree, found)
    if sets:
        videos = {video.dataset_path: video for video in found}
        cameras = [[videos[path] for path in paths] for paths in sets.values()]
        roots = find_roots(tree, list(sets), [each[0].frame_count for each in cameras])
        episodes = [_of_cameras(root, each) for root, each in zip(roots, cameras, strict=True)]
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

    Those are its own; or, when something else of the video lies further up, groups further up, as far as they are still
    one for each video: of ``ep3/observations/images`` it can be ``ep3``. Of a file that is a video that is an array
    with an entry for each frame, of a group any dataset or attribute.
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
    root, parent = roots[0], parents[0]
    if root:
        own = {*tree.datasets, *tree.attributed}
    else:
        own = {info.path for info in aligned(tree, frame_counts[0], alone=len(parents) == 1)}
    wider = any(is_inside(root, path) and not is_inside(parent, path) for path in own)
    return roots if wider else list(parents)


def is_inside(group: str, path: str) -> bool:
    """Tell whether a path lies in a group, at any depth; all do in the root."""
    return not group or f"{path}/".startswith(f"{group}/")


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
    own = {video.dataset_path, *video.helpers}
    is_own = video.name == parent or (alone and has_arrays(tree, video.frame_count, own, alone=True))
    return parent if is_own else None


def frames_part(video: FoundVideo) -> VideoField:
    """Return a sequence of encoded frames as a field of its video."""
    if video.codec is DEPTH:
        return VideoField("array", "uint16", (), video.dataset_path, frames=video)
    return VideoField("image", "uint8", (), video.dataset_path, frames=video)
