"""Which fields a stream's batches have, and how their samples are shaped; pure arithmetic on what the catalog says."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from loader_service.errors import ConfigError
from loader_service.plan.image_shape import output_shape
from loader_service.protocol.fields import BOOKKEEPING, POSITION, SERVICE_FIELDS, CatalogField, Field
from loader_service.protocol.spec import Clip, Image, Spec


@dataclass(frozen=True)
class CatalogFacts:
    """What the catalog says of the fields it can give.

    Parameters
    ----------
    fields
        All that it has of each video.
    name_bytes
        Bytes of the longest video name.
    """

    fields: tuple[CatalogField, ...]
    name_bytes: int

    @property
    def label_dtype(self) -> str | None:
        """NumPy name of the labels' type; None without labels."""
        return next((each.dtype for each in self.fields if each.name == "label"), None)


def stream_fields(facts: CatalogFacts, spec: Spec) -> tuple[Field, ...]:
    """Return the fields of a stream's slots: those that the spec names, or all there are.

    The catalog's own fields, as they are in a `Clip`: images ``(frames, height, width, channels) uint8`` as `Image`
    says, arrays ``(frames, …)``, values as they are. Then ``index``, ``start`` and ``length`` int64, ``video`` bytes,
    and ``position`` int64 in a stream with an index. A single `Frame` has no axis of frames; in whole videos that axis
    varies, and ``length`` is in the slot even when the spec leaves it out, as its last field.

    Raises
    ------
    ConfigError
        When the spec names a field that the catalog does not have, or the image options do not fit its images.
    """
    data = {each.name: each for each in facts.fields}
    _check_image_is_of_use(data.values(), spec)
    bookkeeping = {each.name: each for each in _bookkeeping(facts, spec)}
    names = _with_length((*data, *bookkeeping) if spec.fields is None else spec.fields, spec)
    return tuple(_data(data[name], spec) if name in data else _find(name, bookkeeping, data) for name in names)


def transform_inputs(facts: CatalogFacts, spec: Spec) -> tuple[Field, ...]:
    """Return what a transform is given of each sample: all that the catalog has, and the bookkeeping fields.

    Raises
    ------
    ConfigError
        When the image options do not fit the catalog's images.
    """
    data = tuple(_data(each, spec) for each in facts.fields)
    return (*data, *_bookkeeping(facts, spec))


def select_fields(facts: CatalogFacts, outputs: Iterable[Field], spec: Spec) -> tuple[Field, ...]:
    """Return the fields of a slot that a transform's output goes into: those that the spec names, or all there are.

    The bookkeeping fields are the service's own: they are there whether the transform returns them or not, and what it
    returns under their names is not looked at.

    Raises
    ------
    ConfigError
        When the spec names a field that the transform does not return.
    """
    bookkeeping = {each.name: each for each in _bookkeeping(facts, spec)}
    returned = {each.name: each for each in outputs if each.name not in bookkeeping}
    names = _with_length((*returned, *bookkeeping) if spec.fields is None else spec.fields, spec)
    return tuple(returned[name] if name in returned else _find(name, bookkeeping, returned) for name in names)


def _bookkeeping(facts: CatalogFacts, spec: Spec) -> tuple[Field, ...]:
    names = SERVICE_FIELDS if spec.indexed else BOOKKEEPING
    video = f"S{max(1, facts.name_bytes)}"
    return tuple(Field(name, video if name == "video" else "int64", ()) for name in names)


def _with_length(names: tuple[str, ...], spec: Spec) -> tuple[str, ...]:
    """Whole videos have their lengths beside them, for the client cannot tell one from the next without."""
    return names if "length" in names or not spec.varies else (*names, "length")


def _data(field: CatalogField, spec: Spec) -> Field:
    """Return one of the catalog's fields as it is in a batch."""
    if field.kind == "value":
        return Field(field.name, field.dtype, field.shape)
    shape = _image_shape(field, spec.image) if field.kind == "image" else field.shape
    if isinstance(spec.clip, Clip):
        shape = (spec.clip.frames, *shape)
    return Field(field.name, field.dtype, shape, varies=spec.varies)


def _image_shape(field: CatalogField, image: Image) -> tuple[int, ...]:
    height, width = field.shape[:2]
    try:
        return output_shape(image, (height, width) if height and width else None)
    except ConfigError as error:
        raise ConfigError(f"field {field.name!r}: {error}") from error


def _check_image_is_of_use(data: Iterable[CatalogField], spec: Spec) -> None:
    if spec.image != Image() and not any(each.kind == "image" for each in data):
        raise ConfigError(f"image={spec.image!r} was given, but there are no images here; leave it out")


def _find(name: str, offered: dict[str, Field], others: Iterable[str]) -> Field:
    """Return an offered field, or say which ones there are."""
    if name in offered:
        return offered[name]
    if name == POSITION:
        raise ConfigError(
            "the field 'position' is the entry of an index, and there is none; give index=… or leave it out"
        )
    if name == "label":
        raise ConfigError(
            "the field 'label' was asked for, but the videos have no labels; "
            "start the service with --labels FILE.csv or --label PATTERN, or leave the field out"
        )
    names = (*others, *offered)
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]!r}? There are" if close else "choose among"
    raise ConfigError(f"there is no field {name!r}; {hint} {', '.join(map(repr, names))}")
