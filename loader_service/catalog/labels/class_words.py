"""Says in words which number stands for which class. Opens no file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from loader_service.catalog.columns import Catalog

#: Classes that are shown of one field.
_SHOWN = 20


def class_lines(fields: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Return a line for each field of classes: which number stands for which name."""
    lines = []
    for field, classes in fields:
        if classes:
            shown = ", ".join(f"{number} {name!r}" for number, name in enumerate(classes[:_SHOWN]))
            more = len(classes) - _SHOWN
            count = f"{len(classes)} {'class' if len(classes) == 1 else 'classes'}"
            lines.append(f"{count} of {field!r}: {shown}" + (f" and {more} more" if more > 0 else ""))
    return lines


def class_advice(catalog: Catalog) -> str | None:
    """Return what to do where a service of other files may number the same classes otherwise, or None."""
    fields = [facts.field for facts in catalog.facts if facts.numbering == "files"]
    if not fields:
        return None
    return (
        f"the classes of {fields[0].name!r} are numbered as they occur in these files, and a "
        "service of other files may number them otherwise: have `loader-service inspect ALL-FILES --split all "
        "--classes classes.txt` write the list, and give all services --classes classes.txt"
    )
