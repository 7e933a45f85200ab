"""How HDF5 files hold videos: one small detector per layout. Knows no labels, no addresses, no catalog."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.columns import Access
from loader_service.catalog.inner_paths import join, parent_of, unnumbered
from loader_service.catalog.jpeg import START_OF_IMAGE
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.natural import natural_key
from loader_service.catalog.patterns import matches
from loader_service.catalog.tree import DatasetInfo, Kind, Tree, to_bytes
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    import h5py
    import numpy.typing as npt

_LENGTH_NAMES = ("lengths", "length", "sizes", "{}_lengths", "{}_length", "{}_sizes")
_OFFSET_NAMES = ("{}_offsets", "offsets")

EXPECTED = (
    "a vlen uint8 dataset per video; a uint8 dataset of concatenated JPEGs with a dataset 'offsets' beside it; a 2-D "
    "uint8 dataset of padded JPEGs; or a group per video with a 1-D uint8 or opaque dataset per frame"
)


@dataclass(frozen=True)
class FoundVideo:
    """A video as its layout describes it, before anyone has looked where its bytes lie.

    Attributes
    ----------
    name
        Path of the video inside the file; empty when the root group is the video.
    access
        Its layout.
    dataset_path
        Of the dataset, or, for ``DATASETS``, group that holds the frames.
    frame_count
        Number of frames, possibly 0.
    starts
        For ``FLAT``: where each frame begins, and where the last ends, ``(frames + 1,) int64``.
    lengths
        For ``PADDED`` with a dataset of lengths: the encoded bytes of each row, ``(frames,) int64``.
    members
        For ``DATASETS``: the dataset of each frame.
    """

    name: str
    access: Access
    dataset_path: str
    frame_count: int
    starts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    lengths: npt.NDArray[np.int64] | None = None
    members: tuple[DatasetInfo, ...] = ()
    index_path: str = ""  # of the dataset of offsets or lengths


@dataclass(frozen=True)
class Contents:
    """What a detector looks at.

    Attributes
    ----------
    file
        For a look at the first bytes of a dataset, and at datasets of offsets and lengths.
    tree
        All of the file.
    candidates
        The datasets that may be videos: all, or those that the user's pattern names.
    trusted
        Whether the user named them, so that uint8 is taken for JPEG without looking.
    """

    file: h5py.File
    tree: Tree
    candidates: Sequence[DatasetInfo]
    trusted: bool

    def of_kind(self, kind: Kind, rank: int) -> list[DatasetInfo]:
        """Return the candidates of one element type and rank, in natural order."""
        return [info for info in self.candidates if info.kind is kind and len(info.shape) == rank]

    def beside(self, info: DatasetInfo, names: Sequence[str]) -> DatasetInfo | None:
        """Return the first 1-D integer dataset in the same group with one of these names (``{}``: its basename)."""
        for name in names:
            path = join(info.parent, name.format(info.basename))
            found = self.tree.datasets.get(path)
            if found and found.kind in {Kind.INTEGER, Kind.BYTES} and len(found.shape) == 1 and path != info.path:
                return found
        return None

    def read_numbers(self, info: DatasetInfo) -> npt.NDArray[np.int64]:
        """Return a 1-D integer dataset."""
        return np.asarray(self.file[to_bytes(info.path)][()]).astype(np.int64)

    def any_jpeg(self, info: DatasetInfo, *where: Any) -> bool:
        """Tell whether JPEG begins at one of the places of a dataset, each given as an index for h5py."""
        if self.trusted:
            return True
        dataset = self.file[to_bytes(info.path)]
        return any(np.asarray(dataset[place]).tobytes().startswith(START_OF_IMAGE) for place in where)


Detector = Callable[[Contents], list[FoundVideo]]


def find_frames(file: h5py.File, tree: Tree, pattern: str | None) -> list[FoundVideo]:
    """Return the sequences of JPEG frames in one file, in natural order of their paths; none, if there are none.

    Without a pattern the first layout that fits decides for the whole file. With one, each dataset that it matches is,
    or belongs to, a sequence.

    Raises
    ------
    CatalogError
        When a pattern matches nothing, or a dataset of the wrong rank or type; when offsets or lengths do not fit their
        frames.
    """
    if pattern is not None:
        return _find_named(file, tree, pattern)
    candidates = sorted(tree.datasets.values(), key=lambda info: natural_key(info.path))
    contents = Contents(file, tree, candidates, trusted=False)
    return next((found for found in (detect(contents) for detect in DETECTORS) if found), [])


def find_declared(file: h5py.File, tree: Tree, paths: set[str]) -> list[FoundVideo]:
    """Return the sequences of JPEG frames that are these datasets, or groups; fewer, if some cannot be."""
    candidates = [info for info in tree.datasets.values() if info.path in paths or info.parent in paths]
    found: list[FoundVideo] = []
    for detect in DETECTORS:
        left = [info for info in candidates if info.path not in {video.dataset_path for video in found}]
        videos = detect(Contents(file, tree, sorted(left, key=lambda info: natural_key(info.path)), trusted=True))
        found += [video for video in videos if video.dataset_path in paths]
    return found


def _find_named(file: h5py.File, tree: Tree, pattern: str) -> list[FoundVideo]:
    framelike = {Kind.VLEN_BYTES, Kind.BYTES, Kind.OPAQUE}
    left = sorted(
        (
            info
            for info in tree.datasets.values()
            if matches(pattern, info.path) or (info.kind in framelike and matches(pattern, info.parent))
        ),
        key=lambda info: natural_key(info.path),
    )
    if not left:
        raise CatalogError(f"no dataset matches --frames {pattern!r}; found {tree.describe()}")
    found: list[FoundVideo] = []
    for detect in DETECTORS:
        videos = detect(Contents(file, tree, left, trusted=True))
        found += videos
        claimed = {video.dataset_path for video in videos} | {info.path for video in videos for info in video.members}
        left = [info for info in left if info.path not in claimed]
    if left:
        raise CatalogError(f"--frames {pattern!r} matches {left[0].describe()}: expected {EXPECTED}")
    return found


def _find_vlen(contents: Contents) -> list[FoundVideo]:
    datasets = contents.of_kind(Kind.VLEN_BYTES, 1)
    return [
        FoundVideo(name, Access.VLEN, info.path, info.shape[0])
        for info, name in zip(datasets, _names(datasets), strict=True)
    ]


def _find_flat(contents: Contents) -> list[FoundVideo]:
    pairs = []
    for info in contents.of_kind(Kind.BYTES, 1):
        index = contents.beside(info, _OFFSET_NAMES)
        if index is not None:
            starts = _check_starts(info, index, contents.read_numbers(index))
            places = [slice(int(start), int(start) + 2) for start in starts[:-1][[0, -1]]] if len(starts) > 1 else []
            if not info.shape[0] or contents.any_jpeg(info, *places):
                pairs.append((info, starts, index.path))
    names = _names([info for info, _, _ in pairs])
    return [
        FoundVideo(name, Access.FLAT, info.path, len(starts) - 1, starts=starts, index_path=index_path)
        for (info, starts, index_path), name in zip(pairs, names, strict=True)
    ]


def _check_starts(info: DatasetInfo, index: DatasetInfo, offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    size = info.shape[0]
    if len(offsets) and (offsets[0] < 0 or offsets[-1] > size or (np.diff(offsets) < 0).any()):
        raise CatalogError(
            f"{index.path!r}: expected offsets that never fall, from 0 to at most {size} (the bytes of {info.path!r}); "
            f"got {len(offsets)} of {int(offsets.min())} to {int(offsets.max())}"
        )
    # N + 1 boundaries end with the size; N starts do not, and the size is the last frame's end.
    ends_with_size = len(offsets) > 0 and offsets[-1] == size
    return offsets if ends_with_size else np.append(offsets, size)


def _find_padded(contents: Contents) -> list[FoundVideo]:
    datasets = [
        info
        for info in contents.of_kind(Kind.BYTES, 2)
        if not info.shape[0] or contents.any_jpeg(info, (0, slice(0, 2)), (info.shape[0] - 1, slice(0, 2)))
    ]
    found = []
    for info, name in zip(datasets, _names(datasets), strict=True):
        index = contents.beside(info, _LENGTH_NAMES)
        lengths = None if index is None else _row_lengths(contents, info, index)
        path = "" if index is None else index.path
        found.append(FoundVideo(name, Access.PADDED, info.path, info.shape[0], lengths=lengths, index_path=path))
    return found


def _row_lengths(contents: Contents, info: DatasetInfo, beside: DatasetInfo) -> npt.NDArray[np.int64]:
    lengths = contents.read_numbers(beside)
    rows, width = info.shape
    if len(lengths) != rows or (rows and (lengths.min() < 0 or lengths.max() > width)):
        span = f"{int(lengths.min())} to {int(lengths.max())}" if len(lengths) else "nothing"
        raise CatalogError(
            f"{beside.path!r}: expected {rows} lengths of 0 to {width} bytes for {info.describe()}, "
            f"got {len(lengths)} of {span}"
        )
    return lengths


def _find_datasets(contents: Contents) -> list[FoundVideo]:
    groups: dict[str, list[DatasetInfo]] = {}
    for info in contents.candidates:
        scalar_opaque = info.kind is Kind.OPAQUE and info.shape in {(), (1,)}
        if scalar_opaque or (info.kind is Kind.BYTES and len(info.shape) == 1):
            groups.setdefault(info.parent, []).append(info)
    found = []
    for group, children in groups.items():
        frames = _frames_among(contents, children)
        if frames:
            found.append(FoundVideo(group, Access.DATASETS, group, len(frames), members=tuple(frames)))
    return found


def _frames_among(contents: Contents, children: list[DatasetInfo]) -> list[DatasetInfo]:
    """Return the children that are frames: those named like the first JPEG, and any other that is one."""
    children = [info for info in children if info.basename not in LABEL_NAMES]
    first = next((info for info in children if contents.any_jpeg(info, _beginning(info))), None)
    if first is None:
        return []
    # A frame that is damaged, or no JPEG, keeps its number if it is named like its neighbours.
    stem = unnumbered(first.basename)
    return [info for info in children if unnumbered(info.basename) == stem or contents.any_jpeg(info, _beginning(info))]


def _beginning(info: DatasetInfo) -> Any:
    return slice(0, 2) if info.kind is Kind.BYTES else ...


def empty_groups(tree: Tree, found: Sequence[FoundVideo]) -> list[FoundVideo]:
    """Return a video without frames for each group that holds nothing, where its neighbours are a video each."""
    parents = {parent_of(video.name) for video in found if video.name and video.name != video.dataset_path}
    parents |= {parent_of(video.name) for video in found if video.name and video.access is Access.DATASETS}
    return [FoundVideo(group, Access.DATASETS, group, 0) for group in tree.empty_groups if parent_of(group) in parents]


def _names(datasets: Sequence[DatasetInfo]) -> list[str]:
    """Return the names of videos that are a dataset each: the group's path if each has a group of its own."""
    parents = Counter(info.parent for info in datasets)
    own_groups = len(parents) == len(datasets) and len({info.basename for info in datasets}) == 1
    if len(datasets) == 1:
        # One dataset shows no pattern: "clip7/frames" is clip7, but "train/clip7" is itself.
        own_groups = unnumbered(datasets[0].basename) == datasets[0].basename
    return [info.parent if own_groups else info.path for info in datasets]


#: In the order in which they are tried. A file with vlen frames may also hold uint8 thumbnails, so vlen comes first;
#: flat bytes with offsets would also pass for a frame, so they come before frames in datasets of their own.
DETECTORS: tuple[Detector, ...] = (_find_vlen, _find_flat, _find_padded, _find_datasets)
