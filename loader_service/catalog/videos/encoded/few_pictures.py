"""Two or three numbered pictures beside what is no frame: frames, or parts of a sample. Sees paths and shapes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_number, is_text
from loader_service.catalog.inner_paths import key_in, parent_of
from loader_service.catalog.layouts.datasets import DatasetsVideo
from loader_service.catalog.natural import natural_key
from loader_service.catalog.schema_text import pattern_of
from loader_service.catalog.sides import common_shape
from loader_service.catalog.videos.encoded.frame_readings import of_one_video
from loader_service.catalog.videos.episodes import pattern_in
from loader_service.catalog.videos.frame_axis import LEAST_SIDE
from loader_service.catalog.videos.numbered import are_called_frames, kind_of_frames
from loader_service.catalog.videos.readings import Reading, TwoReadingsError, in_one_line
from loader_service.catalog.videos.single_pictures import sides_of
from loader_service.schema import SchemaField
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.episodes import Found
    from loader_service.catalog.videos.numbered import NumberedFrames
    from loader_service.schema import FieldKind, VideoLayout

    #: The datasets of each group, or of the file, by name.
    Parts = Mapping[str, Mapping[str, DatasetInfo]]

#: So few numbered pictures may be a pair, or triple, of one sample: before and after, left and right, first to third.
_FEW = 3


def refuse_few_pictures(datasets: Iterable[DatasetInfo], videos: Mapping[str, NumberedFrames]) -> None:
    """Refuse videos of two or three frames whose groups hold flow, masks or depth of the frames' size.

    Flow, ``(2, H, W)``, has as many rows as two pictures, and one for each step between three: those rows are no times.

    Parameters
    ----------
    datasets
        All of the file.
    videos
        The only numbered pictures of each group.

    Raises
    ------
    TwoReadingsError
        With both readings.
    """
    if not videos or any(len(frames.members) > _FEW for frames in videos.values()):
        return
    members = {root: frames.members for root, frames in videos.items()}
    beside = _beside(datasets, members)
    beside = {
        root: {name: info for name, info in each.items() if _is_of(members[root][0], info)}
        for root, each in beside.items()
    }
    root, frames = next(iter(videos.items()))
    first, apart = frames.members[0], list(beside[root].values())
    if apart:
        kind, sides = kind_of_frames(first), common_shape(each[0].shape for each in members.values())
        field = SchemaField.at(pattern_in(root, key_in(root, frames.pattern)), kind, sides, name="frames")
        raise _two_readings(members, beside, apart[0], field)


def refuse_few_apart(tree: Tree, found: Found) -> None:
    """Refuse videos of two or three pictures in groups that hold what is no frame, nor has one for each.

    So lie ``image1`` and ``image2`` beside a mask, or beside a number that says whether they show the same. Pictures
    that are called as frames are, or have numbers alone, are frames unless what lies beside encoded ones is a map.

    Raises
    ------
    TwoReadingsError
        With both readings.
    """
    encoded = _few_encoded(found)
    members = encoded or _few_raw(found)
    if members and not tree.is_packed:
        first = next(iter(members.values()))
        beside = _beside(tree.datasets.values(), members)
        near, counted_frames = next(iter(beside.values())).values(), _are_counted(first)
        maps = [info for info in near if encoded and _is_map(info)]
        apart = maps or [info for info in near if not counted_frames and _has_no_rows(info, len(first))]
        if apart:
            raise _two_readings(members, beside, apart[0], _as_frames(found), _of_steps(tree, found))


def lines_of_few(found: Found) -> dict[str, str]:
    """Return a line for two or three pictures a video that are not called as frames, and may be a pair."""
    members = _few_encoded(found) or _few_raw(found)
    root, first = next(iter(members.items()), ("", ()))
    if not members or _are_counted(first):
        return {}
    nothing: Parts = {path: {} for path in members}
    frames = _as_frames(found)
    shown = in_one_line(_sample(members, nothing, frames.kind, encoded=frames.shape is None).schema)
    return {
        f"{root} (pairs)": f"{len(first)} pictures such as {first[0].basename!r} are frames of a video, in "
        f"{counted(len(members), 'group')} each; if they are parts of one sample, {shown} in a --schema makes them "
        "fields of one, in a file"
    }


def _few_encoded(found: Found) -> Mapping[str, Sequence[DatasetInfo]]:
    """Return the datasets of each group that is a video of two or three encoded pictures, if all videos are such."""
    if not found.episodes or found.episodes[0].frame_count > _FEW:
        return {}
    filled = found.filled
    if any(episode.frame_count > _FEW for episode in filled):
        return {}
    frames = [part.frames for episode in filled for part in episode.parts.values() if part.frames is not None]
    members = {each.dataset_path: each.members for each in frames if isinstance(each, DatasetsVideo)}
    counts = set(map(len, members.values()))
    return members if len(members) == len(filled) and min(counts, default=0) > 1 else {}


def _few_raw(found: Found) -> Mapping[str, Sequence[DatasetInfo]]:
    """Return the datasets of each group that is a video of two or three numbered pictures, and nothing else of time."""
    members = {}
    for episode in found.episodes:
        timed = list(episode.timed.values())
        info = timed[0].info if timed else None
        if episode.frame_count > _FEW or len(timed) != 1 or timed[0].digits < 0 or info is None:
            return {}
        names = sorted(episode.helpers, key=natural_key)
        members[parent_of(info.path)] = [info._replace(path=path) for path in names]
    return members if len(members) == len(found.episodes) else {}


def _as_frames(found: Found) -> SchemaField:
    """Return the field of the frames, by what a video is; the sides of raw ones are in their datasets."""
    part = next(part for each in found.episodes for part in each.timed.values())
    if part.frames is not None:
        return SchemaField.at(pattern_of("", found.layout), part.kind, name="frames")
    return SchemaField.at(part.pattern, part.kind, part.shape, name="frames")


def _are_counted(pictures: Sequence[DatasetInfo]) -> bool:
    names = [info.basename for info in pictures]
    return are_called_frames(names) or all(map(_NUMBER.fullmatch, names))


#: A number alone, with or without the ending of a file.
_NUMBER = re.compile(r"[0-9]+([.][A-Za-z0-9]+)?")


def _beside(
    datasets: Iterable[DatasetInfo], members: Mapping[str, Sequence[DatasetInfo]]
) -> dict[str, dict[str, DatasetInfo]]:
    """Return the other datasets of each group of pictures, by name."""
    own = {info.path for each in members.values() for info in each}
    beside: dict[str, dict[str, DatasetInfo]] = {root: {} for root in members}
    for info in datasets:
        if info.parent in members and info.path not in own and info.dtype:
            beside[info.parent][info.basename] = info
    return beside


def _is_of(picture: DatasetInfo, info: DatasetInfo) -> bool:
    """Tell whether a dataset is numbers of each pixel of a picture: ``(H, W)``, ``(H, W, k)`` or ``(k, H, W)``."""
    sides = sides_of(picture) or picture.shape
    return bool(info.dtype) and len(info.shape) in {2, 3} and sides in {info.shape[:2], info.shape[1:]}


def _is_map(info: DatasetInfo) -> bool:
    """Tell whether a dataset is a map of pictures whose sides are not known: two sides of some length."""
    sides = [side for side in info.shape if side >= LEAST_SIDE]
    return is_number(info.dtype) and len(info.shape) in {2, 3} and len(sides) > 1


def _has_no_rows(info: DatasetInfo, count: int) -> bool:
    """Tell whether a dataset without a number in its name has no row for each of so many pictures."""
    return not _HAS_NUMBER.search(info.basename) and info.shape[:1] != (count,)


_HAS_NUMBER = re.compile(r"[0-9]")


def _two_readings(
    members: Mapping[str, Sequence[DatasetInfo]],
    beside: Parts,
    apart: DatasetInfo,
    frames: SchemaField,
    others: Sequence[Reading] = (),
) -> TwoReadingsError:
    """Return the question; `apart`: what is no frame; `frames`: the field of the frames, without sides if encoded."""
    root, first = next(iter(members.items()))
    has = "which has their sides" if _is_of(first[0], apart) else "which is no frame, it seems"
    encoded = frames.shape is None
    return TwoReadingsError(
        f"found {len(first)} pictures such as {first[0].describe()} beside {apart.describe()}, {has}",
        [
            _sample(members, beside, frames.kind, encoded=encoded),
            _frames(root, len(first), beside[root], frames),
            *others,
        ],
    )


def _of_steps(tree: Tree, found: Found) -> list[Reading]:
    """Return the reading of groups as the frames of one video, where a line has said that their numbers may count."""
    if not any(key.endswith("(numbers)") for key in found.left_out):
        return []
    filled = found.filled
    return of_one_video(tree, filled, [episode.root or "" for episode in filled])


def _sample(members: Mapping[str, Sequence[DatasetInfo]], beside: Parts, kind: FieldKind, *, encoded: bool) -> Reading:
    groups = [{**{info.basename: info for info in each}, **beside[root]} for root, each in members.items()]
    root, first = next(iter(members.items()))
    pictures = {info.basename for info in first}
    fields = []
    for name, info in groups[0].items():
        same = [each[name] for each in groups if name in each and len(each[name].shape) == len(info.shape)]
        if len(same) < len(groups):
            continue
        field = SchemaField.at(pattern_in(root, name), kind, name=name)
        if not (encoded and name in pictures):
            of_numbers = "value" if is_text(info.dtype) or not info.shape else kind_of_frames(info)
            field = replace(field, kind=of_numbers, shape=common_shape(each.shape for each in same))
        fields.append(field)
    return Reading.of(_layout(root), f"one sample a {'group' if root else 'file'}, of single pictures", fields)


def _frames(root: str, count: int, beside: Mapping[str, DatasetInfo], frames: SchemaField) -> Reading:
    axes = len(frames.shape or ())
    rows = tuple(
        SchemaField.at(pattern_in(root, name), name=name)
        for name, info in beside.items()
        if is_number(info.dtype) and info.shape[:1] == (count,) and (not axes or len(info.shape) == axes)
    )
    rest = "with that as rows" if rows else "without that"
    words = f"a video of {count} frames a {'group' if root else 'file'}, {rest}"
    return Reading.of(_layout(root), words, (frames, *rows))


def _layout(root: str) -> VideoLayout:
    return "groups" if root else "files"
