"""Which length of a video's datasets counts its frames, and what names say of them. Pure: looks at shapes and names."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_number
from loader_service.catalog.hdf5.tree import in_groups
from loader_service.catalog.inner_paths import basename_of, unnumbered
from loader_service.catalog.names import LABEL_NAMES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.schema import FieldKind

#: Parts of names of what is seen, or done, at one time: those beside each other are fields of one video.
_ROLES = frozenset(
    """
    cam camera view rgb bgr depth flow color colour grey gray ir infrared thermal mask segmentation left right front
    center centre back rear top bottom side wrist head hand arm high low eye agentview overhead ego exo external gripper
    obs observation observations action actions state states event events audio master puppet leader follower proprio
    robot
    """.split()  # noqa: SIM905 - a list of words reads better than one of quoted words
)

#: What maps of directions are called, beside pictures, or depths; else that is a class.
_NORMALS, _COLOURS = frozenset({"normal", "normals"}), frozenset({"rgb", "color", "colour", "depth"})

_WORDS = re.compile(r"[A-Za-z]+")

#: What maps of a picture are called.
MASKS = frozenset({"mask", "masks", "seg", "segmentation", "label", "labels", "gt", "annotation", "annotations"})

#: What pictures are called, whatever is seen, or where in them it is, or from where.
_SEEN = (
    _ROLES
    | MASKS
    | {"video", "frame", "image", "img", "picture", "photo", "clip", "film", "optical"}
    | {"thumb", "thumbnail", "preview", "crop", "keyframe"}
)


def is_picture(info: DatasetInfo) -> bool:
    """Tell whether a dataset is ``(frames, height, width, 1 or 3) uint8``, of more than one pixel each."""
    pixel = (1, 1) in (info.shape[1:3], info.shape[2:])
    return info.dtype == "uint8" and len(info.shape) == 4 and info.shape[3] in {1, 3} and not pixel


def kind_of_rows(info: DatasetInfo) -> FieldKind:
    """Return what a dataset with a row for each frame is, by its shape and type."""
    return "image" if is_picture(info) else "array"


def is_sequence_of_pictures(info: DatasetInfo) -> bool:
    """Tell whether a dataset is pictures, also with channels first."""
    first = info.dtype == "uint8" and len(info.shape) == 4 and info.shape[1] in {1, 3} and info.shape[2:] != (1, 1)
    return is_picture(info) or first


def are_numbered(names: Iterable[str]) -> bool:
    """Tell whether only numbers tell names apart, and they are no cameras': video0, video1, … are videos."""
    each = list(names)
    stems = {unnumbered(name) for name in each}
    return len(each) > 1 and len(stems) == 1 and not each[0].startswith(("cam", "view"))


def have_any_sides(datasets: Sequence[DatasetInfo]) -> bool:
    """Tell whether datasets of one group and type, by numbers or ids, have other sides each, the first one included."""
    forms = {(info.parent, info.dtype, len(info.shape)) for info in datasets}
    lengths, tails = {info.shape[0] for info in datasets}, {info.shape[1:] for info in datasets}
    apart = len(lengths) == len(tails) == len(datasets) > 1
    names = [info.basename for info in datasets]
    return len(forms) == 1 and apart and have_numbers_or_ids(names)


def have_roles(names: Iterable[str]) -> bool:
    """Tell whether all names have a word that says what was seen or done, or differ in a letter at their end."""
    each = [basename_of(name) for name in names]
    found = [set(map(str.lower, _WORDS.findall(name))) for name in each]
    roles = _ROLES | _NORMALS if any(_COLOURS & one for one in found) else _ROLES
    words = [frozenset(roles & one) for one in found]
    if all(words):
        # Ids of one camera's films share its words, and differ in more than a number.
        return len(set(words)) > 1 or not are_ids(each) or len(set(map(unnumbered, each))) == 1
    return len({_stem(name) for name in each}) == 1


def say_what_is_seen(names: Iterable[str]) -> bool:
    """Tell whether names are nothing but words for pictures, and what is seen in them, and letters: ``flow_x``."""
    words = [[word.lower() for word in _WORDS.findall(basename_of(name)) if len(word) > 1] for name in names]
    return all(each and all(_SEEN & {word, word.removesuffix("s")} for word in each) for each in words)


def mention_what_is_seen(names: Iterable[str]) -> bool:
    """Tell whether a name has a word for a picture, or for what is seen in it."""
    words = {word.lower() for name in names for word in _WORDS.findall(basename_of(name))}
    return not _SEEN.isdisjoint(words | {word.removesuffix("s") for word in words})


#: What groups are called that hold a part of each video, and not videos of a class.
_FIELD_WORDS = re.compile(
    r"(^|_)(image|img|rgb|bgr|frame|mask|depth|flow|label|target|annotation|segmentation|seg|gt|input|output|audio|visual|"
    r"text|video|feature|feat|normal|disparity|thermal|ir|nir|lr|hr|pose|gaze|state|action)s?(_|[0-9]|$)",
    re.IGNORECASE,
)


