"""What a file without encoded frames holds: a table of readings, in the order in which they are tried."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_number, is_vlen
from loader_service.catalog.hdf5.tree import ElementKind
from loader_service.catalog.layouts.search import explain_texts
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.split_words import meaning_of
from loader_service.catalog.videos.arrays.by_dataset import videos_by_dataset
from loader_service.catalog.videos.arrays.by_group import videos_by_group
from loader_service.catalog.videos.arrays.flat_pixels import refuse_flat_pixels
from loader_service.catalog.videos.arrays.group_readings import refuse_channels_of_volumes
from loader_service.catalog.videos.arrays.last_axes import refuse_frames_in_the_last_axis
from loader_service.catalog.videos.arrays.named_sequences import refuse_named_sequences
from loader_service.catalog.videos.arrays.numbered_columns import find_numbered_columns
from loader_service.catalog.videos.arrays.numbered_videos import find_numbered_videos
from loader_service.catalog.videos.arrays.picture_sequences import of_cameras, of_dataset, of_pictures
from loader_service.catalog.videos.arrays.picture_videos import find_picture_videos
from loader_service.catalog.videos.arrays.tables import find_table
from loader_service.catalog.videos.arrays.two_numbers import refuse_two_numbers
from loader_service.catalog.videos.arrays.vlen_rows import find_lists
from loader_service.catalog.videos.aside.noted_kinds import without_variables
from loader_service.catalog.videos.aside.set_aside import is_aside, set_aside
from loader_service.catalog.videos.axes.time_axes import refuse_colours_before_time
from loader_service.catalog.videos.bounds.bound_lists import without_bounds
from loader_service.catalog.videos.episodes import Episode, Found
from loader_service.catalog.videos.frame_axis import is_picture
from loader_service.catalog.videos.numbered import is_single_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree


EXPECTED = (
    "a group per video, or a file per episode, with raw uint8 frames or arrays; a table of two or more dimensions; or "
    "a vlen dataset of numbers"
)


@dataclass(frozen=True)
class FileArrays:
    """The datasets of a file by what they can be, those that are set aside left out.

    Attributes
    ----------
    tree
        All datasets of the file.
    aside
        Why some are never fields, as from `set_aside`.
    """

    tree: Tree
    aside: Mapping[str, str]

    @cached_property
    def entries(self) -> list[DatasetInfo]:
        """What has entries, of any kind."""
        infos = self.tree.datasets.values()
        return [
            info for info in infos if info.dtype and info.shape and 0 not in info.shape and not self._is_aside(info)
        ]

    def _is_aside(self, info: DatasetInfo) -> bool:
        return is_aside(self.aside, info)

    @cached_property
    def scalars(self) -> list[DatasetInfo]:
        """Single numbers, of shape ``()``."""
        infos = self.tree.datasets.values()
        return [info for info in infos if is_number(info.dtype) and info.shape == () and not self._is_aside(info)]

    @cached_property
    def single_texts(self) -> list[DatasetInfo]:
        """Single texts, of shape ``()``."""
        infos = self.tree.datasets.values()
        return [info for info in infos if is_single_text(info) and not self._is_aside(info)]

    @cached_property
    def texts(self) -> list[DatasetInfo]:
        """Lists of texts, of an axis or more."""
        return [info for info in self.entries if info.kind is ElementKind.TEXT]

    @cached_property
    def named(self) -> list[DatasetInfo]:
        """Arrays of numbers of an axis or more, those called as labels are included."""
        return [info for info in self.entries if not is_vlen(info.dtype) and info.kind is not ElementKind.TEXT]

    @cached_property
    def unnamed(self) -> list[DatasetInfo]:
        """The same without what is called as labels are."""
        return [info for info in self.named if info.basename not in LABEL_NAMES]

    @cached_property
    def pictures(self) -> list[DatasetInfo]:
        """Sequences of pictures, ``(frames, height, width, 1 or 3) uint8``."""
        return [info for info in self.unnamed if is_picture(info)]

    @cached_property
    def no_pictures(self) -> list[DatasetInfo]:
        """Arrays that may be fields of sequences of pictures."""
        paths = {info.path for info in self.pictures}
        return [info for info in self.unnamed if info.path not in paths] if paths else []

    @cached_property
    def arrays(self) -> list[DatasetInfo]:
        """Arrays that are no plain row of bytes, which may be a file of any kind."""
        return [info for info in self.unnamed if info.kind is not ElementKind.BYTES or len(info.shape) > 1]

    @cached_property
    def lists(self) -> list[DatasetInfo]:
        """Vlen datasets of numbers, of one axis."""
        return [info for info in self.entries if is_vlen(info.dtype) and len(info.shape) == 1]


#: In the order in which they are tried; the first that finds videos decides for the whole file. Each raises
#: `TwoReadingsError` where a file fits in two ways; what is called `refuse` does nothing else. What is more special
#: comes first: a picture by its shape and name before an array, frames by their numbers before sequences.
READINGS: tuple[Callable[[HDF5File, FileArrays], Found | None], ...] = (
    # Asks of pictures that words before their numbers tell apart.
    lambda _, file: refuse_named_sequences(file.unnamed),
    # Asks of bytes in numbered datasets that may be pixels.
    lambda _, file: refuse_flat_pixels(file.named),
    # A dataset for each frame, told apart by dense numbers.
    lambda _, file: find_numbered_videos(file.tree, [*file.named, *file.scalars, *file.single_texts], file.unnamed),
    # Asks of pictures in whose names two numbers count.
    lambda _, file: refuse_two_numbers(file.unnamed),
    # A dataset, or a group of them, for each picture. Asks of lines that may be rows, and of names in several groups.
    lambda _, file: find_picture_videos(file.named, file.scalars, file.texts),
    # Columns with the number of a video in their names. Asks of videos of one length.
    lambda _, file: find_numbered_columns([*file.named, *file.scalars]),
    # Asks of pictures that have frames as their last axis.
    lambda _, file: refuse_frames_in_the_last_axis(file.unnamed),
    # Sequences of pictures: cameras of a video, a video each, or a video a group. Ask of devices told apart by
    # numbers, of lengths that differ, and of classes.
    lambda _, file: of_cameras(file.tree, file.pictures),
    lambda _, file: videos_by_dataset(file.tree, file.pictures, file.no_pictures),
    lambda _, file: of_pictures(file.tree, file.pictures),
    # A video for each row of a vlen dataset. Asks of lists that may be of the frames of a recording.
    lambda hdf5, file: find_lists(hdf5, file.tree, file.lists, file.named),
    # Asks of volumes whose first axis may be channels, and of films with their colours before time.
    lambda _, file: refuse_channels_of_volumes(file.named),
    lambda _, file: refuse_colours_before_time(file.named),
    # Arrays: a video each; a video a group; a table, or columns. Ask of all lengths by which time could be counted.
    lambda _, file: videos_by_dataset(file.tree, without_bounds(file.arrays)),
    lambda _, file: videos_by_group(without_variables(file.tree, file.arrays)),
    lambda _, file: find_table(file.unnamed, file.named),
    # Columns of bytes, or of texts, that are called as a split is.
    lambda hdf5, file: find_split_columns(hdf5, file.tree, file.entries),
)


def find_without_frames(hdf5: HDF5File, tree: Tree, aside: Mapping[str, str]) -> Found | None:
    """Return the videos of a file that holds no encoded frames, by the first of `READINGS` that fits; None without any.

    Raises
    ------
    TwoReadingsError
        When a file fits in two ways.
    """
    arrays = FileArrays(tree, aside)
    return next((found for find in READINGS if (found := find(hdf5, arrays)) is not None), None)


def find_datasets(tree: Tree) -> list[Episode]:
    """Return the videos of a file that are a dataset each; none, if its datasets are no videos."""
    arrays = FileArrays(tree, set_aside(tree))
    found = find_picture_videos(arrays.named, declared=True)
    if found is None or _leaves_out_alike(found, arrays.unnamed):
        found = videos_by_dataset(tree, arrays.unnamed, declared=True) or found
    return [] if found is None else [episode for episode in found.episodes if episode.root is None]


def _leaves_out_alike(found: Found, datasets: Sequence[DatasetInfo]) -> bool:
    """Tell whether pictures leave out what differs from one in its first axis alone, in its group: a clip."""
    taken = {episode.dataset_path for episode in found.episodes}
    forms = {_form(info) for info in datasets if info.path in taken}
    return any(info.path not in taken and len(info.shape) > 2 and _form(info) in forms for info in datasets)


def _form(info: DatasetInfo) -> tuple[object, ...]:
    return info.parent, info.dtype, info.shape[1:]


def find_split_columns(hdf5: HDF5File, tree: Tree, entries: Sequence[DatasetInfo]) -> Found | None:
    """Return a table of a file's columns of one length, where all that is there says one split; None elsewhere.

    What else it could be, a list of what lies in other datasets, it is not: there are none.
    """
    said = {next(filter(None, map(meaning_of, path.split("/"))), None) for path in tree.datasets}
    columns = [info for info in entries if len(info.shape) == 1 and not is_vlen(info.dtype)]
    alike = len(columns) == len(entries) and len({info.shape for info in columns}) == 1
    if not alike or len(said) != 1 or None in said or explain_texts(hdf5, tree):
        return None
    return Found("table", [of_dataset("", max(columns, key=lambda info: info.size_bytes))])
