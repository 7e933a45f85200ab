"""Turns a client's spec into a stream: order, fields, layout of a slot; a pure function of the catalog."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from loader_service.catalog.columns import Catalog
from loader_service.core.planned import Lengths, PlannedStream
from loader_service.core.tasks import SMALL_TASK_BYTES
from loader_service.daemon.stream_rows import SUBSTITUTES, CatalogRows
from loader_service.errors import ConfigError, ProtocolError
from loader_service.plan.buckets import padding_share
from loader_service.plan.epoch import Plan
from loader_service.plan.prefetch import deep_slots, wanted_slots
from loader_service.plan.stream_fields import CatalogFacts, select_fields, stream_fields, transform_inputs
from loader_service.plan.window_cuts import window_of
from loader_service.protocol.fields import Field, SlotLayout
from loader_service.protocol.spec import Frame, Spec
from loader_service.sizes import counted

#: What a row counts as at least, in bytes of output, when code of the user's own makes it: nobody knows how much work
#: that is, but 16 such rows are worth a message of their own.
LEAST_ROW_BYTES_OF_OWN_CODE = SMALL_TASK_BYTES // 16

#: Bytes of a table's rows that are as much work as a byte of pixels: 2 MiB are copied in 0.2 ms, and decoded in 2 to 4.
EASE_OF_COPIES = 16


class CatalogPlanner:
    """Plans streams on one catalog; the core's `Planner`."""

    def __init__(self, catalog: Catalog, *, tries_transforms: bool = False) -> None:
        self._catalog = catalog
        self.tries_transforms = tries_transforms
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

    def plan(self, spec: Spec, outputs: tuple[Field, ...] | None = None) -> PlannedStream:
        """Return a stream.

        Parameters
        ----------
        spec
            What for.
        outputs
            What the transform makes of `inputs(spec)`; None without a transform.

        Raises
        ------
        ConfigError
            When the catalog cannot give what the spec asks for.
        """
        _check_items(self._catalog, spec)
        try:
            fields = stream_fields(self.facts, spec) if outputs is None else select_fields(self.facts, outputs, spec)
        except ProtocolError as error:
            raise _too_large(error) from error
        inputs = () if outputs is None else self.inputs(spec)
        source = CatalogRows(self._catalog, spec, [field.name for field in inputs or fields])
        if not source.samples.sample_count or (source.plan.steps_per_epoch == 0 and not spec.indexed):
            raise ConfigError(_too_few(source, spec))
        layout = SlotLayout(fields, spec.batch_size, _slot_frames(source, spec))
        own_code = outputs is not None or self._catalog.kind in ("map", "generator")
        return PlannedStream(
            source=source,
            fields=fields,
            inputs=inputs,
            steps_per_epoch=0 if spec.indexed else source.plan.steps_per_epoch,
            resumed_epoch=source.plan.resumed_epoch,
            first_step=source.plan.first_step,
            batch_size=spec.batch_size,
            samples=source.samples.sample_count,
            slot_frames=layout.frames,
            slot_bytes=layout.size_bytes,
            wanted_slots=wanted_slots(layout.size_bytes, spec.prefetch),
            most_slots=deep_slots(layout.size_bytes, spec.prefetch),
            row_bytes=_row_bytes(fields, own_code=own_code),
            frame_bytes=sum(field.sample_bytes for field in fields if field.varies),
            ease=1 if own_code else _ease(self._catalog, fields),
            lengths=_lengths(spec),
            substitutes=SUBSTITUTES if spec.on_error == "substitute" else 0,
            indexed=spec.indexed,
            padded_videos=source.samples.padded_videos,
            why_large=functools.partial(_why_large, self._catalog, layout, source, spec),
            **_padding(source, spec),
        )


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
    lengths = source.samples.lengths(source.numbers)
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


def _ease(catalog: Catalog, fields: tuple[Field, ...]) -> int:
    """Return how easy a stream's output is: whether all that it reads of files lies there as it is delivered."""
    known = {each.name: each for each in catalog.fields}
    read = [known[each.name] for each in fields if each.name in known and known[each.name].kind != "value"]
    is_copied = all(
        each.kind == "array" and not each.differs and set(catalog.ways(each.name)) == {"raw"} for each in read
    )
    return EASE_OF_COPIES if read and is_copied else 1


def _padding(source: CatalogRows, spec: Spec) -> dict[str, float]:
    if not spec.varies or spec.indexed:
        return {}
    lengths_of, plan = source.samples.lengths, source.plan
    unsorted = (
        Plan(plan.sample_count, dataclasses.replace(spec, resumed=None), plan.subset)
        if spec.batching == "bucket"
        else plan
    )
    without = padding_share(unsorted, spec.batch_size, lengths_of)
    match spec.batching:
        case "pad":
            return {"padding": without, "padding_unsorted": without}
        case "ragged":
            return {"padding": 0.0, "padding_unsorted": without}
        case "bucket":
            return {"padding": padding_share(plan, spec.batch_size, lengths_of), "padding_unsorted": without}


def _why_large(catalog: Catalog, layout: SlotLayout, source: CatalogRows, spec: Spec) -> str:
    """Return why a batch is as large as it is, where few samples make it so, and what makes it smaller."""
    longest = _longest(layout, source, spec) if spec.varies else ""
    return "; ".join(filter(None, (longest, _largest_sides(catalog, layout, spec))))


def _largest_sides(catalog: Catalog, layout: SlotLayout, spec: Spec) -> str:
    """Return which field takes most of a batch because its longest sides do; nothing if none does."""
    found = max(layout.fields, key=lambda field: field.sample_bytes)
    known = next((each for each in catalog.fields if each.name == found.name and each.differs), None)
    if known is None or window_of(spec, known.name) is not None:
        return ""
    if 2 * found.sample_bytes < sum(field.sample_bytes for field in layout.fields):
        return ""
    usual = tuple(catalog.usual_sides(known.name))
    return (
        f"{known.name!r} takes {found.sample_bytes} bytes of a sample, since the longest sides of all are "
        f"{known.most}, the usual ones {usual}; windows=[Window({known.name!r}, {usual})] cuts what is larger"
    )


def _longest(layout: SlotLayout, source: CatalogRows, spec: Spec) -> str:
    """Return why a batch of whole videos is as large as it is, and what makes it smaller."""
    lengths = source.samples.lengths(source.numbers)
    longest = int(np.argmax(lengths))
    sample = int(source.numbers[longest])
    frame_bytes = sum(field.sample_bytes for field in layout.fields if field.varies)
    remedy = "" if spec.batching == "ragged" else "; batching='ragged' takes no padding, clip=Clip(…) takes parts only"
    return (
        f"{source.describe(sample)} is the longest with {int(lengths[longest])} frames of {frame_bytes} bytes, the "
        f"usual one has {int(np.median(lengths))}, and a batch of {spec.batch_size} must have room for "
        f"{counted(layout.frames, 'frame')}{remedy}"
    )


def _too_large(error: ProtocolError) -> ConfigError:
    return ConfigError(f"such a sample cannot travel: {error}; use fewer frames or a smaller size")


def _too_few(source: CatalogRows, spec: Spec) -> str:
    world = spec.shard[1]
    share = f", shared among {world} shards," if world > 1 else ""
    if not spec.drop_remainder:
        return f"shard={spec.shard!r} has none of {counted(source.plan.sample_count, 'sample')}; share them among fewer"
    return (
        f"batch_size={spec.batch_size} is more than one epoch has: "
        f"{counted(source.plan.sample_count, 'sample')}{share} make "
        "no full batch; use a smaller batch_size, or drop_remainder=False"
    )
