"""Says which videos of one length may be rows that belong together, and which fields of rows may be videos. Pure."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_floating
from loader_service.catalog.inner_paths import basename_of, differing_parts, join, parent_of, unnumbered
from loader_service.catalog.videos.frame_axis import are_fields, are_numbered, have_numbers_or_ids, have_roles
from loader_service.catalog.videos.lines.opposites import IS_NEGATIVE, line_of_opposites
from loader_service.catalog.videos.lines.two_tables import line_of_two_tables
from loader_service.catalog.videos.readings import fields_of, in_one_line
from loader_service.catalog.videos.sibling_groups import MOST_PARTS, is_recording
from loader_service.schema import VIDEO, Schema, SchemaField

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.episodes import Episode, Found, VideoField

_PAIRED = (
    "{0!r} and {1!r} have {2} rows each, and each of the {3} is a video here; if row n of one belongs to row n of the "
    "other, {4} in a --schema makes them fields of one row, in a file"
)
_APART = (
    "row n of {0!r} and of {1!r} are served as one sample, and nothing else has a row for each; if they do not belong "
    "together, {2} in a --schema makes a video of each of the {3}, in a file"
)

_PORTIONS = (
    "row n of {0!r} and of {1!r} are served as one sample, and they are called as portions of rows that follow each "
    "other; {2} in a --schema makes each a video, in a file"
)

_INSIDE = (
    "row n of {0!r} and of {1!r} are served as one sample, and so in each of {2} videos; if they do not belong "
    "together, {3} in a --schema makes each a video, in a file"
)

_TABLES = (
    "row n of {0!r} and of {1!r} are served as one sample; if they do not belong together, {2} in a --schema serves "
    "the rows of {0!r} alone, in a file"
)

_CODES = (
    "each of the {} datasets such as {!r} is a column of {} rows here; if each is one sample, such as an embedding, {} "
    "in a --schema makes it one, in a file"
)


def lines_of_pairs(found: Found, tree: Tree) -> dict[str, str]:
    """Return a line where groups, or fields, whose names are words have as many rows, and nothing says if in pairs.

    So lie ``clean`` and ``noisy`` in a file, which belong together, and ``signal`` and ``background``, which do not; or
    groups of a word and a number, ``person_1`` and ``person_2``, who were seen together or not.
    """
    filled = found.filled
    portions = _of_portions(filled[0]) if found.layout in {"groups", "table"} and filled else {}
    if found.layout == "groups" and 1 < len(filled) <= MOST_PARTS:
        portions |= _of_groups(filled)
    if found.layout == "groups" and 1 < len(filled) <= _MOST_NAMES:
        return portions | _of_datasets(filled) | _of_inner_groups(filled)
    if len(filled) != 1 or portions:
        return portions
    several = (
        len(filled[0].parts) >= _LEAST_OF_TABLES and filled[0].frame_count > 1 and found.layout in {"table", "files"}
    )
    tables = line_of_two_tables(dict(_timed(filled[0])), _are_tables) if several else {}
    if not tables and found.layout in {"table", "files"} and any(map(IS_NEGATIVE.search, filled[0].parts)):
        tables = line_of_opposites(dict(_timed(filled[0]))) if filled[0].frame_count > 1 else {}
    return tables or (_of_codes(filled[0]) or _of_fields(filled[0], tree) if found.layout == "table" else {})


#: Columns of two tables with labels of their own, at least.
_LEAST_OF_TABLES = 4


def _of_groups(filled: Sequence[Episode]) -> dict[str, str]:
    """Return the line of groups; none where they are as long by their own lengths, or called as recordings are."""
    first, second = filled[:2]
    roots = [episode.root or "" for episode in filled]
    counts = {episode.frame_count for episode in filled}
    names = differing_parts(roots)
    encoded = any(part.frames for episode in filled for _, part in _timed(episode))
    told = not _are_words(names) and (encoded or not _are_counted(names))
    if not all(roots) or len(counts) > 1 or counts == {1} or told:
        return {}
    timed = [(root, key, part) for root, each in zip(roots, filled, strict=True) for key, part in _timed(each)]
    fields = tuple(
        SchemaField.at(part.pattern.replace(VIDEO, root) or path, part.kind, shape, name=path)
        for root, key, part in timed
        for path, shape in [(join(root, key), part.shape if "*" in part.pattern else None)]
    )
    numbered = any(field.shape is not None for field in fields)
    shown = in_one_line(Schema(("files" if encoded or numbered else "table",), fields))
    line = _PAIRED.format(first.root, second.root, first.frame_count, len(filled), shown)
    return {f"{parent_of(roots[0])}/ (pairs)": line}


def _of_datasets(filled: Sequence[Episode]) -> dict[str, str]:
    """Return the line of sequences that are a dataset each and of one length; numbers alone tell of no fields."""
    first, second = filled[:2]
    if first.root is not None or first.frame_count == 1 or first.frame_count != second.frame_count:
        return {}
    names = [episode.name for episode in filled]
    if len({episode.frame_count for episode in filled}) > 1 or are_numbered(map(basename_of, names)):
        return {}
    parts = [episode.parts.get("") for episode in filled]
    fields = tuple(SchemaField.at(name, part.kind) for name, part in zip(names, parts, strict=True) if part)
    shown = in_one_line(Schema(("files" if fields[0].kind == "image" else "table",), fields)) if fields else ""
    line = _PAIRED.format(first.name, second.name, first.frame_count, len(filled), shown)
    return {f"{first.name} (pairs)": line} if shown else {}


#: Channels, or sensors, of one recording are seldom more.
_MOST_NAMES = 64


def _of_portions(video: Episode) -> dict[str, str]:
    """Return the line of groups of a video that hold the same names, and are called as portions: ``set.000``."""
    groups: dict[str, set[str]] = {}
    for _, part in _timed(video):
        if PORTION.fullmatch(basename_of(parent_of(part.path))):
            groups.setdefault(parent_of(part.path), set()).add(basename_of(part.path))
    if len(groups) < 2 or len({frozenset(names) for names in groups.values()}) > 1:
        return {}
    first, second, *_ = groups
    fields = tuple(map(SchemaField.in_group, sorted(groups[first])))
    return {f"{first} (pairs)": _PORTIONS.format(first, second, in_one_line(Schema(("groups",), fields)))}


def _of_inner_groups(filled: Sequence[Episode]) -> dict[str, str]:
    """Return the line of groups, called by words, that hold the same names in all videos: ``walking`` and ``eating``.

    Where other videos have another length, and they have that, too, they belong together.
    """
    groups: dict[str, dict[str, VideoField]] = {}
    for key, part in _timed(filled[0]):
        group, _, inside = key.partition("/")
        groups.setdefault(group, {})[inside] = part
    names = {frozenset(members) for members in groups.values()}
    alike = 1 < len(groups) <= MOST_PARTS and len(names) == 1 and "" not in next(iter(groups.values()))
    if not alike or not _are_words(list(groups)) or len({episode.frame_count for episode in filled}) > 1:
        return {}
    first, second, *_ = (join(filled[0].root or "", group) for group in groups)
    members = next(iter(groups.values()))
    fields = tuple(SchemaField.in_group(name, part.kind) for name, part in members.items())
    shown = in_one_line(Schema(("groups",), fields))
    return {f"{first} (pairs)": _INSIDE.format(first, second, len(filled), shown)}


#: What is written one after the other, with its number.
PORTION = re.compile(r"(set|part|chunk|batch|shard|block|piece|bucket|fold|split)s?[_ .-]?[0-9]+", re.IGNORECASE)


def _of_codes(table: Episode) -> dict[str, str]:
    """Return the line of columns of floats alone that codes of one form name, as of patients: maybe a sample each."""
    infos = [part.info for _, part in _timed(table) if part.info is not None and part.frames is None]
    names = [info.basename for info in infos]
    forms = {re.sub("[0-9]+", "0", re.sub("[A-Z]+", "A", name)) for name in names}
    alike = len(forms) == len({(info.parent, info.dtype, info.shape) for info in infos}) == 1
    if len(infos) < _LEAST_CODES or len(infos) < len(_timed(table)) or not alike or not is_floating(infos[0].dtype):
        return {}
    coded = all(map(_CODE.fullmatch, names)) and len(set(map(unnumbered, names))) > 1
    if not coded or len(infos[0].shape) > 1 or table.frame_count < _LEAST_OF_SAMPLES:
        return {}
    schema = in_one_line(Schema(("groups",), (SchemaField.in_group("", shape=infos[0].shape),)))
    return {f"{infos[0].path} (samples)": _CODES.format(len(infos), infos[0].path, table.frame_count, schema)}


#: What codes of samples are: ``TCGA-A1``. Two may be anything.
_CODE = re.compile(r"(?=.*[A-Z])(?=.*[0-9])[A-Z0-9]+([-_.][A-Z0-9]+)+")
_LEAST_CODES = 3

#: Numbers of a sample, such as an embedding, at least.
_LEAST_OF_SAMPLES = 16


def _of_fields(table: Episode, tree: Tree) -> dict[str, str]:
    """Return the line of fields of one form, which are all that a table has of two axes or more, and of rows.

    Where what is no field has more axes, as films beside maps of a sky, a schema of each dataset would mean that: the
    first field alone is offered then.
    """
    parts = [part for _, part in _timed(table)]
    infos = [part.info for part in parts if part.info is not None and part.frames is None]
    if not 1 < len(infos) == len(parts) <= MOST_PARTS or table.frame_count == 1:
        return {}
    forms = {(info.dtype, info.shape) for info in infos}
    names = differing_parts([info.path for info in infos])
    one_name = {info.basename for info in infos}
    above = {parent_of(info.path) if len(one_name) > 1 else parent_of(info.parent) for info in infos}
    if not _are_words(names):
        return {}
    if len(forms) > 1 or not parts[0].shape or len(above) > 1:
        return _of_tables(infos, names)
    inside = infos[0].basename if len(one_name) == 1 else ""
    if not inside and any(len(info.shape) > len(infos[0].shape) and info.dtype for info in tree.datasets.values()):
        alone = in_one_line(Schema(("table",), fields_of(infos[:1])))
        return {f"{infos[0].path} (pairs)": _TABLES.format(infos[0].path, infos[1].path, alone)}
    shown = in_one_line(Schema(("groups",), (SchemaField.in_group(inside, parts[0].kind),)))
    return {f"{infos[0].path} (pairs)": _APART.format(infos[0].path, infos[1].path, shown, len(infos))}


def _of_tables(infos: Sequence[DatasetInfo], groups: Sequence[str]) -> dict[str, str]:
    """Return the line of groups whose rows are put together, and which are alike in a name: tables, ``hits/id``.

    `groups`: of each dataset, the first part of its path that not all have.
    """
    own: dict[str, list[DatasetInfo]] = {}
    for info, group in zip(infos, groups, strict=True):
        own.setdefault(group, []).append(info)
    names = Counter(info.basename for info in infos)
    if not 1 < len(own) < len(infos) or max(names.values()) < len(own):
        return {}
    first, second, *_ = own.values()
    shown = in_one_line(Schema(("table",), fields_of(first)))
    return {f"{first[0].path} (pairs)": _TABLES.format(first[0].parent, second[0].parent, shown)}


def _timed(episode: Episode) -> list[tuple[str, VideoField]]:
    return [(key, part) for key, part in episode.timed.items() if not part.missing]


def _are_words(names: Sequence[str]) -> bool:
    """Tell whether names are words that say neither a number nor what is seen: of classes, or of halves of pairs."""
    told = have_numbers_or_ids(names) or have_roles(names) or are_fields(names)
    return not told and not all(is_recording(basename_of(name)) for name in names)


def _are_tables(names: Sequence[str]) -> bool:
    return _are_words(names) or all(map(PORTION.fullmatch, names))


def _are_counted(names: Sequence[str]) -> bool:
    """Tell whether names are one word that says no recording, each with another small number."""
    found = [_COUNTED.fullmatch(name) for name in names]
    stems = {each and each[1] for each in found}
    return len(stems) == 1 and None not in stems and not any(map(is_recording, names))


#: Shorter words are no words: `v1`.
_COUNTED = re.compile(r"([A-Za-z]{3,})[_ -]?[0-9]{1,2}")
