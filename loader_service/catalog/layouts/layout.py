"""What a layout of encoded frames is: how its videos are found, where their bytes lie, and the plain way to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from loader_service.catalog.codecs import JPEG, LOOK_BYTES, Codec, codec_of
from loader_service.catalog.columns import Int64s
from loader_service.catalog.hdf5.peek import peek
from loader_service.catalog.hdf5.plain import HDF5_ERRORS
from loader_service.catalog.hdf5.tree import DatasetInfo, ElementKind, Tree
from loader_service.catalog.inner_paths import by_form, join, to_bytes, unnumbered
from loader_service.catalog.sides import is_list
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import h5py
    from numpy.typing import NDArray

    from loader_service.catalog.hdf5.file import HDF5File

#: Two numbers for each frame, ``(frames,) int64``: where it begins, and its encoded bytes.
Extents = tuple[Int64s, Int64s]


@dataclass(frozen=True)
class FoundVideo:
    """A video as its layout describes it, before anyone has looked where its bytes lie.

    A layout that has to remember more of a video derives a class from this one.

    Attributes
    ----------
    layout
        Who found it.
    name
        Path of the video inside the file; empty when the root group is the video.
    dataset_path
        Of the dataset, or, where the layout is `in_group`, group that holds the frames.
    frame_count
        Number of frames, possibly 0.
    helpers
        Paths of datasets that are single frames, or say where frames lie, and so are no fields of their own.
    codec
        What its frames are, as far as a look at some has told.
    """

    layout: Layout[Any]
    name: str
    dataset_path: str
    frame_count: int
    helpers: frozenset[str] = frozenset()
    codec: Codec = JPEG

    @property
    def path(self) -> str:
        """Path of its dataset, or of the group of its frames; of a frame that is a video, its own, not its group's."""
        return self.name if self.layout.in_group else self.dataset_path

    @property
    def sizes_differ(self) -> bool:
        """Whether its pictures are known to be of several sizes, before they are looked at."""
        return False


Video = TypeVar("Video", bound=FoundVideo)


class ForeignDataset(NamedTuple):
    """A dataset that could hold encoded images by its type, and holds something else, first seen at an element."""

    info: DatasetInfo
    element: int
    codec: Codec


#: What the bytes of images are called behind a word that their lists have too.
_OF_BYTES = "_bytes"


