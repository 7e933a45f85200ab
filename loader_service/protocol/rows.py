"""Which samples go into which rows of a slot, as columns: one value from the plan to the pixels. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Rows:
    """Rows of one slot, and what fills them.

    Parameters
    ----------
    rows, samples
        Row of the batch, and number of the sample that goes there.
    positions
        What keys the random draws, and the field `position`; empty: the samples do.
    offsets, lengths
        Where each row's frames begin in the fields that vary, and how many there are; empty when no field varies.
    room
        Frames that each row has there; zeros fill what its length leaves.
    """

    rows: tuple[int, ...]
    samples: tuple[int, ...]
    positions: tuple[int, ...] = ()
    offsets: tuple[int, ...] = ()
    lengths: tuple[int, ...] = ()
    room: int = 0

    @property
    def keys(self) -> tuple[int, ...]:
        """What keys the random draws of each row."""
        return self.positions or self.samples

    def alone(self, entry: int) -> Rows:
        """Return one entry as the only row of a slot that it fills."""
        only: dict[str, Any] = {
            name: column[entry : entry + 1] for name, column in vars(self).items() if isinstance(column, tuple)
        }
        lengths = only["lengths"]
        return replace(self, **{**only, "rows": (0,), "offsets": (0,) * len(lengths), "room": sum(lengths)})
