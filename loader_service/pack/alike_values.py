"""Makes the values of videos alike: what is a list in one of them is a list in all, and numbers are of one type.

Formats such as `tf.train.Example` have lists alone, so one entry may be a number or a list that happens to be short;
JSON has no types of numbers, so a share of 1 is whole among others that are not; and an empty list tells no shape of
its entries. A list of a picture that is too long for a value is a dataset: then it is one in all videos, and those that
are short lie with the index. That is seen when all videos of a file are known, and before their values are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from loader_service.catalog.videos.beside.flat_lists import BOUNDS_ENDING
from loader_service.pack.records import PackedDataset, PackedVideo, of_plain, to_plain


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
        self._values: set[str] = set()
        self._datasets: set[str] = set()

    def see(self, record: PackedVideo) -> None:
        """Take note of the values of a video."""
        for name, value in (*record.attributes.items(), *record.short.items()):
            found = None if isinstance(value, str) else of_plain(value)
            if found is not None and found.size:
                self._add(name, _Form(found.dtype, bool(found.ndim), found.shape[1:]))
        if record.frames == 1:
            self._values |= record.attributes.keys()
            for each in record.datasets:
                is_list = each.name + BOUNDS_ENDING in record.short
                if is_list or _is_row(each):
                    self._datasets |= {each.name}
                    self._add(each.name, _Form(np.dtype(each.dtype), True, each.shape[1 if is_list else 2 :]))
            self._values |= record.short.keys()
            self._datasets |= record.short.keys()

    def _add(self, name: str, form: _Form) -> None:
        self._forms[name] = self._forms[name].with_one(form) if name in self._forms else form

    def alike(self, record: PackedVideo) -> PackedVideo:
        """Return a video whose values are of the form that others have."""
        changed = {}
        for name in record.attributes.keys() & self._forms.keys() - {"label"}:
            value, form = record.attributes[name], self._forms[name]
            if form.is_list or not isinstance(value, str):
                found = _array(value, form)
                made = _made_alike(found, form)
                if (made.dtype, made.shape) != (found.dtype, found.shape):
                    changed[name] = to_plain(made)
        alike = replace(record, attributes=record.attributes | changed) if changed else record
        mixed = self._values & self._datasets if record.frames == 1 else set()
        return self._as_lists(alike, mixed) if mixed else alike

    def _as_lists(self, record: PackedVideo, names: AbstractSet[str]) -> PackedVideo:
        """Return a video of one frame in which values are lists that are too long for one in other videos."""
        attributes, short = dict(record.attributes), dict(record.short)
        for name in sorted(names & attributes.keys()):
            entries = np.atleast_1d(_array(attributes.pop(name), self._forms[name]))
            short |= {name: to_plain(entries), name + BOUNDS_ENDING: to_plain(np.array([0, len(entries)]))}
        datasets = list(record.datasets)
        for place, each in enumerate(datasets):
            if each.name in names and _is_row(each) and each.name + BOUNDS_ENDING not in short:
                datasets[place] = each._replace(shape=each.shape[1:])
                short[each.name + BOUNDS_ENDING] = to_plain(np.array([0, each.shape[1]]))
        return replace(record, attributes=attributes, short=short, datasets=tuple(datasets))


def _is_row(dataset: PackedDataset) -> bool:
    """Tell whether a dataset of a video of one frame is a list of that frame."""
    return len(dataset.shape) > 1 and dataset.shape[0] == 1


def _array(value: Any, form: _Form) -> Any:
    """Return a value as an array; a text as its bytes where others are so long that they are such."""
    is_bytes = isinstance(value, str) and form.dtype == np.uint8
    return np.frombuffer(value.encode("utf-8", "surrogateescape"), np.uint8) if is_bytes else of_plain(value)


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
