"""Opens the cache of decoded frames that a worker is told to use, if it is told to use one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loader_service.worker.cached_images import FrameCache
    from loader_service.worker_options import WorkerOptions


def open_frame_cache(options: WorkerOptions) -> FrameCache | None:
    """Return the cache; None without one, or, with a line for the log, when it cannot be opened."""
    if not options.frames_folder:
        return None
    # Here, not above: most services keep no frames.
    from loader_service.worker.cached_images import FrameCache  # noqa: PLC0415

    try:
        return FrameCache.open(options)
    except OSError as error:  # the daemon could open it a moment ago
        sys.stderr.write(f"cannot use the cache in {options.frames_folder!r}: {error}; decoding each frame\n")
        return None
