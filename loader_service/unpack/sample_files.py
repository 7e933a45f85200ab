"""The files that a sample becomes, as names and bytes: pictures, ``.npy`` arrays, JSON. Touches no disk."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from loader_service.conversion.safe_names import distinct_paths, safe_path
from loader_service.unpack.sample_plan import frame_name
from loader_service.unpack.source_samples import SourceSample


def picture_names(sample: SourceSample, separator: str, names: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    """Yield a name and the bytes of each picture.

    Parameters
    ----------
    sample
        The name of one picture is its extension alone, or field and extension where there are several fields; frames of
        a video have their numbers before that.
    separator
        What comes after a field's name: ``"."``, or ``"/"`` for a folder.
    names
        Of the fields, from `field_names`.
    """
    several = len(sample.pictures) > 1
    for field, (extension, frames) in sample.pictures.items():
        prefix = f"{names[field]}{separator}" if several else ""
        if sample.is_frame:
            yield f"{f'{names[field]}.' if several else ''}{extension}", frames[0]
        else:
            for frame, data in enumerate(frames):
                yield f"{prefix}{frame_name(sample.range.start + frame)}.{extension}", data


def field_names(fields: Iterable[str]) -> dict[str, str]:
    """Return the name of each field as a part of a file's name; no two are alike."""
    given = list(fields)
    return dict(
        zip(given, distinct_paths(safe_path(each.replace("/", "_"), dots=False) for each in given), strict=True)
    )


def array_file(sample: SourceSample, field: str) -> bytes:
    """Return an array, or a value with axes, as the bytes of a ``.npy`` file; of a frame without the axis of frames."""
    if field in sample.values:
        array = sample.values[field]
    else:
        array = sample.arrays[field]
        if sample.is_frame and len(array):
            array = array[0]
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array, order="C"), allow_pickle=False)
    return file.getvalue()


def json_file(sample: SourceSample) -> bytes:
    """Return where a sample comes from, and its single numbers and texts, as JSON."""
    row = {name: plain(value) for name, value in sample_row(sample).items()}
    return json.dumps(row, sort_keys=True).encode("ascii")


def sample_row(sample: SourceSample) -> dict[str, Any]:
    """Return the numbers and texts of a sample that are no arrays, and where it comes from, by column."""
    row: dict[str, Any] = {
        "video": sample.range.key,
        "file": sample.file,
        "name": sample.name,
        "start": sample.range.start,
        "frames": sample.frame_count,
    }
    for name, value in scalars(sample).items():
        row[name] = value
        if name in sample.texts:
            row.setdefault(f"{name}_text", sample.texts[name])
    return row


def scalars(sample: SourceSample) -> dict[str, Any]:
    """Return each single number or text of a sample, as Python has it."""
    found: dict[str, Any] = {}
    for name, value in sample.values.items():
        if value.ndim == 0:
            found[name] = plain(value.item())
    if sample.is_frame:
        found |= {name: plain(value.item()) for name, value in sample.arrays.items() if value.size == value.ndim == 1}
    return found


def plain(value: Any) -> Any:
    """Return a number as it is, and bytes as a text; what is not UTF-8 is surrogate-escaped."""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
