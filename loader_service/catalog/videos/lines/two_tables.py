"""Says where the columns of a table are those of several tables with labels of their own, of one length. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from loader_service.catalog.inner_paths import basename_of, join, parent_of
from loader_service.catalog.videos.frame_axis import MASKS, mention_what_is_seen
from loader_service.catalog.videos.readings import in_one_line
from loader_service.catalog.vocabulary import LABELS
from loader_service.schema import Schema, SchemaField

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from loader_service.catalog.videos.episodes import VideoField

_LINE = (
    "row n of {0!r} and of {1!r} are served as one sample, and {2!r} and {3!r} have {4} of their own; if they do "
    "not belong together, {5} in a --schema serves the rows of {2!r} alone, in a file"
)


#: A table's word and number, before or behind what it is there: ``fold_0_images``.
_NUMBER_BEFORE = re.compile(r"(?P<table>[A-Za-z]+_[0-9]+)_(?P<inside>.+)")
_NUMBER_BEHIND = re.compile(r"(?P<inside>.+)_(?P<table>[A-Za-z]+_[0-9]+)")


class _TableColumn(NamedTuple):
    """A column of a table that is named by two words: the table's, and what it is there."""

    table: str
    inside: str
    part: VideoField


def line_of_two_tables(parts: Mapping[str, VideoField], are_words: Callable[[Sequence[str]], bool]) -> dict[str, str]:
    """Return the line where all columns are called by the word of a table, each of which has labels: ``source_y``.

    So are pictures with a mask each, ``benign`` and ``benign_mask``.

    Parameters
    ----------
    parts
        All fields of the table with an entry for each row.
    are_words
        Tells whether names can be those of tables: they say neither a number nor what is seen, or count portions.
    """
    for at_end in (False, True):
        columns = [_split(key, part, parts, at_end=at_end) for key, part in parts.items()]
        tables: dict[str, dict[str, _TableColumn]] = {}
        for column in filter(None, columns):
            tables.setdefault(column.table, {})[column.inside] = column
        if None in columns or len(tables) < 2 or not _are_alike(list(tables.values())):
            continue
        names = list(tables)
        if not are_words([basename_of(name) for name in names]):
            return {}
        first, second, *_ = tables.values()
        masked = "" in first
        if masked and mention_what_is_seen(names):
            return {}
        labelled = any(map(LABELS.fullmatch, first))
        inside = "" if masked else next(each for each in first if not LABELS.fullmatch(each))
        shown = in_one_line(Schema(("files" if _are_files(first) else "table",), _fields_of(first)))
        paths = _place_of(first[inside].part), _place_of(second[inside].part)
        maps = masked and all(len(column.part.shape) >= _PICTURE_AXES for each, column in first.items() if each)
        own = "masks" if maps else "labels" if labelled or masked else "columns"
        return {f"{paths[0]} (pairs)": _LINE.format(*paths, *map(basename_of, names[:2]), own, shown)}
    return {}


def _split(key: str, part: VideoField, parts: Mapping[str, VideoField], *, at_end: bool) -> _TableColumn | None:
    """Return the two words of a name; `at_end`: of which the last one is the table's. One with a mask is its table."""
    name = basename_of(key)
    if not at_end and any(f"{key}_{word}" in parts for word in MASKS):
        return _TableColumn(key, "", part)
    numbered = (_NUMBER_BEHIND if at_end else _NUMBER_BEFORE).fullmatch(name)
    if numbered is not None:
        return _TableColumn(join(parent_of(key), numbered["table"]), numbered["inside"], part)
    head, separator, tail = name.rpartition("_") if at_end or name.rpartition("_")[2] in MASKS else name.partition("_")
    table, inside = (tail, head) if at_end else (head, tail)
    return _TableColumn(join(parent_of(key), table), inside, part) if separator and table and inside else None


#: Axes of a grey picture.
_PICTURE_AXES = 2


def _are_alike(tables: Sequence[Mapping[str, _TableColumn]]) -> bool:
    """Tell whether tables have the same columns, of the same forms: labels, a number or a text a row, and what is more.

    Or pictures and masks, or pictures and more than labels. Coordinates ``hand_x`` and ``hand_y`` are a number a row.
    """
    first, *others = tables
    forms = [{inside: column.part.form for inside, column in table.items()} for table in (first, *others)]
    if any(each != forms[0] for each in forms):
        return False
    if "" in first:  # pictures with masks
        return len(first[""].part.shape) >= _PICTURE_AXES or first[""].part.frames is not None
    labels = [column for inside, column in first.items() if LABELS.fullmatch(inside)]
    deep = any(column.part.shape or column.part.frames for column in first.values())
    if any(column.part.shape not in {(), (1,)} or column.part.frames for column in labels):
        return False
    films = len(first) > 1 and any(column.part.kind == "image" for column in first.values())
    return (deep and 0 < len(labels) < len(first)) or (films and not labels)


def _are_files(table: Mapping[str, _TableColumn]) -> bool:
    """Tell whether rows are frames of a file: encoded, or a dataset each."""
    return any(column.part.frames or "*" in column.part.pattern for column in table.values())


def _fields_of(table: Mapping[str, _TableColumn]) -> tuple[SchemaField, ...]:
    places = {_place_of(column.part): column.part for column in table.values()}
    return tuple(
        SchemaField.at(place, part.kind, part.shape if "*" in place else None, name=_STAR.sub("", place))
        for place, part in places.items()
    )


_STAR = re.compile(r"[/_]?[*]")


def _place_of(part: VideoField) -> str:
    """Return the path of a column, or what stands for all of its datasets."""
    return part.pattern if "*" in part.pattern else part.path
