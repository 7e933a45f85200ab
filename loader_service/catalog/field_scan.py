"""Turns the fields of a file's videos into columns: where their bytes lie, and what their values are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog import heap
from loader_service.catalog.extents import Source, locate, read_frame
from loader_service.catalog.fields_beside import MOST_VALUE_BYTES
from loader_service.catalog.findings import FieldScan
from loader_service.catalog.jpeg import frame_size
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.schema import pattern_of
from loader_service.catalog.storage import read_references
from loader_service.catalog.tree import to_bytes
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from loader_service.catalog.columns import Int64s
    from loader_service.catalog.episodes import Episode, Found, Part
    from loader_service.catalog.extents import Located
    from loader_service.catalog.layouts import FoundVideo
    from loader_service.catalog.schema import Schema

Columns = dict[str, "NDArray[Any]"]

#: Rows of a dataset of texts that are read at once to learn how wide they are.
_SLAB = 4096


class _TooLongError(ValueError):
    """A text is longer than texts of a field may be."""


def scan_fields(source: Source, found: Found, schema: Schema | None) -> tuple[list[FieldScan], dict[str, str]]:
    """Return the fields that all videos with frames have, and why others are none.

    Parameters
    ----------
    source
        The file.
    found
        Its videos.
    schema
        What named the fields; one that differs between videos then is an error, and not left out.

    Raises
    ------
    CatalogError
        When videos differ in a field of a schema; when data lies beyond the end of the file.
    """
    episodes = [episode for episode in found.episodes if episode.frame_count]
    left_out = dict(found.left_out)
    fields = []
    for key in dict.fromkeys(key for episode in episodes for key in episode.parts):
        reason = _difference(key, episodes)
        if reason is None:
            try:
                fields.append(_scan_field(source, key, found, [episode.parts[key] for episode in episodes]))
                left_out.pop(key, None)
            except _TooLongError as error:
                reason = str(error)
        if reason is None:
            continue
        if schema is not None:
            raise CatalogError(f"the field {key!r}: {reason}; correct the file, or the field's entry in the schema")
        left_out[key] = reason
    return fields, left_out


def _difference(key: str, episodes: Sequence[Episode]) -> str | None:
    first = next(episode for episode in episodes if key in episode.parts)
    expected = first.parts[key]
    for episode in episodes:
        part = episode.parts.get(key)
        if part is None:
            return f"expected it in each video, but {episode.name!r} has none"
        if _form(part) != _form(expected):
            return f"expected one form, found {_form(expected)} in {first.name!r}, {_form(part)} in {episode.name!r}"
    return None


def _form(part: Part) -> str:
    if part.frames is not None:
        return "JPEG frames"
    return f"{part.kind} {'text' if part.dtype.startswith('S') else part.name} {part.shape}"


def _scan_field(source: Source, key: str, found: Found, parts: Sequence[Part]) -> FieldScan:
    first = parts[0]
    pattern = first.pattern or pattern_of(_key_of(found, key, first), found.layout)
    if first.frames is not None:
        columns = _frames_columns(source, [part.frames for part in parts if part.frames is not None])
        return FieldScan(key, pattern, "image", "uint8", (), [part.path for part in parts], columns)
    if first.kind == "value":
        values = _read_values(source, parts)
        return FieldScan(key, pattern, "value", _name_of(values.dtype), first.shape, [], {"values": values})
    if first.element >= 0:
        columns = {"addresses": _vlen_addresses(source, parts)}
    else:
        columns = {"addresses": np.array([_address(source, part) for part in parts], np.int64)}
    if found.layout == "table" and key in LABEL_NAMES:
        _check_finite(source, first)
    dtype = _text_width(source, parts) if first.dtype.startswith("S") else _name_of(np.dtype(first.dtype))
    return FieldScan(key, pattern, first.kind, dtype, first.shape, [part.path for part in parts], columns)


def _check_finite(source: Source, labels: Part) -> None:
    """Make sure that the labels of a table are numbers, reading them piece by piece."""
    if np.dtype(labels.dtype).kind != "f" or labels.shape:
        return
    dataset = source.file[to_bytes(labels.path)]
    for start in range(0, dataset.shape[0], _SLAB):
        bad = np.flatnonzero(~np.isfinite(dataset[start : start + _SLAB]))
        if len(bad):
            raise CatalogError(
                f"label, entry {start + bad[0]} of {labels.path!r}: expected a finite number, "
                f"got {dataset[start + bad[0]]!s}"
            )


def _key_of(found: Found, key: str, part: Part) -> str:
    """Return what a pattern is made of: rows of a vlen dataset have basenames as keys."""
    return part.path if found.layout == "vlen" and not part.attribute else key


def _name_of(dtype: np.dtype[Any]) -> str:
    return f"S{max(1, dtype.itemsize)}" if dtype.kind == "S" else dtype.newbyteorder("=").name


def _frames_columns(source: Source, videos: Sequence[FoundVideo]) -> Columns:
    """Return the columns of one camera's JPEGs."""
    located = [locate(source, video) for video in videos]
    sizes = [_picture_size(source, video, places) for video, places in zip(videos, located, strict=True)]
    shapes = np.array(sizes, np.uint16).reshape(-1, 2)
    return {
        "heights": shapes[:, 0],
        "widths": shapes[:, 1],
        "accesses": np.array([places.access for places in located], np.uint8),
        "extent_offsets": _join([places.offsets for places in located]),
        "extent_lengths": _join([places.lengths for places in located]).astype(np.uint32),
    }


