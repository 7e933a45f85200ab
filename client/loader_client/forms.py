"""Gives the fields of a batch the shape that users know them by: padded, ragged, or one sample alone; copies nothing.

In a slot, the frames of whole videos lie one after the other: row by row, each row with as much room as the longest
(padded), or without any room between them (ragged). Knows no slot, lease or message.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loader_service.errors import ProtocolError
from loader_service.protocol.fields import Field
from loader_service.protocol.spec import Spec

#: Of each field an array, or, of whole videos with ``batching="ragged"``, a `Ragged`.
Batch = dict[str, Any]

#: The field that tells how many frames each row has.
LENGTH = "length"


@dataclass(frozen=True)
class Ragged:
    """Rows of different length without padding: what `tf.RaggedTensor` is, for NumPy.

    Parameters
    ----------
    values
        ``(frames of all rows, *shape)``: the rows, one after the other.
    row_splits
        ``(rows + 1,) int64``: row `r` is ``values[row_splits[r]:row_splits[r + 1]]``.
    """

    values: NDArray[Any]
    row_splits: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Frames of each row: ``(rows,) int64``."""
        return np.diff(self.row_splits)

    def __len__(self) -> int:
        return len(self.row_splits) - 1

    def __getitem__(self, row: int) -> NDArray[Any]:
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row!r} of {len(self)}")
        row %= len(self)
        return self.values[self.row_splits[row] : self.row_splits[row + 1]]


def hides_length(spec: Spec) -> bool:
    """Return whether the slots of a stream have the lengths of its rows, and its batches do not."""
    return spec.varies and spec.fields is not None and LENGTH not in spec.fields


def shaped(batch: dict[str, NDArray[Any]], fields: Iterable[Field], spec: Spec) -> Batch:
    """Return a batch of whole videos as its spec asks for it.

    Parameters
    ----------
    batch
        Fields as they lie in the slot: ``(rows, *shape)``, or, if they vary, ``(frames of all rows, *shape)``.
    fields
        What they are.
    spec
        Its `batching` says how rows lie, its `fields` whether lengths are wanted.

    Returns
    -------
    dict of str to numpy.ndarray or Ragged
        Fields that vary as ``(rows, frames of the longest, *shape)`` or `Ragged`, over the same memory.

    Raises
    ------
    ProtocolError
        When the slot holds another number of frames than the lengths of its rows make.
    """
    made: Batch = dict(batch)
    lengths = batch[LENGTH].astype(np.int64)
    splits = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    for field in fields:
        if not field.varies:
            continue
        flat = batch[field.name]
        if spec.batching == "ragged":
            _check_frames(len(flat) == splits[-1], field.name, len(flat), lengths)
            made[field.name] = Ragged(flat, splits)
        else:
            room = len(flat) // max(1, len(lengths))
            _check_frames(room * len(lengths) == len(flat) and room >= lengths.max(), field.name, len(flat), lengths)
            made[field.name] = flat.reshape(len(lengths), room, *field.shape)
    if hides_length(spec):
        del made[LENGTH]
    return made


def alone(batch: Batch) -> Batch:
    """Return the only sample of a batch, without the batch axis, over the same memory."""
    # Not `array[0]`: of a field without axes that is a scalar, and a scalar is no array.
    return {name: value[0] if isinstance(value, Ragged) else value[0, ...] for name, value in batch.items()}


def _check_frames(fits: bool, name: str, frames: int, lengths: NDArray[np.int64]) -> None:
    if not fits:
        raise ProtocolError(
            f"the service put {frames} frames of {name!r} into a slot, for rows of {lengths.tolist()!r:.200} frames"
        )
