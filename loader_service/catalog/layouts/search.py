"""Finds the encoded videos of a file, by asking each layout. Knows no labels, no addresses, no catalog."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from loader_service.catalog.codecs import DEPTH, LOOK_BYTES, PATHS_REMEDY, PNG_SIGNATURE, START_OF_IMAGE, codec_of
from loader_service.catalog.hdf5.peek import as_bytes, peek
from loader_service.catalog.hdf5.tree import DatasetInfo, ElementKind, Tree
from loader_service.catalog.inner_paths import parent_of, unnumbered
from loader_service.catalog.layouts import IMAGE_KINDS, LAYOUTS
from loader_service.catalog.layouts.inner_images import explain_inside
from loader_service.catalog.layouts.layout import (
    Candidates,
    ForeignDataset,
    FoundVideo,
    Layout,
    claimed_by,
    first_middle_last,
    names_of,
)
from loader_service.catalog.natural import natural_key
from loader_service.catalog.patterns import matches
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from loader_service.catalog.hdf5.file import HDF5File

EXPECTED = "; ".join(layout.expected for layout in LAYOUTS[:-1]) + f"; or {LAYOUTS[-1].expected}"


class ForeignBytesError(CatalogError):
    """A file without images has bytes of another format.

    Parameters
    ----------
    message
        Which, and what helps.
    paths
        Of the datasets that hold such bytes.
    """

    def __init__(self, message: str, paths: frozenset[str] = frozenset()) -> None:
        super().__init__(message)
        self.paths = paths


#: Those whose videos a schema names by a path each.
_WITH_PATHS = tuple(layout for layout in LAYOUTS if not layout.group_a_frame)


def find_frames(hdf5: HDF5File, tree: Tree, pattern: str | None, *, declared: bool = False) -> list[FoundVideo]:
    """Return the sequences of encoded frames in one file, in natural order of their paths; none, if there are none.

    Without a pattern the first layout that fits decides for the whole file, but that frames which are rows of datasets
    may be kept in several ways. With one, each dataset that it matches is, or belongs to, a sequence.

    Raises
    ------
    CatalogError
        When a pattern matches nothing, or a dataset of the wrong rank or type; when offsets or lengths do not fit their
        frames.
    """
    if pattern is not None:
        return _find_named(hdf5, tree, pattern)
    contents = Candidates(hdf5, tree, _in_order(tree.datasets.values()))
    tried = _WITH_PATHS if declared else LAYOUTS
    found = _find_first(contents, tried)
    if not found:
        _refuse_strangers(tree, contents)
    if not declared:
        _refuse_matrices_of_images(hdf5, tree)
        _refuse_images_in_columns(hdf5, tree)
    return found


def _find_first(contents: Candidates, tried: Sequence[Layout[Any]]) -> list[FoundVideo]:
    """Return the videos of the first layout that has some; those of rows with what other layouts of rows find."""
    for number, layout in enumerate(tried):
        found = layout.find(contents)
        if found:
            return _with_other_rows(contents, found, tried[number + 1 :]) if layout.in_rows else found
    return []


def _with_other_rows(contents: Candidates, found: list[FoundVideo], tried: Sequence[Layout[Any]]) -> list[FoundVideo]:
    """Return videos whose frames are rows, with those that other such layouts find in what is left.

    A layout that finds no frame there has found no images: an empty list of names is none.
    """
    first = len(found)
    left = _not_in(found, [info for info in contents.candidates if info.kind in IMAGE_KINDS])
    for layout in tried if left else ():
        others = layout.find(replace(contents, candidates=left)) if layout.in_rows else []
        if any(video.frame_count for video in others):
            found = [*found, *others]
            left = _not_in(found, left)
    if len(found) == first:
        return found
    found.sort(key=lambda video: natural_key(video.dataset_path))
    names = names_of([contents.tree.datasets[video.dataset_path] for video in found])
    return [replace(video, name=name) for video, name in zip(found, names, strict=True)]


def _not_in(videos: Sequence[FoundVideo], infos: Sequence[DatasetInfo]) -> list[DatasetInfo]:
    """Return the datasets that belong to none of the videos."""
    claimed = claimed_by(videos)
    return [info for info in infos if info.path not in claimed]


def find_declared(hdf5: HDF5File, tree: Tree, paths: Mapping[str, bool]) -> list[FoundVideo]:
    """Return the sequences of encoded frames that are these datasets, or groups; fewer, if some cannot be.

    Parameters
    ----------
    hdf5, tree
        The file.
    paths
        Whether images are expected there; else encoded arrays are found, and no images.

    Raises
    ------
    CatalogError
        When an image is expected, and bytes of another format are there.
    """
    candidates = [info for info in tree.datasets.values() if info.path in paths or info.parent in paths]
    found: list[FoundVideo] = []
    strangers: dict[str, ForeignDataset] = {}
    for layout in _WITH_PATHS:
        taken = {video.dataset_path for video in found}
        left = _in_order(info for info in candidates if info.path not in taken)
        if layout.in_group:  # a group of pictures that are meant one by one is no sequence
            left = [info for info in left if info.parent in paths]
        found += [
            video
            for video in layout.find(Candidates(hdf5, tree, left, strangers, named=True))
            if video.dataset_path in paths and paths[video.dataset_path] == (video.codec is not DEPTH)
        ]
    places = {video.dataset_path for video in found}
    known = claimed_by(found)
    alike = {unnumbered(path) for path in known}
    for path, stranger in strangers.items():
        place = path if path in paths else stranger.info.parent
        beside = place != path and place in places and unnumbered(path) not in alike  # masks, as frame_0_mask
        if path not in known and paths.get(place) and not beside:
            raise CatalogError(_say(hdf5, stranger))
    return found


def _find_named(hdf5: HDF5File, tree: Tree, pattern: str) -> list[FoundVideo]:
    left = _in_order(
        info
        for info in tree.datasets.values()
        if matches(pattern, info.path) or (info.kind in IMAGE_KINDS and matches(pattern, info.parent))
    )
    if not left:
        raise CatalogError(
            f"no dataset matches --frames {pattern!r}; found {tree.describe()}; correct the pattern, or leave --frames "
            "out, and see with `loader-service inspect` what is found"
        )
    found: list[FoundVideo] = []
    strangers: dict[str, ForeignDataset] = {}
    for layout in LAYOUTS:
        videos = layout.find(Candidates(hdf5, tree, left, strangers, named=True))
        found += videos
        left = _not_in(videos, left)
    if left:
        stranger = strangers.get(left[0].path) or next(iter(strangers.values()), None)
        if stranger is not None:
            raise CatalogError(f"--frames {pattern!r}: {_say(hdf5, stranger)}")
        raise CatalogError(f"--frames {pattern!r} matches {left[0].describe()}: expected {EXPECTED}")
    return found


def _refuse_strangers(tree: Tree, contents: Candidates) -> None:
    """Refuse a file without images whose bytes are something else by name, or are bytes of a length of their own.

    Other bytes are numbers like any other, and so are these where there are raw videos.
    """
    if any(info.dtype == "uint8" and len(info.shape) == 4 for info in tree.datasets.values()):
        return
    for stranger in contents.strangers.values():
        if stranger.codec.named or stranger.info.kind is ElementKind.VLEN_BYTES:
            raise ForeignBytesError(_say(contents.hdf5, stranger), frozenset(contents.strangers))


def _refuse_matrices_of_images(hdf5: HDF5File, tree: Tree) -> None:
    """Refuse images in more than one axis, as ``(videos, frames)``: as numbers, or texts, they would be of nothing."""
    looked_at: set[str] = set()
    for info in tree.datasets.values():
        axes = len(info.shape) - (info.kind is ElementKind.BYTES)  # the last of padded ones is that of bytes
        known = info.kind in _ELEMENTS or (info.kind is ElementKind.BYTES and info.shape[-1:] >= (LOOK_BYTES,))
        column = info.shape[1:] == (1,) and info.dtype != "S"
        if axes < _AXES_OF_A_MATRIX or column or not known or not info.size_bytes or info.path in tree.unwritten:
            continue
        if unnumbered(info.path) in looked_at:
            continue
        looked_at.add(unnumbered(info.path))
        node, inner = hdf5.node(info.path), (0,) * (axes - 1)
        rows = first_middle_last(range(info.shape[0]))
        places = [(row, *inner) for row in rows]
        codecs = [codec_of(as_bytes(node[place])[:LOOK_BYTES]) for place in places]
        codec = next((each for each in codecs if each.named), None)
        if codec is not None:
            raise CatalogError(
                f"{info.path!r} has {codec.name} in each row {info.shape}: expected one axis of frames, "
                "(frames,) or (frames, bytes); write each video, or camera, as a dataset of its own, or read them in a "
                "Python source of your own (--source package.module:Name)"
            )


_AXES_OF_A_MATRIX = 2


def _refuse_images_in_columns(hdf5: HDF5File, tree: Tree) -> None:
    """Refuse padded images in the columns of a matrix, as MATLAB writes its rows: as rows, they would be numbers."""
    looked_at: set[str] = set()
    for info in tree.datasets.values():
        is_matrix = info.kind is ElementKind.BYTES and len(info.shape) == 2 and info.shape[0] >= LOOK_BYTES
        several = is_matrix and info.shape[1] > 1  # one, (bytes, 1), is a frame
        if not several or info.path in tree.unwritten or unnumbered(info.path) in looked_at:
            continue
        looked_at.add(unnumbered(info.path))
        begin = as_bytes(hdf5.node(info.path)[:LOOK_BYTES, 0])
        if begin.startswith((START_OF_IMAGE + b"\xff", PNG_SIGNATURE)):
            raise CatalogError(
                f"{info.path!r} has {codec_of(begin).name} in each column {info.shape}: expected one in each row, "
                "(frames, bytes); write the array with its axes the other way round, as array.T in NumPy"
            )


def explain_texts(hdf5: HDF5File, tree: Tree) -> str:
    """Return what helps where texts are images, or name some, which are not looked for there."""
    for info in tree.datasets.values():
        if info.kind is ElementKind.TEXT and info.size_bytes:
            (text,) = peek(hdf5, info, (0,), LOOK_BYTES)
            codec = codec_of(text)
            if codec.kind == "text":
                return f"; {_say(hdf5, ForeignDataset(info, 0, codec))}"
            if _IMAGE_PATH.search(text.rstrip(b"\0")):
                return (
                    f"; {info.path!r} has paths of images, such as {text!r}, which no service follows: {PATHS_REMEDY}"
                )
    return ""


#: Elements that can be an image each.
_ELEMENTS = frozenset({ElementKind.VLEN_BYTES, ElementKind.OPAQUE, ElementKind.TEXT})

#: How texts end that are paths of images, or of videos.
_IMAGE_PATH = re.compile(rb"\.(jpe?g|png|webp|gif|bmp|tiff?|mp4|avi|mkv|webm|mov)\Z", re.IGNORECASE)


def _say(hdf5: HDF5File, stranger: ForeignDataset) -> str:
    info, codec = stranger.info, stranger.codec
    if not codec.named and (inside := explain_inside(hdf5, [info])):
        return inside
    remedy = codec.remedy
    if codec.kind == "raw" and info.kind is ElementKind.VLEN_BYTES and len(info.shape) == 1:
        remedy = (
            f"if it is pixels, write their shapes beside them, as {info.path + '_shapes'!r} ({info.shape[0]}, 3) of "
            f"(height, width, channels) each; or {remedy.partition(', ')[2]}; or name other fields with --schema FILE"
        )
    return (
        f"{info.path!r}, frame {stranger.element}: expected JPEG or PNG images, found {codec.name} in "
        f"{info.describe()}; {remedy}"
    )


def _in_order(datasets: Iterable[DatasetInfo]) -> list[DatasetInfo]:
    return sorted(datasets, key=lambda info: natural_key(info.path))


def are_no_images(tree: Tree, empty: Sequence[FoundVideo]) -> bool:
    """Tell whether videos without frames are lists of no texts, beside numbers that are data: a list of no classes."""
    infos = [tree.datasets.get(video.dataset_path) for video in empty]
    texts = all(info is not None and info.kind is ElementKind.TEXT for info in infos)
    return texts and any(len(info.shape) > 1 and info.size_bytes for info in tree.datasets.values() if info.dtype)


def empty_groups(tree: Tree, found: Sequence[FoundVideo]) -> list[FoundVideo]:
    """Return a video without frames for each group that holds nothing, where its neighbours are a video each.

    Where numbers alone tell these apart, it is named as they are: ``metadata`` beside ``video0`` is none.
    """
    neighbours = [
        video for video in found if video.name and (video.layout.in_group or video.name != video.dataset_path)
    ]
    if not tree.empty_groups or not neighbours:
        return []
    parents = {parent_of(video.name) for video in neighbours}
    forms = {unnumbered(video.name) for video in neighbours}
    named = len(forms) > 1 or forms == {video.name for video in neighbours}
    return [
        FoundVideo(neighbours[0].layout, group, group, 0)
        for group in tree.empty_groups
        if parent_of(group) in parents and (named or unnumbered(group) in forms)
    ]
