"""Makes the values of videos alike: what is a list in one of them is a list in all, and numbers are of one type.

Formats such as `tf.train.Example` have lists alone, so one entry may be a number or a list that happens to be short;
JSON has no types of numbers, so a share of 1 is whole among others that are not; and an empty list tells no shape of
its entries. That is seen when all videos of a file are known, and before their values are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from loader_service.pack.records import PackedVideo, of_plain, to_plain


class _Form(NamedTuple):
    """What the values of one name are: of which type, whether a list, and of which shape its entries."""

    dtype: np.dtype[Any]
    is_list: bool
    inner: tuple[int, ...]

    def with_one(self, other: _Form) -> _Form:
        """Return what both are; numbers of two types are of the one that holds both."""
        numbers = self.dtype.kind in _NUMBERS and other.dtype.kind in _NUMBERS
        dtype = np.result_type(self.dtype, other.dtype) if numbers else self.dtype
        return _Form(dtype, self.is_list or other.is_list, self.inner if self.is_list else other.inner)


#: Kinds of types of numbers.
_NUMBERS = frozenset("biuf")


class AlikeValues:
    """What the values of the videos up to now are."""

    def __init__(self) -> None:
        self._forms: dict[str, _Form] = {}

    def see(self, record: PackedVideo) -> None:
        """Take note of the values of a video."""
        for name, value in record.attributes.items():
            found = None if isinstance(value, str) else of_plain(value)
            if found is not None and found.size:
                form = _Form(found.dtype, bool(found.ndim), found.shape[1:])
                self._forms[name] = self._forms[name].with_one(form) if name in self._forms else form

    def alike(self, record: PackedVideo) -> PackedVideo:
        """Return a video whose values are of the form that others have."""
        changed = {}
        for name in record.attributes.keys() & self._forms.keys() - {"label"}:
            value, form = record.attributes[name], self._forms[name]
            if form.is_list or not isinstance(value, str):
                found = of_plain(value)
                made = _made_alike(found, form)
                if (made.dtype, made.shape) != (found.dtype, found.shape):
                    changed[name] = to_plain(made)
        return replace(record, attributes=record.attributes | changed) if changed else record


def _made_alike(found: Any, form: _Form) -> Any:
    """Return a value in a form, as far as no number becomes another one."""
    if not found.size:
        return np.zeros((0, *form.inner), form.dtype)
    made = found.reshape(1) if form.is_list and not found.ndim else found
    if not {made.dtype.kind, form.dtype.kind} <= _NUMBERS:
        return made
    typed = made.astype(form.dtype)
    return typed if np.array_equal(typed.astype(made.dtype), made, equal_nan=made.dtype.kind == "f") else made


def values_alike(records: Sequence[PackedVideo], alike: AlikeValues) -> list[PackedVideo]:
    """Return the videos of a shard in the order of their bytes, alike with each other and with those seen before."""
    for record in records:
        alike.see(record)
    return [alike.alike(record) for record in sorted(records, key=lambda each: each.offset)]


def shards_alike(records: Sequence[PackedVideo], alike: AlikeValues) -> list[PackedVideo]:
    """Return the videos of finished shards with the values that are in them, where others are those that were read."""
    of_shard: dict[int, list[PackedVideo]] = {}
    for record in records:
        of_shard.setdefault(record.shard, []).append(record)
    return [record for shard in sorted(of_shard) for record in values_alike(of_shard[shard], alike)]
