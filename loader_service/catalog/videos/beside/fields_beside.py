"""Which arrays and values lie beside the frames of a video, as fields of it. Looks at no frame and no address."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from loader_service.catalog.dtypes import is_one_text, is_text, is_vlen
from loader_service.catalog.hdf5.attributes import open_attribute
from loader_service.catalog.hdf5.element_types import element_type
from loader_service.catalog.inner_paths import join, key_in
from loader_service.catalog.names import LABEL_NAMES, own_attributes
from loader_service.catalog.videos.aside.set_aside import is_aside
from loader_service.catalog.videos.beside.flat_lists import flat_list_part
from loader_service.catalog.videos.beside.number_lists import list_part
from loader_service.catalog.videos.bounds.bound_lists import TIMES
from loader_service.catalog.videos.bounds.first_and_last import rows_by_first_and_last
from loader_service.catalog.videos.episodes import Episode, Found, VideoField, owner_of
from loader_service.catalog.videos.frame_axis import is_column_of, kind_of_rows
from loader_service.catalog.videos.numbered import kind_of_frames
from loader_service.catalog.videos.readings import Reading, TwoReadingsError, fields_of
from loader_service.schema import SchemaField
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.bounds.bound_lists import Read

#: Lengths of the padded JPEGs of all cameras at once, as robot-learning code writes them beside its episodes. In which
#: order the cameras come is nowhere said, so the JPEGs' own ends count.
INDEX_NAMES = frozenset({"compress_len"})

#: Bytes of one value of one video. Values are columns of the catalog, which every process maps.
MOST_VALUE_BYTES = 4096

_EXPECTED = f"expected one text, or numbers of at most {MOST_VALUE_BYTES} bytes"


def add_members(hdf5: HDF5File, tree: Tree, found: Found, aside: Mapping[str, str]) -> Found:
    """Give each video the arrays and values that lie in its group, and its group's attributes; no labels.

    What lies there and becomes no field is noted in `Found.left_out`. A table is a recording, and a video, if what is
    called as what happens between rows has one row less.

    Parameters
    ----------
    aside
        Why datasets are never fields, as from `set_aside`.
    """
    filled = found.filled
    by_root: dict[str | None, Episode] = {episode.root: episode for episode in filled if episode.root is not None}
    used = {part.path for episode in filled for part in episode.parts.values()} | found.helpers
    for path, info in tree.datasets.items():
        if path in used or info.basename in INDEX_NAMES or is_aside(aside, info):
            continue
        episode = owner_of(by_root, path)
        if episode is not None:
            lists = flat_list_part(hdf5.entries, tree, info, episode.frame_count)
            if lists is not None and lists.bounds is not None:
                episode.parts[key_in(episode.root, path)] = lists
                episode.helpers |= {lists.bounds.path}
                used |= {lists.bounds.path}  # ends alone are as many as frames
            else:
                _add_dataset(tree, found, episode, info)
    if found.layout != "table":
        _add_single_steps(tree, filled)
    for path, reason in aside.items():
        owner = owner_of(by_root, path)
        found.left_out.setdefault(path if owner is None else key_in(owner.root, path), reason)
    if filled:
        _add_attributes(hdf5, tree, found, filled)
    between = found.layout == "table" and any(part.missing for part in found.episodes[0].parts.values())
    return replace(found, layout="files") if between else found


def _add_single_steps(tree: Tree, filled: Sequence[Episode]) -> None:
    """Give videos of two frames what lies between these, one row, where longer ones have it or it is called so."""
    pairs: dict[str | None, Episode] = {
        each.root: each for each in filled if each.frame_count == _PAIR and each.root is not None
    }
    if not pairs:
        return
    between = {key for episode in filled for key, part in episode.parts.items() if part.missing}
    for info in tree.datasets.values():
        episode = owner_of(pairs, info.path) if info.shape[:1] == (1,) else None
        part = None if episode is None else array_part(info)
        if episode is not None and part is not None:
            key = key_in(episode.root, info.path)
            if key in between or _is_between(info):
                episode.parts[key] = replace(part, missing=1)


def _is_between(info: DatasetInfo) -> bool:
    """Tell whether a dataset is called as what has an entry for each step from a frame to the next."""
    return bool(_BETWEEN.fullmatch(info.basename))


_PAIR = 2

_BETWEEN = re.compile(
    r"actions?|rewards?|dones?|terminals?|terminated|terminations?|truncated|truncations?", re.IGNORECASE
)


def _add_dataset(tree: Tree, found: Found, episode: Episode, info: DatasetInfo) -> None:
    key = key_in(episode.root, info.path)
    value = None if found.layout == "table" and info.shape else value_part(info, episode)
    part = list_part(info) or array_part(info)
    if value is not None:
        if info.basename not in LABEL_NAMES:
            episode.parts[key] = value
    elif info.shape == () or part is None:
        return  # `unused` says why
    elif info.shape[0] == episode.frame_count:
        episode.parts[key] = part
    elif (
        found.layout in {"table", "files"}
        and info.shape == (1, episode.frame_count)
        and is_column_of(info, tree.datasets.values())
    ):
        episode.parts[key] = column_part(info)
    elif info.shape[0] == episode.frame_count - 1 > 1 and (found.layout != "table" or _is_between(info)):
        times = times_beside(tree, info)
        own = times and times_beside(tree, tree.datasets.get(episode.dataset_path, info))
        if own and times != own:
            found.left_out.setdefault(
                key,
                f"expected {counted(episode.frame_count, 'entry')}, one for each frame, found {info.describe()} with "
                f"times of its own, {times!r} beside {own!r}, so one of them lost entries, in a video",
            )
            return
        episode.parts[key] = replace(part, missing=1)
    elif info.basename in LABEL_NAMES and (
        (info.shape[0] == 1 and (found.layout == "table" or set(info.shape) != {1}))
        if len(info.shape) > 1
        else found.layout == "table"
    ):  # of a matrix of labels `unused` says more
        found.left_out.setdefault(
            key,
            f"expected {counted(episode.frame_count, 'entry')}, one for each frame, found {info.describe()} in a video",
        )


def times_beside(tree: Tree, info: DatasetInfo) -> str:
    """Return the path of the times in a dataset's own group, one for each of its rows; empty where there are none."""
    times: dict[tuple[str, tuple[int, ...]], str] | None = tree.by_pattern.get(TIMES.pattern)
    if times is None:
        times = tree.by_pattern[TIMES.pattern] = {}
        for path, each in tree.datasets.items():
            if len(each.shape) == 1 and TIMES.search(each.basename):
                times.setdefault((each.parent, each.shape), path)
    return times.get((info.parent, info.shape[:1]), "")


