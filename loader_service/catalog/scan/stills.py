"""One or a few encoded pictures beside data that is more by far: a cover, a preview, key frames. Reads no values."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_number
from loader_service.catalog.hdf5.tree import ElementKind
from loader_service.catalog.inner_paths import stem_of
from loader_service.catalog.layouts.datasets import DatasetsVideo
from loader_service.catalog.layouts.layout import claimed_by
from loader_service.catalog.layouts.search import ForeignBytesError
from loader_service.catalog.videos.aside.set_aside import is_aside
from loader_service.catalog.videos.encoded.found_readings import reading_of
from loader_service.catalog.videos.frame_axis import MASKS, is_sequence_of_pictures
from loader_service.catalog.videos.lines.unused import paths_of
from loader_service.catalog.videos.readings import TwoReadingsError
from loader_service.catalog.videos.single_pictures import sides_of
from loader_service.errors import CatalogError
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.layouts.layout import FoundVideo
    from loader_service.catalog.videos.episodes import Episode, Found

    #: Returns what a tree holds; CatalogError if it holds nothing.
    Decide = Callable[[Tree], Found]

#: How many times as many frames as encoded ones there are where those may be stills; and where one is a still.
_TIMES, _TIMES_OF_ONE = 2, 4

#: Encoded pictures of a file that may be its only sample beside numbers, at most.
_FEW = 3


def lines_of_names(found: Sequence[FoundVideo], videos: Sequence[FoundVideo]) -> dict[str, str]:
    """Return why pictures are in no video whose names do not count, as those of the frames beside them do.

    Parameters
    ----------
    found, videos
        The encoded sequences of a file, and those that are left of them as its videos.
    """
    kept = {info.path for video in videos for info in _members(video)}
    return {
        info.path: "found one encoded picture whose name does not count, beside frames whose names do; to serve it "
        f"alone, give --frames {_NUMBER.sub('*', info.path)!r}, in a file"
        for video in found
        for info in _members(video)
        if info.path not in kept
    }


def decide_by_pictures(
    tree: Tree, aside: Mapping[str, str], frames: Sequence[FoundVideo], decide: Decide
) -> Found | None:
    """Return what a file holds without its encoded pictures, where it has others that are more frames; or None.

    What is asked of raw ones without them is asked with them, too; others are frames of datasets beside rows.

    Parameters
    ----------
    tree, aside
        The datasets of a file, and why some are never fields.
    frames
        Its encoded sequences.
    decide
        Returns what a part of its datasets holds.
    """
    least = _TIMES * _count(frames)
    if tree.is_packed or not least:
        return None
    counts = {video.frame_count for video in frames}
    found = None
    if _raw_pictures(tree, aside, counts) >= least:
        found = _decide_rest(tree.without(claimed_by(frames)), decide)
    elif len(tree.datasets) > least and _frames_apart(rest := tree.without(claimed_by(frames)), counts) >= least:
        with suppress(CatalogError, TwoReadingsError):
            found = _decide_rest(rest, decide)
    return found if found is not None and _count_pictures(found) >= least else None


def decide_by_numbers(
    hdf5: HDF5File, tree: Tree, found: Found, frames: Sequence[FoundVideo], decide: Decide
) -> Found | None:
    """Return what a file holds without one to three encoded pictures that have fewer bytes than its numbers; or None.

    Numbers that are fields of the only picture belong to it, unless they are several videos without it.
    """
    if tree.is_packed or not 0 < _count(frames) <= _FEW:
        return None
    own = claimed_by(frames)
    numbers = [info for path, info in tree.datasets.items() if path not in own and is_number(info.dtype) and info.shape]
    used = paths_of(found)
    left = [info for info in numbers if info.path not in used]
    may_be_several = len(found.episodes) == 1 and _are_more(hdf5, tree, numbers, own)
    if not may_be_several and not _are_more(hdf5, tree, left, own):
        return None
    with suppress(CatalogError, TwoReadingsError):
        other = _decide_rest(tree.without(own), decide)
        several = len(other.filled) > 1 or _are_more(hdf5, tree, left, own)
        if several and sum(each.frame_count for each in other.filled) >= _TIMES_OF_ONE * _count(frames):
            return other
    return None


def as_still(frames: Sequence[FoundVideo], without: Found) -> dict[str, str]:
    """Return the line of the only encoded picture of a file, which becomes no field; nothing where that is asked."""
    if _count(frames) != 1 or _count_pictures(without) < _TIMES_OF_ONE:
        return {}
    video = next(video for video in frames if video.frame_count)
    path = _members(video)[0].path if _members(video) else video.dataset_path
    return {
        path: "found one encoded picture beside many frames, as a cover or thumbnail lies; to serve it alone, "
        f"give --frames {path!r}, in a file"
    }


def which_is_meant(
    frames: Sequence[FoundVideo], with_frames: Found | TwoReadingsError, without: Found
) -> TwoReadingsError:
    """Return the question where a file may be its few encoded pictures, or what is more beside them.

    What is asked of these pictures has readings of its own.
    """
    if isinstance(with_frames, TwoReadingsError):
        return TwoReadingsError(with_frames.found, [reading_of(without), *with_frames.readings])
    first = next(video.dataset_path for video in frames if video.frame_count)
    main = without.filled[0].dataset_path
    return TwoReadingsError(
        f"found {counted(_count(frames), 'encoded picture')}, in {first or '/'!r}, beside {main or '/'!r}, which has "
        "more entries by far",
        [reading_of(without), reading_of(with_frames)],
    )


def _decide_rest(tree: Tree, decide: Decide) -> Found:
    """Return what is left holds, but for raw stills, and bytes of other formats, which no images are beside."""
    kept = tree
    try:
        found = decide(kept)
    except CatalogError as error:
        if not isinstance(error.__cause__, ForeignBytesError):
            raise
        kept = kept.without(error.__cause__.paths)
        found = decide(kept)
    single = {each.dataset_path for each in found.filled if each.frame_count == 1 and _has_pictures(each)}
    if len(single) == len(found.filled):
        kept = kept.without(single)
        found = decide(kept)
    lines = {
        path: f"expected frames, or an entry for each, found {info.describe()}, in a file"
        for path, info in tree.datasets.items()
        if path not in kept.datasets
    }
    return replace(found, left_out=found.left_out | lines)


def _count(frames: Sequence[FoundVideo]) -> int:
    return sum([video.frame_count for video in frames])


def _members(video: FoundVideo) -> Sequence[DatasetInfo]:
    """Return the datasets that are a frame each."""
    return video.members if isinstance(video, DatasetsVideo) else ()


def _has_pictures(episode: Episode) -> bool:
    return any(part.kind == "image" for part in episode.parts.values())


def _count_pictures(found: Found) -> int:
    """Return how many frames there are in videos with pictures."""
    return sum(each.frame_count for each in found.filled if _has_pictures(each))


def _raw_pictures(tree: Tree, aside: Mapping[str, str], counts: Collection[int]) -> int:
    """Return how many raw pictures, but masks, are in rows or numbered datasets, where not one is for each frame."""
    infos = [info for info in tree.datasets.values() if info.dtype == "uint8" and len(info.shape) > 2]
    if not infos:
        return 0
    infos = [info for info in infos if not is_aside(aside, info) and MASKS.isdisjoint(_WORD.findall(info.basename))]
    rows = [info.shape[0] for info in infos if is_sequence_of_pictures(info)]
    videos = [info.shape[0] * info.shape[1] for info in infos if len(info.shape) == _AXES_OF_VIDEOS]
    single = [info for info in infos if sides_of(info) is not None]
    return sum(count for count in (*rows, *videos, *_numbered(single)) if count not in counts)


def _frames_apart(tree: Tree, counts: Collection[int]) -> int:
    """Return how many numbered datasets may be an encoded picture each, but where there is one for each frame."""
    infos = tree.datasets.values()
    bytes_ = [info for info in infos if info.kind is ElementKind.BYTES and len(info.shape) == 1]
    opaque = [info for info in infos if info.kind is ElementKind.OPAQUE]
    return sum(count for count in _numbered([*bytes_, *opaque]) if count not in counts)


def _numbered(infos: Iterable[DatasetInfo]) -> list[int]:
    """Return how many datasets only their numbers tell apart in each group, where there are several."""
    forms = Counter((info.parent, stem_of(info.basename)) for info in infos)
    return [count for count in forms.values() if count > 1]


#: Of raw videos in one dataset: videos, frames, height, width, channels.
_AXES_OF_VIDEOS = 5

_WORD = re.compile(r"[a-z]+")
_NUMBER = re.compile(r"[0-9]+(?=[^/]*/)")


def _are_more(hdf5: HDF5File, tree: Tree, numbers: Sequence[DatasetInfo], own: Collection[str]) -> bool:
    """Tell whether numbers have more bytes than pictures, of which some may lie outside of their datasets."""
    infos = [tree.datasets[path] for path in own if path in tree.datasets]
    referred = any(info.kind is ElementKind.VLEN_BYTES for info in infos)
    total = sum(info.size_bytes for info in tree.datasets.values())
    sizes = sum(info.size_bytes for info in numbers), sum(info.size_bytes for info in infos)
    return sizes[0] > sizes[1] and (not referred or hdf5.ask(_fit_in, sizes[0] - sizes[1], total))


def _fit_in(hdf5: HDF5File, more: int, total: int) -> bool:
    """Tell whether numbers have more bytes than what no dataset has of the file."""
    return more > max(0, hdf5.size_bytes - total)
