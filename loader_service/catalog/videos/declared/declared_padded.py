"""The videos of a schema that are a row each of datasets ``(videos, frames, …)``. Reads lengths alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from loader_service.catalog.videos.beside.fields_beside import value_of_row
from loader_service.catalog.videos.declared.declared_fields import has_form, not_there, wrong_form
from loader_service.catalog.videos.declared.declared_places import path_of, refuse_first_alone
from loader_service.catalog.videos.episodes import Found, VideoField
from loader_service.catalog.videos.padded_videos import between_frames, frame_part, lengths_beside, videos_of
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from loader_service.catalog.hdf5.tree import Tree
    from loader_service.catalog.videos.bounds.bound_lists import Read
    from loader_service.schema import Schema


def declared_padded(tree: Tree, schema: Schema, read: Read) -> Found:
    """Return the videos that are rows of the datasets that a schema names; all frames, where nothing says how many.

    Parameters
    ----------
    tree, schema
        The file, and its fields.
    read
        Gives the numbers of a dataset.

    Raises
    ------
    CatalogError
        When a field is not there or has another form; when fields have other numbers of rows, or frames.
    """
    parts = _fields_of(tree, schema)
    shapes = {name: part.info.shape for name, part in parts.items() if part.info is not None}
    main = max((shapes[name] for name, part in parts.items() if part.kind != "value"), key=lambda shape: shape[1])
    for name, part in parts.items():
        axes = 1 if part.kind == "value" else 2
        between = between_frames(part, main[1]) if part.kind == "array" and shapes[name][0] == main[0] else None
        parts[name] = between or part
        if shapes[name][:axes] != main[:axes] and between is None:
            raise CatalogError(
                f"the field {name!r}: expected {main[:axes]} rows{' of frames' * (axes - 1)}, like the other fields, "
                f"found {part.path!r} {shapes[name]}; take the field out of the schema, or correct the file"
            )
    timed = {name: part for name, part in parts.items() if part.kind != "value"}
    values = {name: part for name, part in parts.items() if part.kind == "value"}
    said = lengths_beside(tree.datasets.values(), main[0], main[1], read, of_points=True)
    lengths = np.full(main[0], main[1]) if said is None else said[1]
    videos = videos_of(timed, {}, lengths, frozenset() if said is None else frozenset({said[0]}))
    for number, episode in enumerate(videos):
        episode.parts |= {name: replace(part, element=number) for name, part in values.items()}
    return Found("padded", videos)


def _fields_of(tree: Tree, schema: Schema) -> dict[str, VideoField]:
    """Return the fields of a schema in the first of the videos.

    Raises
    ------
    CatalogError
        When one is not there, or has another form.
    """
    found: dict[str, VideoField] = {}
    for field in schema.fields:
        place = path_of(tree, field, "")
        info = tree.datasets.get(place[0]) if place else None
        if place is None or info is None or not info.shape:
            raise not_there(field, schema, tree)
        refuse_first_alone(tree, field, place, "")
        part = frame_part(info)
        if field.kind == "value":
            part = value_of_row(info, 0) if info.dtype else None
        elif field.kind == "array" and part is not None:
            part = replace(part, kind="array")
        if part is None or part.kind != field.kind or not has_form(field, part):
            raise wrong_form(field, info.describe(), part)
        found[field.name] = replace(part, pattern=place[1])
    return found