def value_part(info: DatasetInfo, episode: Episode) -> VideoField | None:
    """Return a scalar, or a dataset with one entry in a video of more frames, as a value; None if it is none."""
    if info.shape != () and (
        episode.frame_count == 1 or not (info.shape == (1,) or is_one_text(info.dtype, info.shape))
    ):
        return None
    return small_value(info)


def small_value(info: DatasetInfo) -> VideoField | None:
    """Return all of a dataset as a value, a text or numbers; None if it is neither, or large."""
    if not info.dtype or is_vlen(info.dtype) or info.size_bytes > MOST_VALUE_BYTES:
        return None
    return VideoField("value", info.dtype, () if is_text(info.dtype) else info.shape, info.path, info=info)


def value_of_row(info: DatasetInfo, number: int) -> VideoField:
    """Return what a dataset with an entry for each video has for one of them; a column of texts has one text each."""
    shape = () if is_one_text(info.dtype, info.shape[1:]) else info.shape[1:]
    return VideoField("value", info.dtype, shape, info.path, info=info, element=number)


def check_labels(tree: Tree, found: Found, read: Read) -> None:
    """Refuse labels of a table that are not one for each row; those of videos are `read_labels`' to judge.

    Raises
    ------
    TwoReadingsError
        When there are labels, ``(N,)``, ``(N, 1)``, one alone or an attribute, of another count than rows. An attribute
        beside labels of all rows says something about these.
    """
    if found.layout != "table":
        return
    episode = found.episodes[0]
    rows = episode.rows
    named = [info for info in tree.datasets.values() if info.basename in LABEL_NAMES]
    for info in named:
        flat = all(side == 1 for side in info.shape[1:])
        count = info.shape[0] if info.shape else 1
        if flat and count != episode.frame_count:
            others = [each for each in tree.datasets.values() if each.dtype and each.shape[:1] == info.shape[:1]]
            shown = f"{info.describe()}{_of_columns(rows, count)}"
            error = _labels_or_rows(rows, episode.frame_count, shown, info.path if count == 1 else "")
            apart = rows_by_first_and_last(list(tree.datasets.values()), others, read) if info.shape else []
            raise TwoReadingsError(error.found, [*error.readings, *apart])
    labels = next((info.path for info in named if info.shape[:1] == (episode.frame_count,)), "")
    for path in ("", episode.dataset_path):
        if LABEL_NAMES[0] in tree.attributed.get(path, ()):
            place = join(path, f"@{LABEL_NAMES[0]}")
            if labels:
                found.left_out[place] = f"attribute beside {labels!r}, which has a label for each row, in a file"
                continue
            raise _labels_or_rows(rows, episode.frame_count, f"the attribute {place!r}", place)


