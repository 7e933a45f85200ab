"""The rows of a vlen dataset of numbers as videos: sounds, or tracks, of different length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from loader_service.catalog.codecs import LOOK_BYTES, RAW_BYTES, codec_of
from loader_service.catalog.hdf5.storage import read_references
from loader_service.catalog.inner_paths import join
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.videos.episodes import Episode, Found, VideoField
from loader_service.catalog.videos.fields_beside import MOST_VALUE_BYTES
from loader_service.catalog.videos.readings import Reading, TwoReadingsError, fields_of
from loader_service.errors import CatalogError
from loader_service.schema import Schema, SchemaField

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree

#: Rows of a vlen dataset that are read at once to learn their lengths: one can be minutes of sound.
_SLAB = 16


def find_vlen_rows(hdf5: HDF5File, tree: Tree, main: DatasetInfo) -> Found:
    """Return a video for each row of a vlen dataset of numbers; datasets beside it with as many rows are its values."""
    lengths = _row_lengths(hdf5, main)
    _refuse_images(hdf5, main, lengths)
    beside = [info for info in tree.datasets.values() if info.parent == main.parent and info.path != main.path]
    found = Found("vlen", [])
    values = []
    for info in beside:
        if info.shape[:1] != main.shape or not info.dtype or info.basename in LABEL_NAMES:
            continue
        wide_text = info.dtype.startswith("S") and any(side != 1 for side in info.shape[1:])
        if (
            wide_text
            or info.dtype.startswith("vlen")
            or info.size_bytes > MOST_VALUE_BYTES * info.shape[0]
            or 0 in info.shape
        ):
            found.left_out[info.basename] = f"expected one small value for each row, found {info.describe()} in a file"
            continue
        values.append(info)
    dtype = main.dtype.removeprefix("vlen ")
    for row, length in enumerate(lengths):
        episode = Episode(join(main.path, str(row)), None, length, main.path)
        episode.parts[main.basename] = VideoField("array", dtype, (), main.path, info=main, element=row)
        for info in values:
            shape = () if info.dtype.startswith("S") else info.shape[1:]
            episode.parts[info.basename] = VideoField("value", info.dtype, shape, info.path, info=info, element=row)
        found.episodes.append(episode)
    return found


def refuse_table_with_lists(main: DatasetInfo, others: Sequence[DatasetInfo]) -> None:
    """Make sure that a vlen dataset of numbers is no column of a table beside one that has several numbers a row.

    Raises
    ------
    TwoReadingsError
        When it may be: its rows are lists of samples then, and no recordings.
    """
    count = main.shape[0]
    beside = [info for info in others if info.parent == main.parent and info.shape[0] == count]
    matrices = [info for info in beside if any(side > 1 for side in info.shape[1:])]
    if not matrices:
        return
    lists = SchemaField(main.basename, "array", (main.path,), "", (0,))
    rows = SchemaField(main.basename, "array", (main.path,))
    raise TwoReadingsError(
        f"found lists of numbers {main.path!r} {main.shape} beside {matrices[0].describe()}",
        [
            Reading(f"{count} samples of a table", Schema(("table",), (*fields_of(matrices, "array"), lists))),
            Reading(f"{count} recordings", Schema(("vlen",), (rows, *fields_of(matrices, "value")))),
        ],
    )


def _refuse_images(hdf5: HDF5File, main: DatasetInfo, lengths: Sequence[int]) -> None:
    """Refuse the bytes of images that were written as wider numbers, one for each byte."""
    first = next((row for row, length in enumerate(lengths) if length >= LOOK_BYTES), None)
    if first is None or not main.dtype.removeprefix("vlen ").startswith(("int", "uint")):
        return
    begin = np.asarray(hdf5.node(main.path)[first])[:LOOK_BYTES]
    codec = codec_of(begin.astype(np.uint8).tobytes()) if begin.min() >= 0 and begin.max() < 2**8 else RAW_BYTES
    if codec.named:
        raise CatalogError(
            f"{main.path!r}, row {first}: expected numbers, found the bytes of {codec.name} as {main.dtype[5:]}; write "
            "them as vlen uint8, an element for each frame"
        )


def _row_lengths(hdf5: HDF5File, info: DatasetInfo) -> list[int]:
    """Return how long each row is, reading no row if the file's bytes say so plainly."""
    dataset = hdf5.node(info.path)
    references = read_references(hdf5.descriptor, dataset.id) if hdf5.direct else None
    if references is not None:
        lengths: list[int] = references["length"].tolist()
        return lengths
    starts = range(0, info.shape[0], _SLAB)
    return [len(np.atleast_1d(row)) for start in starts for row in dataset[start : start + _SLAB]]
