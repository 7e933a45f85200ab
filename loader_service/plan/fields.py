"""Which fields a stream's batches have, and how their samples are shaped; pure arithmetic on what the catalog says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from loader_service.errors import ConfigError
from loader_service.plan.image_shape import output_shape
from loader_service.protocol.fields import Field
from loader_service.protocol.spec import Spec


@dataclass(frozen=True)
class CatalogFacts:
    """What the catalog says of the fields it can give.

    Parameters
    ----------
    frame_shape
        ``(height, width)`` in pixels when all videos share it, else None.
    label_dtype
        NumPy name of the labels' type; None without labels.
    name_bytes
        Bytes of the longest video name.
    """

    frame_shape: tuple[int, int] | None
    label_dtype: str | None
    name_bytes: int


def stream_fields(facts: CatalogFacts, spec: Spec) -> tuple[Field, ...]:
    """Return the fields of a stream, in the order that its elements have.

    Fields that every stream can have: ``frames`` ``(frames, height, width, channels) uint8``; ``index`` int64, the
    sample's number; ``video``, its name in UTF-8; ``start`` int64, its first frame; ``length`` int64, how many frames
    are really there; and ``label``, where the catalog has labels.

    Raises
    ------
    ConfigError
        When the spec names a field that the catalog does not have, or the image options do not fit its frames.
    """
    if spec.fields is None:
        names = tuple(name for name in _BUILDERS if name != "label" or facts.label_dtype is not None)
    else:
        names = spec.fields
    return tuple(_build(name, facts, spec) for name in names)


def _build(name: str, facts: CatalogFacts, spec: Spec) -> Field:
    if name == "label" and facts.label_dtype is None:
        raise ConfigError(
            "the field 'label' was asked for, but the videos have no labels; "
            "start the service with --labels FILE.csv or --label PATTERN, or leave the field out"
        )
    builder = _BUILDERS.get(name)
    if builder is None:
        raise ConfigError(f"there is no field {name!r}; choose among {', '.join(map(repr, _BUILDERS))}")
    return builder(facts, spec)


def _frames(facts: CatalogFacts, spec: Spec) -> Field:
    return Field("frames", "uint8", (spec.clip.frames, *output_shape(spec.image, facts.frame_shape)))


def _label(facts: CatalogFacts, _spec: Spec) -> Field:
    return Field("label", facts.label_dtype or "int64", ())


def _video(facts: CatalogFacts, _spec: Spec) -> Field:
    return Field("video", f"S{max(1, facts.name_bytes)}", ())


def _whole_number(name: str) -> _Builder:
    return lambda _facts, _spec: Field(name, "int64", ())


_Builder = Callable[[CatalogFacts, Spec], Field]

_BUILDERS: Mapping[str, _Builder] = {
    "frames": _frames,
    "label": _label,
    "index": _whole_number("index"),
    "video": _video,
    "start": _whole_number("start"),
    "length": _whole_number("length"),
}
