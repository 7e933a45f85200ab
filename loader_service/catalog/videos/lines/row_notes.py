"""Says what rows of a table may be besides rows: padded sequences, or times of many videos; reads lengths alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of
from loader_service.catalog.videos.lines.class_names import are_names_of_classes
from loader_service.catalog.videos.lines.rows_of_pictures import lines_of_numbers_of_pictures
from loader_service.catalog.videos.padded_videos import MASK, flags_of, lengths_beside
from loader_service.catalog.videos.readings import fields_of, in_one_line
from loader_service.catalog.videos.single_pictures import LEAST_GREY_SIDE
from loader_service.schema import Schema, SchemaField

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

    from loader_service.catalog.hdf5.tree import Tree
    from loader_service.catalog.videos.episodes import Found, VideoField

_PADDED = (
    "each row seems to be a sequence of up to {} frames, of which {!r} says how many are real; rows are served whole, "
    "with that beside them; for clips of frames {}, in a file"
)
_BY_MASK = "write each as a dataset of its own, or how many frames of each row are real, these first, as 'lengths'"

#: So few rows of which the last axis is so many times longer may lie the other way round.
_FEW_ROWS, _FAR_MORE = 4, 32

#: Videos that are looked at, and axes of a volume, none of which are channels.
_MOST_LOOKED_AT, _AXES_OF_A_VOLUME, _MOST_CHANNELS = 8, 3, 4

#: Views of a light field along one axis, at most.
_MOST_VIEWS = 32

#: Axes of the rows of pictures in grey, ``(videos, height, width)``.
_AXES_OF_GREY = 3


def lines_of_rows(found: Found, read: Callable[[str], Any], tree: Tree) -> dict[str, str]:
    """Return what rows may be besides rows, as lines of what is no field.

    Parameters
    ----------
    found
        The file's table, or groups of one row each; of any other layout nothing is said.
    read
        Gives the numbers of a dataset.
    tree
        All datasets of the file.
    """
    if found.layout == "groups":
        return _of_single_rows(found) | _of_volumes(found)
    if found.layout != "table" or len(found.episodes) != 1:
        return {}
    parts = {key: part for key, part in found.episodes[0].parts.items() if part.kind == "array" and part.info}
    count = found.episodes[0].frame_count
    lines = {
        f"{key} (axes)": f"its {count} rows are {part.shape} each; if the first axis is time and the second one counts "
        "videos, as in mnist_test_seq.npy, write np.moveaxis(array, 0, 1) instead, in a file"
        for key, part in parts.items()
        if _may_be_times(part, count) and len(parts) == 1
    }
    times = _shared_times(parts, count)
    lines |= {
        f"{key} (axes)": f"its {count} rows are {part.shape} each, and those of all others have {part.shape[0]} first; "
        "if the first axis is time and the second one counts videos, write np.moveaxis(array, 0, 1) of each instead, "
        "in a file"
        for key, part in times.items()
    }
    timed = [part for part in found.episodes[0].parts.values() if part.kind != "value"]
    for key, part in parts.items() if len(timed) == 1 and count > 1 and not lines else ():
        if part.info is not None and len(part.shape) > 1 < min(part.shape):
            whole = in_one_line(Schema(("files",), fields_of([part.info], whole=True)))
            lines[f"{key} (axes)"] = (
                f"its {count} rows are {part.shape} each; if it is one volume, or picture, and its first axis no time, "
                f"{whole} in a --schema makes it one sample{_OF_VIDEOS * _may_hold_videos(part)}, in a file"
            )
    lines = lines or _of_squares(parts, count) or _of_views(parts, count)
    if count == 1:
        lines |= {
            f"{key} (axes)": f"its only row is {part.shape}; if the first of these axes is time, "
            f'`videos = "padded"` in a --schema, with the shape of a frame, makes it {part.shape[0]} frames, in a file'
            for key, part in parts.items()
            if len(part.shape) > 1
        }
    lines |= {
        f"{key} (axes)": f"its {count} rows are {part.shape} each; if the last axis counts samples or times, write "
        "np.moveaxis(array, -1, 0) instead, in a file"
        for key, part in parts.items()
        if 1 < count <= _FEW_ROWS and len(part.shape) > 0 and part.shape[-1] >= _FAR_MORE * count and len(parts) == 1
    }
    lines |= lines_of_numbers_of_pictures(found.episodes[0], read)
    return lines | _behind(parts, count, tree, found.left_out) | _padded(parts, read)


def _of_squares(parts: Mapping[str, VideoField], count: int) -> dict[str, str]:
    """Return a line where several arrays begin with two axes of one length, and end with as many entries.

    So lie square pictures, ``(16, 16, 3, 100)``, beside their masks, ``(16, 16, 100)``, in files of MATLAB.
    """
    ends = {part.shape[-1] if part.shape[:1] == (count,) and len(part.shape) > 1 else 0 for part in parts.values()}
    if len(parts) < 2 or len(ends) > 1 or ends <= {0, 1, count} or count < LEAST_GREY_SIDE:
        return {}
    key = max(parts, key=lambda each: math.prod(parts[each].shape))
    return {
        f"{key} (axes)": f"its {count} rows are {parts[key].shape} each, and all arrays begin with {count} x {count} "
        f"and end with {max(ends)}; if the last axis counts samples, write np.moveaxis(array, -1, 0) of each instead, "
        "in a file"
    }


def _of_views(parts: Mapping[str, VideoField], count: int) -> dict[str, str]:
    """Return a line where all arrays begin with two axes of one length: a grid of views, as light fields are."""
    deep = {key: part for key, part in parts.items() if part.shape}
    views = all(len(part.shape) >= _AXES_OF_GREY and part.shape[0] == count for part in deep.values())
    if not 1 < count <= _MOST_VIEWS or len(deep) < 2 or not views:
        return {}
    whole = in_one_line(Schema(("files",), fields_of([part.info for part in deep.values() if part.info], whole=True)))
    key = max(deep, key=lambda each: math.prod(deep[each].shape))
    return {
        f"{key} (axes)": f"its {count} rows are {deep[key].shape} each, and all arrays begin with {count} x {count}; "
        f"if these count views, as of a light field, {whole} in a --schema makes a file one sample, in a file"
    }


def _behind(parts: Mapping[str, VideoField], count: int, tree: Tree, left_out: Collection[str]) -> dict[str, str]:
    """Return a line where a list beside a table has an entry for each of the last axis, and none has one for each row.

    So are labels of samples that lie behind each other, and wavelengths of spectra; not what was set aside already, as
    names of columns are, nor names of classes. The last axis of pictures of several cameras is of colours.
    """
    deep = {key: part for key, part in parts.items() if len(part.shape) > 0 and part.info is not None}
    if not deep or len(deep) < len(parts) or any(math.prod(part.shape) == 1 for part in deep.values()):
        return {}
    key = max(deep, key=lambda each: math.prod(deep[each].shape))
    last, paths = deep[key].shape[-1], {*left_out, *(part.path for part in parts.values())}
    shapes = {(last,), (last, 1), (1, last)}
    lists = (path for path, info in tree.datasets.items() if info.shape in shapes and not are_names_of_classes(info))
    beside = next((path for path in lists if path not in paths), None)
    colours = deep[key].dtype == "uint8" and len(deep[key].shape) > _AXES_OF_GREY and last in {1, 3}
    if beside is None or last == count or colours:
        return {}
    return {
        f"{key} (axes)": f"its {count} rows are {deep[key].shape} each, and {beside!r} has {last} entries; if the last "
        "axis counts samples, or times, write np.moveaxis(array, -1, 0) instead, in a file"
    }


def _of_single_rows(found: Found) -> dict[str, str]:
    """Return a line for each field of which all videos have one row, whose first axis may be time."""
    if any(episode.frame_count != 1 for episode in found.episodes):
        return {}
    return {
        f"{key or 'values'} (axes)": f"its only row in {part.path!r} is {part.shape}; if the first of these axes is "
        "time, write array[0] in its place, in a file"
        for key, part in (found.episodes[0].parts.items() if found.episodes else ())
        if part.info is not None
        and part.kind == "array"
        and len(part.shape) > 1
        and part.info.shape == (1, *part.shape)
    }


def _of_volumes(found: Found) -> dict[str, str]:
    """Return a line where all of each video is arrays of one shape, as a volume and its mask are."""
    arrays: dict[str, VideoField] = {}
    shape: tuple[int, ...] = ()
    for episode in found.episodes[:_MOST_LOOKED_AT]:
        arrays = episode.timed
        shapes = {part.info.shape if part.kind == "array" and part.info else () for part in arrays.values()}
        shape = shapes.pop() if len(shapes) == 1 else ()
        is_grey = all(part.dtype == "uint8" for part in arrays.values())
        if is_grey or len(shape) < _AXES_OF_A_VOLUME or min(shape) <= _MOST_CHANNELS:
            return {}
    fields = tuple(SchemaField.in_group(key, shape=(0,) * (1 + len(part.shape))) for key, part in arrays.items())
    shown = in_one_line(Schema(("groups",), fields))
    return {
        f"{key or part.path} (axes)": f"each video is arrays of one shape, such as {shape}, and nothing else; "
        f"if that is a volume, and its first axis no time, {shown} in a --schema makes it one sample, in a file"
        for key, part in list(arrays.items())[:1]
    }


def _may_be_times(part: VideoField, count: int) -> bool:
    """Tell whether rows are fewer than the grey pictures in each, as in mnist_test_seq.npy."""
    grey = part.dtype == "uint8" and len(part.shape) == _AXES_OF_GREY and min(part.shape[1:]) >= LEAST_GREY_SIDE
    return grey and part.shape[0] not in {1, 3} and count < part.shape[0]


#: What a volume may be as well, whose second axis is none of channels.
_OF_VIDEOS = "; if the first axis is time and the second one counts videos, write np.moveaxis(array, 0, 1) instead"


def _may_hold_videos(part: VideoField) -> bool:
    """Tell whether rows are several small pictures in grey each, of no channels: as many videos, perhaps."""
    return part.dtype == "uint8" and len(part.shape) == _AXES_OF_GREY and min(part.shape) > _MOST_CHANNELS


def _shared_times(parts: Mapping[str, VideoField], count: int) -> dict[str, VideoField]:
    """Return the largest of several fields whose rows are all as many entries, more than the rows: none if any is not.

    So are videos that lie beside each other, time first, as in files of brainstorm's and of relational N-EM.
    """
    seconds = {part.shape[:1] for part in parts.values()}
    if len(parts) < 2 or len(seconds) > 1 or seconds == {()} or not 1 < count < max(seconds)[0]:
        return {}
    deep = {key: part for key, part in parts.items() if len(part.shape) > 1}
    sizes = {key: part.info.size_bytes for key, part in deep.items() if part.info is not None}
    return {key: parts[key] for key in sorted(sizes, key=lambda key: -sizes[key])[:1]}


def _padded(parts: Mapping[str, VideoField], read: Callable[[str], Any]) -> dict[str, str]:
    deep = {key: part for key, part in parts.items() if len(part.shape) > 0}
    infos = [part.info for part in parts.values() if part.info is not None]
    lines: dict[str, str] = {}
    for key, part in deep.items():
        rows = (part.info.shape[0], part.shape[0]) if part.info is not None else (0, 0)
        lengths = lengths_beside(infos, *rows, read, of_points=True) if part.info is not None else None
        if lengths is not None and lengths[0] != part.path:
            remedy = f"{in_one_line(_as_videos(parts, part.shape[0], lengths[0]))} in a --schema makes each a video"
            lines[f"{key} (padded)"] = _PADDED.format(part.shape[0], lengths[0], remedy)
    for part in parts.values():
        padded = [
            key
            for key in deep
            if f"{key} (padded)" not in lines and deep[key].shape[:1] == part.shape and deep[key] is not part
        ]
        if padded and _may_be_mask(part) and _are_padded(read(part.path)):
            lines |= {f"{key} (padded)": _PADDED.format(part.shape[0], part.path, _BY_MASK) for key in padded}
    return lines


def _as_videos(parts: Mapping[str, VideoField], most: int, lengths: str) -> Schema:
    """Return the schema that makes a video of each row, with what has as many entries a row as its fields."""
    others = {key: part for key, part in parts.items() if part.path != lengths}
    timed = {key: part for key, part in others.items() if part.shape[:1] == (most,)}
    values = {key: part for key, part in others.items() if key not in timed}
    arrays = [SchemaField.at(part.path, shape=part.shape[1:], name=key) for key, part in timed.items()]
    scalars = [SchemaField.at(part.path, "value", name=key) for key, part in values.items()]
    return Schema(("padded",), (*arrays, *scalars))


def _may_be_mask(part: VideoField) -> bool:
    return part.dtype == "bool" or bool(MASK.search(basename_of(part.path)))


def _are_padded(mask: Any) -> bool:
    """Tell whether each row of flags begins with some of one kind, and has the other kind behind, in some rows."""
    flags = flags_of(mask)
    if flags is None:
        return False
    changes = flags[:, 1:] != flags[:, :-1]
    one_kind = bool((flags[:, 0] == flags[0, 0]).all())
    return one_kind and bool(changes.any()) and int(changes.sum(axis=1).max()) == 1
