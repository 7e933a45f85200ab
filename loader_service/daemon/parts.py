"""What a daemon is made of: what its service was told, what it serves, its sockets and its processes."""

from __future__ import annotations

import select
from dataclasses import dataclass

from loader_service.catalog.columns import Catalog
from loader_service.catalog.findings import ScanOptions
from loader_service.config import ServiceConfig
from loader_service.daemon.clients import Clients
from loader_service.daemon.flood import FloodGuard
from loader_service.daemon.notify import Notifier
from loader_service.daemon.pool import Pool
from loader_service.daemon.segments import SegmentStore
from loader_service.daemon.signals import StopSignals
from loader_service.daemon.sockets import Router
from loader_service.protocol import messages as m


@dataclass(frozen=True)
class Parts:
    """What a daemon is made of; whoever made them closes them."""

    endpoint: str
    config: ServiceConfig
    catalog: Catalog
    scan_options: ScanOptions  # with which it was made
    watched: select.epoll
    clients: Clients
    pool: Pool
    segments: SegmentStore
    client_socket: Router[m.FromClient]
    worker_socket: Router[m.FromWorker]
    signals: StopSignals
    notifier: Notifier
    flood_guard: FloodGuard
