"""Refuses what no conversion writes yet: arrays whose sides differ. Knows the fields of a catalog, and no file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loader_service.protocol.fields import CatalogField


def refuse_uneven(fields: Iterable[CatalogField], remedy: str) -> None:
    """Make sure that each array has the same sides in all frames and videos.

    Raises
    ------
    ConfigError
        When one has not, as lists of boxes and volumes; it would be written without its numbers.
    """
    uneven = [f"{field.name!r} {field.shape}" for field in fields if field.differs and field.kind == "array"]
    if uneven:
        raise ConfigError(f"arrays whose sides differ, a side of 0, cannot be converted: {', '.join(uneven)}; {remedy}")
