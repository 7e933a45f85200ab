"""What a service is told at its start, declared once: the command line and the embedded service both derive from it."""

from __future__ import annotations

import ast
import logging
import math
import os
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from loader_service.cluster_options import ListenAddress, check_cluster
from loader_service.errors import ConfigError
from loader_service.kept_places import parse_cache, parse_local_copy
from loader_service.option_fields import expand_paths, option
from loader_service.protocol.segment_files import shared_memory
from loader_service.record_class import record
from loader_service.scan_options import ScanOptions
from loader_service.sizes import size_text
from loader_service.stores.urls import is_url
from loader_service.url_secrets import shown_url
from loader_service.web_options import parse_address
from loader_service.worker_bounds import WorkerBounds
from loader_service.worker_limits import (
    MOST_REMOTE_WORKERS,
    check_remote_workers,
    check_workers,
    most_workers,
    workers_for_all_cores,
)

#: Samples of an epoch at most: as many as a plan can number, and what an endless generator counts as.
MAX_SOURCE_LENGTH = 2**48


#: With less shared memory there is no batch that is worth a service: one picture of 100 x 100 pixels, twice.
LEAST_MEMORY_BYTES = 2**16

#: With less each worker would be replaced as soon as it has started.
LEAST_WORKER_MEMORY_BYTES = 2**24


