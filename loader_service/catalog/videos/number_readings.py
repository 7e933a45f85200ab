"""What datasets that only numbers tell apart may be, where that is asked: frames, samples, or videos. Pure."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_floating
from loader_service.catalog.videos.constants_beside import MATRICES
from loader_service.catalog.videos.numbered import in_order
from loader_service.catalog.videos.readings import Reading, TwoReadingsError
from loader_service.schema import VIDEO, Schema, SchemaField

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo


def refuse_matrices(members: Sequence[DatasetInfo]) -> None:
    """Refuse numbered datasets of a matrix each, as poses are, and what is square: frames, and no videos of its rows.

    Raises
    ------
    TwoReadingsError
        With the schemas for frames, samples, and videos.
    """
    first = members[0]
    square = len(first.shape) == 2 and len(set(first.shape)) == 1 < first.shape[0] and is_floating(first.dtype)
    if not (square or first.shape in MATRICES) or any(info.shape != first.shape for info in members):
        return
    whole = SchemaField("values", "array", (VIDEO,), "", first.shape)
    raise TwoReadingsError(
        f"found {len(members)} matrices such as {first.describe()}, which only names tell apart",
        [
            *(by_their_numbers(members) or frames_of_groups(members)),
            Reading("a sample each", Schema(("groups",), (whole,))),
            Reading("videos of their own", Schema(("groups",), (replace(whole, shape=None),))),
        ],
    )


def by_their_numbers(members: Sequence[DatasetInfo]) -> list[Reading]:
    """Return the reading of numbered datasets of one form as the frames of a video, if they are such."""
    frames = in_order(members, from_any=True)
    if frames is None:
        return []
    field = SchemaField(frames.key, "array", (frames.pattern,), "", members[0].shape)
    return [Reading("one video, of which each number is a frame", Schema(("files",), (field,)))]


def frames_of_groups(members: Sequence[DatasetInfo]) -> list[Reading]:
    """Return the reading of datasets with dense numbers as the frames, or slices, of their group."""
    groups: dict[str, list[DatasetInfo]] = {}
    for info in members:
        groups.setdefault(info.parent, []).append(info)
    ordered = [in_order(each, from_any=True) for each in groups.values()]
    if "" in groups or any(each is None for each in ordered):
        return []
    field = SchemaField("values", "array", (f"{VIDEO}/{_DIGITS.sub('*', members[0].basename)}",), "", members[0].shape)
    return [Reading("a video each group, of which each number is a frame", Schema(("groups",), (field,)))]


_DIGITS = re.compile(r"[0-9]+")
