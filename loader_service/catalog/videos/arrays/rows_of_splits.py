"""Asks of a table in which columns are called as others are, with the word of a split: ``X_test`` beside ``X``. Pure.

Of one length, they are fields of one row by their shapes, and rows of two splits by their names.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of, parent_of, unnumbered
from loader_service.catalog.split_words import EITHER, is_part, said_by, split_flags
from loader_service.catalog.videos.readings import Reading, TwoReadingsError
from loader_service.catalog.vocabulary import LABELS
from loader_service.schema import SchemaField

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loader_service.catalog.split_words import Said
    from loader_service.catalog.videos.episodes import Found, VideoField
    from loader_service.schema import VideoLayout

    #: A column of a split, what its name says, and the column that is called so without its word.
    Pair = tuple[VideoField, Said, VideoField]

#: Words that seldom mean something else than a split; `dev` may be a deviation, and `val` a value.
_PLAIN = frozenset({"train", "test", "holdout"})


def refuse_rows_of_splits(found: Found) -> None:
    """Refuse a table of which some columns are called as others are and have the word of one split, beside labels.

    Raises
    ------
    TwoReadingsError
        With `--split` for the rows of the split, and the schemas for all others, and for one row of both.
    """
    if found.layout == "vlen" or len(found.filled) != 1 or found.filled[0].frame_count < 2:
        return
    columns = [part for part in found.filled[0].timed.values() if not part.missing]
    pairs = _pairs(columns)
    labels = [_is_label(other) for _, _, other in pairs]
    words = {said.word for _, said, _ in pairs}
    plain = {said.meaning for _, said, _ in pairs} <= _PLAIN and any(map(_is_label, columns))
    if len(words) != 1 or all(labels) or not any(map(_is_deep, (part for part, _, _ in pairs))):
        return
    if not any(labels) and not plain:
        return
    own = [part for part, _, _ in pairs]
    rest = [part for part in columns if part not in own]
    first, _, beside = max(pairs, key=lambda pair: _is_deep(pair[0]))
    (word,) = words
    layout: VideoLayout = "files" if any(part.frames for part in columns) else "table"
    raise TwoReadingsError(
        f"found {beside.path!r} beside {first.path!r}, and labels, of {found.filled[0].frame_count} rows each, which "
        f"may be splits: `{split_flags([word])}` serves {first.path!r} alone, or",
        [
            Reading.of(layout, f"rows of {beside.path!r}", _fields(rest)),
            Reading.of(layout, "one sample a row of both", _fields(columns)),
        ],
    )


def _pairs(columns: Iterable[VideoField]) -> list[Pair]:
    """Return columns with the word of a split, if each has one of its form that is called so without the word."""
    columns = list(columns)
    by_name = {(parent_of(part.path), _bare(basename_of(part.path))): part for part in columns}
    pairs: list[Pair] = []
    for part in columns:
        name = basename_of(part.path)
        said = said_by(name) if is_part(name) else None
        if said is None or said.word.lower() == EITHER:
            continue
        other = by_name.get((parent_of(part.path), said.rest))
        if other is None or other.form != part.form:
            return []
        pairs.append((part, said, other))
    return pairs


def _bare(name: str) -> str:
    return unnumbered(re.sub(r"[\W_]+", "_", name).strip("_").lower())


def _is_deep(part: VideoField) -> bool:
    return part.frames is not None or math.prod(part.shape) > 1


def _is_label(part: VideoField) -> bool:
    return bool(LABELS.fullmatch(basename_of(part.path))) and not _is_deep(part)


def _fields(parts: Iterable[VideoField]) -> list[SchemaField]:
    return [SchemaField.at(part.path, part.kind) for part in parts]
