"""Reads the label of each video of one file. Knows no frames, no other file and no columns."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.dtypes import is_vlen
from loader_service.catalog.hdf5.attributes import open_attribute, plain_number, read_attribute
from loader_service.catalog.hdf5.enum_names import enum_names, text_of, with_names
from loader_service.catalog.hdf5.tree import DatasetInfo, ElementKind, Tree
from loader_service.catalog.inner_paths import grouped, join, key_in, parent_of, to_bytes, unnumbered
from loader_service.catalog.labels.encode import MOST_CLASSES, Label
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.patterns import matches
from loader_service.catalog.videos.beside.entries_by_name import are_counted, rows_of_names, without_order
from loader_service.catalog.videos.episodes import owner_of
from loader_service.errors import CatalogError
from loader_service.scan_options import NONE
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import h5py

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.videos.episodes import Episode


class LabelOrderError(CatalogError):
    """Nothing says which entry of the labels is whose; what the error advises helps, whatever a video is."""


def read_labels(hdf5: HDF5File, tree: Tree, videos: Sequence[Episode], pattern: str | None) -> list[Label | None]:
    """Return the label of each video of a file, or None for those that have none.

    An attribute ``label`` of the video's dataset or own group comes first; if no video has one, a dataset ``label`` or
    ``labels`` in its own group with one entry, beside the videos, or in the root with one entry per video: the order is
    that of texts beside it that name the videos, or that of numbered names. Last come those deeper in its own group.

    Parameters
    ----------
    videos
        In natural order, those without frames included: a dataset of labels has an entry for each.
    pattern
        ``"@name"`` for an attribute of that name, or a pattern for paths of datasets of labels; None: as above.

    Raises
    ------
    CatalogError
        When a label is no finite number or text, or a dataset of labels has another length than there are videos;
        when there is a pattern, and no video has such a label.
    """
    if pattern is None:
        labels = _from_attributes(hdf5, tree, videos, LABEL_NAMES[0])
        return labels if any(label is not None for label in labels) else _from_datasets(hdf5.file, tree, videos)
    if pattern.startswith("@"):
        labels = _from_attributes(hdf5, tree, videos, pattern[1:])
        missing = f"no video has an attribute {pattern[1:]!r}{_attributes_there(tree, videos)}"
    else:
        labels = _from_named_datasets(hdf5.file, tree, videos, pattern)
        missing = "what it matches lies in the group of no video"
    if all(label is None for label in labels):
        raise CatalogError(f"--label {pattern!r}: {missing}; correct the pattern, or leave the file out")
    return labels


def _attributes_there(tree: Tree, videos: Sequence[Episode]) -> str:
    """Return which attributes videos have, as the end of what one is missing from."""
    own = zip(videos, _own_groups(videos), strict=True)
    nodes = (node for video, groups in own for node in (video.dataset_path, *groups))
    names = dict.fromkeys(name for node in nodes for name in tree.attributed.get(node, ()))
    shown = ", ".join(map(repr, list(names)[:_MOST_SHOWN])) + ", …" * (len(names) > _MOST_SHOWN)
    return f"; they have {shown}" if names else ""


#: Names of attributes that are shown.
_MOST_SHOWN = 6


def label_bearers(tree: Tree, videos: Sequence[Episode], name: str) -> list[str | None]:
    """Return the path of what has the label of each video as an attribute: its dataset, or else its own group."""
    bearers = {path for path, names in tree.attributed.items() if name in names}
    if not bearers:
        return [None] * len(videos)
    own = zip(videos, _own_groups(videos), strict=True)
    return [next((path for path in (video.dataset_path, *groups) if path in bearers), None) for video, groups in own]


def _from_attributes(hdf5: HDF5File, tree: Tree, videos: Sequence[Episode], name: str) -> list[Label | None]:
    return [None if path is None else _from_attribute(hdf5, path, name) for path in label_bearers(tree, videos, name)]


def _own_groups(videos: Sequence[Episode]) -> list[list[str]]:
    """Return, for each video, the group that holds it alone, if there is one."""
    parents = [parent_of(video.dataset_path) for video in videos]
    # The root, as the parent of a whole video, counts too: a file that is one video may carry its label itself.
    crowd = Counter(parents)
    own = [
        [parent] if crowd[parent] == 1 and video.dataset_path else []
        for parent, video in zip(parents, videos, strict=True)
    ]
    return [
        [*groups, video.root] if video.root is not None and video.root not in groups else groups
        for groups, video in zip(own, videos, strict=True)
    ]


def _from_attribute(hdf5: HDF5File, path: str, name: str) -> Label:
    attribute = open_attribute(hdf5, path, name)
    value = plain_number(attribute)
    if value is None:
        value = with_names(read_attribute(hdf5, path, name), attribute.dtype)
    return to_label(value, f"attribute {name!r} of {path or '/'!r}")


def _from_datasets(file: h5py.File, tree: Tree, videos: Sequence[Episode]) -> list[Label | None]:
    own = _own_groups(videos)
    inner = [_own_dataset(file, tree, groups, video) for groups, video in zip(own, videos, strict=True)]
    if any(label is not None for label in inner):
        return inner
    labels: list[Label | None] = [None] * len(videos)
    containers = grouped(range(len(videos)), lambda number: videos[number].holder)
    for container, inside in containers.items():
        info = _named_in(tree, container)
        if info is None or (info.shape[1:] and _has_several_a_video(info, videos[inside[0]])):
            continue
        if not is_per_frame(tree, info, videos) and not _is_list_of_names(file, info, len(inside)):
            names = [videos[number].name for number in inside]
            for number, label in zip(inside, _in_order(file, tree, info, names), strict=True):
                labels[number] = label
    root = _named_in(tree, "")
    unlabelled = all(label is None for label in labels)
    beside = root is not None and "" not in containers and unlabelled and not _are_of_rows(tree, root, videos)
    if root is not None and beside and not _is_list_of_names(file, root, len(videos)):
        return [*_in_order(file, tree, root, [video.name for video in videos])]
    return _from_inner_groups(file, tree, videos) if unlabelled else labels


def _has_several_a_video(info: DatasetInfo, video: Episode) -> bool:
    """Tell whether a dataset is a field of videos with several entries for each, as letters of signs are."""
    return any(part.path == info.path and math.prod(part.shape) > 1 for part in video.parts.values())


def _from_inner_groups(file: h5py.File, tree: Tree, videos: Sequence[Episode]) -> list[Label | None]:
    """Return the label of each video that lies deeper in its group, at one path in all groups: ``meta/label``."""
    named = [info for path, info in tree.datasets.items() if path.endswith(LABEL_NAMES)]
    used = {part.path for video in videos for part in video.parts.values()} if named else set()
    own = {video.root for video in videos}
    apart = [info for info in named if info.path not in used and info.parent not in own]
    single = [info for info in apart if math.prod(info.shape) == 1 and not is_vlen(info.dtype)]
    inside = _by_owner([info for info in single if info.basename in LABEL_NAMES], videos)
    places = sorted({key_in(root, info.path) for root, infos in inside.items() for info in infos})
    if any(unnumbered(place) != place for place in places):
        return [None] * len(videos)  # of frames, or objects, with a group each
    if len(places) > 1:
        raise CatalogError(
            f"found labels at {' and '.join(map(repr, places[:2]))} in the groups of videos; say which are meant: "
            f"--label '*/{places[0]}'"
        )
    found = [next(iter(inside.get(video.root, ())), None) for video in videos]
    return [None if info is None else to_label(_read(file, info), repr(info.path)) for info in found]


def _by_owner(infos: Sequence[DatasetInfo], videos: Sequence[Episode]) -> dict[str | None, list[DatasetInfo]]:
    """Return datasets by the group of the video in which they lie, at any depth."""
    by_root: dict[str | None, Episode] = {video.root: video for video in videos if video.root is not None}
    inside: dict[str | None, list[DatasetInfo]] = {}
    for info in infos:
        owner = owner_of(by_root, info.path)
        if owner is not None:
            inside.setdefault(owner.root, []).append(info)
    return inside


def _in_order(
    file: h5py.File, tree: Tree, info: DatasetInfo, names: Sequence[str], *, chosen: bool = False
) -> list[Label]:
    """Return the label of each video that has an entry; where names do not count, something has to say which."""
    labels = list(_read_all(file, info, len(names)))
    rows = rows_of_names(file, tree, info, names) if len(names) > 1 else None
    if rows is not None:
        return [labels[row] for row in rows]
    if not chosen and not are_counted(names):
        raise LabelOrderError(
            f"{without_order(info, names)}: `--label {info.path}` takes them in the order of names, {names[0]!r} "
            "first; texts beside it may name the video of each; or give --labels FILE.csv"
        )
    return labels


def is_per_frame(tree: Tree, info: DatasetInfo, videos: Sequence[Episode]) -> bool:
    """Tell whether a dataset beside a single video, or ones that lie end to end, describes frames, and no video."""
    if any(part.path == info.path and part.kind == "array" for part in videos[0].parts.values()):
        return True
    return info.shape not in {(), (1,)} if len(videos) == 1 else _are_of_rows(tree, info, videos)


def _are_of_rows(tree: Tree, info: DatasetInfo, videos: Sequence[Episode]) -> bool:
    """Tell whether a dataset has an entry for each row of the one in which all videos lie end to end."""
    places = {video.dataset_path for video in videos}
    whole = tree.datasets.get(min(places, default=""))
    rows = info.shape[:1]
    return len(places) == 1 and whole is not None and whole.shape[:1] == rows != () and rows[0] > len(videos)


def _is_list_of_names(file: h5py.File, info: DatasetInfo, count: int) -> bool:
    """Tell whether a dataset is names of classes or channels: more or fewer than videos, a cell of MATLAB or texts.

    No text is twice in it, as the labels of videos are.
    """
    if math.prod(info.shape) == count or info.kind is ElementKind.REFERENCE:
        return info.kind is ElementKind.REFERENCE and math.prod(info.shape) != count
    if info.kind is not ElementKind.TEXT or len(info.shape) != 1 or info.shape[0] > MOST_CLASSES:
        return False
    return len(set(np.ravel(_read(file, info)).tolist())) == info.shape[0]


def _own_dataset(file: h5py.File, tree: Tree, groups: Sequence[str], video: Episode) -> Label | None:
    lists = {part.path for part in video.parts.values() if part.kind == "array"}  # labels of its objects
    for group in groups:
        info = _named_in(tree, group) if group else None
        if info is not None and math.prod(info.shape) == 1 and info.path not in lists:
            return to_label(_read(file, info), repr(info.path))
    return None


def _named_in(tree: Tree, group: str) -> DatasetInfo | None:
    """Return the dataset of labels of a group; lists of numbers are no labels."""
    for name in LABEL_NAMES:
        info = tree.datasets.get(join(group, name))
        if info is not None and not is_vlen(info.dtype):
            return info
    return None


def _from_named_datasets(file: h5py.File, tree: Tree, videos: Sequence[Episode], pattern: str) -> list[Label | None]:
    found = [info for info in tree.datasets.values() if matches(pattern, info.path)]
    if not found:
        raise CatalogError(
            f"no dataset matches --label {pattern!r}; found {tree.describe()}; correct the pattern, or give '@name' "
            "for an attribute, '{folder}' or '{group}' for the name of what holds the video"
        )
    if len(found) == 1 and found[0].shape:
        return list(_in_order(file, tree, found[0], [video.name for video in videos], chosen=True))
    by_group = {info.parent: info for info in found}
    if len(by_group) < len(found):
        group = next(info.parent for info in found if by_group[info.parent] is not info)
        twice = " and ".join([repr(info.path) for info in found if info.parent == group][:2])
        raise CatalogError(
            f"--label {pattern!r}: expected one dataset, or one in each video's group; got {len(found)}, in one group "
            f"{twice}; make it match one of them"
        )
    labels: list[Label | None] = []
    inside = _by_owner(found, videos)
    for video in videos:
        places = (video.dataset_path, parent_of(video.dataset_path), video.root or "")
        near = [by_group[place] for place in places if place in by_group]
        found = near or inside.get(video.root, [])
        if len(found) > 1 and not near:
            shown = " and ".join(repr(info.path) for info in found[:2])
            raise CatalogError(
                f"--label {pattern!r}: expected one dataset in the group of {video.name!r}, found {shown}; correct the "
                "pattern"
            )
        info = found[0] if found else None
        labels.append(None if info is None else to_label(_read(file, info), repr(info.path)))
    return labels


def _read_all(file: h5py.File, info: DatasetInfo, count: int) -> Iterator[Label]:
    if math.prod(info.shape) != count or max(info.shape, default=1) != count:  # (N, 1) and (1, N) are lists, too
        raise CatalogError(f"expected {counted(count, 'label')}, one per video; found {info.describe()}; {_REMEDY}")
    if (
        info.kind in {ElementKind.OTHER, ElementKind.COMPOUND, ElementKind.COMPLEX, ElementKind.REFERENCE}
        and file[to_bytes(info.path)].dtype.kind != "b"
        and not enum_names(file[to_bytes(info.path)].dtype)
    ):
        raise CatalogError(f"expected labels that are numbers or texts; found {info.describe()}; {_REMEDY}")
    values = np.ravel(_read(file, info))
    return (to_label(value, f"entry {number} of {info.path!r}") for number, value in enumerate(values))


def _read(file: h5py.File, info: DatasetInfo) -> Any:
    """Return what a dataset holds; of an enumeration the names."""
    node = file[to_bytes(info.path)]
    if info.kind is ElementKind.CHARACTERS and info.dtype == "S":
        return text_of(node[()])
    return with_names(node[()], node.dtype)


#: What helps where labels are none: by a schema that says where they are, and by their names.
LABELS_REMEDY = "correct them, or give --labels FILE.csv"
_REMEDY = f"{LABELS_REMEDY}, or --label '{NONE}' to serve the videos without labels"


def to_label(value: Any, where: str, remedy: str = _REMEDY) -> Label:
    """Return a label that h5py has read as a number or text; CatalogError if it is neither, or not finite."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    if isinstance(value, str):
        value = value.strip()
        if not value:
            raise CatalogError(f"label, {where}: expected a number or a text, got an empty text; {remedy}")
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise CatalogError(f"label, {where}: expected a 64-bit number, got {value!r}; {remedy}")
    if isinstance(value, float) and not math.isfinite(value):
        raise CatalogError(f"label, {where}: expected a finite number, got {value!r}; {remedy}")
    if not isinstance(value, (int, float, str)):
        raise CatalogError(f"label, {where}: expected one number or text, got {value!r:.80}; {remedy}")
    return value
