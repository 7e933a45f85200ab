"""HDF5 files of any layout that the catalog reads, ours included: their videos, fields and labels as they are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.cache.column_files import open_catalog
from loader_service.catalog.scan.catalog_scan import scan
from loader_service.config import default_cache_directory
from loader_service.pack.named_values import pictures_name
from loader_service.pack.recode import add_picture, encode
from loader_service.pack.records import Beside, Item, Recoding, checked_name
from loader_service.pack.sources.source_kind import Look, SourceKind
from loader_service.scan_options import ScanOptions
from loader_service.worker.reader import Reader

if TYPE_CHECKING:
    from loader_service.catalog.columns import Catalog
    from loader_service.pack.frame_blob import FrameSink
    from loader_service.protocol.fields import CatalogField

_SIGNATURE = b"\x89HDF\r\n\x1a\n"

#: Encoded frames that are read at once.
_FRAMES_AT_ONCE = 256


class HDF5Files(SourceKind):
    """A video for each of the catalog."""

    name = "hdf5"
    takes = "HDF5 files that `loader-service inspect` can read"

    def claims(self, look: Look) -> bool:
        """Tell whether a file begins as HDF5 does."""
        return any(_is_hdf5(head) for _, head in look.sample())

    def items(self, look: Look, *, labelled: bool) -> Iterator[Item]:  # noqa: ARG002 - the files say what labels are
        """Yield a video for each that the catalog finds; several files put theirs in a group each."""
        paths = [path for _, _, path in look.those(lambda _, head: _is_hdf5(head))]
        options = ScanOptions(schema=look.schema, split="all", on_bad_file="skip" if look.skips else "raise")
        catalog = scan(paths, options, cache_dir=default_cache_directory())
        look.at_end(catalog.close)  # its folder is there for as long as it is open
        for path, reason in catalog.skipped:
            yield Item(self.name, _stem(path, look), path, fault=reason)
        for video in range(catalog.video_count):
            path = catalog.file_path(int(catalog.video_file[video]))
            name = catalog.name(video).decode("utf-8", "surrogateescape")
            yield Item(
                self.name,
                checked_name(name if len(paths) == 1 else f"{_stem(path, look)}/{name}", path),
                path,
                (str(catalog.directory), video),
                _size(catalog, video),
                _label(catalog, video),
            )

    def files(self, item: Item) -> list[str]:
        """Return the file."""
        return [item.path]

    def read(self, item: Item, recoding: Recoding, sink: FrameSink) -> Beside:
        """Read all fields of the video."""
        directory, video = item.place
        catalog, reader = _opened(directory)
        reader.begin()
        beside = Beside()
        count = int(catalog.frame_counts[video])
        for field in catalog.fields:
            name = pictures_name(field.name)
            if field.name == "label":
                if field.kind != "value":
                    beside.columns["label"] = _array(reader, (catalog, video), field, count)
            elif field.kind == "value":
                real = tuple(map(slice, catalog.shape_in(video, field.name)))
                _put(beside, name, field, np.asarray(catalog.values(field.name)[video])[real])
            elif catalog.is_encoded(field.name):
                for first in range(0, count, _FRAMES_AT_ONCE):
                    frames = range(first, min(count, first + _FRAMES_AT_ONCE))
                    for frame, data in zip(frames, reader.read(video, frames, field.name), strict=True):
                        add_picture(sink, data, recoding, f"{item.path!r}, frame {frame}", name)
            elif catalog.has_lists(field.name):
                beside.lists[name] = _lists(reader, video, field, count)
            else:
                missing = catalog.missing((field.name,))
                _put_array(
                    beside, sink, name, field, (_array(reader, (catalog, video), field, count - missing), recoding)
                )
                beside.between |= {name} if missing else set()
        return beside


def _is_hdf5(head: bytes) -> bool:
    return head.startswith(_SIGNATURE) or head[512:520] == _SIGNATURE


def _stem(path: str, look: Look) -> str:
    return os.path.splitext(look.name_of(path))[0].replace(os.sep, "/")


def _size(catalog: Catalog, video: int) -> int:
    """Return the bytes of a video's frames, as far as they are encoded; of others, a guess of none."""
    encoded = [field.name for field in catalog.fields if field.kind != "value" and catalog.is_encoded(field.name)]
    return sum(int(catalog.extents(video, name)[1].sum()) for name in encoded)


def _label(catalog: Catalog, video: int) -> Any:
    if catalog.labels is None:
        return None
    number = catalog.labels[video].item()
    return catalog.classes[number] if catalog.classes else number


@lru_cache(maxsize=4)
def _opened(directory: str) -> tuple[Catalog, Reader]:
    catalog = open_catalog(directory)
    return catalog, Reader(catalog)


def _array(reader: Reader, place: tuple[Catalog, int], field: CatalogField, count: int) -> Any:
    catalog, video = place
    out = np.empty((count, *catalog.shape_in(video, field.name)), field.dtype)
    if out.size:
        reader.read_array(video, field.name, 0, out)
    return out


def _lists(reader: Reader, video: int, field: CatalogField, count: int) -> tuple[Any, Any]:
    """Return the lists of all frames one after the other, and where each begins."""
    entries = reader.read_lists(video, range(count), field.name)
    return np.concatenate(entries), np.concatenate([[0], np.cumsum([len(each) for each in entries])]).astype(np.int64)


def _put(beside: Beside, name: str, field: CatalogField, value: Any) -> None:
    if field.classes:
        beside.values[name] = field.classes[int(value)]
    else:
        beside.values[name] = np.asarray(value)[()]


def _put_array(beside: Beside, sink: FrameSink, name: str, field: CatalogField, found: tuple[Any, Recoding]) -> None:
    array, recoding = found
    if field.kind == "image" and recoding.changes_pictures and array.dtype == np.uint8 and array.ndim == 4:
        for picture in array:
            sink.add(encode(picture, recoding), name)
    else:
        beside.columns[name] = array
