"""Gives the fields of a batch the shape that users know them by: padded, ragged, or one sample alone.

In a slot, the frames of whole videos lie one after the other: row by row, each row with as much room as the longest
(padded), or without any room between them (ragged). They are not copied. Lists of numbers have the room of the longest
of all in either case; of a ragged batch they are copied, without it. Knows no slot, lease or message.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loader_service.errors import ProtocolError
from loader_service.protocol.fields import Field
from loader_service.protocol.spec import Spec

#: Of each field an array, or, of whole videos and lists with ``batching="ragged"``, a `Ragged`.
Batch = dict[str, Any]

#: The field that tells how many frames each row has.
LENGTH = "length"


@dataclass(frozen=True)
class Ragged:
    """Rows of different length without padding: what `tf.RaggedTensor` is, for NumPy.

    Parameters
    ----------
    values
        ``(frames of all rows, *shape)``: the rows, one after the other; where each frame is a list, a `Ragged` of them.
    row_splits
        ``(rows + 1,) int64``: row `r` is ``values[row_splits[r]:row_splits[r + 1]]``.
    """

    values: NDArray[Any] | Ragged
    row_splits: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Frames of each row: ``(rows,) int64``."""
        return np.diff(self.row_splits)

    def __len__(self) -> int:
        return len(self.row_splits) - 1

    def __getitem__(self, row: int | slice) -> Any:
        if isinstance(row, slice):
            first, end, step = row.indices(len(self))
            if step != 1:
                raise IndexError(f"rows {row!r}: only neighbours can be taken together; give a step of 1")
            splits = self.row_splits[first : max(first, end) + 1]
            return Ragged(self.values[splits[0] : splits[-1]], splits - splits[0])
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row!r} of {len(self)}")
        row %= len(self)
        return self.values[self.row_splits[row] : self.row_splits[row + 1]]


def hidden_names(fields: Iterable[Field], spec: Spec) -> frozenset[str]:
    """Return the names of the fields that the slots of a stream have, for lengths, and its batches do not."""
    return frozenset[str]() if spec.fields is None else frozenset(each.name for each in fields) - set(spec.fields)


def shaped(batch: dict[str, NDArray[Any]], fields: Iterable[Field], spec: Spec) -> Batch:
    """Return a batch of whole videos, or of lists, as its spec asks for it.

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
        Fields that vary as ``(rows, frames of the longest, *shape)`` or `Ragged`, over the same memory. Lists, where
        the batching is ragged, as `Ragged`, of which those of a clip or a whole video are rows of frames of lists.

    Raises
    ------
    ProtocolError
        When the slot holds another number of frames than the lengths of its rows make.
    """
    fields = tuple(fields)
    made: Batch = dict(batch)
    if spec.batching == "ragged":
        made.update((each.name, _lists(batch[each.name], batch[each.lengths])) for each in fields if each.lengths)
    if spec.varies:
        made.update(_whole_videos(batch, made, fields, spec))
    for name in hidden_names(fields, spec):
        del made[name]
    return made


def _lists(padded: NDArray[Any], lengths: NDArray[np.int64]) -> Ragged:
    """Return lists without the zeros behind them: a `Ragged` of lists, or, where rows have frames, one of these."""
    axes, room = lengths.ndim, padded.shape[lengths.ndim]
    flat = padded.reshape(-1, room, *padded.shape[axes + 1 :])
    counts = lengths.reshape(-1)
    values = flat[np.arange(room) < counts[:, np.newaxis]]
    lists = Ragged(values, _splits(counts))
    return lists if axes == 1 else Ragged(lists, np.arange(len(lengths) + 1, dtype=np.int64) * lengths.shape[1])


def _splits(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def _whole_videos(batch: dict[str, NDArray[Any]], made: Batch, fields: Sequence[Field], spec: Spec) -> Batch:
    """Return the fields that vary, taken apart into rows."""
    rows: Batch = {}
    lengths = batch[LENGTH].astype(np.int64)
    splits = _splits(lengths)
    for field in fields:
        if not field.varies:
            continue
        flat = batch[field.name]
        if spec.batching == "ragged":
            _check_frames(len(flat) == splits[-1], field.name, len(flat), lengths)
            rows[field.name] = Ragged(made[field.name], splits)
        else:
            room = len(flat) // max(1, len(lengths))
            _check_frames(room * len(lengths) == len(flat) and room >= lengths.max(), field.name, len(flat), lengths)
            rows[field.name] = flat.reshape(len(lengths), room, *field.shape)
    return rows


def alone(batch: Batch) -> Batch:
    """Return the only sample of a batch, without the batch axis, over the same memory."""
    # Not `array[0]`: of a field without axes that is a scalar, and a scalar is no array.
    return {name: value[0] if isinstance(value, Ragged) else value[0, ...] for name, value in batch.items()}


def _check_frames(fits: bool, name: str, frames: int, lengths: NDArray[np.int64]) -> None:
    if not fits:
        raise ProtocolError(
            f"the service put {frames} frames of {name!r} into a slot, for rows of {lengths.tolist()!r:.200} frames"
        )
