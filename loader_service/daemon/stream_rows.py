"""The rows of a stream's steps, as the scheduler asks for them: a pure function of (catalog, spec)."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from loader_service.catalog.columns import Catalog
from loader_service.daemon.chosen_samples import chosen_samples
from loader_service.plan.plans import make_plan
from loader_service.plan.randomness import Purpose, below, draws
from loader_service.plan.samples import make_samples
from loader_service.protocol.numbers import NumberColumn, int64_column, number_column
from loader_service.protocol.rows import Row, StepRows
from loader_service.protocol.spec import Spec

#: Substitutes tried for a bad sample before the step fails all the same: that many bad ones in a row are no accident.
SUBSTITUTES = 8


class CatalogRows:
    """The rows of a stream.

    Parameters
    ----------
    catalog
        What the files hold.
    spec
        What the stream delivers of it.
    fields
        Names of the catalog's fields that are read for it.

    Attributes
    ----------
    samples : Samples
        What the catalog has, whichever of them the spec chooses: their numbers stay the same.
    plan : Plan
        The steps, unless the client names the samples of each.
    """

    def __init__(self, catalog: Catalog, spec: Spec, fields: Iterable[str] = ()) -> None:
        self._catalog = catalog
        self._seed = spec.seed
        self._varies = spec.varies
        self.samples = make_samples(catalog.counts_with(fields), spec.clip, spec.seed)
        self._subset = chosen_samples(catalog, self.samples, spec)
        # What is left of an index, its client knows.
        planned = dataclasses.replace(spec, resumed=None) if spec.indexed else spec
        self.plan = make_plan(self.samples, catalog.video_file, planned, self._subset)

    def rows(self, epoch: int, step: int) -> StepRows:
        """Return the rows of a step."""
        samples = self.plan.samples(epoch, step)
        return self._rows(samples, number_column(samples), [None] * len(samples))

    def rows_of(self, samples: NumberColumn, positions: NumberColumn) -> StepRows:
        """Return the rows of a step whose samples the client chose."""
        return self._rows(int64_column(samples), samples, positions)

    def substitute(self, epoch: int, bad: Row, attempt: int) -> Row | None:
        """Return what takes the place of a bad sample: drawn anew for each (seed, epoch, sample or position, attempt).

        It is another sample of those that the spec chooses, and in whole videos one that is at least as long, of which
        as many frames are taken.
        """
        candidates = self._candidates(bad)
        if not candidates:
            return None
        key = bad.sample if bad.position is None else bad.position
        counter = np.asarray([(key * (SUBSTITUTES + 1) + attempt) % 2**64], np.uint64).astype(np.int64)
        place = int(below(draws(self._seed, epoch, counter, Purpose.SUBSTITUTE), candidates)[0])
        sample = self._candidate(bad, place)
        file = int(self._catalog.video_file[self.samples.videos(sample)])
        return Row(sample, file, bad.position, bad.frames)

    def describe(self, sample: int) -> str:
        """Return a sample's file and video, for errors."""
        return self._catalog.describe(int(self.samples.videos(sample)))

    def place(self, sample: int) -> tuple[str, str]:
        """Return a sample's file and video, for `status`."""
        return self._catalog.place(int(self.samples.videos(sample)))

    def _rows(
        self, samples: NDArray[np.int64], numbers: NumberColumn, positions: NumberColumn | Sequence[None]
    ) -> StepRows:
        """Return the rows of some samples, which are given as an array and as they travel."""
        files = self._catalog.video_file[self.samples.videos(samples)]
        frames = self.samples.lengths(samples).tolist() if self._varies else [0] * len(samples)
        return StepRows(numbers, files.tolist(), positions, frames)

    def _candidates(self, bad: Row) -> int:
        """Return how many other samples could take the place of a bad one."""
        if not self._varies:
            return self._count - 1
        return self._count - int(np.searchsorted(self._sorted_lengths, bad.frames)) - 1

    def _candidate(self, bad: Row, place: int) -> int:
        """Return one of them; the bad one is passed over."""
        if not self._varies and self._subset is None:
            return place + (place >= bad.sample)
        if not self._varies and self._subset is not None:
            return int(self._subset.numbers(place + (place >= int(self._subset.before(bad.sample)))))
        # Neighbours of one length stand in the order of their numbers, the shortest that suffice first.
        first, end = (int(np.searchsorted(self._sorted_lengths, bad.frames, side)) for side in ("left", "right"))
        own = int(np.searchsorted(self._by_length[first:end], bad.sample))
        return int(self._by_length[first + place + (place >= own)])

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The samples that the spec chooses, rising."""
        positions = np.arange(self._count)
        return positions if self._subset is None else self._subset.numbers(positions)

    @property
    def _count(self) -> int:
        """How many samples the spec chooses."""
        return self.samples.sample_count if self._subset is None else self._subset.count

    @functools.cached_property
    def _by_length(self) -> NDArray[np.int64]:
        """All samples of an epoch, from the shortest to the longest; made when the first bad one is met."""
        numbers = self.numbers
        return np.asarray(numbers[np.argsort(self.samples.lengths(numbers), kind="stable")])

    @functools.cached_property
    def _sorted_lengths(self) -> NDArray[np.int64]:
        return self.samples.lengths(self._by_length)
