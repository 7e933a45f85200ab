"""Videos that are a row each of datasets ``(videos, frames, …)``, padded to one length. Reads lengths alone."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.dtypes import is_number, is_text, is_vlen
from loader_service.catalog.inner_paths import join, parent_of
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.sides import CHANNELS
from loader_service.catalog.videos.beside.fields_beside import MOST_VALUE_BYTES, value_of_row
from loader_service.catalog.videos.episodes import Episode, Found, VideoField
from loader_service.catalog.videos.readings import Reading, TwoReadingsError, fields_of
from loader_service.catalog.videos.single_pictures import LEAST_GREY_SIDE
from loader_service.catalog.vocabulary import RECORDINGS
from loader_service.schema import SchemaField

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from loader_service.catalog.columns import Int64s
    from loader_service.catalog.hdf5.tree import DatasetInfo
    from loader_service.catalog.videos.bounds.bound_lists import Read

#: What is called that counts the real frames of each row.
_LENGTHS = re.compile(
    rf"(^|_)(lens?|lengths?|(num|n|valid|{RECORDINGS})_?(frames|steps|len|lens|length|lengths))$", re.IGNORECASE
)


_COUNTS = re.compile(
    r"(^|_)(nums?|(num|n|number_of)_?(points|nodes|atoms|objects|boxes|tokens|words|valid|particles))$", re.IGNORECASE
)


def frame_part(info: DatasetInfo) -> VideoField | None:
    """Return a dataset ``(videos, frames, …)`` as a field of each video; None without a second axis, or entries.

    The field is that of the first video.
    """
    plain = (is_number(info.dtype) or is_text(info.dtype)) and 0 not in info.shape
    if not plain or len(info.shape) < 2:
        return None
    picture = info.dtype == "uint8" and len(info.shape) == 5 and info.shape[4] in {1, 3}
    return VideoField("image" if picture else "array", info.dtype, info.shape[2:], info.path, info=info, element=0)


def between_frames(part: VideoField | None, most: int) -> VideoField | None:
    """Return a field of videos of so many frames at most, which may have an entry between each two; None for others."""
    entries = part.info.shape[1] if part is not None and part.info is not None else -1
    if part is not None and part.kind == "array" and is_number(part.dtype) and entries == most - 1 > 0:
        return replace(part, missing=1)
    return part if entries == most else None


def lengths_beside(
    datasets: Iterable[DatasetInfo], count: int, most: int, read: Read, *, of_points: bool = False
) -> tuple[str, Int64s] | None:
    """Return which dataset says how many frames of each of so many rows are real, and what it says; None if none does.

    They are whole numbers from 0 to `most`, and not all are `most`; or flags ``(count, most)`` of the real ones, or of
    padding if they are called so, with the real ones first. Those of which the longest row has no padding come before
    others, which may count something else, as of texts. `of_points`: also what counts points, or such, by its name.
    """
    others = None
    for info in datasets:
        if info.shape == (count, most) and MASK.search(info.basename):
            flags = flags_of(read(info.path))
            real = None if flags is None else ~flags if _PADDING.search(info.basename) else flags
            lengths = None if real is None or (real[:, 1:] & ~real[:, :-1]).any() else real.sum(axis=1)
        elif info.shape in {(count,), (count, 1)} and (
            _LENGTHS.search(info.basename) or (of_points and _COUNTS.search(info.basename))
        ):
            lengths = np.ravel(read(info.path))
        else:
            continue
        whole = lengths is not None and lengths.dtype.kind in "iuf" and bool((lengths == np.floor(lengths)).all())
        if lengths is not None and whole and lengths.min() >= 0 and 1 < lengths.max() <= most and lengths.min() < most:
            found = info.path, lengths.astype(np.int64)
            if lengths.max() == most:
                return found
            others = others or found
    return others


def flags_of(values: Any) -> NDArray[np.bool_] | None:
    """Return numbers that are 0 and 1 alone as flags; None for others."""
    numbers = np.asarray(values)
    return numbers.astype(bool) if numbers.dtype.kind in "biuf" and bool(np.isin(numbers, (0, 1)).all()) else None


#: What is called that says which frames of padded sequences are real, or are padding.
MASK = re.compile(r"(^|_)(mask|valid|is_valid|padding|pad|is_pad|real)s?(_|$)", re.IGNORECASE)
_PADDING = re.compile(r"(^|_)(padding|pad)(_|$)", re.IGNORECASE)


def cut_padded(found: Found, read: Read) -> Found:
    """Return a table whose rows are padded sequences of pictures, with their lengths beside, as a video for each row.

    Other rows stay rows: of numbers, nothing says that those of one length are not meant.
    """
    whole = found.episodes[0] if found.layout == "table" and len(found.episodes) == 1 else None
    infos = [part.info for part in whole.parts.values() if part.info is not None] if whole else []
    films = [info for info in infos if _is_film(info)]
    if whole is None or not films:
        return found
    count, most = films[0].shape[:2]
    lengths = lengths_beside(infos, count, most, read)
    if lengths is None:
        _refuse_odd_lengths(films[0], infos, read)
        return found
    parts = {key: part for key, info in _keys(whole) if (part := between_frames(frame_part(info), most))}
    values = {key: info for key, info in _keys(whole) if key not in parts and _is_value(info, lengths[0])}
    left_out = {key: reason for key, reason in found.left_out.items() if key not in {*parts, *values}}
    for key, info in _keys(whole):
        if key not in {*parts, *values} and info.path != lengths[0] and info.basename not in LABEL_NAMES:
            left_out[key] = f"expected {most} frames, or one small value, a video, found {info.describe()} in a file"
    left_out[lengths[0]] = f"says how many frames of {films[0].path!r} each video has, in a file"
    return Found("padded", videos_of(parts, values, lengths[1], helpers=frozenset({lengths[0]})), left_out)


def _refuse_odd_lengths(film: DatasetInfo, infos: Sequence[DatasetInfo], read: Read) -> None:
    """Refuse lengths of rows of pictures that no rows of so many frames have: past their end, or between two frames.

    Raises
    ------
    TwoReadingsError
        With the schemas for videos of all frames, and for rows with the numbers beside them.
    """
    count, most = film.shape[:2]
    for info in (each for each in infos if each.shape in {(count,), (count, 1)} and _LENGTHS.search(each.basename)):
        numbers = np.ravel(read(info.path))
        odd = np.flatnonzero(~((numbers >= 0) & (numbers <= most) & (numbers % 1 == 0)))
        if not len(odd) or not is_number(info.dtype):
            continue
        timed = [each for each in infos if each.shape[:2] == film.shape[:2]]
        fields = [SchemaField.at(each.path, part.kind) for each in timed if (part := frame_part(each))]
        raise TwoReadingsError(
            f"{info.path!r}, entry {odd[0]}: expected how many of the {most} frames in a row of {film.path!r} are "
            f"real, found {numbers[odd[0]]!s}; correct it, or say what these numbers do not",
            [
                Reading.of("padded", f"a video of all {most} frames for each row", fields),
                Reading.of_table("rows, with these numbers beside them", fields_of(infos)),
            ],
        )


def videos_of(
    parts: Mapping[str, VideoField],
    values: Mapping[str, DatasetInfo],
    lengths: Int64s,
    helpers: frozenset[str] = frozenset(),
) -> list[Episode]:
    """Return a video for each row, of as many frames as its length says."""
    path = next(iter(parts.values())).path
    group = parent_of(path)
    return [
        Episode(
            join(group, str(number)),
            None,
            length,
            path,
            {key: replace(part, element=number) for key, part in parts.items()}
            | {key: value_of_row(info, number) for key, info in values.items()},
            helpers,
        )
        for number, length in enumerate(lengths.tolist())
    ]


def _keys(whole: Episode) -> list[tuple[str, DatasetInfo]]:
    return [(key, part.info) for key, part in whole.timed.items() if part.info is not None]


def _is_film(info: DatasetInfo) -> bool:
    """Tell whether rows are sequences of pictures, in colours, or in grey, of which no axis is that of colours."""
    grey = info.dtype == "uint8" and len(info.shape) == 4 and CHANNELS.isdisjoint(info.shape[1:])
    part = frame_part(info)
    return part is not None and (part.kind == "image" or (grey and min(info.shape[2:]) >= LEAST_GREY_SIDE))


def _is_value(info: DatasetInfo, lengths: str) -> bool:
    small = info.size_bytes <= MOST_VALUE_BYTES * info.shape[0] and not is_vlen(info.dtype)
    return small and info.path != lengths and info.basename not in LABEL_NAMES