def _join(pieces: list[Int64s]) -> Int64s:
    return np.concatenate([np.zeros(0, np.int64), *pieces])


def _picture_size(source: Source, video: FoundVideo, located: Located) -> tuple[int, int]:
    """Return height and width from the first frame; from another where that one is damaged; (0, 0) if all three are."""
    for frame in dict.fromkeys((0, video.frame_count // 2, video.frame_count - 1)):
        size = frame_size(read_frame(source, video, located, frame))
        if size is not None:
            return size
    return 0, 0


def _address(source: Source, part: Part) -> int:
    """Return where a dataset's numbers lie as they do in memory, or -1."""
    info = part.info
    native = not part.dtype.startswith(("S", ">"))
    if info is None or info.address is None or not native or not source.direct:
        return -1
    if info.address + info.size_bytes > source.size_bytes:
        raise CatalogError(
            f"{info.path!r}: expected it to end by byte {source.size_bytes}, the end of the file; "
            f"got {info.address + info.size_bytes}: the file is truncated"
        )
    return info.address


def _vlen_addresses(source: Source, parts: Sequence[Part]) -> Int64s:
    """Return where the rows of a vlen dataset lie, or -2 - n for the n-th where only HDF5 can read them."""
    elements = np.array([part.element for part in parts], np.int64)
    dtype = np.dtype(parts[0].dtype)
    references = None
    if source.direct and dtype.isnative:
        references = read_references(source.descriptor, source.file[to_bytes(parts[0].path)].id)
    if references is None:
        return -2 - elements
    counts = references["length"].astype(np.int64)
    sized = references.copy()
    sized["length"] = counts * dtype.itemsize
    try:
        offsets = heap.locate(source.descriptor, sized, source.size_bytes)
    except heap.HeapError:
        return -2 - elements
    # Trusted only when the bytes found there are what h5py gives, at the first row and at the last.
    dataset = source.file[to_bytes(parts[0].path)]
    for row in {int(elements[0]), int(elements[-1])}:
        expected = np.asarray(dataset[row]).tobytes()
        if source.read_at(int(offsets[row]), len(expected)) != expected:
            return -2 - elements
    return offsets[elements]


def _text_width(source: Source, parts: Sequence[Part]) -> str:
    """Return the dtype that holds the longest text of some datasets, reading them piece by piece."""
    if parts[0].dtype != "S":
        return max((part.dtype for part in parts), key=lambda dtype: int(dtype[1:]))
    width = 1
    for part in parts:
        dataset = source.file[to_bytes(part.path)]
        for start in range(0, dataset.shape[0], _SLAB):
            width = max(width, *(len(_to_bytes(text)) for text in np.ravel(dataset[start : start + _SLAB])))
            _check_width(width, part)
    return f"S{width}"


def _check_width(width: int, part: Part) -> None:
    if width > MOST_VALUE_BYTES:
        raise _TooLongError(
            f"expected texts of at most {MOST_VALUE_BYTES} bytes, found one of {width} in {part.path!r}"
        )


def _read_values(source: Source, parts: Sequence[Part]) -> NDArray[Any]:
    if parts[0].element >= 0:  # an entry for each row of a vlen dataset
        whole = source.file[to_bytes(parts[0].path)][()]
        values = [whole[part.element] for part in parts]
    else:
        values = [_read_value(source, part) for part in parts]
    if parts[0].dtype.startswith("S"):
        texts = [_to_bytes(value) for value in values]
        _check_width(max(map(len, texts)), parts[0])
        return np.array(texts, np.bytes_)
    return np.array(values, np.dtype(parts[0].dtype).newbyteorder("="))


def _read_value(source: Source, part: Part) -> Any:
    node = source.file[to_bytes(part.path)] if part.path else source.file
    return node.attrs[part.attribute] if part.attribute else node[()]


def _to_bytes(value: Any) -> bytes:
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)
