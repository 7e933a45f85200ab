"""What the daemon tells a worker at its start; imports nothing that reads files, since the daemon does not either."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loader_service.record_class import record


@record(frozen=True)
class WorkerOptions:
    """What the daemon tells a worker at its start."""

    worker: int
    address: str  # of the daemon's socket for workers
    instance: str  # names the folder of the segments
    catalog: str  # folder of the columns
    source: Mapping[str, Any] | None = None  # the user's own, instead of files: the fields of `SourceOptions`
    transform: str | None = None  # the user's own: module:function
    progress: int | None = None  # descriptor of the memory that tells which sample is made
    copy_folder: str = ""  # keeps blocks of objects; empty for none
    copy_bytes: int = 0  # that it may take
    frames_folder: str = ""  # keeps decoded frames; empty for none
    frames_bytes: int = 0  # that they may take
    frames_counts: int | None = None  # descriptor of the memory that tells how often frames were there
    task_timeout: float = 60.0  # after which a worker that is at one task is killed
