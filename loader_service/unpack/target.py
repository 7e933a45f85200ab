"""What a target is: how samples become files of other programs, and how these are compared with the samples again.

There are two kinds. A shard holds many samples, one after the other, and one piece writes one shard. Or each sample has
files of its own, and one piece writes those of many samples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO, Generic, Protocol, TypeVar

from loader_service.catalog.columns import Catalog
from loader_service.conversion.pieces import OutputEntry
from loader_service.unpack.sample_files import field_names, sample_row
from loader_service.unpack.source_samples import SampleRange, SourceSample
from loader_service.unpack.unpack_options import UnpackOptions

_Item_contra = TypeVar("_Item_contra", contravariant=True)
Item = TypeVar("Item")

#: Called at a frame.
OnFrame = Callable[[], object]


class ItemWriter(Protocol[_Item_contra]):
    """Writes what a sample became to a shard."""

    def write(self, item: _Item_contra, /) -> None:
        """Write it; raises OSError when the file cannot take it."""


class Target(ABC):
    """How samples are written; made in each process, of the catalog and the options.

    Attributes
    ----------
    dots
        Whether names may have dots before their extension.
    by_class
        Whether videos are put into folders of their classes.

    Raises
    ------
    ConfigError
        When the catalog has what cannot be written so.
    """

    dots = True
    by_class = False

    def __init__(self, catalog: Catalog, options: UnpackOptions, *, by_frame: bool) -> None:
        self.catalog, self.options, self.by_frame = catalog, options, by_frame
        sides = (each.sides_name for each in catalog.fields if each.differs)
        self.field_names = field_names([*(each.name for each in catalog.fields), *sides])

    @property
    def sides_with_axes(self) -> list[str]:
        """Names of what samples have beside fields whose sides differ, where that is no single number."""
        return [
            each.sides_name
            for each in self.catalog.fields
            if each.differs
            and each.kind != "image"
            and (not self.by_frame if self.catalog.has_lists(each.name) else each.sides_shape)
        ]

    @abstractmethod
    def describe(self, field: str) -> str:
        """Return how a field is written, for the manifest; such as ``"int64_list"``."""


class ShardTarget(Target, Generic[Item]):
    """A target whose files hold many samples each."""

    #: Of the files, with its dot.
    suffix: str

    @abstractmethod
    def encode(self, sample: SourceSample) -> Item:
        """Return what a sample becomes; the same sample gives an equal item. CatalogError when that cannot be."""

    @abstractmethod
    def writer(self, file: BinaryIO) -> AbstractContextManager[ItemWriter[Item]]:
        """Return what writes items to an open file, and ends it when its context does."""

    @abstractmethod
    def read(self, path: Path) -> Iterator[Item]:
        """Yield the items of a file; raises DamagedInput."""


class FileTarget(Target):
    """A target that gives each sample files, or a folder, of its own."""

    @abstractmethod
    def names(self, which: SampleRange) -> tuple[str, ...]:
        """Return the paths of the files and folders of a sample, without reading it."""

    @abstractmethod
    def write(self, sample: SourceSample, folder: Path, on_frame: OnFrame) -> list[OutputEntry]:
        """Write a sample into a folder, and return what was written: all that `names` says.

        `on_frame` is called now and then where that takes long: it tells that this process is alive.
        """

    @abstractmethod
    def difference(self, sample: SourceSample, place: Path, on_frame: OnFrame) -> str | None:
        """Return what of a sample in a place is not as it was written, in words that name the file; None: nothing.

        `on_frame` is called as in `write`.
        """

    def row(self, sample: SourceSample) -> Mapping[str, Any]:
        """Return what the table of all samples says of one."""
        return sample_row(sample)
