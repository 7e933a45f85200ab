"""Says which fields have as many entries as there are frames perhaps by chance: matrices, classes, zeros at the end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.dtypes import is_text, is_whole
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.videos.beside.single_entries import MATRICES
from loader_service.catalog.videos.padded_videos import flags_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from loader_service.catalog.hdf5.row_looks import RowLooks
    from loader_service.catalog.videos.episodes import Episode, Found, VideoField


#: Videos, and rows of a table, that are looked at.
_MOST_LOOKED_AT = 8

#: Bytes of a row that is looked at whole, at most.
_MOST_BYTES = 2**22

_BY_CHANCE = (
    "{} has {} entries, and so one for each frame{}, perhaps by chance; if it is of a whole video, {} in what "
    "`inspect --toml` prints{}, in a file"
)

_ONE_LESS = (
    "{!r} has {} entries for {} frames, and so one between each two, perhaps by chance: with it among `fields`, "
    "samples end with its last entry; without it they have all frames, in a file"
)

#: What lies between frames: what is done there, and what it changes or brings.
_BETWEEN = re.compile(r"act|delta|diff|reward|flow|command|control|veloc|ctrl|torque|motion|transition", re.IGNORECASE)

_ZEROS = (
    "{} in zeros alone, from entry {} of {} on in {!r}: padding, or room that a recorder did not fill, perhaps, and "
    "it is served as it is; {}, in a file"
)

#: The axis of a table of sequences of which the middle is looked at first: the one after that of time.
_BESIDE_TIME = 2

_SCALED = (
    "{!r} is called as maps of numbers are, and is served as pictures, whose pixels Image(size=…) averages and whose "
    "one channel becomes three; {} they stay numbers, in a file"
)

#: What is called whose pixels are numbers of things: a mean of two of them is a third one.
_MAP = re.compile(
    r"(^|[/_.])(masks?|segs?|segm|segmentations?|semantics?|instances?|labels?|panoptic|ids?|gt)([/_.0-9]|$)",
    re.IGNORECASE,
)

#: What a list of the names of all classes is called.
_CLASSES = re.compile(
    r"^(class|label|category|target|feature|column|variable|gene)_?names?$|^(classes|categories|vocab(ulary)?|columns)$",
    re.IGNORECASE,
)

#: What texts are called that are of a whole video.
_TEXTS = re.compile(r"(^|_)(caption|sentence|description|question|answer|paragraph|narration)s$", re.IGNORECASE)

#: What is called that is of a whole video, or of all: a list, or a matrix of two axes.
_STATIC = re.compile(
    r"(^|_)(intrinsics?|extrinsics?|calibrations?|camera_matrix|distortion|limits|wave_?lengths|freq(uencie)?s|bins?|"
    r"(bin_?)?edges|(class|label)_?weights|(feature|channel|class)_?(means?|stds?)|cov(ariance)?(_?matrix)?|adj(acency)?)$|"
    r"^(means?|stds?|variances?)$",
    re.IGNORECASE,
)

#: What the class of a whole video is called, which may be written as zeros and a one.
_ONE_HOT = re.compile(r"one_?hot|(^|_)(labels?|class(es)?|targets?|category|y)$", re.IGNORECASE)


def lines_of_chance(found: Found, read: Callable[[str], Any]) -> dict[str, str]:
    """Return a line for each field that may be a constant of its video, which has as many frames in each.

    Parameters
    ----------
    found
        The videos of a file.
    read
        Gives the entries of a dataset.
    """
    lines: dict[str, str] = {}
    filled = found.filled
    if not filled:
        return lines
    count, table = filled[0].frame_count, found.layout == "table"
    for key, part in filled[0].parts.items():
        if part.kind == "image" and key != "frames" and _MAP.search(key):
            kept = "in a stream without size" if part.frames else 'by kind = "array" in what `inspect --toml` prints'
            lines[f"{key} (map)"] = _SCALED.format(part.path, kept)
        shape = part.info.shape if part.info is not None and part.kind == "array" and part.frames is None else ()
        whole = part.shape == shape  # all of it is one entry
        if whole or part.element >= 0 or part.first or part.digits >= 0 or shape[:1] not in {(count,), (count - 1,)}:
            continue
        matrix = shape in MATRICES and (not table or any(each.kind == "image" for each in filled[0].parts.values()))
        name = part.path.rpartition("/")[2]
        named = not shape[2:] and (_STATIC.search(name) or (is_text(part.dtype) and not table and _TEXTS.search(name)))
        if matrix or named or (not shape[1:] and not table and _are_one_hot(key, filled, read)):
            other = ' and with another name, such as "target",' if key in LABEL_NAMES else ","
            remedy = f'say kind = "value" of {key!r}, without its shape{other}'
        elif is_text(part.dtype) and _CLASSES.search(name):
            remedy = f"take {key!r} out"
        elif shape[0] < count and not table and not _BETWEEN.search(key):
            if all(key in each.parts for each in filled):  # else it is no field
                lines[f"{key} (constant)"] = _ONE_LESS.format(part.path, shape[0], count)
            continue
        else:
            continue
        less = ", or between two" if shape[0] < count else ""
        files = ', and videos = "files"' if table and (matrix or named) else ""
        if all(each.frame_count == count for each in filled):
            lines[f"{key} (constant)"] = _BY_CHANCE.format(repr(part.path), shape[0], less, remedy, files)
    return lines


def _are_one_hot(key: str, filled: Sequence[Episode], read: Callable[[str], Any]) -> bool:
    """Tell whether a field, by its name a class, is zeros and a one in each video."""
    parts = [episode.parts.get(key) for episode in filled[:_MOST_LOOKED_AT]]
    if not _ONE_HOT.search(key) or any(part is None or part.shape or is_text(part.dtype) for part in parts):
        return False
    flags = [flags_of(read(part.path)) for part in parts if part is not None]
    return all(each is not None and len(each) > 2 and each.sum() == 1 for each in flags)


def lines_of_zeros(found: Found, rows: RowLooks, said: Collection[str]) -> dict[str, str]:
    """Return a line for rows, or videos, of which some end in zeros, that no count beside them explains.

    Parameters
    ----------
    found
        The videos of a file; some of them, or some rows, are looked at.
    rows
        Looks at rows of datasets.
    said
        Which lines there are already: of rows that a count explains, of those behind it, or never written.
    """
    table = found.layout == "table"
    lines = _of_rows(found.episodes[0], rows, said) if table else {}
    for episode in found.episodes[:_MOST_LOOKED_AT]:
        if table:
            parts = [part for part in episode.parts.values() if _is_deep(part, 0)]
        else:  # what lies beside the frames may go on
            parts = [part for part in episode.parts.values() if part.path == episode.dataset_path and _is_deep(part, 1)]
        end = _end_of_rows(parts, episode.frame_count, rows)
        if end and not any(key.endswith(("(unfilled)", "(unwritten)")) for key in said):
            remedy = f"to leave it out, write its datasets anew without it, as dataset[:{end}]"
            zeros = _ZEROS.format("ends", end, episode.frame_count, episode.dataset_path, remedy)
            return {**lines, f"{episode.dataset_path} (zeros)": zeros}
    return lines


def _end_of_rows(parts: Sequence[VideoField], count: int, rows: RowLooks) -> int:
    """Return how many rows come before those at the end that are zeros in all parts; 0 where fewer than two are."""

    def is_filled(number: int) -> bool:
        return any(rows.have_numbers(part.path, number) for part in parts)

    looked_at = count.bit_length() + 2  # at the most
    large = sum(part.info.size_bytes for part in parts if part.info) * looked_at > _MOST_BYTES * count
    columns = all(not part.shape for part in parts)  # whose numbers may be sorted
    if large or columns or count < 3 or is_filled(count - 1) or is_filled(count - 2) or not is_filled(0):
        return 0
    low, high = 0, count - 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_filled(middle) else (low, middle)
    return high


def _of_rows(table: Episode, rows: RowLooks, said: Collection[str]) -> dict[str, str]:
    remedy = (
        "for clips of frames, write how many entries of each row are real, as 'lengths' beside it, and say videos = "
        '"padded" in a --schema'
    )
    lines = {}
    for key, part in table.parts.items():
        deep = 1 if is_whole(part.dtype) else 2
        is_picture = part.kind == "image" or (part.dtype == "uint8" and len(part.shape) == 2)
        if part.info is None or not _is_deep(part, deep) or is_picture:
            continue  # a picture ends in black as it begins
        if f"{key} (padded)" in said or part.info.size_bytes > _MOST_BYTES * table.frame_count:
            continue
        numbers = np.linspace(0, table.frame_count - 1, min(table.frame_count, _MOST_LOOKED_AT)).astype(int).tolist()
        for axis in (_BESIDE_TIME, 0):  # all is read of those whose middle is zeros
            ends = [rows.end_of(part.path, number, axis) for number in numbers]
            seem_padded = len(set(ends)) > 1 and 0 < min(ends) < part.shape[0] - 1
            if not seem_padded:
                break
        if seem_padded:
            shown = (min(ends), part.shape[0], part.path)
            lines[f"{key} (zeros)"] = _ZEROS.format("some of its rows end", *shown, remedy)
    return lines


def _is_deep(part: VideoField, axes: int) -> bool:
    """Tell whether entries of a field are plain numbers with so many axes, none of them pictures of a table."""
    return part.has_plain_rows and part.kind != "value" and len(part.shape) >= axes
