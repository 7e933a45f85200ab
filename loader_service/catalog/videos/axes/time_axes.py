"""Arrays whose first axis seems to be no time: refused where another axis says so, else said by a line. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_number
from loader_service.catalog.inner_paths import join, key_in
from loader_service.catalog.sides import is_list
from loader_service.catalog.videos.bounds.bound_lists import TIMES
from loader_service.catalog.videos.frame_axis import LEAST_SIDE
from loader_service.catalog.videos.readings import Reading, TwoReadingsError
from loader_service.catalog.videos.sibling_groups import shared_names
from loader_service.catalog.videos.single_pictures import GREY
from loader_service.schema import VIDEO, SchemaField

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.episodes import Found
    from loader_service.schema import FieldKind, VideoLayout

#: Axes of volumes, and of pictures along time; matrices are another matter, as lines of sounds are.
_LEAST_AXES = 3

_FILM_AXES = 4
_COLOURS = 3

#: Optical flow has a side for each axis of a picture.
_FLOW = 2


def refuse_other_time_axis(groups: Mapping[str, Mapping[str, DatasetInfo]]) -> None:
    """Refuse groups whose arrays have one length in all and another side that differs: ``(height, width, frames)``.

    Raises
    ------
    TwoReadingsError
        With the schemas for one sample, and for rows, of each group.
    """
    names = shared_names(groups)
    infos = {name: [members[name] for members in groups.values()] for name in names}
    if len(groups) < 2 or not infos or not all(_has_other_time(alike) for alike in infos.values()):
        return
    first, *others = next(iter(infos.values()))
    shapes = {name: _common(alike) for name, alike in infos.items()}
    paths = {name: join(VIDEO, name) for name in names}
    other = next(each for each in others if each.shape != first.shape)
    axis = next(axis for axis, sides in enumerate(zip(first.shape, other.shape, strict=True)) if len(set(sides)) > 1)
    raise _samples_or_rows(
        f"found {first.describe()} beside {other.describe()}",
        f"np.moveaxis(array, {axis}, 0)",
        first,
        ("groups", "a group", paths, shapes),
    )


def refuse_time_by_its_stamps(tree: Tree, found: Found) -> None:
    """Refuse lines of pictures as rows where the last axis has as many entries as there are times beside them.

    So are rows of matrices, as ``(3, frames)``, beside times that lie as these do: ``(1, frames)``.

    Raises
    ------
    TwoReadingsError
        With the schemas for one sample, and for rows.
    """
    episode = next(iter(found.filled), None)
    root = episode.root if episode is not None else None
    if episode is None or root is None:
        return
    parts = list(episode.timed.values())
    rows = [part.info for part in parts if part.info is not None and part.shape == part.info.shape[1:]]
    axes = {len(info.shape) for info in rows}
    pictures = axes == {_LEAST_AXES}
    if len(rows) < len(parts) or not (pictures or axes == {_LEAST_AXES - 1}):
        return
    if not all(GREY.search(info.dtype) if pictures else _is_turned(info, episode.frame_count) for info in rows):
        return
    last = {info.shape[-1:] if pictures else (1, *info.shape[1:]) for info in rows}
    inside = [info for info in tree.datasets.values() if not root or info.path.startswith(f"{root}/")]
    stamps = [info for info in inside if {info.shape} == last and TIMES.search(info.basename)]
    stamps = stamps or [info for info in inside if pictures and _has_rows_for(info, rows)]
    if not stamps:
        return
    shapes = {key_in(root, info.path): (*info.shape[:-1], 0) for info in rows}
    paths = {key: join(VIDEO, key) if root else key for key in shapes}
    raise _samples_or_rows(
        f"found {rows[0].describe()}, of which the last axis has as many entries as {stamps[0].describe()} has",
        "np.moveaxis(array, -1, 0)",
        rows[0],
        ("groups", "a group", paths, shapes) if root else ("files", "a file", paths, shapes),
    )


def _is_turned(info: DatasetInfo, count: int) -> bool:
    """Tell whether a matrix is numbers as ``(rows, entries)``, with more entries than rows."""
    return info.shape[1] > count and is_number(info.dtype)


def _has_rows_for(info: DatasetInfo, pictures: Sequence[DatasetInfo]) -> bool:
    """Tell whether numbers have a row for each entry of the last axis of pictures in bytes, which no other side has."""
    shapes = {each.shape for each in pictures}
    (height, width, count) = next(iter(shapes))
    if len(shapes) > 1 or count in {height, width} or min(height, width) < _LEAST_PICTURE:
        return False
    grey = all(each.dtype == "uint8" for each in pictures)
    return grey and is_number(info.dtype) and info.shape[:1] == (count,) and info.shape[1:] != (width,)


def _has_other_time(alike: Sequence[DatasetInfo]) -> bool:
    shapes = [info.shape for info in alike]
    if min(map(len, shapes)) < _LEAST_AXES or len(set(map(len, shapes))) > 1 or shapes[0][0] < 2:
        return False
    return len({shape[0] for shape in shapes}) == 1 and len(set(shapes)) > 1


def _common(alike: Sequence[DatasetInfo]) -> tuple[int, ...]:
    return tuple(sides[0] if len(set(sides)) == 1 else 0 for sides in zip(*(info.shape for info in alike), strict=True))


def refuse_colours_before_time(arrays: Sequence[DatasetInfo]) -> None:
    """Refuse films as ``(3, frames, height, width)``, or flow as ``(2, …)``, whose channels would be frames.

    Parameters
    ----------
    arrays
        Of a file, labels included: what has as many entries makes them rows.

    Raises
    ------
    TwoReadingsError
        With the schemas for one sample, and for as many frames as channels, of each.
    """
    films = [info for info in arrays if _is_film(info)]
    others = [info for info in arrays if info not in films]
    first = {info.shape[0] for info in films}
    if len(first) != 1 or any(info.shape[0] in first or len(info.shape) >= _LEAST_AXES for info in others):
        return
    (channels,) = first
    names = {info.basename for info in films}
    grouped = len(films) > 1 and len({info.parent for info in films}) * len(names) == len(films) > len(names)
    layout: VideoLayout = "groups" if len(films) > 1 else "files"
    if grouped:
        paths = {name: join(VIDEO, name) for name in names}
    else:
        paths = {"values": VIDEO} if len(films) > 1 else {films[0].path: films[0].path}
    shape = (channels, 0, 0, 0)
    whole = dict.fromkeys(paths, shape)
    more = f" and {len(films) - 1} more" if len(films) > 1 else ""
    where = "a group" if grouped else "a dataset" if len(films) > 1 else "a file"
    behind = next((info for info in others if _counts_last(info, films)), None)
    also = f", and whose last axis has as many entries as {behind.path!r}" if behind is not None else ""
    raise _samples_or_rows(
        f"found {films[0].describe()}{more}, whose {channels} first entries seem to be channels{also}",
        f"np.moveaxis(array, {'0, -1' if behind is None else '-1, 0'})",
        films[0],
        (layout, where, paths, whole),
    )


def _counts_last(info: DatasetInfo, films: Sequence[DatasetInfo]) -> bool:
    """Tell whether a list has an entry for each of the last axis of films, and no other one: labels, as a rule."""
    count = max(info.shape, default=0)
    return is_list(info.shape) and all(each.shape[-1] == count not in each.shape[:-1] for each in films)


def _is_film(info: DatasetInfo) -> bool:
    if len(info.shape) != _FILM_AXES or {1, 3} & {info.shape[1], info.shape[3]}:
        return False
    if info.shape[0] != (_FLOW if "flow" in info.basename.lower() else _COLOURS):
        return False
    return min(info.shape[2:]) >= LEAST_SIDE and info.shape[1] > 1


def refuse_time_behind(found: Found) -> None:
    """Refuse lone films whose sides say that time is behind these, ``(height, width, frames)``, or may be.

    So it is where the first two sides are a picture's and the next two are none's, or where the first two are equal and
    the third is not. What has an entry for each of the first axis makes it frames, and so do first axes that differ.

    Raises
    ------
    TwoReadingsError
        With the schemas for one sample, and for as many frames as the first axis has.
    """
    filled = found.filled
    timed = [item for each in filled for item in each.timed.items()]
    parts = [part for _, part in timed]
    if not filled or len(timed) != len(filled) or len({(key, each.shape, each.kind) for key, each in timed}) > 1:
        return
    (key, part), episode = timed[0], filled[0]
    shapes = {each.info.shape for each in parts if each.info is not None}
    if part.info is None or part.element >= 0 or len(shapes) > 1 or not _has_time_behind(part.info):
        return
    grouped = found.layout == "groups"
    layout: VideoLayout = "groups" if grouped else "files"
    path = part.path if not grouped else VIDEO if episode.root is None else join(VIDEO, key)
    where = "a video" if grouped else "a file"
    name = "values" if path == VIDEO else key
    raise _samples_or_rows(
        f"found {part.info.describe()}",
        "np.moveaxis(array, 2, 0)",
        part.info,
        (layout, where, {name: path}, {name: part.info.shape}),
        kind=part.kind,
    )


def _has_time_behind(info: DatasetInfo) -> bool:
    if info.dtype != "uint8" or len(info.shape) not in {3, 4} or (len(info.shape) == 4 and info.shape[3] not in {1, 3}):
        return False
    height, width, count = info.shape[:3]
    if min(height, width) < _LEAST_PICTURE or count <= _COLOURS + 1 or _are_unlike(height, width):
        return False
    return _are_unlike(width, count) or (height == width != count)


def _are_unlike(side: int, other: int) -> bool:
    return max(side, other) >= _TIMES * min(side, other)


#: Sides of a picture are seldom as unlike as this, and seldom as short.
_TIMES, _LEAST_PICTURE = 4, 16


def _samples_or_rows(
    found: str,
    remedy: str,
    first: DatasetInfo,
    meant: tuple[VideoLayout, str, Mapping[str, str], Mapping[str, tuple[int, ...]]],
    *,
    kind: FieldKind = "array",
) -> TwoReadingsError:
    layout, where, paths, shapes = meant
    wholes = [SchemaField.at(path, shape=shapes[key], name=key) for key, path in paths.items()]
    rows = [SchemaField.at(path, kind, name=key) for key, path in paths.items()]
    return TwoReadingsError(
        f"{found}: time is not their first axis, it seems, and frames come first here; write them so, as by "
        f"{remedy}, for clips of frames; as they lie, they are",
        [
            Reading.of(layout, f"one sample {where}", wholes),
            Reading.of(layout, f"{first.shape[0]} frames {where}", rows),
        ],
    )
