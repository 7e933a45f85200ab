"""Datasets that are one picture, or one volume of channels, each: their first axis is lines, and not frames. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_floating
from loader_service.catalog.hdf5.tree import in_groups
from loader_service.catalog.inner_paths import basename_of, parent_of
from loader_service.catalog.sides import CHANNELS
from loader_service.catalog.split_words import said_by
from loader_service.catalog.videos.frame_axis import have_numbers_or_ids
from loader_service.catalog.videos.three_frames import clips_of_three
from loader_service.catalog.vocabulary import TIMES_OF_FRAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo

#: What a lone matrix is called that may be a picture.
PICTURE_WORDS = re.compile(
    r"(^|_|\b)(density|slice|depth|mask|image|img|map|picture|disparity|rgb|frame|photo|heatmap|normal|flow)s?[0-9]*(_|\b|$)",
    re.IGNORECASE,
)

#: What a grey picture is called.
_GREY_WORDS = re.compile(
    r"(^|_|\b)(slice|mask|image|img|picture|photo|depth|density|disparity)s?[0-9]*(_|\b|$)", re.IGNORECASE
)
_PICTURE_FILES = re.compile(r"\.(png|jpe?g|bmp|tiff?|pgm|gif|webp)$", re.IGNORECASE)

#: Where a dataset lies, its name, and what else it shares with others.
_Place = tuple[str, str, object]

#: What a matrix is called whose lines are features, and no pixels.
_FEATURES = re.compile(r"feat|embed|logit|token|vec|code", re.IGNORECASE)


#: What three grey frames are called, and no colours of one picture.
FILMS = re.compile(r"(^|_|\b)(video|frames|clip|movie|film)[0-9]*(_|\b|$)", re.IGNORECASE)

#: What several pictures are called.
SEVERAL = re.compile(
    r"(^|_)(image|img|picture|photo|slice|patche|tile|crop|sample|face|digit|scan)s(_|$)", re.IGNORECASE
)


def sides_of(info: DatasetInfo) -> tuple[int, int] | None:
    """Return height and width of what may be one picture, ``(H, W, 1|3|4)`` or ``(3, H, W)``; None if it is none.

    What is called frames, or a film, has no colours first.
    """
    if len(info.shape) != 3 or 0 in info.shape or info.shape[1:] == (1, 1):
        return None
    if info.shape[2] in CHANNELS:
        return info.shape[0], info.shape[1]
    return (info.shape[1], info.shape[2]) if info.shape[0] == 3 and not FILMS.search(info.basename) else None


def find_single_pictures(
    datasets: Sequence[DatasetInfo], texts: Sequence[DatasetInfo] = ()
) -> tuple[list[DatasetInfo], list[DatasetInfo]]:
    """Return the datasets that are one picture each, and those that can be that, or rows.

    A dataset with such sides is a picture when nothing else has its first axis and other axes behind. Of bytes, it is
    one for sure, unless it has one channel and nothing says picture, or a list beside it has an entry for each of what
    may be its colours; of other numbers, if a picture of the same sides lies beside it: else it may be rows of points.

    Parameters
    ----------
    datasets, texts
        All arrays of a file, and its lists of texts.
    """
    threes = {info.parent for info in (*datasets, *texts) if info.shape[:1] == (3,) and _may_be_of_rows(info)}
    groups = in_groups(datasets)
    lengths, layers = _first_axes(datasets, _tail), _first_axes(datasets, _axes)
    timed = _timed(datasets)
    sure: list[DatasetInfo] = []
    maybe: list[DatasetInfo] = []
    widths = {info.shape[1] for info in datasets if len(info.shape) == 3 and info.dtype == "uint8"}
    few = len(widths) == 1 and all(width < _FEW_POINTS and width % 2 for width in widths)
    clips = clips_of_three(datasets)
    for group, members in groups.items():
        counted = _counted(members) | timed.get(group, set())
        single = [info for info in members if info.path not in clips and info.shape[0] not in counted]
        free = {info.path: sides for info in single if (sides := sides_of(info))}
        for info in members:
            others = [len(layers[place]) > 1 for place in _places(info, _axes)]
            if info.shape[2:] and info.shape[2] not in CHANNELS and any(others):
                free.pop(info.path, None)  # three masks of objects, of which others have more, and no three colours
        colours = [info for info in members if info.path in free and info.dtype == "uint8"]
        series = _may_be_series(colours)
        certain = set() if few or series else {free[info.path] for info in colours if not _POINTS.search(info.basename)}
        for info in members:
            if (free.get(info.path) or info.shape[:2]) in certain and len(info.shape) in {2, 3}:
                apart = info.shape[2:] and info.shape[2] not in CHANNELS  # three grey ones, it may be
                (
                    maybe if apart and (group in threes or SEVERAL.search(_without_split(info.basename))) else sure
                ).append(info)
            elif info.path in free and (
                all(len(lengths[place]) < 2 for place in _places(info, _tail)) or (series and info.dtype == "uint8")
            ):
                maybe.append(info)
    lone = len(datasets) == 1 or _are_volume(datasets)
    if not sure and not maybe and lone and any(map(_is_named_picture, datasets)):
        maybe = list(datasets)
    grouped = all(_are_maps(members) or _are_cube(members) for members in groups.values())
    if not sure and not maybe and (grouped or _are_maps(datasets)):  # a map in each of several groups, too
        maybe = [info for info in datasets if len(info.shape) > 1]
    if not sure and all(info.path.startswith(_GRIDS) for info in datasets):
        maybe = [info for info in datasets if len(info.shape) > 1]
    return sure, maybe


def _without_split(name: str) -> str:
    """Return what a name is without the word of a split: ``images`` of ``test_images``."""
    said = said_by(name)
    return name if said is None or not said.rest else said.rest


def _may_be_of_rows(info: DatasetInfo) -> bool:
    """Tell whether a list of three may have an entry for each of three pictures: no mean of colours, side or name.

    Three masks of one size have such, too.
    """
    if len(info.shape) == 3 and info.shape[2] not in CHANNELS:
        return bool(_TRUTH_OF_PICTURES.search(_without_split(info.basename)))
    return len(info.shape) == 1 and not is_floating(info.dtype) and not OF_COLOURS.search(info.basename)


#: What is said of a picture, or of its colours, in three numbers or texts.
OF_COLOURS = re.compile(
    r"size|shape|dim|res(olution)?$|spacing|origin|offset|scale|cent(er|re)|pos(ition)?|coord|box|crop|mean|std|colou?r|rgb|"
    r"channel|band|filter|wave_?length|stain",
    re.IGNORECASE,
)


def _may_be_series(bytes_: Sequence[DatasetInfo]) -> bool:
    """Tell whether bytes of one group, ``(H, W, 1)`` each, may be rows of one number at a time: nothing says pictures.

    They are pictures where one has colours, or is called so, and where numbers or ids tell them apart.
    """
    names = [info.basename for info in bytes_]
    called = any(PICTURE_WORDS.search(name) or _PICTURE_FILES.search(name) for name in names)
    grey = all(info.shape[2] == 1 for info in bytes_)
    return grey and not called and not have_numbers_or_ids(names)


def _are_maps(members: Sequence[DatasetInfo]) -> bool:
    """Tell whether matrices of one group may be a picture and its maps: of one size, and called so, or all grey."""
    maps = [info for info in members if len(info.shape) > 1]
    shapes = {info.shape for info in maps}
    if len(maps) < 2 or len(shapes) > 1 or len(maps[0].shape) > 2 or min(maps[0].shape) < LEAST_GREY_SIDE:
        return False
    counted = any(info.shape == maps[0].shape[:1] for info in members)
    named = [info for info in maps if PICTURE_WORDS.search(info.basename) and not _FEATURES.search(info.basename)]
    names = [info.basename for info in maps]
    grey = all(map(_is_named_picture, maps)) and not have_numbers_or_ids(names)
    return (bool(named) or grey) and not counted


def _are_cube(members: Sequence[DatasetInfo]) -> bool:
    """Tell whether a group is one picture of many bands and what is where in it, as benchmarks of such have them.

    A mask of what is called no picture may be one of tokens.
    """
    cubes = [info for info in members if len(info.shape) == 3]
    truth = _TRUTH_OF_PICTURES if cubes and _is_called_picture(cubes[0]) else _TRUTH
    truths = [info for info in members if len(info.shape) == 2 and truth.search(info.basename)]
    return (
        len(cubes) == 1
        and bool(truths)
        and len(cubes) + len(truths) == len(members)
        and min(cubes[0].shape[:2]) >= LEAST_GREY_SIDE
        and all(info.shape == cubes[0].shape[:2] for info in truths)
    )


def _are_volume(datasets: Sequence[DatasetInfo]) -> bool:
    """Tell whether a file is two datasets of one shape, a picture or volume by its name, and what is where in it."""
    if len(datasets) != _WITH_TRUTH:
        return False
    first, truth = sorted(datasets, key=lambda info: bool(_TRUTH_OF_PICTURES.search(info.basename)))
    same = truth.shape == first.shape and truth.parent == first.parent
    return same and _is_called_picture(first) and bool(_TRUTH_OF_PICTURES.search(truth.basename))


def _is_called_picture(info: DatasetInfo) -> bool:
    return bool(PICTURE_WORDS.search(info.basename)) and not _FEATURES.search(info.basename)


#: Datasets of a picture, and of what is where in it.
_WITH_TRUTH = 2


#: Where HDF-EOS keeps maps of the earth.
_GRIDS = "HDFEOS/GRIDS/"

#: What a map of classes is called.
_TRUTH = re.compile(r"(^|_)(gt|ground_?truth|truth)$", re.IGNORECASE)
_TRUTH_OF_PICTURES = re.compile(
    r"(^|_)(gt|ground_?truth|truth|masks?|labels?|label_?map|seg(mentation)?s?|annotations?)(_?map)?$", re.IGNORECASE
)


def _is_named_picture(info: DatasetInfo) -> bool:
    """Tell whether a lone dataset may be a picture: bytes or words by their sides, other matrices by their name."""
    grey = len(info.shape) == 2 and bool(GREY.search(info.dtype)) and min(info.shape) >= LEAST_GREY_SIDE
    if grey and is_no_strip(info.shape) and not _FEATURES.search(info.basename):
        return True
    square = len(info.shape) == 3 and info.shape[0] == info.shape[1] > info.shape[2]
    matrix = len(info.shape) == 2 and is_floating(info.dtype)
    return (square or matrix) and bool(PICTURE_WORDS.search(info.basename))


def is_called_grey(info: DatasetInfo) -> bool:
    """Tell whether a dataset is called as a grey picture is, and not as features of a film: ``x_rgb``, ``x_flow``.

    One with a number alone is called as its group is: ``masks/0001``.
    """
    name = basename_of(info.parent) if info.basename.isdecimal() else info.basename
    called = _GREY_WORDS.search(name) and not _FEATURES.search(name)
    return bool(called or _PICTURE_FILES.search(info.basename))


def is_no_strip(sides: Sequence[int]) -> bool:
    """Tell whether height and width of a picture are not too far from each other for one."""
    return max(sides) <= _MOST_LONGER * min(sides)


def _counted(members: Sequence[DatasetInfo]) -> set[int]:
    """Return the first axes that datasets have which are no pictures, nor maps with the sides of one."""
    sides = {found for info in members if (found := sides_of(info)) is not None}
    maps = {info.shape[:2] for info in members if info.dtype == "uint8" and info.shape[:2] in sides}
    labels = {info.path for info in members if _LABELS.search(info.basename)}
    cameras = {
        (3,),
        (3, 3),
        (3, 4),
    }  # matrices of a camera, and means of colours, have as many rows as pictures colours
    return {
        info.shape[0]
        for info in members
        if sides_of(info) is None and info.shape not in sides and (info.shape not in cameras or info.path in labels)
        if len(info.shape) != 3 or info.shape[:2] not in maps  # flow, normals or classes beside a picture
    }


#: What has one number a row is called.
_LABELS = re.compile(r"^(y|labels?|targets?|class(es)?)(_|$)", re.IGNORECASE)


def _timed(datasets: Sequence[DatasetInfo]) -> dict[str, set[int]]:
    """Return how many times are listed in groups below each: ``data`` beside ``grid/t``."""
    found: dict[str, set[int]] = {}
    for info in datasets:
        if len(info.shape) == 1 and TIMES_OF_FRAMES.search(info.basename):
            above = info.parent
            while above:
                above = parent_of(above)
                found.setdefault(above, set()).add(info.shape[0])
    return found


#: What is called that holds points, and no colours.
_POINTS = re.compile(r"key_?points?|landmark|joints?(_|$)|skeleton|(^|_)(poses?|kps?|boxes|bbox)(_|$)", re.IGNORECASE)

#: Points of a hand are 21, those of a body 17, 25 or 33; a picture is seldom so narrow.
_FEW_POINTS = 34


def _tail(info: DatasetInfo) -> object:
    return info.shape[1:]


def _axes(info: DatasetInfo) -> object:
    return len(info.shape)


def _places(info: DatasetInfo, form: Callable[[DatasetInfo], object]) -> tuple[_Place, _Place]:
    """Return what datasets of one name and form share in groups beside each other, and in groups of one name."""
    parent, name, shared = info.parent, info.basename, form(info)
    return (parent_of(parent), name, shared), (f"/{basename_of(parent)}", name, shared)


def _first_axes(datasets: Sequence[DatasetInfo], form: Callable[[DatasetInfo], object]) -> dict[_Place, set[int]]:
    """Return the first axes of the datasets of one name and form, in groups as `_places` says."""
    found: dict[_Place, set[int]] = {}
    for info in datasets:
        for place in _places(info, form):
            found.setdefault(place, set()).add(info.shape[0])
    return found


#: Types of the pixels of a grey picture, in any byte order.
GREY = re.compile(r"^(u?int(8|16)|[<>][iu][12])$")

#: A picture is seldom so many times as wide as high.
_MOST_LONGER = 4

#: Of a picture that somebody looks at; lines of features are seldom bytes.
LEAST_GREY_SIDE = 16
