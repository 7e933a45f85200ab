"""Which bytes of a slot a task's rows are: computed alike at both ends, so no row says where it goes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loader_service.protocol.fields import Field, SlotLayout
from loader_service.protocol.rows import Rows

#: A run of bytes in a slot: where it begins, and its length.
Piece = tuple[int, int]


def slot_pieces(layout: SlotLayout, rows: Rows) -> list[Piece]:
    """Return the bytes of a slot that some rows take, in the order in which they travel.

    Returns
    -------
    list of tuple of int
        Begin and length of each piece in bytes, field by field; rows that lie side by side are one piece.
    """
    pieces: list[Piece] = []
    for field, base in zip(layout.fields, layout.offsets, strict=False):
        for begin, count in sorted(_places(field, rows)):
            start, length = base + begin * field.sample_bytes, count * field.sample_bytes
            if pieces and sum(pieces[-1]) == start:
                pieces[-1] = (pieces[-1][0], pieces[-1][1] + length)
            elif length:
                pieces.append((start, length))
    return pieces


def _places(field: Field, rows: Rows) -> Iterator[tuple[int, int]]:
    """Yield the place and number of the entries that each row has in a field."""
    if not field.varies:
        yield from ((number, 1) for number in rows.numbers)
        return
    for offset, length in zip(rows.offsets, rows.lengths, strict=True):
        yield offset, rows.room or length


def total(pieces: Sequence[Piece]) -> int:
    """Return the bytes of all pieces together."""
    return sum(length for _, length in pieces)


def cut(pieces: Sequence[Piece], begin: int, length: int) -> Iterator[Piece]:
    """Yield the pieces that bytes `begin` to `begin + length` of all that travels belong to."""
    end, passed = begin + length, 0
    for start, size in pieces:
        first, last = max(begin, passed), min(end, passed + size)
        if first < last:
            yield start + first - passed, last - first
        passed += size
        if passed >= end:
            return