@dataclass(frozen=True)
class Candidates:
    """What a layout looks at to find its videos.

    Attributes
    ----------
    hdf5
        The file, for a look at what elements begin with, and at datasets of offsets and lengths.
    tree
        All of the file.
    candidates
        The datasets that may be videos, in natural order of their paths: all, or those that the user's pattern names.
    strangers
        What looks have found that is no image, by path: for who has to say why there is no video. Filled by `images`.
    named
        Whether the user has named the candidates as frames.
    """

    hdf5: HDF5File
    tree: Tree
    candidates: Sequence[DatasetInfo]
    strangers: dict[str, ForeignDataset] = field(default_factory=dict)
    named: bool = False

    def of_kind(self, kind: ElementKind, rank: int) -> list[DatasetInfo]:
        """Return the candidates of one element type and rank, in natural order."""
        return [info for info in self.candidates if info.kind is kind and len(info.shape) == rank]

    def beside(self, info: DatasetInfo, names: Sequence[str]) -> DatasetInfo | None:
        """Return the first list of numbers in the same group with one of these names (``{}``: its basename).

        It has one axis, ``(N,)``, or is a row or column of numbers, ``(1, N)`` or ``(N, 1)``. Of ``rgb_bytes``,
        ``rgb_offsets`` has such a name too.
        """
        own = info.basename
        words = [own, own.removesuffix(_OF_BYTES)] if own.endswith(_OF_BYTES) else [own]
        for name in names:
            for word in words:
                path = join(info.parent, name.format(word))
                found = self.tree.datasets.get(path)
                if found and found.kind in _NUMBERS and is_list(found.shape) and path != info.path:
                    return found
        return None

    def read(self, info: DatasetInfo) -> NDArray[Any]:
        """Return the numbers of a list as they are, ``(N,)``."""
        return np.ravel(self.hdf5.node(info.path)[()])

    def read_numbers(self, info: DatasetInfo) -> Int64s:
        """Return a list of whole numbers, which may be kept as floats; CatalogError if they are not whole."""
        return as_whole_numbers(info, self.read(info))

    def images(
        self, datasets: Sequence[DatasetInfo], elements: Callable[[DatasetInfo], Sequence[int]]
    ) -> dict[str, Codec]:
        """Return the datasets that are images which workers decode, by path, with their format; empty ones included.

        Some of those that only their numbers tell apart are looked at, and stand for all: when their frames have been
        located, `pictures.look_at` looks at each video.

        Parameters
        ----------
        datasets
            In natural order.
        elements
            Gives the elements of a dataset that are to be looked at, as `peek` counts them; none: it is empty.
        """
        found: dict[str, Codec] = {}
        for alike in _alike(datasets):
            filled = [info for info in alike if elements(info)]
            codec = self._look(filled, elements) if filled else JPEG
            if codec is not None:
                found.update((info.path, codec) for info in alike)
        return found

    def _look(self, datasets: Sequence[DatasetInfo], elements: Callable[[DatasetInfo], Sequence[int]]) -> Codec | None:
        for info in {each.path: each for each in first_middle_last(datasets)}.values():
            places = elements(info)
            codecs = self.hdf5.ask(_codecs, info, tuple(places))
            served = next((codec for codec in codecs if codec.served), None)
            if served is not None:
                return served
            odd = max(range(len(codecs)), key=lambda number: _tells(codecs[number]))
            self.strangers.setdefault(info.path, ForeignDataset(info, odd, codecs[odd]))
        return None


def _tells(codec: Codec) -> int:
    """Return how much is known of an element: a format, that it is bytes, or nothing, as a black frame's zeros say."""
    return 2 if codec.named else int(codec.kind != "nothing")


def as_whole_numbers(info: DatasetInfo, values: NDArray[Any]) -> Int64s:
    """Return the numbers of a dataset of lengths or places; CatalogError if one is not whole."""
    floats = values.dtype.kind == "f"
    odd = np.flatnonzero(~np.isfinite(values) | (values != np.floor(values))).tolist() if floats else []
    if odd:
        raise CatalogError(
            f"{info.path!r}, entry {odd[0]}: expected a whole number of bytes, found {values[odd[0]]!s}; "
            "correct it, or leave the file out"
        )
    return values.astype(np.int64)


#: Names of datasets of the encoded bytes of each frame (``{}``: the frames' own basename).
LENGTH_NAMES = ("lengths", "length", "sizes", "{}_lengths", "{}_length", "{}_sizes")


def _codecs(hdf5: HDF5File, info: DatasetInfo, places: Sequence[int]) -> list[Codec]:
    """Return what elements are, by how they begin."""
    return [codec_of(look) for look in _peek(hdf5, info, places)]


def _peek(hdf5: HDF5File, info: DatasetInfo, places: Sequence[int]) -> list[bytes]:
    try:
        return peek(hdf5, info, places, LOOK_BYTES)
    except HDF5_ERRORS as error:
        # A damaged chunk is a bad frame when it is asked for; if nothing can be read, the file is bad.
        if getattr(error, "errno", None) or len(places) == 1:
            raise
    return _peek(hdf5, info, places[1:])


#: Kinds of datasets that can be offsets or lengths.
_NUMBERS = frozenset({ElementKind.INTEGER, ElementKind.BYTES, ElementKind.FLOAT})

#: Most sets of datasets that are told apart by their names: a file's names may all differ.
_MOST_SETS = 48


def _alike(datasets: Sequence[DatasetInfo]) -> Iterable[list[DatasetInfo]]:
    """Return datasets in sets of those that only numbers tell apart, in paths, or where that is too many, in names."""
    for key in (attrgetter("path"), attrgetter("basename"), lambda _: ""):
        sets = by_form(datasets, key)
        if len(sets) <= _MOST_SETS:
            break
    return sets.values()


