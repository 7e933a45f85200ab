"""Which fields a stream's batches have, and how their samples are shaped; pure arithmetic on what the catalog says."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Iterable

from loader_service.errors import ConfigError
from loader_service.plan.image_shape import output_shape
from loader_service.plan.window_cuts import shape_in_batch
from loader_service.protocol.fields import BOOKKEEPING, POSITION, SERVICE_FIELDS, CatalogField, Field
from loader_service.protocol.spec import Clip, Image, Spec
from loader_service.record_class import record


@record(frozen=True)
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
    says, arrays ``(frames, …)``, values as they are; those whose sides differ filled up with zeros, with their real
    sides beside them, int64. Then ``index``, ``start`` and ``length`` int64, ``video`` bytes, and ``position`` int64 in
    a stream with an index. A single `Frame` has no axis of frames; in whole videos that axis varies. Where the client
    needs lengths to take the rows apart, they are in the slot even when the spec leaves them out, as its last fields.

    Raises
    ------
    ConfigError
        When the spec names a field that the catalog does not have, or the options of images, or windows, do not fit.
    """
    _check_image_is_of_use(facts.fields, spec)
    _check_windows(facts.fields, spec)
    data = _offered(facts, spec)
    bookkeeping = {each.name: each for each in _bookkeeping(facts, spec)}
    names = (*data, *bookkeeping) if spec.fields is None else spec.fields
    fields = [data[name]() if name in data else _find(name, bookkeeping, data) for name in names]
    _check_ragged(fields, spec)
    there = {each.name for each in fields}
    hidden = dict.fromkeys(each.lengths for each in fields if each.lengths and spec.batching == "ragged")
    fields += [data[name]() for name in hidden if name not in there]
    fields += [bookkeeping["length"]] * (spec.varies and "length" not in there)
    return tuple(fields)


def _offered(facts: CatalogFacts, spec: Spec) -> dict[str, Callable[[], Field]]:
    """Return what makes each field that the catalog can give, those of real sides included, by name."""
    offered: dict[str, Callable[[], Field]] = {}
    for each in facts.fields:
        offered[each.name] = functools.partial(_data, each, spec)
        if each.differs:
            offered[each.sides_name] = functools.partial(_sides, each, spec)
    return offered


def _sides(field: CatalogField, spec: Spec) -> Field:
    """Return the field of the real sides of another."""
    axes = (spec.clip.frames,) if isinstance(spec.clip, Clip) and field.kind != "value" else ()
    shape = (*axes, *field.sides_shape)
    return Field(field.sides_name, "int64", shape, varies=spec.varies and field.kind != "value")


def transform_inputs(facts: CatalogFacts, spec: Spec) -> tuple[Field, ...]:
    """Return what a transform is given of each sample: all that the catalog has, and the bookkeeping fields.

    Raises
    ------
    ConfigError
        When the image options do not fit the catalog's images.
    """
    _check_windows(facts.fields, spec)
    data = [make() for make in _offered(facts, spec).values()]
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
    _check_ragged(returned.values(), spec)
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
    shape = _image_shape(field, spec.image) if field.kind == "image" else shape_in_batch(field, spec)
    lengths = field.sides_name if field.is_list else ""
    if field.kind == "value":
        return Field(field.name, field.dtype, shape, lengths=lengths)
    if isinstance(spec.clip, Clip):
        shape = (spec.clip.frames, *shape)
    return Field(field.name, field.dtype, shape, varies=spec.varies, lengths=lengths)


def _image_shape(field: CatalogField, image: Image) -> tuple[int, ...]:
    height, width = field.shape[:2]
    try:
        return output_shape(image, (height, width) if height and width else None)
    except ConfigError as error:
        raise ConfigError(f"field {field.name!r}: {error}") from error


def _check_image_is_of_use(data: Iterable[CatalogField], spec: Spec) -> None:
    if spec.image != Image() and not any(each.kind == "image" for each in data):
        raise ConfigError(f"image={spec.image!r} was given, but there are no images here; leave it out")


def _check_ragged(fields: Iterable[Field], spec: Spec) -> None:
    if spec.batching == "ragged" and not spec.varies and not any(each.lengths for each in fields):
        raise ConfigError(
            f"batching={spec.batching!r} is for whole videos (clip=None) and for lists of numbers that differ in "
            "length, and none of the fields of this stream does; leave it out"
        )


def _check_windows(fields: Iterable[CatalogField], spec: Spec) -> None:
    known = {each.name: each for each in fields}
    for window in spec.windows:
        field = known.get(window.field)
        if field is None:
            arrays = [repr(name) for name, each in known.items() if each.kind != "image" and each.shape]
            raise ConfigError(
                f"Window({window.field!r}, {window.size!r}): there is no such field; "
                f"{'choose among ' + ', '.join(arrays) if arrays else 'no field here is an array: leave it out'}"
            )
        if field.kind == "image":
            raise ConfigError(
                f"Window({window.field!r}, {window.size!r}): the field is an image, which Image(size=…, crop=…) cuts"
            )
        shape_in_batch(field, spec)


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
