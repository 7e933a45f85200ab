"""Frames in datasets of their own, bytes, opaque or strings, with a group for each video."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.codecs import DEPTH
from loader_service.catalog.hdf5.peek import as_bytes, is_row
from loader_service.catalog.hdf5.plain import list_children
from loader_service.catalog.hdf5.storage import find_pieces
from loader_service.catalog.hdf5.tree import DatasetInfo, ElementKind, in_groups
from loader_service.catalog.inner_paths import join, parent_of, stem_of, to_bytes, unnumbered, upwards
from loader_service.catalog.layouts.layout import Candidates, Extents, FoundVideo, Layout
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.natural import are_times, decimals_of, seconds_of, words_before_times
from loader_service.catalog.patterns import matches
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import h5py

    from loader_service.catalog.codecs import Codec
    from loader_service.catalog.columns import Int64s
    from loader_service.catalog.hdf5.file import HDF5File


class SeveralNamesError(CatalogError):
    """Frames of one group have several names, and may be cameras or videos.

    Parameters
    ----------
    message
        What to say. Alone it is enough for where nothing is asked of them, as when the file's name is put before it.
    group, members
        The group, and its frames.
    codecs
        The format of each of these, by path.

    Attributes
    ----------
    maps
        The paths of those frames that are arrays, as depth is.
    """

    def __init__(
        self,
        message: str,
        group: str = "",
        members: Sequence[DatasetInfo] = (),
        codecs: Mapping[str, Codec] = MappingProxyType({}),
    ) -> None:
        super().__init__(message)
        self.group = group
        self.members = tuple(members)
        self.maps = frozenset(info.path for info in members if codecs[info.path] is DEPTH)


@dataclass(frozen=True)
class DatasetsVideo(FoundVideo):
    """A video, and the dataset of each frame."""

    members: tuple[DatasetInfo, ...] = ()


class Datasets(Layout[DatasetsVideo]):
    """The position of a frame is the number of its dataset among all of the group, in natural order."""

    name = "datasets"
    expected = "a group per video with a dataset of bytes per frame"
    kinds = frozenset({ElementKind.BYTES, ElementKind.OPAQUE, ElementKind.TEXT, ElementKind.VLEN_BYTES})
    in_group = True

    def find(self, contents: Candidates) -> list[DatasetsVideo]:
        """Return a video for each group with frames."""
        singles, images = find_images(contents)
        groups = in_groups([info for info in singles if info.path in images])
        if not contents.named and (not are_frames(groups) or _are_of_cameras(groups)):
            return []
        found = []
        for group, members in groups.items():
            frames = _by_value(members)
            _check_one_sequence(group, frames, images)
            helpers = frozenset(info.path for info in frames)
            codec = images[frames[0].path]
            found.append(DatasetsVideo(self, group, group, len(frames), helpers, codec, tuple(frames)))
        return found

    def locate(self, hdf5: HDF5File, video: DatasetsVideo) -> Extents | None:
        """Return where the datasets lie, if each lies in one piece."""
        offsets = [_whole_dataset(hdf5, info) for info in video.members]
        if None in offsets:
            return None
        return np.array(offsets, np.int64), lengths_of(hdf5, video)

    def plain(self, hdf5: HDF5File, video: DatasetsVideo) -> Extents:
        """Return the datasets' numbers and sizes."""
        number = {name: place for place, name in enumerate(list_children(hdf5.node(video.dataset_path)))}
        return np.array([number[info.basename] for info in video.members], np.int64), lengths_of(hdf5, video)

    def open(self, file: h5py.File, path: str) -> Any:
        """Return the group, and the names in it."""
        group = file[to_bytes(path)] if path else file
        return group, list_children(group)

    def read(self, opened: Any, position: int, length: int) -> bytes:
        """Return one dataset."""
        group, children = opened
        return read_whole(group[to_bytes(children[position])], length)

    def read_frame(self, hdf5: HDF5File, video: DatasetsVideo, frame: int, length: int) -> bytes:
        """Return a dataset by its path: a group may have a million of them, whose order takes a while to find out."""
        return read_whole(hdf5.node(video.members[frame].path), length)


def _by_value(members: list[DatasetInfo]) -> list[DatasetInfo]:
    """Return datasets that are called by seconds in their order: ``str(time.time())`` has no fixed count of digits."""
    names = [info.basename for info in members]
    numbers = decimals_of(names) or seconds_of(names)
    return (
        [info for _, info in sorted(zip(numbers, members, strict=True), key=lambda pair: pair[0])]
        if numbers
        else members
    )


def read_whole(dataset: Any, length: int) -> bytes:
    """Return a dataset's bytes; HDF5 gives a string without the zeros at its end."""
    value = dataset[()]
    if isinstance(value, np.ndarray) and value.dtype == object:  # one vlen element in an array
        (value,) = value.reshape(-1)
    return as_bytes(value).ljust(length, b"\0")


def lengths_of(hdf5: HDF5File, video: DatasetsVideo) -> Int64s:
    """Return the sizes of a video's datasets, ``(frames,) int64``; vlen elements are read for theirs."""
    return np.array(
        [
            len(read_whole(hdf5.node(info.path), 0)) if info.kind is ElementKind.VLEN_BYTES else info.size_bytes
            for info in video.members
        ],
        np.int64,
    )


