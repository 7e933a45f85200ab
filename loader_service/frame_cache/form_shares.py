"""Divides the budget among the forms: those in use get the same part of their frames, the others what is left. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from loader_service.frame_cache.cells import HEADER_BYTES, Cells


class FormNeed(NamedTuple):
    """A form that may have a share."""

    name: str
    cells: Cells
    kept: int  # blocks that it has now
    is_used: bool
    used_at: float  # when it was used last; any clock


def shares(budget_bytes: int, forms: Iterable[FormNeed]) -> dict[str, int]:
    """Return how many blocks each form may keep, by name; together they take no more than the budget.

    A form that is not in use gets no more than it has.
    """
    found = list(forms)
    used = [form for form in found if form.is_used]
    left = max(0, budget_bytes - HEADER_BYTES * len(used))
    needed = sum(form.cells.blocks * form.cells.block_bytes for form in used)
    given: dict[str, int] = {}
    for form in used:
        need = form.cells.blocks * form.cells.block_bytes
        part = need if needed <= left else left * need // needed
        given[form.name] = part // form.cells.block_bytes
    left -= sum(given[form.name] * form.cells.block_bytes for form in used)
    for form in sorted(found, key=lambda each: (-each.used_at, each.name)):
        if not form.is_used:
            room = max(0, left - HEADER_BYTES) // form.cells.block_bytes
            given[form.name] = min(form.kept, room)
            left -= form.cells.file_bytes(given[form.name]) if given[form.name] else 0
    return given
