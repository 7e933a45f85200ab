"""Says why datasets and attributes of a file are in no field, so that none is missing without a word."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from loader_service.catalog.dtypes import is_number, is_text, is_vlen
from loader_service.catalog.hdf5.attributes import open_attribute, read_attribute
from loader_service.catalog.hdf5.tree import ElementKind
from loader_service.catalog.inner_paths import join, key_in, parent_of, unnumbered, upwards
from loader_service.catalog.line_folding import counted_keys, folded, folded_keys
from loader_service.catalog.names import LABEL_NAMES, has_title, own_attributes
from loader_service.catalog.sides import can_differ
from loader_service.catalog.videos.beside.fields_beside import (
    INDEX_NAMES,
    MOST_VALUE_BYTES,
    attribute_part,
    times_beside,
)
from loader_service.catalog.videos.beside.file_labels import is_per_frame, label_bearers
from loader_service.catalog.videos.episodes import owner_of, pattern_in
from loader_service.catalog.videos.lines.frame_attributes import OF_FRAMES, are_of_frames, count_bearers
from loader_service.catalog.videos.lines.of_one_video import is_of_one
from loader_service.catalog.videos.readings import as_field
from loader_service.scan_options import NONE
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.episodes import Episode, Found


_OWN_ENDS = "says how many bytes images have, which end where their own bytes say"


def unused(
    tree: Tree, found: Found, said: Mapping[str, str], labels: Collection[str] = (), attribute: str = LABEL_NAMES[0]
) -> dict[str, str]:
    """Return why each dataset is in no field that is in none, but those of which that is said already.

    Parameters
    ----------
    tree
        All datasets of the file.
    found
        Its videos, with what belongs to them.
    said
        Reasons that are known, by path, by path within a video, or by the path of a group for all that is in it.
    labels
        Paths of datasets that are read as labels, beside those that are called so.
    attribute
        Name of the attributes that are read as labels; where a video has one, no dataset is. `NONE`: nothing is.

    Returns
    -------
    dict
        By path within the video, or by path where there is no such video; by pattern, with ``*``, where many are alike.
    """
    used = paths_of(found)
    told = {} if tree.is_packed else _told(found)  # the format of `pack` needs no explaining
    roots = found.by_root
    reasons: dict[str, str] = {}
    by_attribute: bool | None = None
    for info in tree.datasets.values():
        episode = owner_of(roots, info.path)
        # Labels are read beside videos, and as one of a video.
        flat = (len(info.shape) < 2 or 1 in info.shape) and not is_vlen(info.dtype)
        read = info.basename in LABEL_NAMES and (
            flat and (not info.parent or _is_beside(info, found)) and not _are_names_or_of_frames(info, tree, found)
            if episode is None
            else (not info.shape or 1 in info.shape[:1]) and not _is_of_part(info, episode)
        )
        if (info.path in used and info.path not in told) or info.path in labels:
            continue
        if read and by_attribute is None:  # once: there may be a label for each of thousands of videos
            by_attribute = any(path is not None for path in label_bearers(tree, found.episodes, attribute))
        if read and not by_attribute and attribute != NONE:
            continue
        key = info.path if episode is None else key_in(episode.root, info.path)
        if key in reasons or key in said or (key != info.path and any(each in said for each in _above(key))):
            continue
        if any(each in said for each in _above(info.path)):
            continue
        reason = told.get(info.path) or (_OWN_ENDS if info.basename in INDEX_NAMES else "")
        if read and not reason:
            taken = info.path if episode is None else f"*/{key}"
            why = "no labels are read" if attribute == NONE else f"the label is an attribute, '@{attribute}'"
            reason = f"{why}; `--label '{taken}'` takes this one instead,"
        if not reason:
            expected = _outside(info, found) if episode is None else _inside(info, episode)
            if episode is None:
                remedy = _as_shared(found, info)
            else:
                remedy = _turned(tree, info, episode) or _as_shortest(found, info, episode)
                if not remedy and episode.frame_count:
                    remedy = _as_value(tree, found, info, key)
            reason = f"{expected}, found {info.describe()}{remedy}"
        reasons[key] = reason
    return {key: f"{reason} in a file" for key, reason in folded(reasons).items()}


def paths_of(found: Found, keys: Collection[str] | None = None) -> set[str]:
    """Return the paths of all that belongs to videos; of their fields those with these keys, by default all."""
    parts = [part for each in found.episodes for key, part in each.parts.items() if keys is None or key in keys]
    used = {part.path for part in parts if not part.attribute}
    used.update([each.dataset_path for each in found.episodes], *[part.frames.helpers for part in parts if part.frames])
    return used | found.helpers


def _told(found: Found) -> dict[str, str]:
    """Return what datasets say that are read for others, by path: how long images are, or where lists begin."""
    told = {}
    for episode in found.episodes:
        for part in episode.parts.values():
            if part.bounds is not None:
                told[part.bounds.path] = f"says where each list of {part.path!r} begins"
            if part.frames is not None and part.frames.layout.helpers_say:
                said = part.frames.layout.helpers_say.format(repr(part.path))
                told.update(dict.fromkeys(part.frames.helpers, said))
    return told


def _is_beside(info: DatasetInfo, found: Found) -> bool:
    """Tell whether a dataset lies beside videos, where labels are read."""
    return info.parent in {episode.holder for episode in found.episodes}


def _are_names_or_of_frames(info: DatasetInfo, tree: Tree, found: Found) -> bool:
    """Tell whether what is called labels is none of the videos beside it: names of classes, or labels of frames."""
    if found.layout == "table" or info.shape in {(), (1,)}:
        return False
    inside = sum(episode.holder == info.parent for episode in found.episodes) or len(found.episodes)
    names = info.kind is ElementKind.TEXT and info.shape not in {(inside,), (inside, 1), (1, inside)}
    return names or is_per_frame(tree, info, found.episodes)


def _is_of_part(info: DatasetInfo, episode: Episode) -> bool:
    """Tell whether a label lies in a group of its video that a number names: of a frame, or object, and of no video."""
    inside = key_in(episode.root, info.path)
    return unnumbered(inside) != inside and info.parent != parent_of(episode.dataset_path)


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _outside(info: DatasetInfo, found: Found) -> str:
    if found.layout == "vlen":
        return f"expected an entry for each of the {counted(len(found.episodes), 'row')} of a dataset"
    if found.layout == "groups" and info.shape[:1] == (len(found.episodes),) and len(found.episodes) > 1:
        labels = math.prod(info.shape) == len(found.episodes) and not is_vlen(info.dtype)
        order = "by texts that name the videos, else in the order of their names"
        remedy = f"; `--label '{info.path}'` takes it for these, {order}" if labels else ""
        return f"expected it in the group of each video: of what lies beside, only labels have an entry each{remedy}"
    if found.layout == "table":
        return "expected it with an entry for each of the rows of a table"
    if len(found.filled) == len(found.episodes) == 1:
        return f"expected an entry for each of the {counted(found.filled[0].frame_count, 'frame')} of the only video"
    return "expected it in the group of a video, or with an entry for each, of the videos"


#: What helps where vlen bytes are numbers.
_BYTES = (
    "expected images, or numbers of more than a byte; if its bytes are numbers, add it as a field of "
    'kind = "array" and shape = [0] to what `inspect --toml` prints'
)


#: What helps where videos have texts, and not as many each.
_ONE_TEXT = "; if they are of the whole video, write them as one text of it, such as JSON,"


def _as_value(tree: Tree, found: Found, info: DatasetInfo, key: str) -> str:
    """Return, of a small array that all videos have in one form, the field by which it is a value of each."""
    small = 0 < info.size_bytes <= MOST_VALUE_BYTES and bool(info.shape) and bool(info.dtype)
    if found.layout not in {"groups", "files", "table"} or not small or is_vlen(info.dtype):
        return ""
    roots = [episode.root for episode in found.filled]
    others = [None if each is None else tree.datasets.get(join(each, key)) for each in roots]
    infos = [each for each in others if each and each.dtype == info.dtype and each.size_bytes <= MOST_VALUE_BYTES]
    if len(infos) < len(others):
        return ""
    if not can_differ("value", info.dtype, [each.shape for each in infos]):
        return _ONE_TEXT if is_text(info.dtype) else ""
    pattern = pattern_in(roots[0], key)
    return f"; if it is of the whole video, {as_field(key, pattern)},"


def _turned(tree: Tree, info: DatasetInfo, episode: Episode) -> str:
    """Return what helps where a matrix has a column for each frame, as one-hot labels, or pictures lie before time."""
    if len(info.shape) < 2 or info.shape[0] == 1 or not is_number(info.dtype):
        return ""
    if len(info.shape) == 2:
        turned = info.shape[1] == episode.frame_count > 1
        return "; if its last axis counts these, write array.T instead," if turned else ""
    times = times_beside(tree, info._replace(shape=info.shape[-1:]))
    if not times or info.shape[-1] in info.shape[:-1]:
        return ""
    return f"; if its last axis counts frames, as {times!r} does, write np.moveaxis(array, -1, 0) instead,"


def _as_shortest(found: Found, info: DatasetInfo, episode: Episode) -> str:
    """Return the field by which an array of one entry less than a table has rows ends it, as steps between frames."""
    one_less = info.shape[:1] == (episode.frame_count - 1,) and is_number(info.dtype) and 0 not in info.shape
    if found.layout != "table" or not one_less or info.shape == (1,):
        return ""
    field = as_field(info.path, info.path, "array")
    return f'; if entry n is of row n, {field}, and `lengths = "shortest"` at its top, which ends the rows with it,'


def _as_shared(found: Found, info: DatasetInfo) -> str:
    """Return, of a small array outside of videos that no number names, the field by which all have it as a value."""
    small = 0 < info.size_bytes <= MOST_VALUE_BYTES and bool(info.dtype) and not is_vlen(info.dtype)
    own = info.shape[:1] == (len(found.episodes),) or unnumbered(info.path) != info.path
    if found.layout not in {"groups", "files"} or not found.filled or not small or own or is_of_one(found, info.path):
        return ""
    return f"; if it is of all videos, {as_field(info.path, info.path)},"


def _inside(info: DatasetInfo, episode: Episode) -> str:
    if not episode.frame_count:
        return "expected frames in its video, which has none"
    if 0 in info.shape:
        return "expected at least one number"
    if not info.dtype:
        return "expected numbers, bool or texts"
    if is_vlen(info.dtype) and (info.kind is ElementKind.VLEN_BYTES or info.shape[:1] == (episode.frame_count,)):
        lists = (
            "expected one axis, a list for each frame"
            if len(info.shape) > 1
            else "expected as many numbers in each entry"
        )
        return _BYTES if info.kind is ElementKind.VLEN_BYTES else lists
    if not info.shape and info.size_bytes > MOST_VALUE_BYTES:
        return f"expected at most {MOST_VALUE_BYTES} bytes for one value of a video"
    return f"expected an entry for each of the {episode.frame_count} frames"


#: Nodes that only their numbers tell apart of which the attributes are looked at: those of videos are alike.
_MOST_ALIKE = 8

#: Letters of a value that are shown.
_SHOWN = 60


def unused_attributes(tree: Tree, found: Found, label: str = LABEL_NAMES[0]) -> dict[str, Callable[[HDF5File], str]]:
    """Return what says why each attribute is no value that is none, with its value in a file.

    By path, ``@name`` last; within a video, by its path there.

    Parameters
    ----------
    tree
        Where the attributes are. Of many groups or datasets that only their numbers tell apart, some are looked at.
    found
        The videos, with their values.
    label
        Name of the attributes that are read as labels.
    """
    used = {part.place for each in found.episodes for part in each.parts.values() if part.attribute}
    used.update(found.helpers)
    bearers = frozenset(label_bearers(tree, found.episodes, label))
    roots = {episode.root: episode for episode in found.episodes if episode.root}
    places: dict[str, tuple[str, str]] = {}
    looked_at: dict[str, int] = {}
    for path, names in tree.attributed.items():
        alike = unnumbered(path)
        looked_at[alike] = looked_at.get(alike, 0) + 1
        if looked_at[alike] > _MOST_ALIKE:
            continue
        owner = next((group for group in upwards(path) if group in roots), None)
        inside = path if owner is None else key_in(owner, path)
        titles = ["TITLE"] if "TITLE" in names and path in roots and has_title(names) else []
        for name in [*own_attributes(names, dataset=path in tree.datasets), *titles]:
            if f"{path}@{name}" not in used and (name != label or path not in bearers):
                places.setdefault(join(inside, f"@{name}"), (path, name))
    lines = folded_keys(places) if places else {}
    return {shown: partial(_line, *_said(tree, found, keys, places[keys[0]])) for shown, keys in lines.items()}


def _said(tree: Tree, found: Found, keys: list[str], place: tuple[str, str]) -> tuple[str, str, str, str]:
    """Return how many attributes a line is of, and what serves the first, whose place is behind."""
    if len(keys) == 1:
        return "", _field_of(tree, found, keys[0], *place), *place
    count = counted_keys(keys).replace(str(len(keys)), str(count_bearers(tree, keys, place)), 1)
    frames = are_of_frames(tree, found, keys, place[0])
    return count, OF_FRAMES if frames else _field_of(tree, found, keys[0], *place), *place


def _field_of(tree: Tree, found: Found, key: str, path: str, name: str) -> str:
    """Return the field of a schema by which an attribute is a value of each video; empty where there is none."""
    if found.layout == "padded" or not found.filled:
        return ""
    if join(path, f"@{name}") == key:  # outside of all videos that are groups
        own = {video.dataset_path for video in found.episodes}
        of_one = (len(own) > 1 and path in own) or is_of_one(found, join(path, name))
        shared = "" if of_one else f"{path}/@{name}"
        return f"; if it is of all videos, {as_field(key, shared)}," if shared else ""
    nodes = (join(video.root or "", parent_of(key)) for video in found.filled)
    in_all = all(name in tree.attributed.get(node, ()) for node in nodes)
    return f"; to serve it, {as_field(key, pattern_in(path, key))}," if in_all else ""


def _line(count: str, field: str, path: str, name: str, hdf5: HDF5File) -> str:
    """Return the line of an attribute; empty for a title that PyTables wrote and no user."""
    if name == "TITLE" and _is_empty(hdf5, path, name):
        return ""
    usable = field and attribute_part(open_attribute(hdf5, path, name), path, name) is not None
    shown = f"{_shown(hdf5, path, name)}{field if usable else ','}"
    return f"{count}attribute of {path or '/'!r} that is no value of a video: {shown} in a file"


def _is_empty(hdf5: HDF5File, path: str, name: str) -> bool:
    """Tell whether a text is empty, or none, as PyTables writes a title that no user gave."""
    value = read_attribute(hdf5, path, name)
    return getattr(value, "shape", ()) is None or value in {"", b""}


def _shown(hdf5: HDF5File, path: str, name: str) -> str:
    """Return a value in short; of JSON, that it is that."""
    try:
        value = read_attribute(hdf5, path, name)
    except (OSError, TypeError, KeyError, ValueError):
        return "of a type that cannot be shown"
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        return f"a JSON text of {len(value)} letters"
    text = repr(value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"
