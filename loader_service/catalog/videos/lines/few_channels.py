"""Says where the three or four channels of a picture may be as many samples: of a list beside it, or its name. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.videos.readings import Reading, in_one_line
from loader_service.catalog.videos.single_pictures import FILMS, LEAST_GREY_SIDE, OF_COLOURS, PICTURE_WORDS, SEVERAL
from loader_service.schema import SchemaField

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.episodes import Episode, Found

#: Channels of a picture, as many of which may be samples; one is none.
_CHANNELS = frozenset({3, 4})

#: Axes of a picture with channels, and of a list with several numbers for each of its entries.
_PICTURE_AXES, _MOST_LIST_AXES = 3, 2

_BEHIND = "if its last axis counts samples, write np.moveaxis(array, -1, 0) instead"


def lines_of_few_channels(tree: Tree, found: Found) -> dict[str, str]:
    """Return a line for the largest picture of a file that is one frame, if its channels may be samples.

    So they may be where a list beside it has an entry for each, or where it is called as several pictures are; channels
    that come first, also where nothing calls it a picture.
    """
    if found.episodes[1:] or found.layout not in {"files", "table"}:
        return {}
    (episode,) = found.episodes
    if found.layout == "table" or episode.frame_count != 1:
        return _of_narrow_pictures(episode)
    infos = [part.info for part in episode.parts.values() if part.info is not None and part.info.shape == part.shape]
    pictures = [info for info in infos if len(info.shape) == _PICTURE_AXES and _channels_of(info)]
    if not pictures:
        return {}
    picture = max(pictures, key=lambda info: info.size_bytes)
    channels = _channels_of(picture)
    first = picture.shape[0] == channels
    lists = list(_lists_of(tree, channels))
    several = any(SEVERAL.search(info.basename) or FILMS.search(info.basename) for info in pictures)
    if not lists and not several and (not first or PICTURE_WORDS.search(picture.basename)):
        return {}
    beside = f", and {lists[0].path!r} has {channels} entries" if lists else ""
    rows = [SchemaField.at(info.path, name=info.basename) for info in (picture, *lists)]
    schema = in_one_line(Reading.of_table("rows", rows).schema)
    remedy = f"if these count samples, {schema} in a --schema makes them rows" if first else _BEHIND
    return {
        f"{picture.path} (channels)": f"{picture.shape} is one picture of {channels} channels here{beside}; {remedy}, "
        "in a file"
    }


def _of_narrow_pictures(episode: Episode) -> dict[str, str]:
    """Return a line for pictures as narrow as colours are many, which may be three samples: ``(24, 32, 3, 3)``."""
    images = [part for part in episode.parts.values() if part.kind == "image" and part.info]
    if not images:
        return {}
    shapes = {part.path: part.shape for part in images}
    narrow = {path: shape for path, shape in shapes.items() if shape[1:2] == shape[2:] and shape[0] >= LEAST_GREY_SIDE}
    return {
        f"{path} (channels)": f"its {episode.frame_count} pictures are {shape[0]} x {shape[1]} pixels of {shape[2]} "
        f"colours each; {_BEHIND}, in a file"
        for path, shape in narrow.items()
    }


def _channels_of(info: DatasetInfo) -> int:
    """Return how many channels a picture has, which come first or last; 0 if they are no three or four."""
    return next((side for side in (info.shape[-1], info.shape[0]) if side in _CHANNELS), 0)


def _lists_of(tree: Tree, count: int) -> Iterable[DatasetInfo]:
    """Yield lists of so many entries that are not said to be of colours, or of a place."""
    for info in tree.datasets.values():
        if info.shape[:1] == (count,) and len(info.shape) <= _MOST_LIST_AXES and not OF_COLOURS.search(info.basename):
            yield info
