"""Says how numbers of another length than the frames beside them are served: alone, by a schema that was tried."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_number
from loader_service.catalog.inner_paths import join, key_in
from loader_service.catalog.scan.unknown_files import works
from loader_service.catalog.videos.aside.set_aside import is_aside
from loader_service.catalog.videos.beside.fields_beside import MOST_VALUE_BYTES
from loader_service.catalog.videos.episodes import is_inside
from loader_service.catalog.videos.frame_axis import kind_of_rows
from loader_service.catalog.videos.lines.unused import paths_of
from loader_service.catalog.videos.readings import in_one_line
from loader_service.schema import Schema, SchemaField
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo
    from loader_service.catalog.scan.undeclared_file import UndeclaredFile
    from loader_service.schema import VideoLayout

#: Lengths of which a line is given, those of most bytes: each is tried.
_MOST_LENGTHS = 3


def lines_of_rows_alone(file: UndeclaredFile, said: Mapping[str, str]) -> dict[str, str]:
    """Return, for each length of arrays that no field has, the schema that serves their rows without the frames.

    Arrays that are small have lines of their own, as they can be values of their video.

    Parameters
    ----------
    file
        With its videos, each a group or the file; of a file with one video alone, all of it is looked at.
    said
        What has a line for another reason, by path or by path within a video.
    """
    found = file.found
    if found.layout not in {"groups", "files"} or not found.filled or _root_of(file) is None:
        return {}
    lines = {}
    families = sorted(_by_length(file, said), key=lambda infos: -sum(info.size_bytes for info in infos))
    for infos in families[:_MOST_LENGTHS]:
        schema = _schema_of(file, infos)
        # Of one video only: the others were compared with it.
        alone = replace(file.tree, datasets={info.path: info for info in infos})
        if not works(file.hdf5, alone, schema, labelled=False):
            continue
        main = max(infos, key=lambda info: info.size_bytes)
        what = "an array of" if len(infos) == 1 else f"one of {len(infos)} arrays of"
        lines[f"{main.path} (alone)"] = (
            f"{what} {counted(main.shape[0], 'row')} beside {counted(found.filled[0].frame_count, 'frame')}; "
            f"{in_one_line(schema)} in a --schema serves these rows alone, in a file"
        )
    return lines


def _by_length(file: UndeclaredFile, said: Mapping[str, str]) -> list[list[DatasetInfo]]:
    """Return the arrays of the first video that are in no field and that all videos have, by their length."""
    tree, first = file.tree, file.found.filled[0]
    root = _root_of(file) or ""
    used = paths_of(file.found)
    families: dict[int, list[DatasetInfo]] = {}
    for path, info in tree.datasets.items():
        rows = info.shape[0] if info.shape and 0 not in info.shape else 0
        if rows < 2 or rows == first.frame_count or not is_number(info.dtype) or path in used:
            continue
        key = key_in(root, path) if is_inside(root, path) else ""
        if key and not {path, key} & said.keys() and not is_aside(file.aside, info) and _is_in_all(file, key, info):
            families.setdefault(rows, []).append(info)
    return [infos for infos in families.values() if any(info.size_bytes > MOST_VALUE_BYTES for info in infos)]


def _is_in_all(file: UndeclaredFile, key: str, info: DatasetInfo) -> bool:
    roots = [_root_of(file)] if len(file.found.episodes) == 1 else [each.root for each in file.found.filled]
    others = (file.tree.datasets.get(join(root or "", key)) for root in roots)
    return all(
        other is not None and other.dtype == info.dtype and other.shape[1:] == info.shape[1:] and 0 not in other.shape
        for other in others
    )


def _root_of(file: UndeclaredFile) -> str | None:
    """Return the group of the first video; of the only one the root, None where videos are datasets."""
    return "" if len(file.found.episodes) == 1 else file.found.filled[0].root


def _schema_of(file: UndeclaredFile, infos: Sequence[DatasetInfo]) -> Schema:
    root = _root_of(file) or ""
    layout: VideoLayout = "groups" if root else "files"
    at = SchemaField.in_group if layout == "groups" else SchemaField.at
    return Schema((layout,), tuple(at(key_in(root, info.path), kind_of_rows(info)) for info in infos))
