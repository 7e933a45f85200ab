"""Groups beside each other that hold datasets of the same paths: those are videos. Pure: sees paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo

    #: Datasets by their path inside, by group.
    Groups = dict[str, dict[str, DatasetInfo]]


def sibling_groups(arrays: Sequence[DatasetInfo]) -> Groups | None:
    """Return the groups beside each other that hold datasets of the same paths inside, with these; the highest such.

    Groups that lack the path that most have are none of them. Where the highest ones differ in what they hold, and all
    of it lies one group deeper, in groups that are all alike, it is those: ``a.jpg/b.jpg/matches`` for each pair.
    """
    deepest = max((info.path.count("/") for info in arrays), default=0)
    for depth in range(deepest):
        kept = _at_depth(arrays, depth)
        if kept is None:
            continue
        deeper = None if _are_alike(kept) else _at_depth(arrays, depth + 1)
        whole = deeper is not None and _are_alike(deeper) and _paths(deeper) >= _paths(kept)
        return deeper if whole else kept
    return None


def _at_depth(arrays: Sequence[DatasetInfo], depth: int) -> Groups | None:
    beside: dict[str, Groups] = {}
    for info in arrays:
        parts = info.path.split("/")
        if len(parts) > depth + 1:
            above, group = "/".join(parts[:depth]), "/".join(parts[: depth + 1])
            beside.setdefault(above, {}).setdefault(group, {})["/".join(parts[depth + 1 :])] = info
    kept: Groups = {}
    for groups in beside.values():
        paths: dict[str, int] = {}
        for members in groups.values():
            for inside in members:
                paths[inside] = paths.get(inside, 0) + 1
        most = max(paths, key=lambda inside: paths[inside])
        if paths[most] > 1:
            kept |= {group: members for group, members in groups.items() if most in members}
    shared = set.intersection(*(set(members) for members in kept.values())) if kept else set()
    for groups in beside.values():  # one that has no neighbour holds what the others do
        if len(groups) == 1:
            kept |= {group: members for group, members in groups.items() if shared and shared <= set(members)}
    return kept if shared else None


def _are_alike(groups: Groups) -> bool:
    return len({frozenset(members) for members in groups.values()}) == 1


def _paths(groups: Groups) -> set[str]:
    return {info.path for members in groups.values() for info in members.values()}
