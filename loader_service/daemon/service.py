"""Builds a daemon from its parts, in the order in which they need each other, and takes it down in the other order."""

from __future__ import annotations

import json
import logging
import os
import select
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Protocol

import zmq

from loader_service import endpoint as endpoints
from loader_service.catalog.class_words import class_advice, class_lines
from loader_service.catalog.columns import Catalog
from loader_service.catalog.scan import ScanOptions, scan
from loader_service.catalog.schema import read_schema
from loader_service.config import ServiceConfig
from loader_service.daemon.clients import Clients
from loader_service.daemon.daemon import Daemon
from loader_service.daemon.descriptors import provide_descriptors
from loader_service.daemon.flood import FloodGuard
from loader_service.daemon.notify import Notifier
from loader_service.daemon.parts import Parts
from loader_service.daemon.pool import Pool
from loader_service.daemon.reports import serves
from loader_service.daemon.segments import SegmentStore
from loader_service.daemon.signals import StopSignals
from loader_service.daemon.sockets import EndpointLock, Router
from loader_service.daemon.sources import catalog_of, check_transform, source_options
from loader_service.protocol import messages as m

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class ServiceReady:
    """What there is to say when a service is ready."""

    endpoint: str
    serves: str
    workers: int
    skipped_files: int
    empty_videos: int


class Onlooker(Protocol):
    """Who wants to know how the start goes on; called from the main thread."""

    def scanned(self, done: int, total: int) -> None:
        """Note that so many of the files have been scanned."""

    def ready(self, ready: ServiceReady) -> None:
        """Note that clients can connect and all workers wait for tasks."""


def run_service(config: ServiceConfig, onlooker: Onlooker) -> bool:
    """Scan the files, start the workers, serve until told to stop, and leave nothing behind.

    Returns
    -------
    bool
        Whether it was told to begin anew.

    Raises
    ------
    ConfigError, CatalogError
        When the service cannot start as configured.
    WorkerDied
        When no worker can be started.
    """
    endpoint = endpoints.parse(config.endpoint)
    provide_descriptors(config.worker_count)
    with ExitStack() as stack:
        stack.enter_context(EndpointLock(endpoint))
        watched = stack.enter_context(select.epoll())
        segments = stack.enter_context(SegmentStore())
        check_transform(config)
        source = source_options(config)
        options = scan_options(config)
        made = scan_files(config, onlooker.scanned, options) if source is None else catalog_of(source, config)
        catalog = stack.enter_context(closing(made))
        _note_classes(catalog)
        signals = stack.enter_context(StopSignals(watched, config.lifeline_pid))
        context = stack.enter_context(zmq.Context(io_threads=1))
        worker_socket: Router[m.FromWorker] = Router(context, endpoint.workers, m.FromWorker)
        stack.enter_context(worker_socket)
        client_socket: Router[m.FromClient] = Router(context, str(endpoint), m.FromClient)
        stack.enter_context(client_socket)
        parts = Parts(
            endpoint=str(endpoint),
            config=config,
            catalog=catalog,
            scan_options=options,
            watched=watched,
            clients=stack.enter_context(Clients(watched, config.client_timeout)),
            pool=stack.enter_context(Pool(watched, _worker_arguments(endpoint, segments, catalog, config))),
            segments=segments,
            client_socket=client_socket,
            worker_socket=worker_socket,
            signals=signals,
            notifier=stack.enter_context(Notifier("" if config.embedded else os.environ.get("NOTIFY_SOCKET", ""))),
            flood_guard=stack.enter_context(FloodGuard()),
        )

        def announce() -> None:
            onlooker.ready(_describe(parts))
            parts.notifier.ready(f"serving {serves(catalog)} at {endpoint}")

        return Daemon(parts, announce).run()


def _note_classes(catalog: Catalog) -> None:
    """Say what the numbers of classes stand for, and warn where another service may number them otherwise."""
    for line in class_lines((field.name, field.classes) for field in catalog.fields):
        _LOG.info("%s", line)
    advice = class_advice(catalog)
    if advice is not None:
        _LOG.warning("%s", advice)


def _worker_arguments(
    endpoint: endpoints.Endpoint, segments: SegmentStore, catalog: Catalog, config: ServiceConfig
) -> list[str]:
    """Return what workers are told: where the daemon listens, whose they are, where the columns and the users' code."""
    arguments = [f"--address={endpoint.workers}", f"--instance={segments.instance}", f"--catalog={catalog.directory}"]
    arguments += [f"--task-timeout={config.task_timeout}"]
    source = source_options(config)
    if source is not None:
        arguments += [f"--source={source.reference}", f"--source-args={json.dumps(source.arguments)}"]
        arguments += [f"--seed={source.seed}"]
    if config.transform is not None:
        arguments += [f"--transform={config.transform}"]
    return arguments


def scan_files(
    config: ServiceConfig, progress: Callable[[int, int], None], options: ScanOptions | None = None
) -> Catalog:
    """Return the catalog of the files that a configuration names, scanned with these options or with its own."""
    return scan(config.files, options or scan_options(config), cache_dir=config.cache_path, progress=progress)


def scan_options(config: ServiceConfig) -> ScanOptions:
    """Return how a configuration has files scanned."""
    return ScanOptions(
        frames=config.frames,
        label=config.label,
        labels_csv=config.labels,
        classes=config.classes,
        on_bad_file=config.on_bad_file,
        allow_external=config.allow_external,
        timeout_s=config.scan_timeout,
        schema=None if config.schema is None else read_schema(config.schema),
    )


def _describe(parts: Parts) -> ServiceReady:
    catalog = parts.catalog
    return ServiceReady(
        endpoint=parts.endpoint,
        serves=serves(catalog),
        workers=parts.config.worker_count,
        skipped_files=len(catalog.skipped),
        empty_videos=catalog.empty_videos,
    )
