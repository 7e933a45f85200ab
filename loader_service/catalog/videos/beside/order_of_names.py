"""Tells which entry of a dataset beside videos belongs to which of them. Knows no other file; reads texts beside it."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

import numpy as np

from loader_service.catalog.hdf5.tree import ElementKind
from loader_service.catalog.inner_paths import basename_of, to_bytes, to_text, unnumbered
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import h5py

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree


def rows_of_names(file: h5py.File, tree: Tree, beside: DatasetInfo, names: Sequence[str]) -> list[int] | None:
    """Return the row of each video in a dataset, by texts beside it that name the videos; None without any.

    Parameters
    ----------
    names
        Of the videos: texts are these, or their last part, with or without the end of a file's name.
    """
    forms = [list(names), list(map(basename_of, names))]
    for info in tree.datasets.values():
        if info.kind is not ElementKind.TEXT or info.parent != beside.parent or info.shape[:1] != (len(names),):
            continue
        texts = [to_text(bytes(each)) for each in np.ravel(file[to_bytes(info.path)][()]).tolist()]
        for said in (texts, [posixpath.splitext(text)[0] for text in texts]):
            rows = {text: row for row, text in enumerate(said)}
            for form in forms:
                if rows.keys() == set(form) and len(rows) == len(said) == len(form):
                    return [rows[name] for name in form]
    return None


def are_counted(names: Sequence[str]) -> bool:
    """Tell whether only numbers tell names apart, so that their natural order is that of what lies beside them."""
    return len(set(map(unnumbered, names))) <= 1


def without_order(info: DatasetInfo, names: Sequence[str]) -> str:
    """Return what is wrong with a dataset beside videos whose names do not count."""
    return (
        f"found {info.describe()} beside {counted(len(names), 'video')} whose names do not count, such as {names[0]!r} "
        f"and {names[1]!r}, and nothing says which entry is whose"
    )
