"""Videos whose number is in their datasets' names: ``actions_0``, ``139_boxes``, ``ep0_obs``, beside others. Pure."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import join, unnumbered
from loader_service.catalog.natural import natural_key
from loader_service.catalog.sides import common_shape
from loader_service.catalog.videos.beside.fields_beside import array_part
from loader_service.catalog.videos.episodes import Episode, Found, VideoField, found_of
from loader_service.catalog.videos.frame_axis import LEAST_SIDE, is_picture, kind_of_rows
from loader_service.catalog.videos.numbered import are_called_frames
from loader_service.catalog.videos.readings import Reading, TwoReadingsError, fields_of
from loader_service.catalog.videos.sibling_groups import datasets_in, is_recording
from loader_service.catalog.videos.single_pictures import GREY, is_no_strip
from loader_service.schema import VIDEO, Schema, SchemaField

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo

    #: Datasets by the number in their names, by the names with ``{video}`` in its place.
    Columns = dict[str, dict[str, DatasetInfo]]

_BEHIND = re.compile(r"(?P<stem>.*[A-Za-z])_(?P<number>[0-9]+)$")
_BEFORE = re.compile(r"(?P<number>[0-9]+)_(?P<stem>[A-Za-z].*)$")

#: Behind a word for a recording, or for whom it is of; others have columns of sensors, or cameras, with a number each.
_PERSONS = frozenset({"sub", "subj", "subject", "patient"})
_WITHIN = re.compile(r"(?P<before>(?P<word>[A-Za-z]+)[_-]?)(?P<number>[0-9]+)_(?P<stem>[A-Za-z][^0-9]*)$")


def find_numbered_columns(datasets: Sequence[DatasetInfo]) -> Found | None:
    """Return a video for each number, where several names have the same ones, and rows that agree for each number.

    Parameters
    ----------
    datasets
        All arrays and single numbers of a file.

    Raises
    ------
    TwoReadingsError
        When all have one length, so that they can be columns of one table as well; when names with their number before
        them have rows that do not agree; when each may be a grey picture, of a frame, ``frame_0_cell_3``.
    """
    by_group: dict[str, Columns] = {}
    for info in datasets:
        name, number = _name_and_number(info.basename)
        if number:
            by_group.setdefault(info.parent, {}).setdefault(name, {})[number] = info
    for group, columns in by_group.items():
        arrays = {name: members for name, members in columns.items() if all(info.shape for info in members.values())}
        numbers = {frozenset(members) for members in arrays.values()}
        if len(numbers) != 1 or len(arrays) < 2 or len(*numbers) < 2:
            continue
        if _agree(arrays):
            _refuse_grey(group, arrays)
            return _videos(group, arrays, columns, datasets)
        if all(name.startswith(VIDEO) for name in arrays):
            _refuse_unlike(group, arrays)
    return None


def _name_and_number(name: str) -> tuple[str, str]:
    """Return a name with ``{video}`` in place of a video's number, and that; nothing where it has none."""
    behind = _BEHIND.match(name)
    if behind:
        return f"{behind['stem']}_{VIDEO}", behind["number"]
    before = _BEFORE.match(name)
    if before:
        return f"{VIDEO}_{before['stem']}", before["number"]
    within = _WITHIN.match(name)
    if within and (is_recording(within["word"]) or within["word"].lower() in _PERSONS):
        return f"{within['before']}{VIDEO}_{within['stem']}", within["number"]
    return name, ""


def _refuse_grey(group: str, arrays: Columns) -> None:
    """Refuse matrices in a frame each, of a grey picture's type and sides, as videos of their lines.

    Those of one length are asked about as such.
    """
    infos = datasets_in(arrays)
    if _may_be_grey(arrays) and len({info.shape[0] for info in infos}) > 1:
        raise TwoReadingsError(
            f"found {infos[0].describe()} and {len(infos) - 1} more, whose first number seems to be that of a frame",
            [
                *_each_dataset(group, arrays),
                Reading("a video for each last number, of rows", _by_number(group, arrays, _sides)),
            ],
        )


def _may_be_grey(arrays: Columns) -> bool:
    """Tell whether matrices may be pictures by their type and sides, and a frame has its number before their own."""
    infos = datasets_in(arrays)
    matrices = all(len(info.shape) == 2 and GREY.search(info.dtype) for info in infos)
    alike = len(set(map(unnumbered, arrays))) == 1 and are_called_frames(arrays)
    return matrices and alike and all(min(info.shape) >= LEAST_SIDE and is_no_strip(info.shape) for info in infos)


