"""Groups that count, with one picture, or one a camera: frames of one video, or a video each. Sees found videos."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_number
from loader_service.catalog.inner_paths import basename_of, common_pattern, grouped, join, parent_of
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.natural import are_dates, are_days, are_seconds, are_times, decimals_of, words_before_times
from loader_service.catalog.videos.encoded.frame_readings import (
    count_of_frames,
    of_few_frames,
    of_one_video,
    others_in,
    sides_in,
)
from loader_service.catalog.videos.encoded.rows_in_frames import lines_of_rows_in_frames
from loader_service.catalog.videos.encoded.why_samples import LEAST_SHARE_OF_FRAMES, line_of_words, why_samples
from loader_service.catalog.videos.frame_axis import have_roles
from loader_service.catalog.videos.numbered import are_called_frames
from loader_service.catalog.videos.numbers_of_frames import count_without_gaps
from loader_service.catalog.videos.readings import Reading, TwoReadingsError, in_one_line
from loader_service.catalog.videos.sibling_groups import is_recording
from loader_service.catalog.vocabulary import FRAMES
from loader_service.schema import SchemaField

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.episodes import Episode, Found, VideoField


def refuse_frame_groups(tree: Tree, found: Found) -> None:
    """Refuse a file whose videos have one frame each, in groups with dense numbers that are called as frames are.

    So it is with groups that only have numbers, where an array has an entry for each; without one they have a line. In
    groups that are called frames, as many numbered pictures in each may be cameras.

    Raises
    ------
    TwoReadingsError
        With the schema for a video each; and, where the frames are numbers, for one video.
    """
    filled = found.filled
    if tree.is_packed or found.layout != "groups" or len(filled) < 2:
        return
    count = filled[0].frame_count
    if any(episode.frame_count > 1 for episode in filled) and not _may_be_cameras(tree, filled):
        found.left_out.update(lines_of_rows_in_frames(tree, filled))
        return
    names = [basename_of(episode.name) for episode in filled]
    datasets = all(episode.root is None for episode in filled)
    key, part = next(iter(filled[0].parts.items()))
    ordered = datasets and part.frames is not None and decimals_of(names)  # of --frames
    cameras = len(words_before_times(names)) > 1 and have_roles(names)
    timed = are_times(names) or (are_seconds(names) and not ordered)
    timed = timed or (datasets and (are_dates(names) or are_days(names) or cameras or _are_of_times(filled)))
    if datasets and timed:
        raise _timed_datasets([episode.name for episode in filled], replace(part, shape=sides_in(filled, key)))
    if datasets:
        why = why_samples([episode.name for episode in filled], [episode.parts[key].shape for episode in filled])
        _judge_datasets(found, [episode.name for episode in filled], replace(part, shape=sides_in(filled, key)), why)
        return
    groups = [episode.name if timed else _frame_group(episode.root or "") for episode in filled]
    arrays: Sequence[DatasetInfo] = ()
    if not timed and not (all(groups) and _are_dense(groups)):
        groups = [episode.root or "" for episode in filled]
        if not _are_counted(groups):
            _note_gaps(found, filled, groups)
            return
        arrays = _arrays_of_all(tree, groups)
        if not arrays:
            _note_numbers(tree, found, filled, groups)
            return
    whose = "names seem to be times in" if timed else "numbers seem to count the frames of"
    raise TwoReadingsError(
        f"found {len(filled)} groups such as {filled[0].name!r} of {count_of_frames(count)} each, whose {whose} one "
        "video; encoded frames of one video are served as datasets of one group (frame_0, frame_1, …), or at one path "
        "in groups with such names of which no number is missing, raw ones as one dataset, and others by --source "
        "package.module:Name",
        [
            *of_one_video(tree, filled, groups, arrays),
            *of_few_frames(tree, filled, groups),
        ],
    )


def _are_of_times(filled: Sequence[Episode]) -> bool:
    """Tell whether times name the pictures of each group, behind what those of this group begin with."""
    groups = grouped([episode.name for episode in filled], parent_of)
    return all(are_times(list(map(basename_of, paths))) for paths in groups.values())


def _may_be_cameras(tree: Tree, filled: Sequence[Episode]) -> bool:
    """Tell whether groups that count frames hold as many numbered pictures each, not called frames themselves.

    Where groups only have numbers, something lies beside the pictures that is not one for each.
    """
    count = filled[0].frame_count
    roots = [episode.root or "" for episode in filled]
    numbered = [part for episode in filled for part in episode.parts.values() if part.digits >= 0]
    words = are_called_frames(basename_of(part.path) for part in numbered)
    if not numbered or words or any(episode.frame_count != count for episode in filled):
        return False
    groups = list(map(_frame_group, roots))
    if all(groups):
        return _are_dense(groups)
    own = {path for episode in filled for path in episode.helpers}
    beside = [info for _, info in others_in(tree, filled, roots) if info.path not in own]
    return _are_counted(roots) and any(info.shape[:1] not in {(), (count,)} for info in beside)


def _judge_datasets(found: Found, paths: Sequence[str], first: VideoField, why: str) -> None:
    """Refuse datasets of one picture each that are numbered as frames are; others have a line.

    Numbers that are far apart, without a word for a frame, are ids. `first`: the field of the first of them; `why`:
    they are no frames.
    """
    stems = {_NUMBER_BEFORE_DOT.sub("*", basename_of(path)) for path in paths}
    groups = dict.fromkeys(map(parent_of, paths))
    depths = {group.count("/") for group in groups}
    (stem,) = stems if len(stems) == 1 else ("",)
    found.left_out.update(line_of_words(paths, first) if len(stems) > 1 else {})
    if "*" not in stem or len(depths) > 1 or len(groups) == len(paths):
        return
    shown = f"{len(paths)} datasets such as {paths[0]!r}"
    taken = _one_video(list(groups), stem, first)
    if all(map(_FRAME_DATASET.search, paths)):
        raise TwoReadingsError(
            f"found {shown} of one frame each, whose numbers seem to count the frames of one video, though {why}: "
            f"{taken}; as they lie, they are",
            [_one_frame_each(first)],
        )
    dense = _are_dense([_ENDING.sub("", path) for path in paths]) or (len(paths) > _FEW and "most" not in why)
    if dense or (len(groups) > 1 and stem == "*"):
        found.left_out[f"{parent_of(paths[0]) or '/'} (numbers)"] = (
            f"{shown} are videos of one frame each, since {why}; if these count frames, {taken}, in a file"
        )


def _timed_datasets(paths: Sequence[str], first: VideoField) -> TwoReadingsError:
    """Return the error for datasets of one picture each that times name, or dates; `first`: the field of the first."""
    word = _DIGITS_BEHIND.sub("", basename_of(paths[0]))
    taken = _one_video(list(dict.fromkeys(map(parent_of, paths))), f"{word}[0-9]*", first)
    alone = (
        f" of the names that begin with {word!r}"
        if any(not basename_of(path).startswith(word) for path in paths)
        else ""
    )
    return TwoReadingsError(
        f"found {len(paths)} datasets such as {paths[0]!r} of one frame each, whose names seem to be times in one "
        f"video: {taken}{alone}; as they lie, they are",
        [_one_frame_each(first)],
    )


def _one_video(groups: Sequence[str], stem: str, first: VideoField) -> str:
    """Return what makes one video of datasets in each of some groups, in words."""
    if first.frames is None:
        return (
            "write the frames of each video as one dataset, (frames, height, width, channels), or read them in a "
            "Python source of your own (--source package.module:Name)"
        )
    pattern = join(common_pattern(groups), stem)
    return f"--frames {pattern!r} makes one video{' of each group' if len(groups) > 1 else ''}"


def _one_frame_each(first: VideoField) -> Reading:
    field = SchemaField.in_group("", first.kind, None if first.frames else first.shape, name="frames")
    return Reading.of_groups("a video of one frame each", [field])


def _are_counted(groups: Sequence[str]) -> bool:
    """Tell whether groups have every number of a span, in each group above, and are not called samples."""
    return not any(map(_SAMPLE.search, groups)) and count_without_gaps(groups)


def _arrays_of_all(tree: Tree, groups: Sequence[str]) -> list[DatasetInfo]:
    """Return the arrays outside of groups of one parent that have an entry for each of them, as actions have."""
    inside = tuple(f"{group}/" for group in groups)
    outside = [info for info in tree.datasets.values() if info.shape[:1] == (len(groups),) and info.dtype]
    arrays = [info for info in outside if not info.path.startswith(inside) and is_number(info.dtype)]
    rows = [info for info in arrays if len(info.shape) > 1 and info.basename not in LABEL_NAMES]
    videos = any(map(is_recording, map(basename_of, groups)))
    return rows if len(set(map(parent_of, groups))) == 1 and not videos else []


def _note_numbers(tree: Tree, found: Found, filled: Sequence[Episode], groups: Sequence[str]) -> None:
    """Say that the numbers of groups may count frames, with the schema that takes them for such."""
    readings = of_one_video(tree, filled, groups)
    if not readings:
        _note_gaps(found, filled, groups)
    for reading in readings:
        found.left_out[f"{parent_of(groups[0]) or '/'} (numbers)"] = (
            f"{len(groups)} groups such as {groups[0]!r} are videos of {count_of_frames(filled[0].frame_count)}; if "
            "their numbers count frames, "
            f"{in_one_line(reading.schema)} in a --schema makes {reading.words}, in a file"
        )


def _note_gaps(found: Found, filled: Sequence[Episode], groups: Sequence[str]) -> None:
    """Say why groups that have numbers, or dates, are samples; each alone in a group has nothing to count."""
    names = list(map(basename_of, groups))
    dates = are_dates(names) or are_days(names)
    counted = dates or all(map(_DECIMAL.fullmatch, names)) or all(map(_FRAME.fullmatch, groups))
    if not counted or len(set(map(parent_of, groups))) == len(groups):
        return
    shapes = [part.shape for episode in filled for part in list(episode.parts.values())[:1]]
    why = "their names are dates" if dates else why_samples(groups, shapes)
    found.left_out[f"{parent_of(groups[0]) or '/'} (numbers)"] = (
        f"{len(groups)} groups such as {groups[0]!r} are videos of one frame, since {why}; if these count frames, give "
        "them whole numbers without a gap and pictures of one size, and `inspect` shows the schema for frames of "
        "these, or serve them by --source package.module:Name, in a file"
    )


def _are_dense(groups: Sequence[str]) -> bool:
    """Tell whether numbers at the end of paths count in each group above; some may be missing."""
    numbers: dict[str, set[int]] = {}
    for group in groups:
        digits = _NUMBER.search(group)
        numbers.setdefault(group[: digits.start()] if digits else group, set()).add(int(digits[0]) if digits else -1)
    return all(len(each) > 1 and max(each) - min(each) < len(each) / LEAST_SHARE_OF_FRAMES for each in numbers.values())


def _frame_group(root: str) -> str:
    """Return the part of a path up to what counts frames, as ``frame_0`` or ``frames/0`` do; empty if nothing does."""
    found = _FRAME.match(root)
    return found[0] if found else ""


#: A number behind a word for a frame, or in a group that is called so; pictures that only have numbers are samples.
_FRAME = re.compile(rf"(.*/)?(({FRAMES})s?[_#-]?/?|t[_#-]?)[0-9]+(?=/|$)", re.IGNORECASE)

#: What groups of one picture are called that is no frame.
_SAMPLE = re.compile(
    r"(sample|example|item|instance|crop|patch|pair|photo|image|img|pic|picture|id)s?[_-]?[0-9]+$", re.IGNORECASE
)

#: A dataset behind a word for a frame, or in a group that is called so; the number at its end, and what follows it.
_FRAME_DATASET = re.compile(rf"({FRAMES})s?[_-]?/?[0-9]+([_-][A-Za-z]+)?([.][A-Za-z0-9]*)?$", re.IGNORECASE)
_NUMBER_BEFORE_DOT = re.compile(r"[0-9]+(?=[^0-9]*$|[.][A-Za-z0-9]+$)")
_ENDING = re.compile(r"[^0-9]*$|[.][A-Za-z0-9]+$")


#: So few numbers have a common step by chance.
_FEW = 3
_NUMBER = re.compile(r"[0-9]+$")
_DECIMAL = re.compile(r"[0-9]+([.][0-9]+)?")

#: From the first digit on.
_DIGITS_BEHIND = re.compile(r"[0-9].*")
