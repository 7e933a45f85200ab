"""Names of parts that are seldom meant to be mixed, and are no splits: folds, ``support`` and ``query``. Pure."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of, depth_of, grouped, upwards
from loader_service.catalog.split_words import listed, split_flags
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

#: A fold of a cross-validation.
_FOLD = re.compile(r"(?:k_?)?(?:fold|cv|split)s?[\W_]*[0-9]+", re.IGNORECASE)

#: Parts of a data set, all of which are of one when they lie beside each other.
_BESIDE = [{"support", "query"}, {"base", "novel"}, {"source", "target"}]

#: Folds that a line names.
_MOST_NAMED = 3


def is_part_name(name: str) -> bool:
    """Tell whether a name can be such a part: ``fold_1``, or ``support``."""
    return bool(_FOLD.fullmatch(name)) or any(name.lower() in names for names in _BESIDE)


def lines_of_parts(places: Sequence[str], keys: Sequence[frozenset[str]]) -> Iterable[tuple[str, str]]:
    """Yield a line for videos that lie in such parts, all of them at one depth, where each part has the same fields.

    Parameters
    ----------
    places
        The group, or dataset, of each video.
    keys
        The fields of each.
    """
    steps = [list(upwards(place))[-2::-1] for place in places]
    for depth in range(min(map(len, steps), default=0)):
        names = [basename_of(each[depth]) for each in steps]
        parts = Counter(names)
        if not _are_parts(parts.keys()):
            continue
        fields = grouped(zip(names, keys, strict=True), lambda each: each[0])
        first, *rest = (frozenset[str]().union(*(own for _, own in members)) for members in fields.values())
        if all(own == first for own in rest):
            yield f"{steps[0][depth]} (parts)", f"{_line(parts, 'video')}, {_alone(parts)}, in a file"


def line_of_part_files(names: Sequence[str]) -> str:
    """Return a line for files whose names are such parts; empty where they are not."""
    parts = Counter(names)
    return f"{_line(parts, 'file')}; give its files alone to part them" if _are_parts(parts.keys()) else ""


def _are_parts(names: Collection[str]) -> bool:
    spelled = {name.lower() for name in names}
    return len(spelled) > 1 and (all(map(_FOLD.fullmatch, spelled)) or spelled in _BESIDE)


def _line(parts: Counter[str], unit: str) -> str:
    shown = {name: counted(count, unit) for name, count in sorted(parts.items())[:_MOST_NAMED]}
    more = f" and {len(parts) - len(shown)} more" if len(parts) > len(shown) else ""
    return f"may be parts that are not meant to be mixed, and are served together: {listed(shown)}{more}"


def _alone(parts: Counter[str]) -> str:
    return f"of which `{split_flags([min(parts)])}` serves one alone"


def groups_called(paths: Iterable[str], name: str) -> list[str]:
    """Return the groups, or datasets, of a name in paths, in the depth where it comes first."""
    found = dict.fromkeys(each for path in paths for each in upwards(path) if basename_of(each).lower() == name.lower())
    top = min(map(depth_of, found), default=0)
    return [each for each in found if depth_of(each) == top]
