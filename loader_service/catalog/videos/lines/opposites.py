"""Says where columns of a table are called by a word and its opposite, as of two populations of one length. Pure."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of, in_common, parent_of
from loader_service.catalog.videos.readings import in_one_line
from loader_service.schema import Schema, SchemaField

if TYPE_CHECKING:
    from collections.abc import Mapping

    from loader_service.catalog.videos.episodes import VideoField

_LINE = (
    "row n of {0!r} and of {1!r} are served as one sample, and their names are opposites; if they do not belong "
    "together, {2} in a --schema serves the rows of {0!r} alone, in a file"
)

_WORD = re.compile(r"[A-Za-z]+|[0-9]+")

#: Letters that one of two opposites has.
IS_NEGATIVE = re.compile("no|neg|without", re.IGNORECASE)

#: What says that something has not what the next word says.
_NEGATIONS = frozenset({"no", "non", "not", "without"})

_OPPOSITES = (
    {("pos",), ("neg",)},
    {("positive",), ("negative",)},
    {("positives",), ("negatives",)},
    {("with",), ("without",)},
)

#: Further columns are not compared with each other, which would take too long.
_MOST_COLUMNS = 64


def line_of_opposites(parts: Mapping[str, VideoField]) -> dict[str, str]:
    """Return the line of columns of one form each, with a word and its opposite: ``flux_halo`` and ``flux_NO_halo``.

    A third column of that form may be what both belong to, as of triplets, and has none.

    Parameters
    ----------
    parts
        All fields of the table with an entry for each row.
    """
    pairs = [pair for pair in combinations(list(parts)[:_MOST_COLUMNS], 2) if _are_opposites(*pair, parts)]
    if not pairs or any("*" in part.pattern for part in parts.values()):
        return {}
    paired = {key for pair in pairs for key in pair}
    forms = {parts[key].form for key in paired}
    deep = [pair for pair in pairs if parts[pair[0]].shape or parts[pair[0]].frames]
    if not deep or len(paired) < 2 * len(pairs) or any(parts[key].form in forms for key in parts if key not in paired):
        return {}
    sides = [_in_order(*pair) for pair in pairs]
    first, second = _in_order(*deep[0])
    encoded = any(parts[key].frames for key in paired)
    fields = tuple(SchemaField.at(parts[one].path, parts[one].kind) for one, _ in sides)
    shown = in_one_line(Schema(("files" if encoded else "table",), fields))
    return {f"{parts[first].path} (pairs)": _LINE.format(parts[first].path, parts[second].path, shown)}


def _are_opposites(one: str, other: str, parts: Mapping[str, VideoField]) -> bool:
    part, beside = parts[one], parts[other]
    if part.kind != beside.kind or part.form != beside.form or parent_of(one) != parent_of(other):
        return False
    words, others = (_WORD.findall(basename_of(key).lower()) for key in (one, other))
    begin = in_common([words, others])
    words, others = words[begin:], others[begin:]
    end = in_common([words[::-1], others[::-1]])
    apart = {tuple(rest[: len(rest) - end]) for rest in (words, others)}
    negated = end > 0 and any(apart == {(), (word,)} for word in _NEGATIONS)
    return negated or apart in _OPPOSITES or _is_negated(apart)


def _is_negated(apart: set[tuple[str, ...]]) -> bool:
    """Tell whether one of two words is the other behind a negation: ``norain``."""
    short, long = sorted(("".join(rest) for rest in apart), key=len) if len(apart) > 1 else ("", "")
    return bool(short) and long.removesuffix(short) in _NEGATIONS and all(len(rest) == 1 for rest in apart)


def _in_order(one: str, other: str) -> tuple[str, str]:
    """Return opposites with the one that says more than the other, or is the negative, last."""
    return (other, one) if ("neg" in one.lower(), len(one)) > ("neg" in other.lower(), len(other)) else (one, other)
