"""The files that a sample becomes, as names and bytes: pictures, ``.npy`` arrays, JSON. Touches no disk."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import numpy as np

from loader_service.conversion.safe_names import safe_path
from loader_service.unpack.sample_plan import frame_name
from loader_service.unpack.source_samples import SourceSample
from loader_service.unpack.target import plain, sample_row


def picture_names(sample: SourceSample, separator: str) -> Iterator[tuple[str, bytes]]:
    """Yield a name and the bytes of each picture.

    Parameters
    ----------
    sample
        The name of one picture is its extension alone, or field and extension where there are several fields; frames of
        a video have their numbers before that.
    separator
        What comes after a field's name: ``"."``, or ``"/"`` for a folder.
    """
    several = len(sample.pictures) > 1
    for field, (extension, frames) in sample.pictures.items():
        prefix = f"{field_name(field)}{separator}" if several else ""
        if sample.is_frame:
            yield f"{f'{field_name(field)}.' if several else ''}{extension}", frames[0]
        else:
            for frame, data in enumerate(frames):
                yield f"{prefix}{frame_name(sample.range.start + frame)}.{extension}", data


def field_name(field: str) -> str:
    """Return the name of a field as a part of a file's name."""
    return safe_path(field.replace("/", "_"), dots=False)


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
