"""Datasets in whose names are the number of a video and that of a frame, ``subject3_frame7``. Sees paths and shapes."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_number
from loader_service.catalog.inner_paths import join, renumbered, unnumbered
from loader_service.catalog.layouts.datasets import DatasetsVideo
from loader_service.catalog.sides import common_shape
from loader_service.catalog.videos.numbered import NumberedFrames, are_called_frames, kind_of_frames
from loader_service.catalog.videos.readings import Reading, TwoReadingsError, free_name
from loader_service.catalog.videos.single_pictures import GREY, sides_of
from loader_service.errors import CatalogError
from loader_service.schema import VIDEO, Schema, SchemaField
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.episodes import Found

    #: The datasets of each family of names, by the number of the video.
    Families = dict[str, dict[str, list[DatasetInfo]]]

_DIGITS = re.compile(r"[0-9]+")
_WILD = re.compile(r"(\{video\}|\*)")


def has_two_numbers(pattern: str) -> bool:
    """Tell whether a pattern has the number of a video in a name, and a star for that of a frame behind it."""
    before, mark, behind = pattern.partition(VIDEO)
    return bool(before and mark) and behind.count("*") == 1 and "/" not in behind and "*" not in before


def frames_by_video(tree: Tree, pattern: str) -> Mapping[str, NumberedFrames]:
    """Return the datasets that such a pattern names, by the number of their video, in the order of their frames.

    Raises
    ------
    CatalogError
        When the number of a frame is missing between others.
    """
    known: dict[str, Mapping[str, NumberedFrames]] = tree.by_pattern
    if pattern not in known:
        known[pattern] = _frames_by_video(tree, pattern)
    return known[pattern]


def _frames_by_video(tree: Tree, pattern: str) -> dict[str, NumberedFrames]:
    form = re.compile("".join("([0-9]+)" if part in {VIDEO, "*"} else re.escape(part) for part in _WILD.split(pattern)))
    found: dict[str, list[tuple[int, int, DatasetInfo]]] = {}
    for path, info in tree.datasets.items():
        match = form.fullmatch(path)
        if match:
            found.setdefault(match[1], []).append((int(match[2]), match.start(2), info))
    videos = {}
    for video, members in found.items():
        members.sort(key=lambda each: each[0])
        (_, digits, first), *_ = members
        for step, (_, _, info) in enumerate(members):
            if renumbered(first.path, digits, step) != info.path:
                raise CatalogError(
                    f"{pattern!r}: expected the frames of a video with every number, found "
                    f"{members[step - 1][2].path!r} and then {info.path!r}; write those between them, or serve the "
                    "file by --source package.module:Name"
                )
        videos[video] = NumberedFrames(tuple(info for *_, info in members), digits)
    return videos


def refuse_two_numbers(datasets: Sequence[DatasetInfo]) -> None:
    """Refuse pictures, or what is called frames, of a file in whose names two numbers count.

    Raises
    ------
    TwoReadingsError
        With the schemas for a video for each first number, and for a video, or sample, each.
    """
    plain = [info for info in datasets if is_number(info.dtype) and info.shape and 0 not in info.shape]
    families = {
        pattern: videos for pattern, videos in _families(plain).items() if all(map(_are_frames, videos.values()))
    }
    if families:
        raise _asked(families, encoded=False)


def refuse_two_numbers_encoded(found: Found) -> None:
    """Refuse encoded pictures as a video each, in whose names two numbers count.

    Raises
    ------
    TwoReadingsError
        With the same schemas.
    """
    if not found.episodes or found.episodes[0].root is not None or found.episodes[0].frame_count > 1:
        return
    frames = [part.frames for each in found.episodes for part in each.parts.values()]
    families = _families([info for each in frames if isinstance(each, DatasetsVideo) for info in each.members])
    if families:
        raise _asked(families, encoded=True)


def _families(datasets: Sequence[DatasetInfo]) -> Families:
    """Return datasets by pattern and number of the video, where two numbers of a name differ, and the last one counts.

    It counts where each video has every number from the first on, of which some video has more than one.
    """
    alike: dict[tuple[str, str], list[DatasetInfo]] = {}
    for info in datasets:
        alike.setdefault((info.parent, unnumbered(info.basename)), []).append(info)
    families: Families = {}
    for (group, _), members in alike.items():
        runs = [list(_DIGITS.finditer(info.basename)) for info in members]
        columns = list(zip(*runs, strict=True))
        differing = [place for place, column in enumerate(columns) if len({each[0] for each in column}) > 1]
        if len(differing) != 2:
            continue
        video, frame = differing
        videos: dict[str, list[tuple[int, DatasetInfo]]] = {}
        for info, numbers in zip(members, runs, strict=True):
            videos.setdefault(numbers[video][0], []).append((int(numbers[frame][0]), info))
        ordered = [sorted(each, key=lambda pair: pair[0]) for each in videos.values()]
        steps = {after[0] - before[0] for each in ordered for before, after in pairwise(each)}
        if len(videos) > 1 and steps == {1} and len({each[0][0] for each in ordered}) == 1:
            name, first = members[0].basename, runs[0]
            stars = f"{name[: first[video].start()]}{VIDEO}{name[first[video].end() : first[frame].start()]}*"
            pattern = join(group, stars + name[first[frame].end() :])
            families[pattern] = dict(zip(videos, ([info for _, info in each] for each in ordered), strict=True))
    return {pattern: each for pattern, each in families.items() if has_two_numbers(pattern)}


def _are_frames(members: Sequence[DatasetInfo]) -> bool:
    """Tell whether datasets of one video are pictures of one form, by their sides or by what they are called."""
    first = members[0]
    if len({(info.dtype, info.shape) for info in members}) > 1 or len(first.shape) > 3:
        return False
    grey = len(first.shape) == 2 and bool(GREY.search(first.dtype)) and min(first.shape) >= _LEAST_SIDE
    called = are_called_frames([_LAST_WORD.sub("", first.basename)])
    return grey or called or (first.dtype == "uint8" and sides_of(first) is not None)


#: Shorter sides than these are a matrix, and no grey picture.
_LEAST_SIDE = 8

#: What stands before the word in front of the last number.
_LAST_WORD = re.compile(r"^.*[0-9](?=[^0-9]*[0-9]+[^0-9]*$)")


def _asked(families: Families, *, encoded: bool) -> TwoReadingsError:
    videos = next(iter(families.values()))
    first = next(iter(videos.values()))[0]
    numbers = set(videos)
    beside = [pattern for pattern, each in families.items() if set(each) == numbers]
    fields = [_field(pattern, families[pattern], encoded=encoded) for pattern in beside]
    shape = None if encoded else common_shape([info.shape for each in videos.values() for info in each])
    each = SchemaField("frames" if encoded else "values", fields[0].kind, (VIDEO,), "", shape)
    return TwoReadingsError(
        f"found {counted(sum(map(len, videos.values())), 'dataset')} such as {first.describe()}, in whose names two "
        "numbers count, of a video and of its frames, it seems",
        [
            Reading("a video for each first number", Schema(("groups",), tuple(fields))),
            Reading("a video of one frame each", Schema(("groups",), (each,))),
        ],
    )


def _field(pattern: str, videos: Mapping[str, Sequence[DatasetInfo]], *, encoded: bool) -> SchemaField:
    infos = [info for each in videos.values() for info in each]
    words = re.sub(r"[^A-Za-z]+", "_", _WILD.sub("", pattern.rpartition("/")[2])).strip("_")
    kind = "image" if encoded else kind_of_frames(infos[0])
    shape = None if encoded else common_shape([info.shape for info in infos])
    return SchemaField(free_name(words or "frames"), kind, (pattern,), "", shape)