#: Words for what a camera is, or gives: a sequence called so says what is seen, not which video it is; no tag of HTML.
DEVICE = re.compile(
    r"(?<![A-Za-z<])(cam|camera|view|image|img|rgb|bgr|depth|flow|colou?r|ir|infrared|thermal|stereo)s?(?![A-Za-z])",
    re.IGNORECASE,
)


def are_fields(groups: Collection[str]) -> bool:
    """Tell whether all names of groups say what is in them, and so are no classes."""
    return len(groups) > 1 and all(_FIELD_WORDS.search(basename_of(group)) for group in groups)


def are_of_cameras(names: Collection[str]) -> bool:
    """Tell whether names say what was seen or done, or all call a device: sequences called so are cameras."""
    return have_roles(names) or all(map(DEVICE.search, names))


def mention_fields(groups: Iterable[str]) -> bool:
    """Tell whether a name of a group says what is in it."""
    return any(_FIELD_WORDS.search(basename_of(group)) for group in groups)


def are_parts(names: Iterable[str]) -> bool:
    """Tell whether all names are what a recording has several of, with numbers; they may be recorded apart, too."""
    return all(map(_PART.search, names))


#: ``robot_0``, ``left_arm_1``.
_PART = re.compile(
    r"(?<![A-Za-z])(robot|arm|hand|agent|player|gripper|finger|sensor|device|drone|vehicle)s?[_-]?[0-9]+(?![A-Za-z])",
    re.IGNORECASE,
)


def _stem(name: str) -> str:
    """Return a name without an axis or a side at its end: ``video`` of ``video_u``; any other has one of its own."""
    head, separator, last = name.rpartition("_")
    return head if separator and last.lower() in {"u", "v", "x", "y", "l", "r"} else f"{name}_"


def are_ids(names: Iterable[str]) -> bool:
    """Tell whether most names look like those of videos: with numbers in them, and not only one at the end.

    So do lists of numbers: ``[-1, 0, 0, 1, 2]``.
    """
    each = [
        bool(re.search(r"[0-9]{2}|[0-9][A-Za-z_-]|[0-9], ?-?[0-9]", basename_of(name)) or name.isdecimal())
        for name in names
    ]
    return 2 * sum(each) > len(each)


def have_numbers_or_ids(names: Iterable[str]) -> bool:
    """Tell whether names do not say what something is: only numbers tell them apart, or most look like ids."""
    each = list(names)
    return are_numbered(each) or are_ids(each)


def are_lines(tall: Sequence[DatasetInfo]) -> bool:
    """Tell whether matrices with ids as names in their group have as many lines and other lengths: sounds, maybe."""
    forms = {(info.dtype, len(info.shape), info.shape[0]) for info in tall}
    lengths = {info.shape[1] for info in tall}
    names = [[info.basename for info in each] for each in in_groups(tall).values()]
    return len(forms) == 1 and len(lengths) > 1 and all(map(have_numbers_or_ids, names))


def are_masked(names: Iterable[str]) -> bool:
    """Tell whether names come in pairs of a picture and what is where in it: ``2ch ED frames``, ``2ch ED masks``."""
    pairs: dict[str, set[str]] = {}
    for name in names:
        stem, _, word = re.sub(r"[ _\-.]+", " ", name).rpartition(" ")
        pairs.setdefault(stem, set()).add(word.lower())
    words = next(iter(pairs.values()), set())
    return len(words) > 1 and bool(words & MASKS) and all(each == words for each in pairs.values())


def frame_counts_of(datasets: Sequence[DatasetInfo]) -> list[int]:
    """Return the lengths that can count the frames of a video with these datasets, the likeliest first.

    The length of its pictures; without any, of the datasets with two or more axes, or, without any of these, of all,
    the one that most share, those of one row less included. There are two only where they have equally many.
    """
    pictures = {info.shape[0] for info in datasets if is_sequence_of_pictures(info)}
    if pictures:
        return sorted(pictures, reverse=True)
    datasets = [info for info in datasets if math.prod(info.shape) != 1] or datasets  # numbers of MATLAB are (1, 1)
    shared = Counter(info.shape[0] for info in datasets)
    counting = {info.shape[0] for info in [each for each in datasets if len(each.shape) > 1] or datasets}
    votes = {length: shared[length] + shared[length - 1] for length in counting}
    most = max(votes.values(), default=0)
    best = sorted((length for length, count in votes.items() if count == most), reverse=True)
    # One that is another's, less one, is that of what lies between frames.
    return [length for length in best if length + 1 not in best]


def with_columns(datasets: Sequence[DatasetInfo]) -> list[DatasetInfo]:
    """Return datasets with those of one row, ``(1, N)``, as ``(N,)`` where another has N rows: MATLAB's columns."""
    counts = {info.shape[0] for info in datasets} - {1}
    columns = {info.path for info in datasets if info.shape[-1] in counts and is_column_of(info, datasets)}
    return [info._replace(shape=info.shape[1:]) if info.path in columns else info for info in datasets]