_Item = TypeVar("_Item")


def first_middle_last(items: Sequence[_Item]) -> list[_Item]:
    """Return these of some items; fewer if there are fewer."""
    return [items[number] for number in dict.fromkeys((0, len(items) // 2, len(items) - 1))] if items else []


def spread(items: Sequence[_Item], most: int) -> list[_Item]:
    """Return some items as far from each other as they can be, the first and the last among them."""
    return [items[(len(items) - 1) * number // (most - 1)] for number in range(most)] if len(items) > most else [*items]


def claimed_by(videos: Sequence[FoundVideo]) -> set[str]:
    """Return the paths of what is frames of some videos, or belongs to them."""
    return {video.dataset_path for video in videos}.union(*[video.helpers for video in videos])


class Layout(ABC, Generic[Video]):
    """One way in which HDF5 files hold encoded frames. Has no state: processes that scan and workers have one each.

    `find`, `locate` and `plain` are called by the processes that scan, once a file or video; `open` and `read` by
    these and by workers, once a video and a frame that `locate` could not find. Whatever h5py raises may pass through.

    Attributes
    ----------
    name
        Stands for it in catalogs and reports; no two layouts share one, and none is called ``raw``.
    expected
        What it looks for, in words for errors.
    kinds
        Element types of the datasets that it looks at.
    in_group
        Whether a video is a group, whose datasets are frames; else it is a dataset.
    in_rows
        Whether the frames of a video are rows of one dataset, or lie end to end in it.
    group_a_frame
        Whether each frame has a group of its own: a schema names such a video by a pattern, and not by a path.
    helpers_say
        What the datasets say that its videos need beside their own, ``{}``; empty where these are frames themselves.
    """

    name: str
    expected: str
    kinds: frozenset[ElementKind]
    in_group = False
    in_rows = False
    group_a_frame = False
    helpers_say = ""

    @abstractmethod
    def find(self, contents: Candidates) -> list[Video]:
        """Return the videos of this layout among the candidates; CatalogError when one contradicts itself."""

    def locate(self, hdf5: HDF5File, video: Video) -> Extents | None:  # noqa: ARG002
        """Return where the frames lie as they are in the file, in bytes; None where only HDF5 can read them.

        HeapError says the same as None. Only called for a file whose addresses are plain, and a video with frames.
        """
        return None

    @abstractmethod
    def plain(self, hdf5: HDF5File, video: Video) -> Extents:
        """Return what `read` takes to find each frame, and the bytes that it will give."""

    def open(self, file: h5py.File, path: str) -> Any:
        """Return what `read` needs of a video; kept while its frames are read. By default its dataset."""
        return file[to_bytes(path)]

    @abstractmethod
    def read(self, opened: Any, position: int, length: int) -> bytes:
        """Return one frame's bytes through HDF5; `position` and `length` are as `plain` gave them."""

    def rows_of(self, position: int, length: int) -> range:  # noqa: ARG002
        """Return which rows of the video's dataset `read` takes; empty where a frame is no rows of a dataset."""
        return range(0)

    def read_frame(self, hdf5: HDF5File, video: Video, frame: int, length: int) -> bytes:
        """Return one frame through HDF5, to compare with what lies where `locate` said; by default at its number."""
        return hdf5.plain.read(self, video.dataset_path, frame, length)


def names_of(datasets: Sequence[DatasetInfo]) -> list[str]:
    """Return the names of videos that are a dataset each: the group's path if each has a group of its own."""
    parents = {info.parent for info in datasets}
    own_groups = len(parents) == len(datasets) and len({info.basename for info in datasets}) == 1
    if len(datasets) == 1:
        # One dataset shows no pattern: "clip7/frames" is clip7, but "train/clip7" is itself.
        own_groups = unnumbered(datasets[0].basename) == datasets[0].basename
    return [info.parent if own_groups else info.path for info in datasets]
