"""Two or three numbered pictures beside a map of their size: frames, or parts of a sample. Sees paths and shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.sides import common_shape
from loader_service.catalog.videos.episodes import key_in
from loader_service.catalog.videos.numbered import kind_of_frames
from loader_service.catalog.videos.readings import Reading, TwoReadingsError, free_name
from loader_service.catalog.videos.single_pictures import sides_of
from loader_service.schema import VIDEO, Schema, SchemaField

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from loader_service.catalog.hdf5.tree import DatasetInfo
    from loader_service.catalog.videos.numbered import NumberedFrames
    from loader_service.schema import VideoLayout

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
    beside: dict[str, dict[str, DatasetInfo]] = {root: {} for root in videos}
    for info in datasets:
        frames = videos.get(info.parent)
        if frames is not None and info not in frames.members and _is_of(frames.members[0], info):
            beside[info.parent][info.basename] = info
    root, maps = next(iter(beside.items()))
    if not maps:
        return
    shown = f"{len(videos[root].members)} pictures such as {videos[root].members[0].describe()}"
    raise TwoReadingsError(
        f"found {shown} beside {next(iter(maps.values())).describe()}, which has their sides",
        [_sample(beside, videos), _frames(beside, videos)],
    )


def _is_of(picture: DatasetInfo, info: DatasetInfo) -> bool:
    """Tell whether a dataset is numbers of each pixel of a picture: ``(H, W)``, ``(H, W, k)`` or ``(k, H, W)``."""
    sides = sides_of(picture) or picture.shape
    return bool(info.dtype) and len(info.shape) in {2, 3} and sides in {info.shape[:2], info.shape[1:]}


def _sample(beside: Mapping[str, Mapping[str, DatasetInfo]], videos: Mapping[str, NumberedFrames]) -> Reading:
    groups = [{**{info.basename: info for info in frames.members}, **beside[root]} for root, frames in videos.items()]
    root = next(iter(videos))
    fields = []
    for name, info in groups[0].items():
        shapes = [each[name].shape for each in groups if name in each and len(each[name].shape) == len(info.shape)]
        if len(shapes) == len(groups):
            place, sides = _place(root, name), common_shape(shapes)
            fields.append(SchemaField(free_name(name), kind_of_frames(info), (place,), "", sides))
    return Reading(
        f"one sample a {'group' if root else 'file'}, of single pictures", Schema((_layout(root),), tuple(fields))
    )


def _frames(beside: Mapping[str, Mapping[str, DatasetInfo]], videos: Mapping[str, NumberedFrames]) -> Reading:
    root, frames = next(iter(videos.items()))
    count = len(frames.members)
    sides = common_shape(each.members[0].shape for each in videos.values())
    pattern = _place(root, key_in(root, frames.pattern))
    field = SchemaField("frames", kind_of_frames(frames.members[0]), (pattern,), "", sides)
    rows = tuple(
        SchemaField(free_name(name), "array", (_place(root, name),))
        for name, info in beside[root].items()
        if len(info.shape) == len(frames.members[0].shape) and info.shape[0] == count
    )
    rest = "with that as rows" if rows else "without that"
    words = f"a video of {count} frames a {'group' if root else 'file'}, {rest}"
    return Reading(words, Schema((_layout(root),), (field, *rows)))


def _place(root: str, name: str) -> str:
    return f"{VIDEO}/{name}" if root else name


def _layout(root: str) -> VideoLayout:
    return "groups" if root else "files"
