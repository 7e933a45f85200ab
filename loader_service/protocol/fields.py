"""Fields of a batch and where each lies in a slot; the one arithmetic that daemon, workers and clients share."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from loader_service.errors import ProtocolError

#: TensorFlow aborts the process when memory that it imports by DLPack is not aligned to this.
ALIGNMENT_BYTES = 64

#: Upper bound of one field of one sample; a layout comes from a socket, so its sizes are bounded before they are used.
MAX_FIELD_BYTES = 2**40
MAX_FIELD_AXES = 16

#: The dtypes that can travel. Not whatever `numpy.dtype` takes: that parses Python, and pads, aliases and nests.
_DTYPE = re.compile(r"(bool|u?int(8|16|32|64)|float(16|32|64)|S[1-9][0-9]{0,8})\Z")

#: Fields that every stream offers beside the catalog's: the sample's number, its video's name in UTF-8, its first
#: frame, and how many frames are really there.
BOOKKEEPING = ("index", "video", "start", "length")

#: Offered beside them by a stream with an index: which entry of it the sample comes from.
POSITION = "position"

#: What only the service itself can say of a sample.
SERVICE_FIELDS = (*BOOKKEEPING, POSITION)


@dataclass(frozen=True)
class CatalogField:
    """One named thing that the catalog has of each video.

    Parameters
    ----------
    name
        As in ``Spec.fields``.
    kind
        ``"image"``: pictures, one a frame; ``"array"``: numbers of a fixed shape, one a frame; ``"value"``: one for
        the whole video.
    dtype
        As in `Field`; of images ``"uint8"``.
    shape
        Of one frame, or of the value. A side of 0 differs: in images ``(height, width, channels)`` between videos, in
        arrays and values between any two of them.
    classes
        Names that the numbers of a value stand for: a name's place is its number. Empty when they stand for themselves.
    most
        Of arrays and values with sides that differ: the shape with the longest of each that occurs, which is what one
        takes in a batch. Else empty.
    """

    name: str
    kind: Literal["image", "array", "value"]
    dtype: str
    shape: tuple[int, ...]
    classes: tuple[str, ...] = ()
    most: tuple[int, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether it is filled up with zeros in a batch, and has a field of its real sides beside it."""
        return bool(self.most)

    @property
    def is_list(self) -> bool:
        """Whether only its first side differs, as with boxes: then one number says how much is real."""
        return self.differs and self.shape[0] == 0 and 0 not in self.shape[1:]

    @property
    def sides_name(self) -> str:
        """The field beside it: ``<name>_length`` of a list, ``<name>_shape`` of others; empty if no side differs."""
        if not self.differs:
            return ""
        return f"{self.name}_length" if self.is_list else f"{self.name}_shape"

    @property
    def sides_shape(self) -> tuple[int, ...]:
        """The shape of that field's entry: one number, or one for each axis."""
        return () if self.is_list else (len(self.shape),)


@dataclass(frozen=True)
class Field:
    """One named column of a batch.

    Parameters
    ----------
    name
        As in ``Spec.fields``.
    dtype
        NumPy name of a number, bool or fixed-width bytes type: ``"uint8"``, ``"int64"``, ``"S24"``.
    shape
        Shape of one sample, without the batch axis; when it varies, of one frame.
    varies
        Whether samples have a time axis of different length. The frames of all rows then lie one after the other.
    lengths
        Of lists of numbers: the field that says how many entries of each are real, the others being zeros. Its axes are
        those before the list's own. Empty of all other fields.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    varies: bool = False
    lengths: str = ""

    def __post_init__(self) -> None:
        if not _DTYPE.match(self.dtype):
            raise ProtocolError(
                f"field {self.name!r} has dtype {self.dtype!r:.80}; only numbers, bool and bytes can travel"
            )
        if len(self.shape) > MAX_FIELD_AXES:
            raise ProtocolError(f"field {self.name!r} has a shape of {len(self.shape)} axes; at most {MAX_FIELD_AXES}")
        if any(side < 0 for side in self.shape) or self.sample_bytes > MAX_FIELD_BYTES:
            raise ProtocolError(f"field {self.name!r} has shape {self.shape!r}, which is out of range")

    @property
    def sample_bytes(self) -> int:
        """Bytes that one sample takes; when it varies, one frame."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class SlotLayout:
    """Where the fields of a batch lie in its slot: one after the other, each 64-byte aligned, batch axis first.

    Parameters
    ----------
    fields
        In the order in which they lie in the slot.
    batch_size
        Rows that the slot has room for.
    frames
        Frames that it has room for, of all rows together, in each field that varies.
    """

    fields: tuple[Field, ...]
    batch_size: int
    frames: int = 0

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Byte offset of each field; one entry more than there are fields, the last one being the slot's size."""
        offsets = [0]
        for field in self.fields:
            end = offsets[-1] + field.sample_bytes * self._room(field)
            offsets.append(-(-end // ALIGNMENT_BYTES) * ALIGNMENT_BYTES)
        return tuple(offsets)

    @property
    def size_bytes(self) -> int:
        """Bytes of one slot; at least one alignment unit, since an empty file cannot be mapped."""
        return max(self.offsets[-1], ALIGNMENT_BYTES)

    def view(self, name: str, buffer: Any, length: int | None = None) -> npt.NDArray[Any]:
        """Return one field's rows, or frames if it varies, as an array over `buffer`, valid while that is mapped.

        Parameters
        ----------
        name
            The field.
        buffer
            The slot's memory, at least `size_bytes` long.
        length
            Rows that are filled, or frames if the field varies; None for all.

        Returns
        -------
        numpy.ndarray
            ``(length, *field.shape)``, C-order, sharing memory with `buffer`, and its own base: views of it keep it
            alive.
        """
        number = self.index(name)
        field = self.fields[number]
        shape = (self._room(field) if length is None else length, *field.shape)
        array: npt.NDArray[Any] = np.ndarray(shape, np.dtype(field.dtype), buffer, self.offsets[number])
        return array

    def views(self, buffer: Any, rows: int, frames: int) -> dict[str, npt.NDArray[Any]]:
        """Return all fields' arrays, as `view` does, of a slot with so many rows, and frames where they vary."""
        return {
            name: np.ndarray((frames if varies else rows, *shape), dtype, buffer, offset)
            for name, varies, shape, dtype, offset in self._places
        }

    @cached_property
    def _places(self) -> list[tuple[str, bool, tuple[int, ...], np.dtype[Any], int]]:
        """What `views` is to know of each field."""
        return [
            (field.name, field.varies, field.shape, np.dtype(field.dtype), offset)
            for field, offset in zip(self.fields, self.offsets, strict=False)
        ]

    def _room(self, field: Field) -> int:
        return self.frames if field.varies else self.batch_size

    def index(self, name: str) -> int:
        """Return the place of the field called `name`."""
        for number, field in enumerate(self.fields):
            if field.name == name:
                return number
        raise KeyError(name)