def is_column_of(info: DatasetInfo, datasets: Iterable[DatasetInfo]) -> bool:
    """Tell whether a dataset is ``(1, N)``, and another in its group, at any depth, has N rows.

    One that has them elsewhere says nothing: a state of N joints is no column of a recording that is as long.
    """
    group = f"{info.parent}/" if info.parent else ""
    rows = info.shape[1:]
    return is_column(info) and any(each.shape[:1] == rows and each.path.startswith(group) for each in datasets)


def is_column(info: DatasetInfo) -> bool:
    """Tell whether a dataset is ``(1, N)`` numbers, which are a column where there are N rows."""
    number = is_number(info.dtype)
    return number and len(info.shape) == 2 and info.shape[0] == 1 < info.shape[1]


def rival_of(datasets: Sequence[DatasetInfo], frame_count: int) -> DatasetInfo | None:
    """Return a dataset by which time could be counted as well: of another length that it shares with a second one.

    It is longer than the frames; or has the form of a dataset that has their length: another half of a table; or it,
    shared or not, has more axes than all that have their length, and more bytes than these together; or, shared, has
    more bytes and as many columns as there are frames, as cells ``(cells, genes)`` beside columns of genes; or it is
    one of them at another scale: a band of a picture.
    """
    counted = [info for info in datasets if info.shape[0] == frame_count]
    if any(is_sequence_of_pictures(info) for info in counted):
        return None
    forms = {(info.dtype, info.shape[1:]) for info in counted}
    for info in datasets:
        length = info.shape[0]
        shared = sum(other.shape[0] == length for other in datasets) > 1
        if len(info.shape) < 2 or abs(length - frame_count) < 2 or math.prod(info.shape) == 1:
            continue
        deeper = all(len(info.shape) > max(2, len(each.shape)) for each in counted)  # volumes beside a table of notes
        other = deeper or (shared and info.shape[-1] == frame_count)
        larger = info.size_bytes > sum(each.size_bytes for each in counted)
        alike = length > frame_count or (info.dtype, info.shape[1:]) in forms
        most = length > frame_count and info.size_bytes > _MOST * sum(each.size_bytes for each in counted)
        if (shared and alike) or (other and larger) or most or any(_is_scaled(info, each) for each in counted):
            return info
    return None


def have_shorter_namesake(datasets: Sequence[DatasetInfo], frame_count: int) -> bool:
    """Tell whether an array of one row less than the frames has a name of theirs: another recording, and no actions."""
    names = {info.basename for info in datasets if info.shape[0] == frame_count}
    return any(info.shape[0] == frame_count - 1 and info.basename in names for info in datasets)


#: What has so many times more bytes than all rows of another length is what these say something about.
_MOST = 8


def _is_scaled(info: DatasetInfo, other: DatasetInfo) -> bool:
    """Tell whether two datasets are pictures of one form and type, of which both sides differ by one factor."""
    if (info.dtype, len(info.shape), info.shape[2:]) != (other.dtype, len(other.shape), other.shape[2:]):
        return False
    (height, width), (other_height, other_width) = info.shape[:2], other.shape[:2] if len(other.shape) > 1 else (0, 0)
    return min(height, width, other_height, other_width) >= LEAST_SIDE and height * other_width == width * other_height


#: Shorter sides than these are a matrix's, and no picture's.
LEAST_SIDE = 8


def longer_columns(datasets: Sequence[DatasetInfo], frame_count: int) -> int:
    """Return how many rows most columns have, where those are another, longer table beside the rows; 0 if none is.

    It has three columns at least, and twice as many as there are arrays of the rows.
    """
    columns = Counter(info.shape[0] for info in datasets if len(info.shape) == 1 and info.shape[0] > frame_count)
    ((count, number),) = columns.most_common(1) or ((0, 0),)
    rows = sum(info.shape[0] == frame_count for info in datasets)
    return count if number >= max(_LEAST_COLUMNS, 2 * rows) else 0


#: Columns that make a table beside another one.
_LEAST_COLUMNS = 3


def aligned(tree: Tree, frame_count: int, *, alone: bool = False) -> Iterable[DatasetInfo]:
    """Return the arrays of a file with an entry for each of so many frames, or one less.

    Labels are among them if those are the frames of a video `alone`: of several, they may be the videos' own.
    """
    return (
        info
        for info in tree.datasets.values()
        if info.shape[:1] in {(frame_count,), (frame_count - 1,)}
        and info.dtype
        and (info.basename not in LABEL_NAMES or (alone and info.shape[0] > 1))
    )


def has_arrays(tree: Tree, frame_count: int, frames: Collection[str], *, alone: bool = False) -> bool:
    """Tell whether a file has what `aligned` returns besides the frames and what belongs to them."""
    return any(info.path not in frames for info in aligned(tree, frame_count, alone=alone))
