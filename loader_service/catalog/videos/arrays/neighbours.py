"""How many datasets of one length belong to the same videos as others do, by the groups that they lie in. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of, parent_of
from loader_service.catalog.videos.frame_axis import have_numbers_or_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo


class Neighbours:
    """Which datasets have which name, form and length in groups beside each other; made once for a file."""

    def __init__(self, arrays: Iterable[DatasetInfo], tails: Mapping[str, tuple[int, ...]]) -> None:
        self._tails = tails
        self._members: dict[str, list[DatasetInfo]] = {}
        self._groups: dict[tuple[str, str], list[str]] = {}
        self._forms: Counter[tuple[int, str, tuple[int, ...]]] = Counter()
        self._inside: dict[str, list[DatasetInfo]] = {}
        for info in arrays:
            group = info.parent
            self._members.setdefault(group, []).append(info)
            for part in group.split("/"):
                self._inside.setdefault(part, []).append(info)
            self._groups.setdefault((parent_of(group), info.basename), []).append(group)
            self._forms[group.count("/"), info.dtype, (info.shape[0], *tails[info.path])] += 1

    def aligned(self, members: Sequence[DatasetInfo], lengths: Mapping[int, int]) -> Mapping[int, int]:
        """Return how many datasets have each length of some members, without those that belong to the same videos.

        Those lie in groups beside that of the members, with the same names; or, where names are numbers or ids, in any
        group as deep, with the same form: those are videos as well; or in a group that has the name of one of them.
        """
        own = Counter(info.shape[0] for info in members)
        left = {length: lengths[length] for length in own}
        group, names = members[0].parent, {info.basename for info in members}
        if not group or len(names) < 2 or not have_numbers_or_ids(names):
            return left
        first = members[0]
        for length, count in own.items():
            left[length] -= self._forms[group.count("/"), first.dtype, (length, *self._tails[first.path])] - count
        for info in (each for name in names for each in self._inside.get(name, ())):
            if info.shape[0] in left and info.parent != group:
                left[info.shape[0]] -= 1
        for other in self._beside(group, names):
            for info in self._members[other]:
                if info.shape[0] in left and self._form(info) != self._form(first):
                    left[info.shape[0]] -= 1
        return left

    def _form(self, info: DatasetInfo) -> tuple[str, tuple[int, ...]]:
        return info.dtype, self._tails[info.path]

    def _beside(self, group: str, names: set[str]) -> list[str]:
        candidates = [each for each in self._groups[parent_of(group), min(names)] if each != group]
        words = [basename_of(each) for each in [group, *candidates]]
        if len(words) > _MOST_GROUPS or have_numbers_or_ids(words):
            return []
        return [each for each in candidates if {info.basename for info in self._members[each]} == names]


#: More groups than these beside each other are classes or videos, and no fields.
_MOST_GROUPS = 32
