"""Whether what lies in a file has the form that a schema says, and the errors where it has not. Reads nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_text
from loader_service.catalog.sides import fits
from loader_service.errors import CatalogError
from loader_service.schema import ANY_SIDE

if TYPE_CHECKING:
    from loader_service.catalog.hdf5.tree import Tree
    from loader_service.catalog.videos.episodes import VideoField
    from loader_service.schema import Schema, SchemaField


def has_form(field: SchemaField, part: VideoField) -> bool:
    """Tell whether a field has the dtype and shape that the schema says; texts may have any width."""
    text = is_text(field.dtype) and is_text(part.dtype)
    dtype = not field.dtype or text or field.dtype == part.name
    return dtype and (field.shape is None or fits(field.shape, part.shape))


def wrong_form(field: SchemaField, found: str, part: VideoField | None) -> CatalogError:
    """Return the error for a field that has another form; `found`: what was found, in words."""
    expected = " ".join(filter(None, (field.kind, field.dtype, "" if field.shape is None else str(field.shape))))
    form = "" if part is None else f", that is {part.kind} {part.dtype} {part.shape}"
    return CatalogError(f"the field {field.name!r}: expected {expected}, found {found}{form}; {_remedy(field, part)}")


def _remedy(field: SchemaField, part: VideoField | None) -> str:
    """Return what to do about another form; where only sides differ, the line of the schema that takes these too."""
    shape = field.shape or ()
    if part is None or part.kind != field.kind or len(shape) != len(part.shape) or fits(shape, part.shape):
        return "correct `kind`, `dtype` or `shape` (-1 is any side, 0 one that differs) in the schema, or the file"
    sides = [side if fits((side,), (other,)) else ANY_SIDE for side, other in zip(shape, part.shape, strict=True)]
    return f"say `shape = {sides}` in the schema, where -1 is any side, or correct the file"


def not_there(main: SchemaField, schema: Schema, tree: Tree) -> CatalogError:
    """Return the error for a file without a field."""
    return CatalogError(
        f"no dataset is the field {main.name!r} of the schema: expected {' or '.join(map(repr, main.dataset))} with "
        f"videos={'/'.join(schema.videos)}, found {tree.describe()}; correct `dataset` or `videos` in the schema, or "
        "leave the file out"
    )
