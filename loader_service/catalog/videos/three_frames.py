"""Clips of exactly three grey frames, ``(3, H, W)``: others like them say that they are no pictures in colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of, depth_of, grouped, parent_of, unnumbered
from loader_service.catalog.sides import CHANNELS
from loader_service.catalog.videos.frame_axis import have_numbers_or_ids, mention_what_is_seen

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo

#: Of a grey clip, and of a picture with its colours first.
_AXES = 3


def clips_of_three(datasets: Iterable[DatasetInfo]) -> set[str]:
    """Return the paths of bytes ``(3, H, W)`` beside others of these sides that have more frames than colours, or two.

    They lie in one group, or in groups beside each other, and only numbers tell their names apart; or these look like
    ids, or begin as their group does, ``boxing/boxing_a``, and none says what is seen: ``rgb_01`` beside ``classes_01``
    is a picture.
    """
    grey = [info for info in datasets if info.dtype == "uint8" and len(info.shape) == _AXES]
    found: set[str] = set()
    for alike in grouped(grey, lambda info: (depth_of(info.parent), parent_of(info.parent), info.shape[1:])).values():
        if {info.shape[0] for info in alike} - CHANNELS:
            found.update(info.path for info in alike if info.shape[0] == 3 and _are_clips(info, alike))
    return found


def _are_clips(info: DatasetInfo, alike: Sequence[DatasetInfo]) -> bool:
    """Tell whether one of some datasets of other lengths is a clip as these are, by their names."""
    stem = unnumbered(info.basename)
    same = [each for each in alike if unnumbered(each.basename) == stem]
    names = {each.basename for each in same}
    if {each.shape[0] for each in same} - CHANNELS and (len(names) > 1 or have_numbers_or_ids(names)):
        return True
    names = {each.basename for each in alike}
    of_groups = all(each.parent and each.basename.startswith(f"{basename_of(each.parent)}_") for each in alike)
    return (of_groups or have_numbers_or_ids(names)) and not mention_what_is_seen(names)
