"""What a service and the process that runs a user's own source tell each other of it; runs no code of the user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from loader_service.config import parse_arguments
from loader_service.protocol.fields import CatalogField
from loader_service.record_class import record


@record(frozen=True)
class SourceOptions:
    """What ``loader-service start`` was told of a source.

    Parameters
    ----------
    reference
        ``package.module:Name``, or ``package.module:Name.method`` for a generator method.
    arguments
        What the class or function is called with, by name; or as texts, ``name=value``, so that any literal can travel
        from the command line to the workers.
    seed
        From which each worker's copy of a generator gets a seed of its own.
    """

    reference: str
    arguments: Mapping[str, Any] | Sequence[str] = field(default_factory=dict)
    seed: int = 0

    @property
    def values(self) -> dict[str, Any]:
        """The arguments by name."""
        return dict(self.arguments) if isinstance(self.arguments, Mapping) else parse_arguments(self.arguments)


@record(frozen=True)
class SourceFacts:
    """What a source's samples are.

    Attributes
    ----------
    kind
        ``"map"`` or ``"generator"``.
    length
        How many items there are; 0 when nobody knows, as of a generator.
    fields
        Name, dtype and shape of each field, as `CatalogField` has them.
    left_out
        How many items at the end have another shape than the others, as the last batch of a Keras `PyDataset` has.
    version
        What changes when the code does: path, size and time of its file, if it has one.
    """

    kind: Literal["map", "generator"]
    length: int
    fields: tuple[tuple[str, str, tuple[int, ...]], ...]
    left_out: int
    version: str

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> SourceFacts:
        """Return the facts that another process wrote as JSON."""
        fields = tuple((name, dtype, tuple(shape)) for name, dtype, shape in plain["fields"])
        return cls(**{**plain, "fields": fields})

    @property
    def catalog_fields(self) -> tuple[CatalogField, ...]:
        """The fields as a catalog has them."""
        return tuple(CatalogField(name, "array", dtype, shape) for name, dtype, shape in self.fields)


@record(frozen=True)
class Examined:
    """What the process that looks at a user's code is told at its start: what to look at."""

    source: Mapping[str, Any] | None  # the fields of `SourceOptions`
    transform: str | None