def default_cache_directory() -> Path:
    """Return the user's cache folder for catalogs: below ``$XDG_CACHE_HOME``, else ``~/.cache``."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "loader-service"


@record(frozen=True)
class ServiceConfig:
    """Options of ``loader-service start``. Sizes in bytes, times in seconds.

    Raises
    ------
    ConfigError
        When a value is out of range.
    """

    files: tuple[str, ...]
    workers: WorkerBounds = option(
        WorkerBounds(),
        "Worker processes: a number; bounds such as 2..16, within which the service finds the least number that keeps "
        "its trainers busy; default: 'auto', the same from 1 to one per core that it may use. Never changes the order.",
        spelling="bounds",
    )
    endpoint: str | None = option(None, "Where to listen, as ipc:///path; default: one for each user.")
    ray: str | None = option(
        None,
        "Ray cluster whose cores decode too: its address, such as 10.0.0.5:6379, auto for the one that this host "
        "belongs to, or ray://HOST:10001 where it is none of its nodes. They must see the same files.",
    )
    ray_workers: WorkerBounds = option(
        WorkerBounds(0, 0),
        "Remote workers on the cluster of --ray: a number; or bounds such as 0..64, within which the service finds the "
        "least number that keeps its trainers busy once no more workers of this host are of use; default: 0. "
        "`scale --ray` changes it.",
        spelling="remote",
    )
    listen: str | None = option(
        None, "Address of this host, and port, to which remote workers connect; default: the one the cluster knows."
    )
    no_encrypt: bool = option(
        False, "Do not encrypt the rows of remote workers; who connects still has to prove who it is."
    )
    memory: int = option(
        0, "Most shared memory for batches, such as 8G; default: half of what is free here.", spelling="size"
    )
    scan: ScanOptions = field(default_factory=ScanOptions)
    source: str | None = option(
        None,
        "Your own Python source instead of FILES, as package.module:Name. A class with __len__ and __getitem__ keeps "
        "every promise; of package.module:Name.method, a generator, each worker runs a copy with a seed of its own, "
        "and order and resume are not reproducible.",
    )
    source_arg: tuple[str, ...] = option(
        (),
        "An argument of the source, as name=value, such as 'size=(64, 64)' or root=data; may be given several times.",
    )
    source_length: int = option(0, "Samples that make an epoch of a generator source; default: it never ends.")
    source_seed: int = option(
        0, "From which the copies of a generator source get their seeds, and Python's and NumPy's generators begin."
    )
    transform: str | None = option(
        None,
        "Your own function f(sample: dict, rng: numpy.random.Generator) -> dict, as package.module:name, called for "
        "each sample; rng repeats exactly.",
    )
    cache_dir: str | None = option(
        None, "Where to keep what was found in the files; default: the user's cache folder.", path=True
    )
    local_copy: str | None = option(
        None,
        "Keep what is fetched from stores on a local disk, as SIZE:FOLDER, such as 200G:/scratch; default: each epoch "
        "fetches what it needs.",
    )
    cache: str | None = option(
        None,
        "Keep decoded frames for later epochs and runs, as SIZE or SIZE:FOLDER, such as 20G, in shared memory, or "
        "200G:/nvme/frames; default: each frame is decoded each time.",
    )
    worker_memory: int = option(
        2**30, "Memory of its own at which a worker is replaced by a fresh one; default: 1G.", spelling="size"
    )
    task_timeout: float = option(60.0, "Seconds after which a worker that is busy with one task is replaced.")
    client_timeout: float = option(60.0, "Seconds without a sign of life after which a client loses its batches.")
    metrics: str | None = option(
        None, "Serve metrics for Prometheus at HOST:PORT, such as 127.0.0.1:9464; needs the extra [metrics]."
    )
    log_format: Literal["text", "json"] = option("text", "How log lines look: for people, or one JSON object each.")
    log_file: str | None = option(None, "Append the log to a file; default: standard error.", path=True)
    verbose: bool = option(False, "Log each deed of the daemon too.", short="-v")
    quiet: bool = option(False, "Log warnings and errors only.", short="-q")
    web: str | None = option(
        None,
        "Serve a page for browsers there, as HOST:PORT; alone: 127.0.0.1:8321, or a free port. Needs the extra [web].",
        alone="127.0.0.1",
    )
    web_control: bool = option(False, "Let that page change the number of workers.")
    supervise: bool = option(False, "Start the service again when it dies.")
    lifeline_pid: int = option(0, "For programs that start this one: end when this process ends.", hidden=True)
    embedded: bool = option(False, "For programs that start this one: report errors on standard output.", hidden=True)
    terminal: bool = option(False, "For programs that start this one: standard error ends at a terminal.", hidden=True)

    def __post_init__(self) -> None:
        expand_paths(self)
        if not self.files and self.source is None:
            raise ConfigError(
                "no files given; name HDF5 files or a pattern, such as 'data/*.h5', or a Python source with --source"
            )
        self._check_source()
        self._check_copy()
        object.__setattr__(self, "ray_workers", WorkerBounds.of_remote(self.ray_workers))
        self._check_ray()
        if self.web is not None:
            parse_address(self.web)
        elif self.web_control:
            raise ConfigError("web_control=True without a page; give --web too")
        self._check_cache()
        object.__setattr__(self, "workers", WorkerBounds.of(self.workers))
        check_workers(self.workers.high(1), most_workers())
        for name in ("task_timeout", "client_timeout"):
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigError(f"{name}={getattr(self, name)!r}; give a number of seconds above 0")
        if self.verbose and self.quiet:
            raise ConfigError("verbose and quiet exclude each other; leave one out")
        if self.memory and self.memory < LEAST_MEMORY_BYTES:
            raise ConfigError(
                f"memory={self.memory!r} is {self.memory} bytes, which holds no batch; give at least "
                f"{LEAST_MEMORY_BYTES // 2**10}K, such as 8G, or leave it out"
            )
        if self.worker_memory < LEAST_WORKER_MEMORY_BYTES:
            raise ConfigError(
                f"worker_memory={self.worker_memory!r} is {self.worker_memory} bytes, and a worker that has just "
                f"started has more; give at least {LEAST_WORKER_MEMORY_BYTES // 2**20}M, such as 1G, or leave it out"
            )

    def _check_source(self) -> None:
        if self.source is not None and self.files:
            raise ConfigError(
                f"files {shown_url(self.files[0])!r}, … and source={self.source!r} exclude each other; leave one out"
            )
        for name, value in self.scan.deciding().items():
            if self.source is not None and value not in (None, False, ()):
                raise ConfigError(
                    f"{name}={value!r:.80} is for files, and source={self.source!r} has its own fields; leave one out"
                )
        for name in ("source_arg", "source_length", "source_seed"):
            if getattr(self, name) and self.source is None:
                raise ConfigError(f"{name}={getattr(self, name)!r} without a source; give --source package.module:Name")
        for name, most in (("source_length", MAX_SOURCE_LENGTH), ("source_seed", 2**63 - 1)):
            if not 0 <= getattr(self, name) <= most:
                raise ConfigError(f"{name}={getattr(self, name)!r} is out of range; give 0 to {most}")
        parse_arguments(self.source_arg)

    def _check_copy(self) -> None:
        if self.local_copy is None:
            return
        copy = parse_local_copy(self.local_copy)
        _check_size("local_copy", self.local_copy, copy.size)
        if not any(map(is_url, self.files)):
            raise ConfigError(
                f"local_copy={self.local_copy!r} is for files in stores, and no file is a URL; leave it out"
            )
        object.__setattr__(self, "local_copy", str(copy))

    def _check_ray(self) -> None:
        given = {"ray_workers": str(self.ray_workers), "listen": self.listen, "no_encrypt": self.no_encrypt}
        for name, value in given.items():
            if value not in ("0", None, False) and self.ray is None:
                raise ConfigError(f"{name}={value!r} without a cluster; give --ray ADDRESS, or --ray auto")
        if self.ray is None:
            return
        check_cluster(self.ray)
        if self.listen is not None:
            ListenAddress.parse(self.listen)
        check_remote_workers(self.ray_workers.high(0), MOST_REMOTE_WORKERS)
        for name in ("source", "transform"):
            if getattr(self, name) is not None:
                raise ConfigError(
                    f"{name}={getattr(self, name)!r} runs in workers of this host only, where its code is; leave out "
                    "--ray, or apply it in the training"
                )

    @property
    def copy_place(self) -> tuple[str, int]:
        """In which folder fetched blocks are kept, and how many bytes of them; an empty name for none."""
        if self.local_copy is None:
            return "", 0
        copy = parse_local_copy(self.local_copy)
        return copy.folder, parse_size(copy.size)

    def _check_cache(self) -> None:
        if self.cache is None:
            return
        cache = parse_cache(self.cache)
        _check_size("cache", self.cache, cache.size)
        if parse_size(cache.size) < LEAST_MEMORY_BYTES:
            raise ConfigError(
                f"cache={self.cache!r} is {size_text(parse_size(cache.size))}, which keeps no frame; give at least 64K "
                "(usual is 20G), or leave it out"
            )
        if self.source is not None:
            raise ConfigError(f"cache={self.cache!r} is for frames of files, and a source has none; leave it out")
        object.__setattr__(self, "cache", str(cache))

    @property
    def frames_place(self) -> tuple[str, int]:
        """In which folder decoded frames are kept, and how many bytes of them; an empty name for none."""
        if self.cache is None:
            return "", 0
        cache = parse_cache(self.cache)
        return cache.folder or str(shared_memory()), parse_size(cache.size)

    @property
    def log_level(self) -> int:
        """From which level on is logged; a private service bothers its user with warnings only."""
        if self.verbose:
            return logging.DEBUG
        return logging.WARNING if self.quiet or self.embedded else logging.INFO

    @property
    def worker_count(self) -> int:
        """How many workers to begin with: one per core, within the bounds."""
        return self.workers.first(workers_for_all_cores())

    @property
    def most_workers(self) -> int:
        """How many workers there may be later, if nobody says otherwise."""
        return self.workers.high(workers_for_all_cores())

    @property
    def cache_path(self) -> Path:
        """Where catalogs are kept."""
        return Path(self.cache_dir) if self.cache_dir else default_cache_directory()


def parse_arguments(texts: Sequence[str]) -> dict[str, Any]:
    """Return arguments given as ``name=value``; values are Python literals, or else texts.

    Raises
    ------
    ConfigError
        When one has no name, or a name comes twice.
    """
    arguments: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier() or name in arguments:
            raise ConfigError(f"source_arg={text!r}; give name=value, such as 'count=100', each name once")
        try:
            arguments[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            arguments[name] = value
    return arguments


_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def parse_size(text: str) -> int:
    """Return a number of bytes, from ``"8G"``, ``"512MiB"``, ``"1048576"``.

    Raises
    ------
    ConfigError
        When it is no size above 0.
    """
    number = text.strip().upper().removesuffix("IB").removesuffix("B")
    unit = number[-1:] if number[-1:] in ("K", "M", "G", "T") else ""
    try:
        size = int(float(number.removesuffix(unit)) * _UNITS[unit])
    except (ValueError, OverflowError) as error:
        raise ConfigError(f"{text!r} is no size; give bytes, or a number with K, M, G or T, such as 8G") from error
    if size <= 0:
        raise ConfigError(f"{text!r} is no size above 0")
    return size


def _check_size(name: str, given: str, size: str) -> None:
    """Make sure that a part of an option is a size; raises ConfigError, which names the option."""
    try:
        parse_size(size)
    except ConfigError as error:
        raise ConfigError(f"{name}={given!r}: {error}") from error
