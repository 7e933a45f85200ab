"""Datasets in whose names are the number of a video and that of a frame, ``subject3_frame7``. Sees paths and shapes."""

from __future__ import annotations

import re
from operator import attrgetter
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_number
from loader_service.catalog.inner_paths import by_form, common_pattern, join, renumbered
from loader_service.catalog.layouts.datasets import DatasetsVideo
from loader_service.catalog.sides import common_shape
from loader_service.catalog.videos.frame_axis import LEAST_SIDE
from loader_service.catalog.videos.numbered import LEAST_SHARE, NumberedFrames, are_called_frames, kind_of_frames
from loader_service.catalog.videos.readings import Reading, TwoReadingsError
from loader_service.catalog.videos.single_pictures import GREY, sides_of
from loader_service.errors import CatalogError
from loader_service.schema import VIDEO, SchemaField
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.episodes import Found
    from loader_service.schema import FieldKind

    #: The datasets of each family of names, by the number of the video.
    Families = dict[str, dict[str, list[DatasetInfo]]]

_DIGITS = re.compile(r"[0-9]+")
_WILD = re.compile(r"(\{video\}|\*)")


def has_two_numbers(pattern: str) -> bool:
    """Tell whether a pattern has the number of a video in a name, and a star for that of a frame behind it.

    A star in place of a group stands for several, and ``{video}`` for all from the first number to the one before last;
    where a name begins with it, and no number does, for any words: ``frames/{video}_*``.
    """
    before, mark, behind = pattern.partition(VIDEO)
    alone = "*" not in before.rpartition("/")[2]
    return bool(mark) and alone and behind.count("*") == 1 and "/" not in behind


def frames_by_video(tree: Tree, pattern: str) -> Mapping[str, NumberedFrames]:
    """Return the datasets that such a pattern names, by the number of their video, in the order of their frames.

    Where a star stands for groups, the number has the path before it.
    """
    known: dict[str, Mapping[str, NumberedFrames]] = tree.by_pattern
    if pattern not in known:
        known[pattern] = _frames_by_video(tree, pattern)
    return known[pattern]


def _frames_by_video(tree: Tree, pattern: str) -> dict[str, NumberedFrames]:
    before = pattern.partition(VIDEO)[0]
    found = _named_by(tree, pattern, "[0-9](?:[^/]*[0-9])?")
    return found or (_named_by(tree, pattern, "[^/]+?") if before.endswith("/") or not before else found)


def _named_by(tree: Tree, pattern: str, video_form: str) -> dict[str, NumberedFrames]:
    """Return the datasets that a pattern names, where its ``{video}`` has this form."""
    before, _, behind = pattern.partition(VIDEO)
    groups, names = ("[^/]*".join(map(re.escape, before.split("*"))), map(re.escape, behind.split("*")))
    form = re.compile(f"{groups}({video_form}){'([0-9]+)'.join(names)}")
    found: dict[str, list[tuple[int, int, DatasetInfo]]] = {}
    for path, info in tree.datasets.items():
        match = form.fullmatch(path)
        if match:
            video = path[: match.end(1)] if "*" in before else match[1]
            found.setdefault(video, []).append((int(match[2]), match.start(2), info))
    videos = {}
    for video, members in found.items():
        members.sort(key=lambda each: each[0])
        videos[video] = NumberedFrames(tuple(info for *_, info in members), members[0][1])
    return videos


def check_numbers(frames: NumberedFrames) -> None:
    """Make sure that numbered datasets have every number: where one is follows from the first.

    Raises
    ------
    CatalogError
        When one is missing between others.
    """
    first = frames.members[0]
    for step, info in enumerate(frames.members):
        if renumbered(first.path, frames.digits, step) != info.path:
            raise CatalogError(
                f"{frames.pattern!r}: expected every number, found {frames.members[step - 1].path!r} and then "
                f"{info.path!r}; write those between them, or serve the file by --source package.module:Name"
            )


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
        raise _asked(families, plain, encoded=False)


def refuse_two_numbers_encoded(tree: Tree, found: Found) -> None:
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
        raise _asked(families, list(tree.datasets.values()), encoded=True)


def _families(datasets: Sequence[DatasetInfo]) -> Families:
    """Return datasets by pattern and number of the video, where several numbers of a name differ, and the last counts.

    It counts where each video has nearly every number from the first on, of which some video has more than one.
    """
    families: Families = {}
    for members in by_form(datasets, attrgetter("basename")).values():
        runs = [list(_DIGITS.finditer(info.basename)) for info in members]
        columns = list(zip(*runs, strict=True))
        differing = [place for place, column in enumerate(columns) if len({each[0] for each in column}) > 1]
        groups = sorted({info.parent for info in members})
        if len(differing) < _LEAST_NUMBERS or len({group.count("/") for group in groups}) > 1:
            continue
        begin, last, frame = differing[0], differing[-2], differing[-1]
        videos: dict[str, list[tuple[int, DatasetInfo]]] = {}
        for info, numbers in zip(members, runs, strict=True):
            video = info.basename[numbers[begin].start() : numbers[last].end()]
            place = join(info.parent, info.basename[: numbers[last].end()]) if len(groups) > 1 else video
            videos.setdefault(place, []).append((int(numbers[frame][0]), info))
        ordered = [sorted(each, key=lambda pair: pair[0]) for each in videos.values()]
        if _count_frames([[number for number, _ in each] for each in ordered]):
            name, first = members[0].basename, runs[0]
            stars = f"{name[: first[begin].start()]}{VIDEO}{name[first[last].end() : first[frame].start()]}*"
            pattern = join(common_pattern(groups), stars + name[first[frame].end() :])
            families[pattern] = dict(zip(videos, ([info for _, info in each] for each in ordered), strict=True))
    return {pattern: each for pattern, each in families.items() if has_two_numbers(pattern)}


