"""Turns a client's spec into an open stream: plan, fields, slots within the budget; knows no socket and no process."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loader_service.catalog.columns import Catalog
from loader_service.core.events import Row, StreamOpened
from loader_service.daemon.segments import SegmentStore, free_bytes
from loader_service.errors import ConfigError, ProtocolError
from loader_service.plan.clips import ClipPlan
from loader_service.plan.fields import CatalogFacts, stream_fields
from loader_service.plan.randomness import Purpose, below, draws
from loader_service.plan.steps import Plan
from loader_service.protocol.fields import SlotLayout
from loader_service.protocol.messages import Opened, PrepareStream
from loader_service.protocol.spec import Spec

#: Steps filled ahead unless the client says otherwise: what keeps workers busy, and more when steps are small.
LEAST_PREFETCH, MOST_PREFETCH, PREFETCH_BYTES = 4, 32, 256 * 2**20

#: Substitutes tried for a bad sample before the step fails all the same: that many bad ones in a row are no accident.
SUBSTITUTES = 8


class CatalogRows:
    """The order of a stream, as the scheduler asks for it: a pure function of (catalog, spec)."""

    def __init__(self, catalog: Catalog, spec: Spec) -> None:
        self._catalog = catalog
        self._seed = spec.seed
        self.clips = ClipPlan(catalog.frame_counts, spec.clip, spec.seed)
        self.plan = Plan(self.clips.sample_count, spec)

    def rows(self, epoch: int, step: int) -> tuple[Row, ...]:
        """Return the rows of a step."""
        samples = self.plan.samples(epoch, step)
        files = self._catalog.video_file[self.clips.videos(samples)]
        return tuple(map(Row, samples.tolist(), files.tolist()))

    def substitute(self, epoch: int, step: int, row: int, attempt: int) -> Row:
        """Return the sample that takes the place of a bad one: drawn anew for each (seed, epoch, sample, attempt)."""
        bad = int(self.plan.samples(epoch, step)[row])
        counter = np.asarray([bad * (SUBSTITUTES + 1) + attempt], np.int64)
        sample = below(draws(self._seed, epoch, counter, Purpose.SUBSTITUTE), self.clips.sample_count)
        return Row(int(sample[0]), int(self._catalog.video_file[self.clips.videos(sample)][0]))

    def describe(self, sample: int) -> str:
        """Return a sample's file and video, for errors."""
        return self._catalog.describe(int(self.clips.videos(np.asarray([sample]))[0]))


@dataclass(frozen=True)
class Opening:
    """A stream that can begin: what the client, the workers and the scheduler are told."""

    opened: Opened
    prepare: PrepareStream
    event: StreamOpened
    slot_bytes: int
    padded_videos: int


class StreamOpener:
    """Opens streams on one catalog.

    Parameters
    ----------
    catalog
        What the files hold.
    segments
        Gets the slots.
    memory_bytes
        Most shared memory for all slots together; 0 for half of what is free now.
    """

    def __init__(self, catalog: Catalog, segments: SegmentStore, memory_bytes: int) -> None:
        self._catalog = catalog
        self._segments = segments
        self._last_stream = 0
        self.budget_bytes = memory_bytes or free_bytes() // 2
        labels = catalog.labels
        self.facts = CatalogFacts(
            frame_shape=catalog.frame_shape,
            label_dtype=None if labels is None else labels.dtype.name,
            name_bytes=catalog.name_width,
        )

    def open(self, client: str, request: int, spec: Spec) -> Opening:
        """Open a stream.

        Raises
        ------
        ConfigError
            When the catalog cannot give what the spec asks for, or the memory does not suffice.
        """
        try:
            fields = stream_fields(self.facts, spec)
        except ProtocolError as error:
            raise ConfigError(f"such a sample cannot travel: {error}; use fewer frames or a smaller size") from error
        source = CatalogRows(self._catalog, spec)
        if source.plan.steps_per_epoch == 0:
            raise ConfigError(_too_few(source, spec))
        layout = SlotLayout(fields, spec.batch_size)
        available = min(self.budget_bytes - self._segments.total_bytes, free_bytes())
        prefetch = choose_prefetch(layout.size_bytes, spec.prefetch, available)
        slots = self._segments.create(2 * prefetch, layout.size_bytes)
        self._last_stream += 1
        number, steps = self._last_stream, source.plan.steps_per_epoch
        return Opening(
            opened=Opened(request, number, fields, steps, len(slots), prefetch),
            prepare=PrepareStream(number, spec, fields),
            event=StreamOpened(
                client=client,
                stream=number,
                source=source,
                steps_per_epoch=steps,
                slots=slots,
                row_bytes=layout.size_bytes // spec.batch_size,
                substitutes=SUBSTITUTES if spec.on_error == "substitute" else 0,
            ),
            slot_bytes=layout.size_bytes,
            padded_videos=source.clips.padded_videos,
        )


def choose_prefetch(slot_bytes: int, wanted: int, available_bytes: int) -> int:
    """Return how many steps to fill ahead; each takes two slots, one to fill and one for the trainer to hold.

    Parameters
    ----------
    slot_bytes
        Size of a slot.
    wanted
        What the client asked for; 0 to choose here.
    available_bytes
        What is left of the budget.

    Raises
    ------
    ConfigError
        When not even the smallest choice, or not what was asked for, fits.
    """
    fitting = available_bytes // (2 * slot_bytes)
    if fitting < max(1, wanted):
        need = max(1, wanted) * 2 * slot_bytes
        raise ConfigError(
            f"batches of {slot_bytes} bytes need {need} bytes of shared memory, {max(0, available_bytes)} are left of "
            "the budget; use a smaller batch_size or prefetch, or start the service with more --memory"
        )
    return wanted or min(max(LEAST_PREFETCH, min(MOST_PREFETCH, PREFETCH_BYTES // slot_bytes)), fitting)


def _too_few(source: CatalogRows, spec: Spec) -> str:
    world = spec.shard[1]
    share = f", shared among {world} shards," if world > 1 else ""
    return (
        f"batch_size={spec.batch_size} is more than one epoch has: {source.plan.sample_count} samples{share} make no "
        "full batch; use a smaller batch_size, or drop_remainder=False"
    )
