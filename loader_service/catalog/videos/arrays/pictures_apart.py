"""Pictures of one sample that lie in groups of their own, at the same paths below each of several groups. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of, grouped, parent_of
from loader_service.catalog.sides import common_shape
from loader_service.catalog.videos.beside.fields_beside import single_part
from loader_service.catalog.videos.frame_axis import have_numbers_or_ids, have_roles
from loader_service.catalog.videos.numbered import are_called_frames
from loader_service.catalog.videos.readings import Reading, TwoReadingsError
from loader_service.schema import SchemaField

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo

#: By group that is a sample, its pictures, by their paths within it.
_Samples = dict[str, dict[str, "DatasetInfo"]]


def samples_of_groups(pictures: Sequence[DatasetInfo]) -> Mapping[str, Sequence[DatasetInfo]] | None:
    """Return, by group, the pictures of samples such as ``step_0/obs/rgb/data`` beside ``step_0/obs/map/image``.

    None where no several groups have pictures at the same paths, in two groups or more of theirs.

    Raises
    ------
    TwoReadingsError
        When nothing says that they are seen at one time: no words of their paths, and no sides of their own.
    """
    samples = _samples(pictures)
    if not samples:
        return None
    each = next(iter(samples.values()))
    frames = are_called_frames(map(basename_of, samples))  # whether they are frames of one video is asked later
    if not frames and not have_roles(_apart(each)) and not _have_own_sides(samples):
        raise _one_or_several(samples)
    return {root: list(members.values()) for root, members in samples.items()}


def _samples(pictures: Sequence[DatasetInfo]) -> _Samples:
    """Return the groups that have pictures at the same paths, the lowest first, and of these the highest above."""
    paths = [info.path.split("/") for info in pictures]
    found: _Samples = {}
    for depth in range(min(map(len, paths), default=0) - 1, 0, -1):
        roots: _Samples = {}
        for parts, info in zip(paths, pictures, strict=True):
            roots.setdefault("/".join(parts[:depth]), {})["/".join(parts[depth:])] = info
        if found and len(roots) < len(found):
            break
        if len(roots) > 1 and _are_alike(list(roots.values())):
            found = roots
    return found


def _are_alike(members: Sequence[Mapping[str, DatasetInfo]]) -> bool:
    """Tell whether groups have pictures at the same paths, in groups within, that no numbers tell apart."""
    first = members[0]
    within = {group: list(map(basename_of, paths)) for group, paths in grouped(first, parent_of).items()}
    if len(within) < 2 or any(each.keys() != first.keys() for each in members):
        return False
    return not any(len(names) > 1 and have_numbers_or_ids(names) for names in within.values())


def _apart(paths: Iterable[str]) -> list[str]:
    """Return what differs in paths within a sample: ``rgb_data`` of ``obs/rgb/data`` beside ``obs/map/image``."""
    parts = [path.split("/") for path in paths]
    begin = next((n for n, each in enumerate(zip(*parts, strict=False)) if len(set(each)) > 1), 0)
    return ["_".join(each[begin:]) for each in parts]


def _have_own_sides(samples: _Samples) -> bool:
    """Tell whether the pictures at each path have one form in all samples, and another one than those elsewhere."""
    shapes = [{each[path].shape for each in samples.values()} for path in next(iter(samples.values()))]
    return all(len(own) == 1 for own in shapes) and len(set().union(*shapes)) == len(shapes)


def _one_or_several(samples: _Samples) -> TwoReadingsError:
    root, members = next(iter(samples.items()))
    fields = [SchemaField.in_group(path, single_part(info).kind, info.shape) for path, info in members.items()]
    shapes = [info.shape for info in members.values()]
    same = len(set(map(len, shapes))) == 1  # axes, without which no field is of all
    each = [SchemaField.in_group("", fields[0].kind, common_shape(shapes), name="frames")] if same else []
    shown = " beside ".join(info.describe() for info in list(members.values())[:2])
    return TwoReadingsError(
        f"found {shown}, and pictures at the same paths in {len(samples)} groups",
        [
            Reading.of_groups(f"samples such as {root!r}, with a field for each path", fields),
            *([Reading.of_groups("pictures of their own, such as of a class", each)] if each else []),
        ],
    )
