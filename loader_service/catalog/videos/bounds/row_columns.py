"""Where videos end by what each row says: the name of its video, its number or time in it. Pure but for reading."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.dtypes import is_number, is_whole
from loader_service.catalog.hdf5.tree import ElementKind
from loader_service.catalog.videos.bounds.bound_lists import Bounds
from loader_service.catalog.vocabulary import CLIPS, FRAMES, LABELS, RECORDINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo
    from loader_service.catalog.videos.bounds.bound_lists import Read

#: What a column is called that names the video of each row.
_NAMES = re.compile(
    rf"(^|_)({RECORDINGS})s?"
    r"(_?(name|id|key|file|file_?name|path|uid|uuid))?s?$",
    re.IGNORECASE,
)

#: What a column of whole numbers is called that do; those of episodes are ends of their own.
_IDS = re.compile(rf"(^|_)({CLIPS})s?_?(id|index|idx|number|num|no|key)s?$", re.IGNORECASE)

#: What such a column is called that may also count them.
_BARE_IDS = re.compile(rf"({RECORDINGS})s?$", re.IGNORECASE)

#: Of those, words that are no flag and nothing done, so that they name a video whatever their numbers.
_FILMS = re.compile(r"(video|vid|film|recording)s?", re.IGNORECASE)

#: What a column is called that says who is in a video, or what.
_WHOSE = re.compile(
    rf"{LABELS.pattern}|(person|subject|actor|speaker|identity|participant|patient|user)(_?id)?", re.IGNORECASE
)

#: What a column is called that counts the rows of each video.
_NUMBERS = re.compile(
    rf"(^|_)({FRAMES})s?_?(index|idx|id|number|num|no|count)?$",
    re.IGNORECASE,
)


#: What a column is called that has the time since the begin of each video.
_TIMES = re.compile(r"(^|_)(timestamps?|times?|time_?(s|sec|ms)|secs|seconds|elapsed|relative_time)$", re.IGNORECASE)


#: What a column is called that names the picture, or file, of each row.
_PATHS = re.compile(
    r"(^|_)(path|file|file_?name|(frame|image|img|picture)_?(name|path|file|id|key)|key|name|id)s?$", re.IGNORECASE
)
_LAST_NUMBER = re.compile(rb"[0-9]{1,18}(?=[^0-9]*$)")


def find_by_rows(
    datasets: Sequence[DatasetInfo], frame_count: int, read: Read, *, any_end: bool = False
) -> Bounds | None:
    """Return the videos that rows lie in by what each says, if these are more than one and no row is alone in all.

    Parameters
    ----------
    datasets
        All that lie with the rows.
    frame_count
        How many rows there are.
    read
        Gives the entries of a dataset.
    any_end
        Whether names of pictures count, of which all but the last number may be their video, or their class; and
        numbers called by the word alone, as ``sequence``, also if these begin anew, or ``t`` that is no whole number.
    """
    for info in datasets:
        if info.shape not in {(frame_count,), (frame_count, 1)} or frame_count < 2:
            continue
        names = _NAMES if info.kind is ElementKind.TEXT else _IDS if info.kind is ElementKind.INTEGER else None
        steps = info.basename.lower() == "t"
        if any_end and info.kind is ElementKind.INTEGER and _BARE_IDS.match(info.basename):
            bounds = _by_names(np.ravel(read(info.path)))
        elif names is not None and names.search(info.basename):
            bounds = _by_names(np.ravel(read(info.path)), come_back=any_end)
        elif any_end and info.kind is ElementKind.TEXT and _PATHS.search(info.basename):
            bounds = _by_paths(np.ravel(read(info.path)))
        elif is_whole(info.dtype) and (steps or _NUMBERS.search(info.basename)):
            bounds = _by_numbers(np.ravel(read(info.path)).astype(np.int64))
        elif is_number(info.dtype) and info.dtype != "bool" and (_TIMES.search(info.basename) or (any_end and steps)):
            bounds = _by_numbers(np.ravel(read(info.path)).astype(np.float64))
        else:
            continue
        if bounds is not None:
            return bounds
    return _numbered_anew(datasets, frame_count, read) if any_end else None


def _numbered_anew(datasets: Sequence[DatasetInfo], frame_count: int, read: Read) -> Bounds | None:
    """Return the runs of a column called ``video`` whose numbers begin anew, as for each person; None without.

    Labels, or persons, that change wherever it begins anew end a video, too: the next may have the same number.
    """
    rows = [info for info in datasets if info.shape in {(frame_count,), (frame_count, 1)}]
    whole = [info for info in rows if is_whole(info.dtype)]
    for info in (each for each in whole if _FILMS.fullmatch(each.basename)):
        numbers = np.ravel(read(info.path)).astype(np.int64)
        steps = np.diff(numbers)
        anew = steps < 0
        counts = bool((((steps == 0) | (steps == 1)) | (numbers[1:] == numbers[0])).all())
        if not counts or not anew.any():
            continue
        changes = steps != 0
        for other in (each for each in rows if _WHOSE.fullmatch(each.basename)):
            values = np.ravel(read(other.path))
            own = values[1:] != values[:-1]
            changes |= own if own[anew].all() and 2 * own.sum() < frame_count else False
        starts = np.append(0, np.flatnonzero(changes) + 1)
        if len(starts) <= frame_count / 2:
            return Bounds.of_starts(starts, frame_count, info.path)
    return None


def _by_names(names: Any, *, come_back: bool = False) -> Bounds | None:
    """Return the runs of equal names, where no name comes back, or may, and two rows, on average, share one."""
    starts = np.flatnonzero(np.concatenate([[True], names[1:] != names[:-1]]))
    if not 1 < len(starts) <= len(names) / 2:
        return None
    if not come_back and len(set(names[starts].tolist())) < len(starts):
        return None
    return Bounds.of_starts(starts, len(names))


def _by_paths(names: Any) -> Bounds | None:
    """Return the runs of names with one stem and a last number that grows, as ``v7/0001.jpg``, ``v7/0002.jpg``."""
    texts = [bytes(each) for each in names.tolist()]
    found = [_LAST_NUMBER.search(text) for text in texts]
    if None in found:
        return None
    stems = np.array([text[: match.start()] for text, match in zip(texts, found, strict=True) if match], object)
    bounds = _by_names(stems)
    if bounds is None:
        return None
    numbers = np.array([int(match[0]) for match in found if match])
    falls = np.flatnonzero(np.diff(numbers) <= 0) + 1
    return bounds if np.isin(falls, bounds.starts).all() else None


def _by_numbers(numbers: Any) -> Bounds | None:
    """Return the runs of numbers that grow, where each begins with the same one."""
    starts = np.flatnonzero(np.concatenate([[True], ~(np.diff(numbers) > 0)]))
    if not 1 < len(starts) <= len(numbers) / 2 or (numbers[starts] != numbers[0]).any():
        return None
    return Bounds.of_starts(starts, len(numbers))