def _of_columns(rows: Sequence[DatasetInfo], count: int) -> str:
    """Return what helps where labels are as many as columns of a matrix, or entries of another axis: time, perhaps.

    Of arrays of more axes it is the only one besides the first, and the same of all, that is as long.
    """
    matrix = next((info for info in rows if len(info.shape) == 2 and info.shape[1] == count > 1), None)
    if matrix is not None:
        return (
            f", as many as {matrix.path!r} has columns; if these are time, write it again by np.moveaxis(array, -1, 0)"
            ": then each row has a label; as it lies, there are"
        )
    deep = [info for info in rows if len(info.shape) > 2]
    axes = {tuple(axis for axis, side in enumerate(info.shape) if side == count) for info in deep}
    (places,) = axes if len(axes) == 1 else ((),)
    if count < 2 or len(places) != 1:
        return ""
    return (
        f", as many as axis {places[0]} of {deep[0].describe()} has entries; if these are the samples, write it again "
        f"by np.moveaxis(array, {places[0]}, 0): then each row has a label; as it lies, there are"
    )


def _labels_or_rows(rows: Sequence[DatasetInfo], count: int, shown: str, label: str) -> TwoReadingsError:
    of_file = SchemaField.at(label, "value", name="label")
    one = [Reading.of_file("a recording a file, with a label", [of_file, *fields_of(rows)])]
    if any(len(info.shape) > 2 for info in rows):
        whole = [of_file, *fields_of(rows, whole=True)]
        one.append(Reading.of_file("one sample a file, such as a volume, with a label", whole))
    return TwoReadingsError(
        f"expected {counted(count, 'label')}, one for each row; found {shown}",
        [*(one if label else []), Reading.of_table("rows without it", fields_of(rows))],
    )


def array_part(info: DatasetInfo) -> VideoField | None:
    """Return a dataset as an array, or as raw pixels, with an entry for each frame; None if it is neither."""
    if not info.dtype or is_vlen(info.dtype) or 0 in info.shape:
        return None
    return VideoField(kind_of_rows(info), info.dtype, info.shape[1:], info.path, info=info)


def column_part(info: DatasetInfo) -> VideoField:
    """Return a dataset ``(1, N)`` as an array of N numbers, one for each frame."""
    return VideoField("array", info.dtype, (), info.path, info=info, element=0)


def single_part(info: DatasetInfo) -> VideoField:
    """Return a dataset as the only frame of its video."""
    return VideoField(kind_of_frames(info), info.dtype, info.shape, info.path, info=info)


def _add_attributes(hdf5: HDF5File, tree: Tree, found: Found, episodes: list[Episode]) -> None:
    """Add the attributes that the first video has; those that others lack are left out later."""
    first = _node_path(episodes[0])
    names = own_attributes(tree.attributed.get(first, ()), dataset=first in tree.datasets)
    names = [name for name in names if name not in LABEL_NAMES]
    for episode in episodes if names else ():
        path = _node_path(episode)
        there = tuple(name for name in names if name in tree.attributed.get(path, ()))
        for name, part in zip(there, hdf5.ask(_attribute_parts, path, there) if there else (), strict=True):
            if isinstance(part, VideoField):
                episode.parts[f"@{name}"] = part
            elif part:
                found.left_out.setdefault(f"@{name}", f"{_EXPECTED}, found an attribute {part} in a video")


def _attribute_parts(hdf5: HDF5File, path: str, names: Sequence[str]) -> list[VideoField | tuple[int, ...]]:
    """Return attributes as values of a video; for numbers or texts that are too many, their shape, else none."""
    parts: list[VideoField | tuple[int, ...]] = []
    for name in names:
        attribute = open_attribute(hdf5, path, name)
        part = attribute_part(attribute, path, name)
        many = part is None and attribute.shape and element_type(attribute.get_type()).dtype
        parts.append(part or (tuple(attribute.shape) if many else ()))
    return parts


def _node_path(episode: Episode) -> str:
    return episode.dataset_path if episode.root is None else episode.root


def attribute_part(attribute: Any, path: str, name: str) -> VideoField | None:
    """Return an attribute, one text or numbers, as a value of its video; None if it is neither, or large."""
    _, dtype, size_bytes, _ = element_type(attribute.get_type())
    shape = attribute.shape
    text = is_text(dtype)
    if shape is None or (text and not is_one_text(dtype, shape)):
        return None
    if not dtype or is_vlen(dtype) or math.prod(shape) * size_bytes > MOST_VALUE_BYTES:
        return None
    return VideoField("value", "S" if text else dtype, () if text else tuple(shape), path, attribute=name)