#: Of a video, and of a frame.
_LEAST_NUMBERS = 2


def _count_frames(videos: Sequence[Sequence[int]]) -> bool:
    """Tell whether the numbers of each of several videos begin alike, and nearly all are there."""
    spans = [numbers[-1] - numbers[0] + 1 for numbers in videos]
    dense = all(len(numbers) >= LEAST_SHARE * span for numbers, span in zip(videos, spans, strict=True))
    return len(videos) > 1 and max(spans) > 1 and dense and len({numbers[0] for numbers in videos}) == 1


def _are_frames(members: Sequence[DatasetInfo]) -> bool:
    """Tell whether datasets of one video are pictures of one form, by their sides or by what they are called."""
    first = members[0]
    if len({(info.dtype, info.shape) for info in members}) > 1 or len(first.shape) > 3:
        return False
    grey = len(first.shape) == 2 and bool(GREY.search(first.dtype)) and min(first.shape) >= LEAST_SIDE
    last = _LAST_WORD.sub("", first.basename)
    called = are_called_frames([last]) or bool(_PICTURE.search(last))
    return grey or called or (first.dtype == "uint8" and sides_of(first) is not None)


#: Words for a picture among others of one recording.
_PICTURE = re.compile(r"(^|[^A-Za-z])(slice|view|image|img|pic|picture)s?[^A-Za-z]*$", re.IGNORECASE)

#: What stands before the word in front of the last number.
_LAST_WORD = re.compile(r"^.*[0-9](?=[^0-9]*[0-9]+[^0-9]*$)")


def _asked(families: Families, datasets: Sequence[DatasetInfo], *, encoded: bool) -> TwoReadingsError:
    videos = next(iter(families.values()))
    first = next(iter(videos.values()))[0]
    numbers = set(videos)
    beside = [pattern for pattern, each in families.items() if set(each) == numbers]
    fields = [_field(pattern, families[pattern], encoded=encoded) for pattern in beside]
    shape = None if encoded else common_shape([info.shape for each in videos.values() for info in each])
    each = SchemaField.in_group("", fields[0].kind, shape, name="frames" if encoded else "values")
    return TwoReadingsError(
        f"found {counted(sum(map(len, videos.values())), 'dataset')} such as {first.describe()}, in whose names two "
        "numbers count, of a video and of its frames, it seems",
        [
            *_of_cameras(families, datasets, encoded=encoded),
            Reading.of_groups("a video of all that differ in their last number alone", fields),
            Reading.of_groups("a video of one frame each", [each]),
        ],
    )


def _of_cameras(families: Families, datasets: Sequence[DatasetInfo], *, encoded: bool) -> list[Reading]:
    """Return the reading as one video whose frames the first number counts, and its cameras the last one.

    Arrays of a file with an entry for each first number say that.
    """
    cameras = {pattern: _by_last_number(pattern, videos) for pattern, videos in families.items()}
    count = len(next(iter(families.values())))
    own = {info.path for videos in families.values() for each in videos.values() for info in each}
    arrays = [
        info
        for info in datasets
        if info.path not in own and is_number(info.dtype) and info.shape[:1] == (count,) and count > _FEW_FRAMES
    ]
    if not arrays or not all(cameras.values()):
        return []
    fields = [
        SchemaField.at(
            path, _kind(members[0], encoded=encoded), None if encoded else members[0].shape, name=_words_of(path)
        )
        for found in cameras.values()
        for path, members in found.items()
        if len(members) == count
    ]
    rows = [SchemaField.at(info.path) for info in arrays]
    words = f"one video of {counted(count, 'frame')}, as arrays beside have entries, with a camera for each last number"
    return [Reading.of_file(words, [*fields, *rows])] if fields else []


def _by_last_number(pattern: str, videos: Mapping[str, Sequence[DatasetInfo]]) -> dict[str, list[DatasetInfo]]:
    """Return datasets by what names those of one last number, with a star for the first one; of one group alone."""
    before, _, behind = pattern.partition(VIDEO)
    rest = behind.partition("*")[2]
    found: dict[str, list[DatasetInfo]] = {}
    for members in () if "*" in before else videos.values():
        for info in members:
            number = _DIGITS.findall(info.path.removesuffix(rest))[-1]
            found.setdefault(f"{before}*{behind.replace('*', number)}", []).append(info)
    return found


#: Arrays of two or three entries are as long as so few videos by chance.
_FEW_FRAMES = 3


def _field(pattern: str, videos: Mapping[str, Sequence[DatasetInfo]], *, encoded: bool) -> SchemaField:
    infos = [info for each in videos.values() for info in each]
    words = re.sub(r"[^A-Za-z]+", "_", _WILD.sub("", pattern.rpartition("/")[2])).strip("_")
    shape = None if encoded else common_shape([info.shape for info in infos])
    return SchemaField.at(pattern, _kind(infos[0], encoded=encoded), shape, name=words or "frames")


def _kind(info: DatasetInfo, *, encoded: bool) -> FieldKind:
    return "image" if encoded else kind_of_frames(info)


def _words_of(pattern: str) -> str:
    """Return what a camera is called by its pattern, without the ending of a file: ``color_0``."""
    name = re.sub(r"[.][A-Za-z]+$", "", pattern.rpartition("/")[2])
    return re.sub(r"[^A-Za-z0-9]+", "_", name.replace("*", "")).strip("_")
