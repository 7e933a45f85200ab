"""Pictures that times name, the same in each group of a recording: ``run/rgb/1600000000000``. Pure: sees names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.hdf5.tree import in_groups
from loader_service.catalog.inner_paths import basename_of, grouped, parent_of
from loader_service.catalog.natural import are_moments
from loader_service.catalog.sides import common_shape
from loader_service.catalog.videos.episodes import pattern_in
from loader_service.catalog.videos.numbered import kind_of_frames
from loader_service.catalog.videos.readings import Reading
from loader_service.schema import SchemaField

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo


def videos_of_times(arrays: Sequence[DatasetInfo], groups: Sequence[str]) -> list[Reading]:
    """Return the reading by which each group above some is a video, and what lies in these its frames by time.

    Nothing where no times name what lies in them, or not all groups above have the same ones.

    Parameters
    ----------
    arrays
        All of the file; what lies beside the groups, by the same times, is a field too.
    groups
        Those that hold the pictures.
    """
    held = in_groups(arrays)
    above = grouped(groups, parent_of)
    words = {frozenset(map(basename_of, each)) for each in above.values()}
    if len(words) > 1 or not all(are_moments([info.basename for info in held[group]]) for group in groups):
        return []
    names = {parent: {info.basename for info in held[each[0]]} for parent, each in above.items()}
    inside: dict[str, list[DatasetInfo]] = {}
    for group, members in held.items():
        if {info.basename for info in members} == names.get(parent_of(group)) and _have_one_form(members):
            inside.setdefault(basename_of(group), []).append(members[0])
    root = next(iter(above))
    fields = [
        SchemaField.at(
            pattern_in(root, f"{word}/*"),
            kind_of_frames(members[0]),
            common_shape([info.shape for info in members]),
            name=word,
        )
        for word, members in inside.items()
        if len(members) == len(above) and _have_one_form(members)
    ]
    fields.sort(key=lambda field: field.kind != "image")
    if not fields:
        return []
    what = f"a video of each group such as {root!r}" if root else "one video"
    return [Reading.of("groups" if root else "files", f"{what}, with its frames by time", fields)]


def _have_one_form(members: Sequence[DatasetInfo]) -> bool:
    return len({(info.dtype, len(info.shape)) for info in members}) == 1
