"""Turns a client's spec into an open stream: plan, fields, slots within the budget; knows no socket and no process."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from loader_service.catalog.columns import Catalog
from loader_service.core.events import Lengths, StreamOpened
from loader_service.core.tasks import SMALL_TASK_BYTES
from loader_service.daemon.room import Room, make_budget, no_room, rooms
from loader_service.daemon.segments import NoSpace, SegmentStore
from loader_service.daemon.stream_rows import SUBSTITUTES, CatalogRows
from loader_service.errors import ConfigError, ProtocolError
from loader_service.plan.buckets import padding_share
from loader_service.plan.fields import CatalogFacts, select_fields, stream_fields, transform_inputs
from loader_service.plan.order import MAX_POSITIONS
from loader_service.plan.prefetch import LEAST_SLOTS, steps_ahead, wanted_slots
from loader_service.plan.steps import Plan
from loader_service.protocol.fields import Field, SlotLayout
from loader_service.protocol.messages import Opened, PrepareStream, Want
from loader_service.protocol.spec import Frame, Spec

#: What a row counts as at least, in bytes of output, when code of the user's own makes it: nobody knows how much work
#: that is, but 16 such rows are worth a message of their own.
LEAST_ROW_BYTES_OF_OWN_CODE = SMALL_TASK_BYTES // 16


@dataclass(frozen=True)
class Opening:
    """A stream that can begin: what the client, the workers and the scheduler are told.

    Parameters
    ----------
    opened, prepare, event
        For each of them.
    slot_bytes
        Size of a slot.
    wanted_slots
        What it would have if there were room.
    padded_videos
        Videos shorter than the clip.
    padding, padding_unsorted
        Share of the frames of padded batches that is padding, and what it would be without buckets; 0 when the samples
        have one length, or the client chooses them.
    """

    opened: Opened
    prepare: PrepareStream
    event: StreamOpened
    slot_bytes: int
    wanted_slots: int
    padded_videos: int
    padding: float = 0.0
    padding_unsorted: float = 0.0

    def check(self, want: Want) -> None:
        """Raise an error unless a want names such samples as the stream can deliver.

        Raises
        ------
        ConfigError
            When it names samples although it must not, none although it must, or some that do not exist.
        """
        spec, place = self.prepare.spec, f"want {want.want} of stream {want.stream}"
        if not spec.indexed:
            if want.samples or want.positions:
                raise ConfigError(
                    f"{place} names samples, but the stream has no index; open it with Spec(indexed=True)"
                )
            return
        if not 1 <= len(want.samples) <= spec.batch_size or len(want.positions) != len(want.samples):
            raise ConfigError(
                f"{place} has {len(want.samples)} samples and {len(want.positions)} positions; a step of an index has "
                f"1 to {spec.batch_size} samples, and as many positions"
            )
        for what, numbers, end in (
            ("sample", want.samples, self.opened.samples),
            ("position", want.positions, MAX_POSITIONS),
        ):
            if min(numbers) < 0 or max(numbers) >= end:
                outside = next(each for each in numbers if not 0 <= each < end)
                raise ConfigError(f"{place} names {what} {outside}; there are {end}, numbered from 0")


#: How long ago streams may have closed whose memory is still waited for, in seconds: to have all slots that are wanted,
#: and to have any. A worker that is busy with a task unmaps after it.
_WAIT_FOR_MORE_S, _WAIT_FOR_ANY_S = 0.5, 5.0


@dataclass(frozen=True)
class Moment:
    """What the service is at when a stream opens.

    Parameters
    ----------
    workers
        Processes whose memory may still grow, and is left room for.
    since_retired_s
        How long ago a stream was closed, whose memory may be on its way back.
    """

    workers: int = 1
    since_retired_s: float = math.inf


_ALONE = Moment()


class NotYet(Exception):
    """There is too little room, but memory is on its way back; to be asked again in a moment."""


class NoRoom(ConfigError):
    """Not even two slots fit.

    Parameters
    ----------
    slot_bytes
        Size of a slot.
    room
        What is left, and of what.
    why
        Why a slot is so large, where that is not plain.
    """

    def __init__(self, slot_bytes: int, room: Room, why: str = "") -> None:
        self.slot_bytes, self.room, self.why = slot_bytes, room, why
        super().__init__(self._words(""))

    def said(self, holders: str) -> ConfigError:
        """Return the error for people, who are told who holds the rest."""
        return ConfigError(self._words(holders))

    def _words(self, holders: str) -> str:
        words = no_room(self.slot_bytes, LEAST_SLOTS, self.room, holders)
        return f"{self.why}; {words}" if self.why else words


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
        self._budget = make_budget(memory_bytes)
        self.budget_bytes = self._budget.total_bytes
        self.facts = CatalogFacts(fields=catalog.fields, name_bytes=catalog.name_width)

    def inputs(self, spec: Spec) -> tuple[Field, ...]:
        """Return what a transform is given of each sample of a stream.

        Raises
        ------
        ConfigError
            When the catalog cannot give what the spec asks for.
        """
        _check_items(self._catalog, spec)
        try:
            return transform_inputs(self.facts, spec)
        except ProtocolError as error:
            raise _too_large(error) from error

    def open(
        self, client: str, request: int, spec: Spec, outputs: Sequence[Field] | None = None, moment: Moment = _ALONE
    ) -> Opening:
        """Open a stream.

        Parameters
        ----------
        client, request
            Who asks, and the number that the answer has.
        spec
            What for.
        outputs
            What the transform makes of `inputs(spec)`; None without a transform.
        moment
            What the service is at.

        Raises
        ------
        ConfigError
            When the catalog cannot give what the spec asks for.
        NoRoom
            When the memory does not suffice.
        NotYet
            When it may suffice in a moment.
        """
        _check_items(self._catalog, spec)
        try:
            fields = stream_fields(self.facts, spec) if outputs is None else select_fields(self.facts, outputs, spec)
        except ProtocolError as error:
            raise _too_large(error) from error
        source = CatalogRows(self._catalog, spec)
        if not source.samples.sample_count or (source.plan.steps_per_epoch == 0 and not spec.indexed):
            raise ConfigError(_too_few(source, spec))
        layout = SlotLayout(fields, spec.batch_size, _slot_frames(source, spec))
        wanted = wanted_slots(layout.size_bytes, spec.prefetch)
        try:
            slots = self._make_slots(layout.size_bytes, wanted, moment)
        except NoRoom as error:
            raise NoRoom(error.slot_bytes, error.room, _longest(layout, source, spec) if spec.varies else "") from error
        self._last_stream += 1
        number, steps = self._last_stream, 0 if spec.indexed else source.plan.steps_per_epoch
        samples, frames = source.samples.sample_count, layout.frames
        inputs = () if outputs is None else self.inputs(spec)
        own_code = outputs is not None or self._catalog.kind in ("map", "generator")
        return Opening(
            opened=Opened(request, number, fields, steps, len(slots), steps_ahead(len(slots)), samples, frames),
            prepare=PrepareStream(number, spec, fields, frames, inputs),
            event=StreamOpened(
                client=client,
                stream=number,
                source=source,
                steps_per_epoch=steps,
                slots=slots,
                row_bytes=_row_bytes(fields, own_code=own_code),
                substitutes=SUBSTITUTES if spec.on_error == "substitute" else 0,
                frame_bytes=sum(field.sample_bytes for field in fields if field.varies),
                lengths=_lengths(spec),
                indexed=spec.indexed,
            ),
            slot_bytes=layout.size_bytes,
            wanted_slots=wanted,
            padded_videos=source.samples.padded_videos,
            **_padding(source, spec),
        )

    def one_more(self, opening: Opening, workers: int) -> int:
        """Make one more slot for an open stream, for a service with so many workers.

        Raises
        ------
        ConfigError
            When the memory does not suffice.
        """
        left_bytes = min(wall.left_bytes for wall in rooms(self._budget, self._segments.total_bytes, workers))
        if opening.slot_bytes > left_bytes:
            raise ConfigError(f"another slot of {opening.slot_bytes} bytes does not fit into {left_bytes} bytes")
        return self._segments.create(1, opening.slot_bytes)[0]

    def _make_slots(self, slot_bytes: int, wanted: int, moment: Moment) -> tuple[int, ...]:
        """Return new slots, with their memory: as many as fit, no more than are wanted or than a fair share has."""
        while True:
            walls = rooms(self._budget, self._segments.total_bytes, moment.workers)
            try:
                count = choose_slots(slot_bytes, wanted, walls)
            except NoRoom as error:
                if moment.since_retired_s < _WAIT_FOR_ANY_S:
                    raise NotYet from error
                raise
            if count < wanted and moment.since_retired_s < _WAIT_FOR_MORE_S:
                raise NotYet
            try:
                return self._segments.create(count, slot_bytes)
            except NoSpace as error:  # somebody else has taken what was free
                if count == LEAST_SLOTS:
                    raise NoRoom(slot_bytes, walls[0]) from error
                wanted = max(LEAST_SLOTS, count // 2)


def choose_slots(slot_bytes: int, wanted: int, walls: Sequence[Room]) -> int:
    """Return how many slots a stream gets: at most half of what is left, so that others still open, but two at least.

    Parameters
    ----------
    slot_bytes
        Size of a slot.
    wanted
        What it would have.
    walls
        What each leaves.

    Raises
    ------
    NoRoom
        When not even two fit: names a wall that a larger budget would not move, if there is one.
    """
    too_close = [wall for wall in walls if wall.left_bytes < LEAST_SLOTS * slot_bytes]
    if too_close:
        raise NoRoom(slot_bytes, min(too_close, key=lambda wall: (wall.is_budget, wall.left_bytes)))
    left_bytes = min(wall.left_bytes for wall in walls)
    return max(LEAST_SLOTS, min(wanted, left_bytes // 2 // slot_bytes))


def _check_items(catalog: Catalog, spec: Spec) -> None:
    """Raise an error when a source's items are asked for as what they are not: frames of a video, or numbered."""
    if catalog.kind == "generator" and spec.indexed:
        raise ConfigError(
            "an index of a generator, which cannot be asked for its n-th item; leave the index out, or serve a class "
            "with __len__ and __getitem__"
        )
    if catalog.kind in ("map", "generator") and not isinstance(spec.clip, Frame):
        raise ConfigError(
            f"clip={spec.clip!r} of a source of your own, whose items are samples already; give clip=Frame()"
        )


