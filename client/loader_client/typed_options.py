"""The options that calls take by name beside their parameters, for type checkers and editors; knows no default.

What each means, and its default, is said where it is declared: in `Spec` and `ServiceConfig`. A test compares names and
types with those.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypedDict

from loader_service.protocol.spec import Batching, OnError, Order
from loader_service.protocol.windows import Window
from loader_service.worker_bounds import WorkersGiven

_Path = str | os.PathLike[str]


class StreamOptions(TypedDict, total=False):
    """Options of `dataset`, `batches` and `LoaderSequence`: fields of `Spec`, and how keys become an index."""

    shuffle: bool
    seed: int
    shard: tuple[int, int] | str | None
    drop_remainder: bool
    prefetch: int
    on_error: OnError
    batching: Batching
    order: Order
    cycle_length: int
    block_length: int
    max_bad_samples: int | None
    split: str | None
    videos: Iterable[str | bytes] | None
    windows: Iterable[Window]
    index_keys: Any
    key_field: str | None


class ServiceOptions(TypedDict, total=False):
    """Options of a private service: those of ``loader-service start``, and how long its start may take."""

    workers: WorkersGiven | None
    ray: str | None
    ray_workers: WorkersGiven | None
    listen: str | None
    no_encrypt: bool | None
    memory: int | str | None
    frames: str | None
    split: str | None
    label: str | None
    labels: _Path | None
    classes: _Path | Sequence[_Path] | None
    schema: _Path | None
    on_bad_file: Literal["raise", "skip"] | None
    allow_external: bool | None
    scan_timeout: float | None
    source: str | Callable[..., Any] | None
    source_arg: str | Sequence[str] | None
    source_length: int | None
    source_seed: int | None
    transform: str | Callable[..., Any] | None
    cache_dir: _Path | None
    local_copy: str | None
    cache: str | None
    worker_memory: int | str | None
    task_timeout: float | None
    client_timeout: float | None
    metrics: str | None
    log_format: Literal["text", "json"] | None
    log_file: _Path | None
    verbose: bool | None
    quiet: bool | None
    web: str | None
    web_control: bool | None
    start_timeout_s: float | None
