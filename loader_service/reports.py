"""Status and catalog as text for people; knows messages and columns, no socket and no terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from loader_service.catalog.columns import Access, Catalog
from loader_service.protocol.messages import Status

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def size_text(size_bytes: int) -> str:
    """Return a size for people, such as ``1.5 GiB``."""
    value, unit = float(size_bytes), 0
    while value >= 1024 and unit + 1 < len(_UNITS):
        value, unit = value / 1024, unit + 1
    return f"{value:.0f} {_UNITS[unit]}" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


def status_text(status: Status) -> str:
    """Return a status as a few lines and tables."""
    lines = [
        f"{status.endpoint}: pid {status.pid}, version {status.version}, up {status.uptime_s:.0f} s, "
        f"{size_text(status.memory_bytes)} of {size_text(status.memory_budget_bytes)} shared memory in batches",
        "",
        *_table(
            ("worker", "pid", "state", "files", "tasks queued", "tasks done"),
            [(w.worker, w.pid, w.state, w.files, w.tasks_queued, w.tasks_done) for w in status.workers],
        ),
        "",
        *_table(
            ("stream", "client", "pid", "steps done", "an epoch", "slots", "filling", "with client", "waiting"),
            [
                (s.stream, s.client, s.client_pid, s.steps_done, s.steps_per_epoch, s.slots, s.slots_filling,
                 s.slots_leased, s.wants_waiting)
                for s in status.streams
            ],
        ),
        "",
        ", ".join(f"{counter.name.replace('_', ' ')}: {counter.count}" for counter in status.counters),
        *(f"padded videos of stream {s.stream}: {s.padded_videos}" for s in status.streams if s.padded_videos),
        *status.events,
    ]  # fmt: skip
    return "\n".join(lines)


def describe_catalog(catalog: Catalog) -> dict[str, Any]:
    """Return what the files hold, as plain data: counts, sizes, labels, ways of access, and what was left out."""
    counts = catalog.frame_counts
    accesses = np.asarray([catalog.access(video) for video in range(catalog.video_count)], np.uint8)
    labels = catalog.labels
    return {
        "fingerprint": catalog.fingerprint,
        "files": catalog.file_count,
        "videos": catalog.video_count,
        "frames": catalog.frame_count,
        "frames_per_video": [int(counts.min()), int(np.median(counts)), int(counts.max())] if len(counts) else [],
        "frame_shape": list(catalog.frame_shape) if catalog.frame_shape else None,
        "encoded_bytes": int(catalog.file_bytes.sum()),
        "largest_frame_bytes": catalog.largest_frame_bytes,
        "label_dtype": None if labels is None else labels.dtype.name,
        "classes": list(catalog.classes) if catalog.classes else None,
        "access": {kind.name.lower(): int(np.count_nonzero(accesses == kind)) for kind in Access if kind in accesses},
        "first_videos": [_video(catalog, video) for video in range(min(5, catalog.video_count))],
        "skipped": [list(each) for each in catalog.skipped],
        "empty_videos": catalog.empty_videos,
    }


def catalog_text(report: dict[str, Any]) -> str:
    """Return a catalog's description as lines."""
    shape = report["frame_shape"]
    low, middle, high = report["frames_per_video"] or (0, 0, 0)
    lines = [
        f"{report['files']} files, {report['videos']} videos, {report['frames']} frames, "
        f"{size_text(report['encoded_bytes'])} of JPEG",
        f"frames in a video: {low} to {high}, median {middle}",
        f"frame size: {f'{shape[0]} x {shape[1]} pixels' if shape else 'differs between videos'}",
        f"labels: {report['label_dtype'] or 'none'}"
        + (f", {len(report['classes'])} classes: {', '.join(report['classes'][:20])}" if report["classes"] else ""),
        "read by: " + ", ".join(f"{_ACCESS[kind]} ({count} videos)" for kind, count in report["access"].items()),
        *(f"for example {v['video']!r} in {v['file']!r}: {v['frames']} frames" for v in report["first_videos"]),
        *(f"skipped {path!r}: {reason}" for path, reason in report["skipped"]),
    ]
    if report["empty_videos"]:
        lines.append(f"{report['empty_videos']} videos without frames were left out")
    return "\n".join(lines)


_ACCESS = {
    "raw": "offset in the file",
    "vlen": "HDF5, one frame at a time",
    "flat": "HDF5, slices of bytes",
    "padded": "HDF5, rows",
    "datasets": "HDF5, one dataset a frame",
}


def _video(catalog: Catalog, video: int) -> dict[str, Any]:
    return {
        "file": catalog.file_path(int(catalog.video_file[video])),
        "video": catalog.name(video).decode("utf-8", "replace"),
        "dataset": catalog.dataset_path(video),
        "frames": int(catalog.frame_counts[video]),
        "label": None if catalog.labels is None else catalog.labels[video].item(),
    }


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """Return a table as lines, numbers to the right."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