def _slot_frames(source: CatalogRows, spec: Spec) -> int:
    """Return how many frames a slot must have room for, whatever step is put into it; 0 when none varies."""
    if not spec.varies:
        return 0
    lengths = source.samples.lengths(np.arange(source.samples.sample_count))
    rows = min(spec.batch_size, len(lengths))
    if spec.indexed:  # nothing keeps the client from asking for the longest in each row
        return spec.batch_size * int(lengths.max())
    if spec.batching == "ragged":
        return int(np.partition(lengths, len(lengths) - rows)[len(lengths) - rows :].sum())
    return rows * int(lengths.max())


def _lengths(spec: Spec) -> Lengths:
    if not spec.varies:
        return Lengths.ALIKE
    return Lengths.RAGGED if spec.batching == "ragged" else Lengths.PADDED


def _row_bytes(fields: tuple[Field, ...], *, own_code: bool) -> int:
    """Return the measure of the work that a row is, without what varies."""
    size_bytes = sum(field.sample_bytes for field in fields if not field.varies)
    return max(size_bytes, LEAST_ROW_BYTES_OF_OWN_CODE if own_code else 1)


def _padding(source: CatalogRows, spec: Spec) -> dict[str, float]:
    if not spec.varies or spec.indexed:
        return {}
    lengths_of, plan = source.samples.lengths, source.plan
    unsorted = Plan(plan.sample_count, spec) if spec.batching == "bucket" else plan
    without = padding_share(unsorted, spec.batch_size, lengths_of)
    match spec.batching:
        case "pad":
            return {"padding": without, "padding_unsorted": without}
        case "ragged":
            return {"padding": 0.0, "padding_unsorted": without}
        case "bucket":
            return {"padding": padding_share(plan, spec.batch_size, lengths_of), "padding_unsorted": without}


