"""What a file without JPEGs holds: raw videos, a table of rows, or sequences of numbers of different length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from loader_service.catalog.episodes import Episode, Found, Part, find_roots, found_of, key_in
from loader_service.catalog.fields_beside import MOST_VALUE_BYTES, array_part, is_picture
from loader_service.catalog.inner_paths import join
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.natural import natural_key
from loader_service.catalog.storage import read_references
from loader_service.catalog.tree import Kind, to_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.extents import Source
    from loader_service.catalog.tree import DatasetInfo, Tree

#: Rows of a vlen dataset that are read at once to learn their lengths: one can be minutes of sound.
_SLAB = 16

EXPECTED = (
    "a group per video, or a file per episode, with raw uint8 frames or arrays; a table of two or more dimensions; or "
    "a vlen dataset of numbers"
)


def find_without_frames(source: Source, tree: Tree) -> Found | None:
    """Return the videos of a file that holds no JPEG, in the first of these ways that fits, or None.

    Groups with raw pictures; the rows of a vlen dataset of numbers; groups with arrays; a table.
    """
    numeric = [
        info for info in tree.datasets.values() if info.dtype and info.shape and info.basename not in LABEL_NAMES
    ]
    pictures = _of_groups(tree, [info for info in numeric if is_picture(info)], robot=True)
    if pictures is not None:
        return pictures
    vlen = [info for info in numeric if info.dtype.startswith("vlen") and len(info.shape) == 1]
    if vlen:
        return find_vlen_rows(source, tree, max(vlen, key=lambda info: info.size_bytes))
    arrays = [
        info for info in numeric if info.kind is not Kind.TEXT and (info.kind is not Kind.BYTES or len(info.shape) > 1)
    ]
    return _of_groups(tree, arrays, robot=False) or _find_table(arrays)


def _of_groups(tree: Tree, candidates: Sequence[DatasetInfo], *, robot: bool) -> Found | None:
    """Return a video for each group that holds datasets of the same names, the largest of which counts the frames."""
    groups: dict[str, dict[str, DatasetInfo]] = {}
    for info in candidates:
        groups.setdefault(info.parent, {})[info.basename] = info
    shared = set.intersection(*(set(members) for members in groups.values())) if groups else set()
    alone = len(groups) == 1 and robot and "observations" in next(iter(groups)).split("/")
    if not shared or (len(groups) < 2 and not alone):
        return None
    sizes = {name: sum(members[name].size_bytes for members in groups.values()) for name in shared}
    main = max(sorted(shared, key=natural_key), key=lambda name: sizes[name])
    mains = [members[main] for members in groups.values()]
    roots = find_roots(tree, list(groups), [info.shape[0] for info in mains])
    return found_of([_of_dataset(root, info) for root, info in zip(roots, mains, strict=True)])


def _of_dataset(root: str, info: DatasetInfo) -> Episode:
    part = array_part(info)
    parts = {} if part is None else {key_in(root, info.path): part}
    return Episode(root, root, info.shape[0] if parts else 0, info.path, parts)


def _find_table(arrays: Sequence[DatasetInfo]) -> Found | None:
    """Return a file as one table, whose rows are those of its largest dataset."""
    tables = [info for info in arrays if len(info.shape) > 1 and array_part(info)]
    if not tables:
        sequences = [info for info in arrays if info.kind is Kind.FLOAT and array_part(info)]
        return Found("files", [_of_dataset("", sequences[0])]) if len(sequences) == 1 else None
    return Found("table", [_of_dataset("", max(tables, key=lambda info: info.size_bytes))])


def find_vlen_rows(source: Source, tree: Tree, main: DatasetInfo) -> Found:
    """Return a video for each row of a vlen dataset of numbers; datasets beside it with as many rows are its values."""
    lengths = _row_lengths(source, main)
    beside = [info for info in tree.datasets.values() if info.parent == main.parent and info.path != main.path]
    found = Found("vlen", [])
    values = []
    for info in beside:
        if info.shape[:1] != main.shape or not info.dtype or info.basename in LABEL_NAMES:
            continue
        if info.dtype.startswith("vlen") or info.size_bytes > MOST_VALUE_BYTES * info.shape[0] or 0 in info.shape:
            found.left_out[info.basename] = f"expected one small value for each row, found {info.describe()} in a file"
            continue
        values.append(info)
    dtype = main.dtype.removeprefix("vlen ")
    for row, length in enumerate(lengths):
        episode = Episode(join(main.path, str(row)), None, length, main.path)
        episode.parts[main.basename] = Part("array", dtype, (), main.path, info=main, element=row)
        for info in values:
            episode.parts[info.basename] = Part("value", info.dtype, info.shape[1:], info.path, info=info, element=row)
        found.episodes.append(episode)
    return found


def _row_lengths(source: Source, info: DatasetInfo) -> list[int]:
    """Return how long each row is, reading no row if the file's bytes say so plainly."""
    dataset = source.file[to_bytes(info.path)]
    references = read_references(source.descriptor, dataset.id) if source.direct else None
    if references is not None:
        lengths: list[int] = references["length"].tolist()
        return lengths
    starts = range(0, info.shape[0], _SLAB)
    return [len(np.atleast_1d(row)) for start in starts for row in dataset[start : start + _SLAB]]
