"""The fields of a stream as TensorFlow has them: which are ragged, on which axes, and their static shapes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from loader_client.request import Request
from loader_service.protocol.fields import Field

#: A static shape; None is an axis that differs.
Shape = tuple[int | None, ...]


@dataclass(frozen=True)
class Column:
    """One field on its way into TensorFlow: a tensor of values, and the row splits of each ragged axis.

    Parameters
    ----------
    field
        As in the slot.
    is_list
        Whether its last ragged axis, or only one of one sample alone, is that of a list of numbers.
    axes
        Its ragged axes, the first one first: of each the number of its rows' entries where all have as many, else None.
        The frames of a clip are such an axis where each frame is a list.
    values
        Static shape of the values; without ragged axes, behind the axis of the batch.
    """

    field: Field
    is_list: bool
    axes: Shape
    values: Shape

    @cached_property
    def name(self) -> str:
        """Name of the field."""
        return self.field.name

    @cached_property
    def is_copied(self) -> bool:
        """Whether TensorFlow copies its values: its strings are objects of its own, and lists were copied already."""
        return self.is_list or self.field.dtype.startswith("S")

    @property
    def types(self) -> list[str]:
        """The names of its tensors' types in TensorFlow."""
        values = "string" if self.field.dtype.startswith("S") else self.field.dtype
        return [values, *("int64" for count in self.axes if count is None)]

    def shapes(self, batch: Shape) -> list[Shape]:
        """Return the static shapes of its tensors in batches of the shape ``batch``."""
        if not self.axes:
            return [(*batch, *self.values)]
        shapes: list[Shape] = [self.values]
        rows = batch[0] if batch else self._alone_rows
        for count in self.axes:
            if count is None:
                shapes.append((None if rows is None else rows + 1,))
            rows = None if rows is None or count is None else rows * count
        return shapes

    @property
    def _alone_rows(self) -> int | None:
        """Rows of the first ragged axis, of a sample without a batch: the frames of a clip."""
        return None if self.field.varies else self.field.shape[0]

    def tensors(self, value: Any) -> list[Any]:
        """Return the arrays of which its tensors are made: the values, and the row splits of its axes."""
        arrays = []
        for count in self.axes:
            if count is None:
                arrays.append(value.row_splits)
            value = value.values
        return [value, *arrays]


def columns_of(fields: Sequence[Field], slot_fields: Sequence[Field], request: Request) -> Sequence[Column]:
    """Return the columns of a stream, whose slots may have lengths besides."""
    batched = request.batched
    if request.spec.batching != "ragged":
        return [_padded(field) for field in fields]
    # A list lies behind the axes that its lengths have.
    axes = {field.name: len(field.shape) for field in slot_fields}
    return [
        _list(field, axes[field.lengths], batched=batched)
        if field.lengths
        else Column(field, is_list=False, axes=(None,), values=(None, *field.shape))
        if field.varies and batched
        else _padded(field)
        for field in fields
    ]


def _padded(field: Field) -> Column:
    return Column(field, is_list=False, axes=(), values=(*(None,) * field.varies, *field.shape))


def _list(field: Field, frames: int, *, batched: bool) -> Column:
    """Return the column of a list: above it are the batch, and the frames of a clip (`frames` axes) or whole video."""
    above: Shape = (None,) if field.varies else field.shape[:frames]
    axes = (*above, None) if batched else (None,) * len(above)
    return Column(field, is_list=True, axes=axes, values=(None, *field.shape[frames + 1 :]))
