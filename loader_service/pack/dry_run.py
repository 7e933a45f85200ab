"""Says what a run of `pack` would write, how large it would be and how long it would take; writes nothing."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass

from loader_service.conversion.write_remedies import OutputError
from loader_service.errors import LoaderError
from loader_service.pack.frame_blob import FrameSink
from loader_service.pack.pack_journal import read_manifest
from loader_service.pack.pack_options import PackOptions
from loader_service.pack.pack_place import PackPlace
from loader_service.pack.pack_refusals import check_free, check_labels
from loader_service.pack.pack_worker import read_item
from loader_service.pack.records import Item, PackedVideo, Recoding
from loader_service.pack.shard_plan import without_clashes
from loader_service.sizes import counted, size_text

#: How long videos are read to learn how long all take, in seconds, and how many at most.
_LOOK_S, _LOOK_ITEMS = 2.0, 32


@dataclass(frozen=True)
class Estimate:
    """What a run would do; sizes and times are extrapolated from the videos that were read.

    Attributes
    ----------
    videos, source_bytes
        What would be read: what the output has not.
    size_bytes, seconds
        What would be written, and how long it would take.
    read
        From how many videos that is known.
    bad
        Those of them that could not be read, and those that have the names of others.
    known
        How many videos the output has already.
    paths
        The first file that would be written, and the last one; the output as it was named where nothing is new.
    unfinished
        Where a run before has left some of it; empty without one.
    """

    videos: int
    source_bytes: int
    size_bytes: int
    seconds: float
    read: int
    bad: tuple[str, ...]
    known: int
    paths: tuple[str, str]
    unfinished: str = ""

    def __str__(self) -> str:
        first, last = self.paths
        there = f"; {counted(self.known, 'video')} are there already" if self.known else ""
        if not self.videos:
            return f"nothing to pack for {first!r}{there}"
        known = f"from {counted(self.read, 'video')} that were read" if self.read else "none could be read"
        rest = f"; what lies in {self.unfinished!r} is not read again" if self.unfinished else ""
        return (
            f"would pack {counted(self.videos, 'video')} of {size_text(self.source_bytes)} into about "
            f"{size_text(self.size_bytes)}, in about {self.seconds:,.0f} s ({known}), as "
            f"{repr(first) if first == last else f'{first!r} to about {last!r}'}{there}{rest}"
        )


def estimate(items: Sequence[Item], options: PackOptions) -> Estimate:
    """Return what packing some videos would write and take: a few of them are read, and kept nowhere.

    Raises
    ------
    ConfigError, PackError
        When `pack` would refuse them.
    """
    place = PackPlace(options.output, is_sharded=options.is_sharded)
    before = [] if options.force else read_manifest(place.manifest, options.deciding())
    new, bad = _new_items(items, before, options, place)
    recoding = Recoding(options.quality, options.short_side, options.fps)
    step = max(1, len(new) // _LOOK_ITEMS)
    sources = sizes = read = 0
    began = time.monotonic()
    for item in new[::step]:
        if time.monotonic() - began > _LOOK_S:
            break
        with FrameSink(tempfile.gettempdir()) as sink:
            try:
                record, _ = read_item(item, recoding, sink)
            except OutputError:
                raise
            except (LoaderError, OSError) as error:
                bad.append(str(error))
                continue
            read += 1
            sources += max(1, item.size_bytes)
            sizes += record.size_bytes
    took = time.monotonic() - began
    total = sum(max(1, item.size_bytes) for item in new)
    share = total / sources if sources else 0.0
    seconds = took * share / min(options.worker_count, len(new) or 1)
    size = round(sizes * share)
    first = 1 + max((record.shard for record in before), default=-1) if options.is_sharded else 0
    paths = str(place.shard(first)), str(place.shard(first + _file_count(len(new), size, options) - 1))
    if not new:
        paths = options.output, options.output
    unfinished = str(place.unfinished) if place.journal.exists() and not options.force else ""
    return Estimate(len(new), total, size, seconds, read, tuple(bad), len(before), paths, unfinished)


def _new_items(
    items: Sequence[Item], before: Sequence[PackedVideo], options: PackOptions, place: PackPlace
) -> tuple[list[Item], list[str]]:
    """Return the videos that would be read, and lines about those that have the name of another."""
    place.check_folder()
    check_labels(items, before, place)
    if not (options.force or place.journal.exists()):
        check_free(place, before, set())
    taken = {record.name: record.source for record in before}
    left_out: list[str] = []
    skip = (lambda left: left_out.append(str(left))) if options.on_error == "skip" else None
    new = without_clashes([item for item in items if taken.get(item.name) != item.path], taken, skip)
    return new, left_out


def _file_count(videos: int, size_bytes: int, options: PackOptions) -> int:
    if options.shards:
        return max(1, min(options.shards, videos))
    return max(1, math.ceil(size_bytes / options.shard_size)) if options.shard_size else 1