def find_images(contents: Candidates) -> tuple[list[DatasetInfo], dict[str, Codec]]:
    """Return the datasets that can be an image each, and those that are, by path, with their format.

    One without bytes is an image that is missing, if others have bytes; else nothing says that they are images.
    """
    singles = [info for info in contents.candidates if _is_single(info) and info.basename not in LABEL_NAMES]
    images = contents.images(singles, lambda info: (0,) if info.size_bytes else ())
    filled = contents.named or any(info.size_bytes for info in singles if info.path in images)
    return singles, images if filled else {}


def are_frames(groups: Mapping[str, Sequence[DatasetInfo]]) -> bool:
    """Tell whether images in groups are frames, by their numbers: in most groups they count; else they are names."""
    stills = above_frames(groups)
    counting = [
        _counts(group, [info.basename for info in images]) for group, images in groups.items() if group not in stills
    ]
    return 2 * sum(counting) > len(counting)


def _are_of_cameras(groups: Mapping[str, Sequence[DatasetInfo]]) -> bool:
    """Tell whether images of each group are called by several words with times: of no one sequence."""
    names = [[info.basename for info in images] for images in groups.values()]
    return all(len(words_before_times(each)) > 1 for each in names)


def above_frames(groups: Mapping[str, Sequence[DatasetInfo]]) -> set[str]:
    """Return the groups of few images without a number, above one of at least twice as many whose names count.

    So lies ``video_0/cover`` beside ``video_0/frames/0``, ``video_0/frames/1``, ….
    """
    most: dict[str, int] = {}
    for group, images in groups.items():
        if group and len(images) >= LEAST_COUNTED and _counts(group, [info.basename for info in images]):
            for above in upwards(parent_of(group)):
                most[above] = max(most.get(above, 0), len(images))
    named = [group for group, images in groups.items() if not any(_DIGITS.search(info.basename) for info in images)]
    return {group for group in named if 2 * len(groups[group]) <= most.get(group, 0)}


#: Numbered images of a group that are frames, whatever lies beside them, at least.
LEAST_COUNTED = 4


def _counts(group: str, names: Sequence[str]) -> bool:
    """Tell whether names count from 0 or 1, in a group from anywhere: most of a span of numbers, or equal steps."""
    if (len(names) == 1 and group) or are_times(names):
        return True
    ((stem, _),) = Counter(map(unnumbered, names)).most_common(1)
    runs = [tuple(map(int, _DIGITS.findall(name))) for name in names if unnumbered(name) == stem]
    if not all(runs) or len({len(run) for run in runs}) > 1:
        return False
    varying = [column for column in zip(*runs, strict=True) if len(set(column)) > 1] or [runs[0][-1:]]
    numbers = sorted(set(varying[-1]))
    steps = {after - before for before, after in pairwise(numbers)} or {1}
    dense = len(numbers) >= _DENSE * (numbers[-1] - numbers[0] + 1)
    return (dense and (numbers[0] in {0, 1} or bool(group))) or (len(steps) == 1 and numbers[0] in {0, 1, *steps})


#: Share of a span of numbers that frames have, though some were lost.
_DENSE = 0.75


def _check_one_sequence(group: str, frames: Sequence[DatasetInfo], codecs: Mapping[str, Codec]) -> None:
    if seconds_of([info.basename for info in frames]):
        return  # with as many decimals as each needs: `t_0`, `t_0.05`
    counts = Counter(stem_of(info.basename) for info in frames)
    several = [stem for stem, count in counts.items() if count > 1]
    if len(several) > 1:
        # Of all groups beside this one, which are videos too; a pattern that all names fit chooses nothing.
        patterns = [stem.replace("#", "*") for stem in several]
        apart = [one for one in patterns if sum(matches(one, info.basename) for info in frames) < len(frames)]
        remedy = "serve them by --source package.module:Name"
        if apart:
            one = join(join(parent_of(group), "*") if group else "", apart[0])
            remedy = f"name those of one with --frames {one!r}"
        raise SeveralNamesError(
            f"{group or '/'!r}: expected frames of one name, found {' and '.join(map(repr, several))} (# is a number), "
            f"which may be cameras or videos; {remedy}",
            group,
            frames,
            codecs,
        )


_DIGITS = re.compile(r"[0-9]{1,18}")


def _is_single(info: DatasetInfo) -> bool:
    """Tell whether a dataset is one frame by its type: a row of bytes, or one opaque element or string."""
    if info.kind is ElementKind.BYTES:
        return is_row(info)
    kinds = {ElementKind.OPAQUE, ElementKind.TEXT, ElementKind.VLEN_BYTES}
    return info.kind in kinds and info.dtype != "S" and info.shape in {(), (1,)}


def _whole_dataset(hdf5: HDF5File, info: DatasetInfo) -> int | None:
    """Return where a dataset's bytes lie in one piece, or None."""
    if info.kind is ElementKind.VLEN_BYTES:
        return None
    if info.address is not None or not info.size_bytes:
        return info.address or 0
    if not info.shape:
        return None
    pieces = find_pieces(hdf5.node(info.path).id)
    whole = None if pieces is None else pieces.extents(np.array([0]), np.array([info.size_bytes]))
    return None if whole is None else int(whole[0][0])
