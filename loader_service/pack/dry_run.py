"""Says what a run of `pack` would write, how large it would be and how long it would take; writes nothing."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass

from loader_service.errors import LoaderError
from loader_service.pack.frame_blob import FrameSink
from loader_service.pack.pack_options import PackOptions
from loader_service.pack.pack_worker import read_item
from loader_service.pack.records import Item, Recoding
from loader_service.sizes import counted, size_text

#: How long videos are read to learn how long all take, in seconds, and how many at most.
_LOOK_S, _LOOK_ITEMS = 2.0, 32


@dataclass(frozen=True)
class Estimate:
    """What a run would do; sizes and times are extrapolated from the videos that were read.

    Attributes
    ----------
    videos, source_bytes
        What would be read.
    size_bytes, seconds
        What would be written, and how long it would take.
    read
        From how many videos that is known.
    bad
        Those of them that could not be read.
    """

    videos: int
    source_bytes: int
    size_bytes: int
    seconds: float
    read: int
    bad: tuple[str, ...]

    def __str__(self) -> str:
        known = f"from {counted(self.read, 'video')} that were read" if self.read else "none could be read"
        return (
            f"would pack {counted(self.videos, 'video')} of {size_text(self.source_bytes)} into about "
            f"{size_text(self.size_bytes)}, in about {self.seconds:,.0f} s ({known})"
        )


def estimate(items: Sequence[Item], options: PackOptions) -> Estimate:
    """Return what packing some videos would write and take: a few of them are read, and kept nowhere."""
    recoding = Recoding(options.quality, options.short_side, options.fps)
    step = max(1, len(items) // _LOOK_ITEMS)
    sources = sizes = read = 0
    bad: list[str] = []
    began = time.monotonic()
    for item in items[::step]:
        if time.monotonic() - began > _LOOK_S:
            break
        with FrameSink(tempfile.gettempdir()) as sink:
            try:
                record, _ = read_item(item, recoding, sink)
            except (LoaderError, OSError) as error:
                bad.append(str(error))
                continue
            read += 1
            sources += max(1, item.size_bytes)
            sizes += record.size_bytes
    took = time.monotonic() - began
    total = sum(max(1, item.size_bytes) for item in items)
    share = total / sources if sources else 0.0
    seconds = took * share / min(options.worker_count, len(items) or 1)
    return Estimate(len(items), total, round(sizes * share), seconds, read, tuple(bad))
