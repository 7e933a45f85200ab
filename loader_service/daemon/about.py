"""Puts into messages what the service is and never changes: its catalog, its endpoint, its limits."""

from __future__ import annotations

import os

from loader_service import __version__
from loader_service.catalog.columns import Catalog
from loader_service.config import ServiceConfig
from loader_service.control_groups import usable_cores
from loader_service.core.status import About
from loader_service.daemon.planner import CatalogPlanner
from loader_service.protocol import messages as m
from loader_service.sizes import counted

#: How often a client should be heard, in seconds; a tenth of the shortest sensible client timeout.
HEARTBEAT_S = 1.0


def about(
    endpoint: str, instance: str, catalog: Catalog, config: ServiceConfig, *, budget_bytes: int, why_no_restart: str
) -> About:
    """Return what a service says of itself."""
    return About(
        welcome=_welcome(instance, catalog),
        catalog=_summary(catalog),
        status=m.Status(
            request=0,
            endpoint=endpoint,
            pid=os.getpid(),
            version=__version__,
            uptime_s=0.0,
            workers=(),
            streams=(),
            counters=(),
            memory_bytes=0,
            memory_budget_bytes=budget_bytes,
            faults=(),
            serves=serves(catalog),
            transform=config.transform or "",
            cores=usable_cores(),
            stored_frame=catalog.frame_shape[:2] if catalog.frame_shape else (),
        ),
        why_no_restart=why_no_restart,
        path_of=catalog.file_path,
    )


def _welcome(instance: str, catalog: Catalog) -> m.Welcome:
    return m.Welcome(
        instance=instance,
        pid=os.getpid(),
        fingerprint=catalog.fingerprint,
        files=catalog.file_count,
        videos=catalog.video_count,
        frames=catalog.frame_count,
        heartbeat_s=HEARTBEAT_S,
        classes=tuple(
            m.FieldClasses(field.name, len(field.classes), field.classes[: m.MOST_NAMES_IN_WELCOME])
            for field in catalog.fields
            if field.classes
        ),
    )


def _summary(catalog: Catalog) -> m.CatalogSummary:
    height, width = catalog.frame_shape or (0, 0)
    return m.CatalogSummary(
        request=0,
        fingerprint=catalog.fingerprint,
        files=catalog.file_count,
        videos=catalog.video_count,
        frames=catalog.frame_count,
        frame_height=height,
        frame_width=width,
        label_dtype=CatalogPlanner(catalog).facts.label_dtype or "",
        classes=catalog.classes or (),
        skipped_files=len(catalog.skipped),
        empty_videos=catalog.empty_videos,
        kind=catalog.kind,
        fields=catalog.fields,
    )


def serves(catalog: Catalog) -> str:
    """Return what a catalog has, in a few words."""
    match catalog.kind:
        case "videos":
            videos, frames = counted(catalog.video_count, "video"), counted(catalog.frame_count, "frame")
            return f"{counted(catalog.file_count, 'file')}, {videos}, {frames}"
        case "rows":
            return f"{counted(catalog.file_count, 'file')}, {counted(catalog.frame_count, 'row')}"
        case "map":
            return f"source {catalog.file_path(0)!r}, {counted(catalog.frame_count, 'item')}"
        case "generator":
            return f"generator {catalog.file_path(0)!r}, a copy per worker: order and resume are not reproducible"
