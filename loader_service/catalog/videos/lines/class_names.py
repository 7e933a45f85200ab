"""Says which classes numbers are, by lists of their names; who has files scanned asks it, and loads no HDF5."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from loader_service.catalog.hdf5.tree import ElementKind
from loader_service.catalog.inner_paths import basename_of
from loader_service.catalog.sides import is_list
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.episodes import Found


_WORD = r"(label|class|target|category|action|activity)(es|s)?"
_CALLED = re.compile(rf"{_WORD}_?(names?|list|map|str)|list_(classes|labels)|classes|categories", re.IGNORECASE)

#: How such a line begins.
_NAMES = "it names "

#: Names that are read, and shown.
_MOST_READ, _MOST_SHOWN = 100_000, 20


def lines_of_classes(tree: Tree, found: Found) -> dict[str, Callable[[HDF5File], str]]:
    """Return what says the names, by number, for each list of texts that is called so and is no field."""
    lines: dict[str, Callable[[HDF5File], str]] = {}
    for path in found.left_out:
        info = tree.datasets.get(path)
        if info is not None and are_names_of_classes(info):
            lines[path] = partial(_line, path)
    return lines


def are_names_of_classes(info: DatasetInfo) -> bool:
    """Tell whether a dataset is a list of texts that is called as names of classes are."""
    texts = info.kind is ElementKind.TEXT and is_list(info.shape) and 0 < max(info.shape) <= _MOST_READ
    return texts and bool(_CALLED.fullmatch(basename_of(info.path)))


def _line(path: str, hdf5: HDF5File) -> str:
    names = [each.decode("utf-8", "replace") for each in np.ravel(hdf5.entries(path)).tolist()]
    shown = ", ".join(f"{number} {name!r}" for number, name in enumerate(names[:_MOST_SHOWN]))
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    return f"{_NAMES}{counted(len(names), 'class')}: {shown}{more}; labels stay the file's numbers, in a file"


def lines_of_other_classes(files: Sequence[tuple[str, Mapping[str, str]]]) -> dict[str, str]:
    """Return a line for each list of names that is another in some file: one number stands for two classes there.

    `files`: their paths, and the lines of each.
    """
    first: dict[str, tuple[str, str]] = {}
    lines: dict[str, str] = {}
    for path, said in files:
        for key, line in said.items() if len(files) > 1 else ():
            if line.startswith(_NAMES) and first.setdefault(key, (path, line))[1] != line:
                lines.setdefault(
                    f"{key} (files)",
                    f"{path!r} has other names than {first[key][0]!r}, or in another order, so one number may be two "
                    "classes; serve them apart, or write the labels of all by one list",
                )
    return lines
