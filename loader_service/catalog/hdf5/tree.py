"""What an HDF5 file holds: its datasets and groups, as a value that knows neither HDF5 nor videos."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from loader_service.catalog.inner_paths import grouped
from loader_service.catalog.names import PACKED

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping


class ElementKind(enum.Enum):
    """What the elements of a dataset are, as far as finding videos needs it."""

    VLEN_BYTES = "vlen uint8"
    BYTES = "uint8"
    OPAQUE = "opaque"
    INTEGER = "integer"
    FLOAT = "float"
    TEXT = "string"
    CHARACTERS = "text of MATLAB"
    COMPOUND = "compound"
    COMPLEX = "complex"
    REFERENCE = "reference"
    BITS = "bits"
    PICKLED = "pickled objects"
    OTHER = "another type"

    #: Members are compared by identity; a hash of names is a function of Python, called for each look into a set.
    __hash__ = object.__hash__


class DatasetInfo(NamedTuple):
    """One dataset: a tuple, because a file may hold a million of them.

    `path` has no leading slash; `address` is where its bytes lie, when they lie in one piece and HDF5 adds nothing.
    `dtype` is NumPy's name of the elements, such as ``float32``, ``>f4`` when the file has another byte order than
    memory, ``S12``, ``S`` for texts of any length, ``vlen float32``; empty for what is no field.
    """

    path: str
    kind: ElementKind
    shape: tuple[int, ...]
    size_bytes: int
    address: int | None
    dtype: str = ""

    @property
    def parent(self) -> str:
        """Path of the group that holds it; empty for the root."""
        return self.path.rpartition("/")[0]

    @property
    def basename(self) -> str:
        """Last part of the path."""
        return self.path.rpartition("/")[2]

    def describe(self) -> str:
        """Return path, type and shape, for messages."""
        kind = self.dtype if self.kind in _TOLD_BY_DTYPE and self.dtype else self.kind.value
        return f"{self.path!r} {kind} {self.shape}"


#: Kinds of which the type of numbers says more: bytes may have a sign.
_TOLD_BY_DTYPE = frozenset({ElementKind.BYTES, ElementKind.VLEN_BYTES, ElementKind.OTHER})


def in_groups(datasets: Iterable[DatasetInfo]) -> dict[str, list[DatasetInfo]]:
    """Return datasets by the group that they lie in."""
    return grouped(datasets, _PARENT)


_PARENT = attrgetter("parent")


@dataclass(frozen=True)
class Tree:
    """All datasets of a file by path; the paths of groups without members, external links, and unwritten datasets.

    `attributed` are the names of the attributes of groups and datasets that have some, by path; the root's is empty.
    `links` are further names, soft links and other ways to a group, each with the path that it leads to.
    `second_names` are datasets that another one is, by path, with its path, in its group if it can be: hard links.
    """

    datasets: Mapping[str, DatasetInfo]
    empty_groups: tuple[str, ...]
    external_links: tuple[str, ...]
    attributed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unwritten: frozenset[str] = frozenset()
    links: tuple[tuple[str, str], ...] = ()
    second_names: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def groups(self) -> frozenset[str]:
        """Paths of the groups that hold datasets."""
        return frozenset(info.parent for info in self.datasets.values())

    @cached_property
    def by_pattern(self) -> dict[str, Any]:
        """What was found by patterns of names, kept by those that look for it: a file may hold a million."""
        return {}

    @property
    def is_packed(self) -> bool:
        """Whether `pack` wrote the file, and nothing about its videos is to be guessed."""
        return PACKED in self.attributed.get("", ())

    def without(self, paths: Container[str]) -> Tree:
        """Return the same without some datasets."""
        return replace(self, datasets={path: info for path, info in self.datasets.items() if path not in paths})

    def describe(self, most: int = 6) -> str:
        """Return the first few datasets in words, for messages."""
        if not self.datasets:
            return "no dataset at all"
        shown = [info.describe() for _, info in zip(range(most), self.datasets.values(), strict=False)]
        more = len(self.datasets) - len(shown)
        return ", ".join(shown) + (f" and {more} more" if more else "")
