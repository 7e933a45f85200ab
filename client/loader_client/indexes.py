"""Which samples a step of an index holds: of an array that is shuffled, or as announced by a generator of the user's.

Pure: entries in, samples and positions out. An entry's *position* is its place in the array, or its number in the
sequence that the generator gives; it keys the random draws of the sample, so one that occurs twice looks different.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from loader_service.errors import ConfigError
from loader_service.plan.epoch import Plan
from loader_service.protocol.numbers import NumberColumn, number_column
from loader_service.protocol.spec import Spec

#: Steps per epoch of an index of which nobody knows how long it is.
ENDLESS = 2**62

#: Steps that are announced and not asked for yet, at most: those of iterators that were dropped never are.
_MOST_ANNOUNCED = 4096

#: How many keys or entries an error names.
_NAMED = 5


@dataclass(frozen=True)
class StepContents:
    """What a step holds: sample numbers, and the positions of their entries in the index."""

    samples: NumberColumn = ()
    positions: NumberColumn = ()


#: Of a step that the plan alone knows.
PLANNED = StepContents()


class Index(Protocol):
    """What a stream asks of an index."""

    @property
    def steps_per_epoch(self) -> int:
        """Steps in an epoch."""

    @property
    def first_step(self) -> int:
        """First step that is left of the epoch that ranks of another world had begun; 0 without one."""

    @property
    def entries(self) -> bytes:
        """What tells it from another index; empty when nobody knows it as a whole."""

    def check(self, sample_count: int) -> None:
        """Raise ConfigError when an entry is none of so many samples."""

    def contents(self, epoch: int, step: int) -> StepContents:
        """Return what a step holds; asked once for each want."""


class RowIndex:
    """An array of sample numbers, in any multiplicity; an epoch is a shuffle of it. For use by one thread at a time.

    Parameters
    ----------
    entries
        ``(entries,)`` sample numbers; copied.
    spec
        Its batch size, order, seed, shard and what is left of an epoch.

    Raises
    ------
    ConfigError
        When the entries are no column of whole numbers, or too few for a step.
    """

    def __init__(self, entries: Any, spec: Spec) -> None:
        given = np.asarray(entries)
        if given.ndim != 1 or given.dtype.kind not in "iu" or not given.size:
            raise ConfigError(
                f"index is an array of shape {given.shape!r} and dtype {given.dtype.name}; "
                "give sample numbers as one int64 column that is not empty"
            )
        self._entries: NDArray[np.int64] = given.astype(np.int64)
        self._plan = Plan(len(self._entries), spec)
        if not self._plan.steps_per_epoch:
            raise ConfigError(
                f"batch_size={spec.batch_size} is more than the entries of shard {spec.shard!r} of an index of "
                f"{len(self._entries):,}; give a smaller batch_size, or drop_remainder=False"
            )

    @property
    def steps_per_epoch(self) -> int:
        """Steps of this shard in an epoch."""
        return self._plan.steps_per_epoch

    @property
    def first_step(self) -> int:
        """First step that is left of the epoch that ranks of another world had begun; 0 without one."""
        return self._plan.first_step

    @property
    def entries(self) -> bytes:
        """The array's bytes."""
        return self._entries.tobytes()

    def check(self, sample_count: int) -> None:
        """Raise ConfigError when an entry is none of so many samples."""
        outside = np.flatnonzero((self._entries < 0) | (self._entries >= sample_count))
        if len(outside):
            raise _outside(f"index[{outside[0]}]", int(self._entries[outside[0]]), sample_count, len(outside))

    def contents(self, epoch: int, step: int) -> StepContents:
        """Return what a step holds."""
        positions = self._plan.samples(epoch, step)
        return StepContents(number_column(self._entries[positions]), number_column(positions))


