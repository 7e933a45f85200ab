"""Where the fields of a schema lie in a file: patterns of paths, with a star for numbers of frames. Reads nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_number, is_text
from loader_service.catalog.inner_paths import basename_of, join, parent_of, unnumbered, upwards
from loader_service.catalog.layouts.datasets import Datasets, DatasetsVideo
from loader_service.catalog.layouts.nested import Nested, frame_place, in_sequence, place_of
from loader_service.catalog.natural import natural_key
from loader_service.catalog.patterns import matches
from loader_service.catalog.sides import fits
from loader_service.catalog.videos.arrays.two_numbers import check_numbers, frames_by_video, has_two_numbers
from loader_service.catalog.videos.episodes import Episode
from loader_service.catalog.videos.numbered import NumberedFrames, form_of, in_order
from loader_service.errors import CatalogError
from loader_service.schema import VIDEO, SchemaField
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.layouts.layout import FoundVideo


def path_of(tree: Tree, field: SchemaField, root: str) -> tuple[str, str] | None:
    """Return where a field lies in the video with this root, and by which pattern; None if it is not there."""
    for pattern in field.dataset:
        if pattern.endswith(f"/{VIDEO}"):
            across = _across(pattern[: -len(VIDEO) - 1], root)
            if across in tree.datasets or across in tree.groups:
                return across, pattern
            continue
        if has_number(pattern):
            numbered = _path_with(tree, pattern, root)
            if numbered in tree.datasets:
                return numbered, pattern
            continue
        inner = pattern.removeprefix(VIDEO).lstrip("/")
        base = root if pattern.startswith(VIDEO) else ""
        literal = _LITERAL.sub(r"\1", inner)
        path = join(base, literal)
        if basename_of(path).startswith("@") or path in tree.datasets or path in tree.groups:
            return path, pattern
        if _is_glob(inner):
            inside = [p for p in tree.datasets if (not base or p.startswith(f"{base}/"))]
            found = [p for p in inside if matches(inner, p[len(base) :])]
            if len(found) == 1:
                return found[0], pattern
            infos = [tree.datasets[path] for path in found]
            if len(found) > 1 and (in_order(infos, from_any=True) or _in_groups(infos) or _count_encoded(infos)):
                return min(found, key=natural_key), pattern
            if found:
                raise CatalogError(f"the field {field.name!r}: {pattern!r} matches {_several(infos)}")
    return None


def _across(group: str, root: str) -> str:
    """Return the path of what has a video's name in a group; each star in that is as in the path of the video.

    So ``flow/*`` is ``flow/Run`` for the video ``rgb/Run/v1``.
    """
    if not _is_glob(group):
        return join(group, basename_of(root))
    if matches(group, parent_of(root)):
        return root
    parts, there = group.split("/"), parent_of(root).split("/")
    if len(parts) != len(there):
        return join(group, basename_of(root))
    return "/".join([*(b if a == "*" else a for a, b in zip(parts, there, strict=True)), basename_of(root)])


def _several(infos: Sequence[DatasetInfo]) -> str:
    """Return, in words, why several datasets are no field, and what helps."""
    first, second, *_ = infos
    numbered = len({unnumbered(info.path) for info in infos}) == 1
    if not numbered or len(set(map(form_of, infos))) > 1:
        differ = ", which differ in form" if numbered else ""
        return f"{first.path!r} and {second.path!r}{differ}; make it match one"
    return (
        f"{len(infos)} datasets such as {first.path!r}, whose numbers have gaps, or count no frames; write those that "
        "are missing, or one dataset with an entry for each frame"
    )


def has_number(pattern: str) -> bool:
    """Tell whether a pattern has the number of a video in the name of a dataset: ``actions_{video}``."""
    return VIDEO in pattern and pattern != VIDEO and not pattern.startswith(f"{VIDEO}/")


def _path_with(tree: Tree, pattern: str, number: str) -> str:
    """Return the path that such a pattern names for a video, of its first frame where it names them all.

    Where it is a group, it is that of the video's name: ``labels/{video}/class``.
    """
    if not has_two_numbers(pattern):
        return pattern.replace(VIDEO, basename_of(number) if f"/{VIDEO}/" in pattern else number)
    frames = frames_by_video(tree, pattern).get(number)
    return frames.members[0].path if frames else ""


def videos_by_number(tree: Tree, pattern: str) -> list[Episode]:
    """Return the videos whose numbers, or else words, are in the names that a pattern means; their path is that."""
    before, _, behind = pattern.partition(VIDEO)
    if has_two_numbers(pattern):
        whole = "" if "*" in before else before  # then the number has its path
        return [Episode(whole + number, None, 0, number) for number in frames_by_video(tree, pattern)]
    paths = [path for path in tree.datasets if path.startswith(before) and path.endswith(behind)]
    names = [path[len(before) : len(path) - len(behind)] for path in paths]
    numbers = list(filter(str.isdecimal, names))
    words = [name for name in names if name and "/" not in name] if not numbers else []
    return [Episode(name, None, 0, name) for name in numbers or words]


#: A letter that is meant as itself, as `pattern_of` writes it; and letters that are not.
_LITERAL = re.compile(r"\[([*?[])\]")
_GLOB = re.compile(r"[*?[]")


def _is_glob(pattern: str) -> bool:
    """Tell whether a pattern can stand for several paths of one video."""
    return bool(_GLOB.search(_LITERAL.sub("", pattern)))


def root_of(video: FoundVideo) -> str | None:
    """Return the group that is a video of encoded frames; None if a dataset is it."""
    return video.dataset_path if video.layout.in_group and video.name == video.dataset_path else None


def numbered_at(tree: Tree, field: SchemaField, path: str, pattern: str, root: str) -> NumberedFrames | None:
    """Return the datasets that a pattern names with a star for their number, of which the first has this path."""
    info = tree.datasets.get(path)
    if info is None or not (is_number(info.dtype) or is_text(info.dtype)) or not _is_glob(pattern):
        return None
    found = frames_by_video(tree, pattern)[root] if has_two_numbers(pattern) else _numbered(tree, path, pattern, root)
    if found is None or any(form_of(each) != form_of(info) for each in found.members):
        return None
    if has_two_numbers(pattern):
        check_numbers(found)
    return found if field.shape is not None and fits(field.shape, info.shape) else None


def _numbered(tree: Tree, path: str, pattern: str, root: str) -> NumberedFrames | None:
    alike = _alike(tree, path, pattern, root)
    members = _in_groups(alike)
    place = place_of(members or ())
    return NumberedFrames(tuple(members), len(place.before)) if members and place else in_order(alike, from_any=True)


def refuse_first_alone(tree: Tree, field: SchemaField, place: tuple[str, str], root: str) -> None:
    """Refuse a pattern that names several datasets of a video, of which only the first would be the field.

    Parameters
    ----------
    tree, field
        The file, and the field.
    place
        As of `path_of`.
    root
        Of the video.

    Raises
    ------
    CatalogError
        With the numbers between which others are missing, if they would be frames with these; else with two of them.
    """
    path, pattern = place
    if path not in tree.datasets or not _is_glob(pattern) or has_two_numbers(pattern):
        return
    members = sorted(_alike(tree, path, pattern, root), key=lambda info: natural_key(info.path))
    if len(members) < 2:
        return
    first, second = members[:2]
    frames = in_order(members, from_any=True)
    if frames is None and field.shape is not None and all(fits(field.shape, info.shape) for info in members):
        pair = in_order([first, members[-1]], from_any=True)
        if pair is not None:
            check_numbers(NumberedFrames(tuple(members), pair.digits))
    as_frames = field.kind != "value" and frames is not None and (is_number(first.dtype) or is_text(first.dtype))
    remedy = f", or say `shape = {list(first.shape)}`, by which each is a frame" if as_frames else ""
    raise CatalogError(
        f"the field {field.name!r}: {pattern!r} matches {first.path!r} and {second.path!r}; make it match one{remedy}"
    )


def frames_at(tree: Tree, path: str, pattern: str, root: str, first: FoundVideo | None) -> FoundVideo | None:
    """Return the encoded frames of groups of their own that a pattern names, given the first, or what else that is.

    Raises
    ------
    CatalogError
        When a pattern names frames of videos by two numbers, and they are not encoded, nor of one form.
    """
    if first is None and has_two_numbers(pattern):
        raise CatalogError(
            f"{pattern!r}: expected encoded frames, or numbers of the dtype and the `shape` that the schema says, in "
            f"all frames of a video, found others in video {root!r}; correct `dtype` and `shape`, or the file"
        )
    if first is None or path not in tree.datasets or not _is_glob(pattern):
        return first
    if has_two_numbers(pattern):
        return _of_datasets(frames_by_video(tree, pattern)[root].members, first)
    alike = _alike(tree, path, pattern, root)
    members = _in_groups(alike)
    if members is None and first.frame_count == 1 and _count_encoded(alike):
        return _of_datasets(sorted(alike, key=lambda info: natural_key(info.path)), first)
    return first if members is None else Nested().video_of(members, first.codec)


def _of_datasets(members: Sequence[DatasetInfo], first: FoundVideo) -> FoundVideo:
    """Return the video of encoded datasets of one group, of which the first was looked at."""
    path, names = members[0].path, frozenset(info.path for info in members)
    return DatasetsVideo(Datasets(), path, parent_of(path), len(members), names, first.codec, tuple(members))


def _count_encoded(members: Sequence[DatasetInfo]) -> bool:
    """Tell whether datasets of one group, whose bytes may be pictures, differ in one number of their names."""
    if (
        len(members) < 2
        or len({info.parent for info in members}) > 1
        or not Datasets.kinds.issuperset(info.kind for info in members)
    ):
        return False
    columns = zip(*(_DIGITS.findall(info.basename) for info in members), strict=True)
    same = len({unnumbered(info.basename) for info in members}) == 1
    return same and sum(len(set(column)) > 1 for column in columns) == 1


_DIGITS = re.compile(r"[0-9]+")


def _alike(tree: Tree, path: str, pattern: str, root: str) -> list[DatasetInfo]:
    """Return the datasets of a video that a pattern names, and only numbers tell from one of them."""
    family = unnumbered(path)
    base, inner = (f"{root}/" * bool(root), pattern[len(VIDEO) :]) if pattern.startswith(VIDEO) else ("", pattern)
    return [
        each
        for each in tree.datasets.values()
        if each.path.startswith(base) and unnumbered(each.path) == family and matches(inner, each.path[len(base) :])
    ]


def _in_groups(members: Sequence[DatasetInfo]) -> Sequence[DatasetInfo] | None:
    """Return datasets at one path in numbered groups of frames, in their order, or None."""
    places = {(place.before, place.inner) if (place := frame_place(info.path)) else None for info in members}
    return in_sequence(members) if len(places) == 1 else None


def lines_of_dropped(tree: Tree, roots: Sequence[str | None], kept: Sequence[str | None]) -> dict[str, str]:
    """Return why groups that a schema names as videos are none of them, in one line; none of groups around videos."""
    around = {parent for root in kept if root for parent in upwards(root)}
    dropped = [root for root in roots if root and root not in around]
    found = next((info for info in tree.datasets.values() if dropped and info.path.startswith(f"{dropped[0]}/")), None)
    text = found.describe() if found else "no dataset"
    count = counted(len(dropped), "group")
    line = f"{count} without all fields of the schema, or of another form, such as {text}, in a file"
    return {dropped[0]: line} if dropped else {}
