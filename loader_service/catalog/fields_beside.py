"""Which arrays and values lie beside the frames of a video, as fields of it. Looks at no frame and no address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from loader_service.catalog.episodes import Episode, Found, Part, key_in
from loader_service.catalog.inner_paths import parent_of
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.tree import dtype_of, to_bytes, to_text
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loader_service.catalog.tree import DatasetInfo, Tree

#: Lengths of the padded JPEGs of all cameras at once, as robot-learning code writes them beside its episodes. In which
#: order the cameras come is nowhere said, so the JPEGs' own ends count.
_INDEX_NAMES = frozenset({"compress_len"})

#: Bytes of one value of one video. Values are columns of the catalog, which every process maps.
MOST_VALUE_BYTES = 4096


def add_members(file: h5py.File, tree: Tree, found: Found) -> None:
    """Give each video the arrays and values that lie in its group, and its group's attributes; no labels.

    What has another length than the frames is noted in `Found.left_out`.
    """
    filled = [episode for episode in found.episodes if episode.frame_count]
    by_root = {episode.root: episode for episode in filled if episode.root is not None}
    for info in tree.datasets.values() if by_root else ():
        episode = _owner(by_root, info.path)
        if episode is not None:
            _add_dataset(found, episode, info)
    if filled:
        _add_attributes(file, filled)


def _owner(by_root: dict[str, Episode], path: str) -> Episode | None:
    group = path
    while group:
        group = parent_of(group)
        if group in by_root:
            return by_root[group]
    return None


def _add_dataset(found: Found, episode: Episode, info: DatasetInfo) -> None:
    taken = any(part.path == info.path for part in episode.parts.values()) or info.path in episode.index_paths
    if taken or info.basename in _INDEX_NAMES:
        return
    key = key_in(episode.root, info.path)
    if info.shape == ():
        usable = info.dtype and not info.dtype.startswith("vlen") and info.size_bytes <= MOST_VALUE_BYTES
        if usable and info.basename not in LABEL_NAMES:
            episode.parts[key] = Part("value", info.dtype, (), info.path, info=info)
        return
    part = array_part(info)
    if part is None:
        if info.shape[0] == episode.frame_count:
            found.left_out.setdefault(key, f"expected numbers, bool or texts, found {info.describe()} in a video")
        return
    if info.shape[0] == episode.frame_count:
        episode.parts[key] = part
    elif info.basename in LABEL_NAMES:
        _refuse_labels(found, episode, info)
    else:
        found.left_out.setdefault(
            key, f"expected {episode.frame_count} entries, one for each frame, found {info.describe()} in a video"
        )


def _refuse_labels(found: Found, episode: Episode, info: DatasetInfo) -> None:
    """Refuse labels of a table that are not one for each row; those of videos are `read_labels`' to judge."""
    if found.layout == "table":
        raise CatalogError(f"expected {episode.frame_count} labels, one for each row; found {info.describe()}")


def array_part(info: DatasetInfo) -> Part | None:
    """Return a dataset as an array, or as raw pixels, with an entry for each frame; None if it is neither."""
    if not info.dtype or info.dtype.startswith("vlen") or 0 in info.shape:
        return None
    return Part("image" if is_picture(info) else "array", info.dtype, info.shape[1:], info.path, info=info)


def is_picture(info: DatasetInfo) -> bool:
    """Tell whether a dataset is ``(frames, height, width, 1 or 3) uint8``."""
    return info.dtype == "uint8" and len(info.shape) == 4 and info.shape[3] in {1, 3}


def _add_attributes(file: h5py.File, episodes: list[Episode]) -> None:
    """Add the attributes that the first video has; those that others lack are left out later."""
    first = _node_path(episodes[0])
    names = [name for name in _attributes(file, first) if name not in LABEL_NAMES]
    for episode in episodes if names else ():
        path = _node_path(episode)
        node = h5py.h5o.open(file.id, to_bytes(path) or b"/")
        for name in names:
            if h5py.h5a.exists(node, to_bytes(name)):
                part = attribute_part(h5py.h5a.open(node, to_bytes(name)), path, name)
                if part is not None:
                    episode.parts[f"@{name}"] = part


def _node_path(episode: Episode) -> str:
    return episode.dataset_path if episode.root is None else episode.root


def _attributes(file: h5py.File, path: str) -> Iterator[str]:
    node = h5py.h5o.open(file.id, to_bytes(path) or b"/")
    for number in range(h5py.h5a.get_num_attrs(node)):
        yield to_text(h5py.h5a.open(node, index=number).name)


def attribute_part(attribute: Any, path: str, name: str) -> Part | None:
    """Return an attribute, one text or up to one axis of numbers, as a value of its video; None if it is neither."""
    element = attribute.get_type()
    text = element.get_class() == h5py.h5t.STRING
    shape = attribute.shape
    if shape is None or 0 in shape or len(shape) > (0 if text else 1):
        return None
    dtype = dtype_of(element)
    if not dtype or dtype.startswith("vlen") or int(np.prod(shape)) * element.get_size() > MOST_VALUE_BYTES:
        return None
    return Part("value", "S" if text else dtype, tuple(shape), path, attribute=name)