class AnnouncedIndex:
    """Steps whose contents are announced one by one, by a generator that runs ahead of the reader.

    For use by one thread at a time. It is announced again what was asked for before: a step is known until then.

    Parameters
    ----------
    batch_size
        Samples that a step may have.
    """

    def __init__(self, batch_size: int) -> None:
        self._batch_size = batch_size
        self._sample_count = ENDLESS
        self._announced: dict[tuple[int, int], StepContents] = {}
        self._lengths: dict[int, int] = {}  # steps that were announced, by epoch

    @property
    def steps_per_epoch(self) -> int:
        """Return what stands for a number that nobody knows."""
        return ENDLESS

    @property
    def first_step(self) -> int:
        """Return 0: the dataset that announces steps leaves out what was consumed."""
        return 0

    @property
    def entries(self) -> bytes:
        """Return nothing."""
        return b""

    def check(self, sample_count: int) -> None:
        """Take note how many samples there are; entries are checked when they are announced."""
        self._sample_count = sample_count

    def announce(self, epoch: int, step: int, samples: NDArray[Any], first: int) -> None:
        """Take note of what a step holds.

        Parameters
        ----------
        epoch, step
            Which step it is.
        samples
            ``(1 to batch_size,)`` sample numbers.
        first
            Position of the first of them; the others follow.

        Raises
        ------
        ConfigError
            When one is no sample's number, or they are none or too many.
        """
        if not 0 < len(samples) <= self._batch_size:
            raise ConfigError(
                f"the index dataset gave {len(samples)} samples for step {step} of epoch {epoch}; "
                f"give vectors of 1 to batch_size={self._batch_size}, or single numbers"
            )
        outside = np.flatnonzero((samples < 0) | (samples >= self._sample_count))
        if len(outside):
            entry, value = int(outside[0]), int(samples[outside[0]])
            raise _outside(f"entry {first + entry} of the index dataset", value, self._sample_count, len(outside))
        positions = np.arange(first, first + len(samples))
        self._announced[epoch, step] = StepContents(number_column(samples), number_column(positions))
        self._lengths[epoch] = max(step + 1, self._lengths.get(epoch, 0))
        if len(self._announced) > _MOST_ANNOUNCED:
            del self._announced[next(iter(self._announced))]
        if len(self._lengths) > _MOST_ANNOUNCED:
            del self._lengths[next(iter(self._lengths))]

    def end(self, epoch: int) -> int | None:
        """Return how many steps an epoch has of which all were announced; None when that was asked before."""
        return self._lengths.pop(epoch, None)

    def knows(self, epoch: int, step: int) -> bool:
        """Return whether a step was announced, and not asked for since."""
        return (epoch, step) in self._announced

    def contents(self, epoch: int, step: int) -> StepContents:
        """Return what a step holds."""
        return self._announced[epoch, step]

    def forget(self, epoch: int, step: int) -> None:
        """Forget a step that is asked for now."""
        self._announced.pop((epoch, step), None)


def rows_of_keys(wanted: Any, keys: NDArray[np.bytes_], samples: NDArray[np.int64], field: str) -> NDArray[np.int64]:
    """Return the sample that each key names.

    Parameters
    ----------
    wanted
        Keys, text or UTF-8 bytes, in any multiplicity.
    keys, samples
        ``(samples,)``: what the catalog has.
    field
        Its name there.

    Raises
    ------
    ConfigError
        When a key names no sample, or several.
    """
    asked = np.array([key.encode() if isinstance(key, str) else bytes(key) for key in wanted], dtype="S")
    if not asked.size:
        raise ConfigError("index_keys is empty; give the keys of the samples that an epoch shall have")
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first, after = (np.searchsorted(ordered, asked, side) for side in ("left", "right"))
    missing, several = after == first, after - first > 1
    if missing.any():
        raise ConfigError(
            f"{int(missing.sum()):,} of {len(asked):,} index_keys name no sample by its field {field!r}: "
            f"{_some(asked[missing])}; its keys are such as {_some(keys)}; mend the keys, or give another key_field"
        )
    if several.any():
        raise ConfigError(
            f"{int(several.sum()):,} of {len(asked):,} index_keys name more than one sample by its field {field!r}: "
            f"{_some(asked[several])}; give a key_field whose values are all different, or sample numbers as index"
        )
    return np.asarray(samples[order[first]], dtype=np.int64)


def _outside(what: str, value: int, sample_count: int, others: int) -> ConfigError:
    more = f" ({others:,} entries are like that)" if others > 1 else ""
    return ConfigError(
        f"{what} is {value}{more}, and the service has {sample_count:,} samples, numbered 0 to {sample_count - 1}; "
        "mend the index"
    )


def _some(keys: NDArray[np.bytes_]) -> str:
    names = [repr(key.decode("utf-8", "replace")) for key in dict.fromkeys(keys[: 64 * _NAMED].tolist())]
    return ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