def _longest(layout: SlotLayout, source: CatalogRows, spec: Spec) -> str:
    """Return why a batch of whole videos is as large as it is, and what makes it smaller."""
    lengths = source.samples.lengths(np.arange(source.samples.sample_count))
    longest = int(np.argmax(lengths))
    frame_bytes = sum(field.sample_bytes for field in layout.fields if field.varies)
    remedy = "" if spec.batching == "ragged" else "; batching='ragged' takes no padding, clip=Clip(…) takes parts only"
    return (
        f"{source.describe(longest)} is the longest with {int(lengths[longest])} frames of {frame_bytes} bytes, the "
        f"usual one has {int(np.median(lengths))}, and a batch of {spec.batch_size} must have room for "
        f"{layout.frames} frames{remedy}"
    )


def _too_large(error: ProtocolError) -> ConfigError:
    return ConfigError(f"such a sample cannot travel: {error}; use fewer frames or a smaller size")


def _too_few(source: CatalogRows, spec: Spec) -> str:
    world = spec.shard[1]
    share = f", shared among {world} shards," if world > 1 else ""
    return (
        f"batch_size={spec.batch_size} is more than one epoch has: {source.samples.sample_count} samples{share} make "
        "no full batch; use a smaller batch_size, or drop_remainder=False"
    )
