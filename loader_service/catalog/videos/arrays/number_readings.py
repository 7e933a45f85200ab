"""What datasets that only numbers tell apart may be, where that is asked: frames, samples, or videos. Pure."""

from __future__ import annotations

import re
from operator import attrgetter
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_floating
from loader_service.catalog.hdf5.tree import in_groups
from loader_service.catalog.inner_paths import basename_of, by_form
from loader_service.catalog.natural import are_moments
from loader_service.catalog.videos.arrays.named_sequences import readings_of, sequences_of
from loader_service.catalog.videos.beside.single_entries import MATRICES
from loader_service.catalog.videos.numbered import in_order
from loader_service.catalog.videos.readings import Reading, TwoReadingsError, in_one_line
from loader_service.catalog.videos.sibling_groups import is_recording
from loader_service.schema import SchemaField

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo
    from loader_service.catalog.videos.episodes import Episode, Found


def refuse_matrices(members: Sequence[DatasetInfo], beside: Collection[tuple[int, ...]]) -> None:
    """Refuse numbered datasets of a matrix each, as poses are, what is square, and maps: no videos of their rows.

    Maps are those of one size whose sides have a coordinate for each line; `beside`: the shapes of lists beside them.

    Raises
    ------
    TwoReadingsError
        With the schemas for frames, samples, and videos.
    """
    first = members[0]
    square = len(first.shape) == 2 and len(set(first.shape)) == 1 < first.shape[0] and is_floating(first.dtype)
    are_maps = len(first.shape) == 2 and all((side,) in beside for side in first.shape)
    if not (square or are_maps or first.shape in MATRICES) or any(info.shape != first.shape for info in members):
        return
    raise TwoReadingsError(
        f"found {len(members)} matrices such as {first.describe()}, which only names tell apart",
        [
            *(by_their_numbers(members) or frames_of_groups(members)),
            Reading.of_groups("a sample each", [SchemaField.in_group("", shape=first.shape)]),
            Reading.of_groups("videos of their own", [SchemaField.in_group("")]),
        ],
    )


def lines_of_numbers(found: Found) -> dict[str, str]:
    """Return a line where datasets of one shape, which only numbers tell apart, are videos and may be frames."""
    if found.layout == "table":
        return _lines_of_columns(found.episodes[0])
    if found.layout != "groups" or not found.episodes or found.episodes[0].root is not None:
        return {}
    parts = [episode.parts.get("") for episode in found.episodes if episode.root is None]
    infos = [part.info for part in parts if part and part.info and part.kind == "array" and part.element < 0]
    if not 2 < len(infos) == len(found.episodes) or infos[0].shape != infos[1].shape:
        return {}
    first = infos[0]
    if not first.shape[1:] or is_recording(first.basename) or is_recording(basename_of(first.parent)):
        return {}
    shown = f"{len(infos)} datasets such as {first.describe()} are videos of {first.shape[0]} frames each"
    readings = by_their_numbers(infos) or frames_of_groups(infos) or _by_words(infos)
    names = [info.basename for info in infos]
    if not readings and are_moments(names):
        return {
            f"{first.parent or '/'} (numbers)": f"{shown}, though their names seem to be times; if each is one frame, "
            "write them as one dataset, (frames, …), with the times beside it, in a file"
        }
    return {
        f"{first.parent or '/'} (numbers)": f"{shown}; if their numbers count frames, {in_one_line(reading.schema)} in "
        f"a --schema makes {reading.words}, in a file"
        for reading in readings
        if first.shape[0] > 1
    }


def _lines_of_columns(table: Episode) -> dict[str, str]:
    """Return a line for columns of a table that are volumes, or maps of vectors, and that only numbers tell apart."""
    if len(table.parts) <= _LEAST_NUMBERED:
        return {}
    infos = [part.info for part in table.parts.values() if part.info and part.kind == "array" and len(part.shape) > 1]
    return {
        f"{alike[0].path} (numbers)": f"{len(alike)} datasets such as {alike[0].describe()} are columns of one table, "
        f"whose rows are their first axis; if their numbers count frames, {in_one_line(reading.schema)} in a --schema "
        f"makes {reading.words}, in a file"
        for alike in by_form(infos, attrgetter("path")).values()
        if len(alike) > _LEAST_NUMBERED
        for reading in by_their_numbers(alike)
    }


#: Fewer numbered columns may be those of two sensors.
_LEAST_NUMBERED = 2


def _by_words(members: Sequence[DatasetInfo]) -> list[Reading]:
    """Return the reading of datasets of one group and form as frames of videos by the words before their numbers."""
    sequences = sequences_of(members)
    forms = {(info.parent, info.dtype, info.shape) for info in members}
    if len(forms) > 1 or len(sequences) < 2 or sum(map(len, sequences.values())) < len(members):
        return []
    each, *_ = readings_of(members[0].parent, {members[0].parent: sequences}, encoded=False)
    return [each] if each.schema.videos == ("groups",) else []


def by_their_numbers(members: Sequence[DatasetInfo]) -> list[Reading]:
    """Return the reading of numbered datasets of one form as the frames of a video, if they are such."""
    frames = in_order(members, from_any=True)
    if frames is None:
        return []
    field = SchemaField.at(frames.pattern, shape=members[0].shape, name=frames.key)
    return [Reading.of_file("one video, of which each number is a frame", [field])]


def frames_of_groups(members: Sequence[DatasetInfo]) -> list[Reading]:
    """Return the reading of datasets with dense numbers as the frames, or slices, of their group."""
    groups = in_groups(members)
    ordered = [in_order(each, from_any=True) for each in groups.values()]
    if "" in groups or any(each is None for each in ordered):
        return []
    field = SchemaField.in_group(_DIGITS.sub("*", members[0].basename), shape=members[0].shape, name="values")
    return [Reading.of_groups("a video each group, of which each number is a frame", [field])]


_DIGITS = re.compile(r"[0-9]+")