def _refuse_unlike(group: str, arrays: Columns) -> None:
    """Refuse names of one form each, whose rows do not agree: ``139_boxes (17, 4)`` beside ``139_grids (49, 2048)``."""
    if any(len({(info.dtype, len(info.shape)) for info in members.values()}) > 1 for members in arrays.values()):
        return
    by_rows: dict[tuple[int, ...], Columns] = {}
    for name, members in arrays.items():
        rows = tuple(info.shape[0] for _, info in sorted(members.items()))
        by_rows.setdefault(rows, {})[name] = members
    each = [
        Reading(f"a video for each number, by rows of {next(iter(columns))!r}", _by_number(group, columns, _sides))
        for rows, columns in by_rows.items()
        if len(set(rows)) > 1
    ]
    if len(by_rows) < 2:
        return
    shown = " beside ".join(
        next(iter(next(iter(columns.values())).values())).describe() for columns in by_rows.values()
    )
    whole = _by_number(group, arrays, lambda members: common_shape(_shapes(members)))
    raise TwoReadingsError(
        f"found {shown}, {len(arrays)} names with these numbers",
        [Reading("one sample for each number, of arrays of any sides", whole), *each],
    )


def _by_number(group: str, columns: Columns, shape: Callable[[Mapping[str, DatasetInfo]], tuple[int, ...]]) -> Schema:
    """Return the schema of a video for each number; with `_sides` as the shape, of its rows."""
    fields = []
    for name, members in columns.items():
        kind = kind_of_rows(next(iter(members.values()))) if shape is _sides else "array"
        fields.append(SchemaField.at(join(group, name), kind, shape(members), name=_field(name)))
    return Schema(("groups",), tuple(fields))


def _agree(arrays: Columns) -> bool:
    """Tell whether the arrays of each number have as many rows, and those of each name one form; pictures any sides.

    Those of a name may have one row less in each number: steps between frames.
    """
    longest = _longest(arrays)
    lacking = [{longest[number] - info.shape[0] for number, info in members.items()} for members in arrays.values()]
    rows = all(len(each) == 1 and each <= {0, 1} for each in lacking)
    forms = all(len(set(map(_form, members.values()))) == 1 for members in arrays.values())
    return rows and forms and any(len(info.shape) > 1 for info in datasets_in(arrays))


def _longest(arrays: Columns) -> dict[str, int]:
    """Return the most rows that an array of each number has."""
    return {number: max(each[number].shape[0] for each in arrays.values()) for number in next(iter(arrays.values()))}


def _form(info: DatasetInfo) -> tuple[str, tuple[int, ...]]:
    return info.dtype, info.shape[3:] if is_picture(info) else info.shape[1:]


def _videos(group: str, arrays: Columns, columns: Columns, datasets: Sequence[DatasetInfo]) -> Found | None:
    main = max(arrays.values(), key=lambda members: sum(info.size_bytes for info in members.values()))
    if len({info.shape[0] for info in main.values()}) == 1:
        shown = ", ".join(info.describe() for info in list(main.values())[:2])
        rows = next(iter(main.values())).shape[:1]
        together = fields_of(info for info in datasets if info.shape[:1] == rows)
        raise TwoReadingsError(
            f"found {shown}, of one length, and {len(arrays)} names with these numbers",
            [
                Reading("a video for each number", _by_number(group, arrays, _sides)),
                *_each_dataset(group, arrays),
                Reading.of_table("columns of one table", together),
            ],
        )
    episodes, longest = [], _longest(arrays)
    for number in sorted(main, key=natural_key):
        parts: dict[str, VideoField] = {}
        for name, members in columns.items():
            part = _part(members.get(number))
            if part is not None:
                missing = longest[number] - members[number].shape[0] if name in arrays else 0
                parts[_field(name)] = replace(part, pattern=join(group, name), missing=missing)
        episodes.append(Episode(number, None, longest[number], main[number].path, parts))
    return found_of(episodes)


def _each_dataset(group: str, arrays: Columns) -> list[Reading]:
    """Return the reading of datasets of one form as a video each: their names may be those of persons or classes."""
    infos = datasets_in(arrays)
    if _may_be_grey(arrays):
        whole = SchemaField.across(group, "array", common_shape(info.shape for info in infos), name="values")
        grey = [Reading.of_groups("a grey picture each", [whole])]
    else:
        grey = []
    if len(set(map(_form, infos))) > 1:
        return grey
    shape = common_shape(info.shape for info in infos)[1:]
    kind = kind_of_rows(infos[0])
    field = SchemaField.across(group, kind, shape, name="frames" if kind == "image" else "values")
    return [*grey, Reading.of_groups("a video each", [field])]


def _sides(members: Mapping[str, DatasetInfo]) -> tuple[int, ...]:
    return common_shape(_shapes(members))[1:]


def _shapes(members: Mapping[str, DatasetInfo]) -> list[tuple[int, ...]]:
    return [info.shape for info in members.values()]


def _field(name: str) -> str:
    return name.replace(VIDEO, "").strip("_")


def _part(info: DatasetInfo | None) -> VideoField | None:
    if info is None:
        return None
    return array_part(info) if info.shape else VideoField("value", info.dtype, (), info.path, info=info)
