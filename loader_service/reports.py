"""Status and catalog as text for people; knows messages and columns, no socket and no terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from loader_service.advice import label_advice, list_advice, volume_advice
from loader_service.catalog.columns import Catalog, FieldFacts
from loader_service.catalog.labels.class_words import class_advice, class_lines
from loader_service.frame_check import BadFrame
from loader_service.protocol.messages import CatalogSummary, FrameCacheStatus, Status, StreamStatus, WorkerStatus
from loader_service.sizes import size_text


def status_text(status: Status) -> str:
    """Return a status as a few lines and tables."""
    lines = [
        f"{status.endpoint}: pid {status.pid}, version {status.version}, up {status.uptime_s:.0f} s, "
        f"{size_text(status.memory_bytes)} of {size_text(status.memory_budget_bytes)} shared memory in batches",
        f"serves {status.serves}" + (f"; transform {status.transform!r}" if status.transform else ""),
        "",
        *_table(
            ("worker", "pid", "state", "files", "tasks queued", "tasks done", "for", "at"),
            [
                (w.worker, w.pid, w.state, w.files, w.tasks_queued, w.tasks_done, _busy_text(w), _doing_text(w))
                for w in status.workers
            ],
        ),
        "",
        *_table(
            ("stream", "client", "pid", "steps done", "an epoch", "slots", "filling", "with client", "waiting"),
            [
                (s.stream, s.client, s.client_pid, s.steps_done, _epoch_text(s), s.slots, s.slots_filling,
                 s.slots_leased, s.wants_waiting)
                for s in status.streams
            ],
        ),
        "",
        ", ".join(f"{counter.name.replace('_', ' ')}: {counter.count}" for counter in status.counters),
        *(f"padded videos of stream {s.stream}: {s.padded_videos}" for s in status.streams if s.padded_videos),
        *(
            f"bad samples of stream {s.stream} that were replaced: {s.samples_substituted}"
            for s in status.streams
            if s.samples_substituted
        ),
        *(
            f"padding of stream {s.stream}: {s.padding:.1%} of its frames ({s.padding_unsorted:.1%} without buckets)"
            for s in status.streams
            if s.padding_unsorted
        ),
        *(_frame_cache_lines(status.frame_cache) if status.frame_cache else ()),
        *status.events,
    ]  # fmt: skip
    return "\n".join(lines)


def _frame_cache_lines(cache: FrameCacheStatus) -> list[str]:
    """Return what is kept of decoded frames."""
    asked = cache.frames_found + cache.frames_decoded
    share = f"{cache.frames_found / asked:.1%}" if asked else "none yet"
    taken = sum(form.taken_bytes for form in cache.forms)
    return [
        f"decoded frames in {cache.folder!r}: {size_text(taken)} of {size_text(cache.budget_bytes)}; found there: "
        f"{share} ({cache.frames_found} of {asked}), added: {cache.frames_added}",
        *(
            f"  {form.title}: room for {form.kept_frames / max(1, form.frames):.0%} of {form.frames} frames, "
            f"{size_text(form.taken_bytes)}"
            for form in cache.forms
        ),
    ]


def _busy_text(worker: WorkerStatus) -> str:
    return f"{worker.busy_s:.1f} s" if worker.doing else ""


def _doing_text(worker: WorkerStatus) -> str:
    """Return what a worker is at."""
    match worker.doing:
        case "":
            return "nothing"
        case "probe":
            return "trying the transform for a stream that opens"
        case "task" if not worker.file:
            return f"a step of stream {worker.stream} that nobody wants any more"
    return (
        f"stream {worker.stream}, epoch {worker.epoch}, step {worker.step}: video {worker.video!r} of {worker.file!r}"
    )


#: Bad frames that are shown; `--json` has all.
_MOST_BAD = 1000

#: Steps of an epoch that no training comes to the end of: that of a generator that was given no length.
_ENDLESS_STEPS = 2**30


def _epoch_text(stream: StreamStatus) -> str:
    """Return how many steps an epoch of a stream has; with an index of its own, only the client knows."""
    if stream.steps_per_epoch >= _ENDLESS_STEPS:
        return "endless"
    return str(stream.steps_per_epoch) if stream.steps_per_epoch else "by index"


def describe_catalog(catalog: Catalog) -> dict[str, Any]:
    """Return what the files hold, as plain data: counts, sizes, fields, ways of access, and what was left out."""
    counts = catalog.frame_counts
    labels = catalog.labels
    return {
        "fingerprint": catalog.fingerprint,
        "kind": catalog.kind,
        "files": catalog.file_count,
        "videos": catalog.video_count,
        "frames": catalog.frame_count,
        "frames_per_video": [int(counts.min()), int(np.median(counts)), int(counts.max())] if len(counts) else [],
        "frame_shape": list(catalog.frame_shape) if catalog.frame_shape else None,
        "field_bytes": int(catalog.file_bytes.sum()),
        "largest_frame_bytes": catalog.largest_frame_bytes,
        "fields": [_field(catalog, facts) for facts in catalog.facts],
        "label_dtype": None if labels is None else labels.dtype.name,
        "classes": list(catalog.classes) if catalog.classes else None,
        "class_advice": class_advice(catalog),
        "label_advice": label_advice(catalog),
        "volume_advice": volume_advice(catalog),
        "list_advice": list_advice(catalog),
        "first_videos": [_video(catalog, video) for video in range(min(5, catalog.video_count))],
        "left_out": list(catalog.left_out),
        "skipped": [list(each) for each in catalog.skipped],
        "empty_videos": catalog.empty_videos,
    }


def catalog_text(report: dict[str, Any]) -> str:
    """Return a catalog's description as lines."""
    low, middle, high = report["frames_per_video"] or (0, 0, 0)
    unit = "rows" if report["kind"] == "rows" else "frames"
    of = "file" if report["kind"] == "rows" else "video"
    lines = [
        f"{report['files']} files, {report['videos']} videos, {report['frames']} {unit}, "
        f"{size_text(report['field_bytes'])}",
        f"{unit} in a {of}: {low} to {high}, median {middle}",
        *(_field_text(field) for field in report["fields"]),
        *class_lines((field["name"], field["classes"]) for field in report["fields"]),
        *filter(None, (report[f"{what}_advice"] for what in ("class", "label", "volume", "list"))),
        *(f"for example {v['video']!r} in {v['file']!r}: {v['frames']} {unit}" for v in report["first_videos"]),
        *(f"no field {reason}" if reason.startswith("'") else reason for reason in report["left_out"]),
        *(f"skipped {path!r}: {reason}" for path, reason in report["skipped"]),
    ]
    if report["empty_videos"]:
        lines.append(f"{report['empty_videos']} videos without frames were left out")
    if "bad" in report:
        bad = [BadFrame(**each) for each in report["bad"]]
        lines += [*map(str, bad[:_MOST_BAD]), *([f"and {len(bad) - _MOST_BAD} more"] if len(bad) > _MOST_BAD else [])]
        looked_at = "all frames" if report["checked"] == "all" else "the first, middle and last frame"
        lines.append(f"decoded {looked_at} of each video: {len(bad) or 'none'} bad")
    if report.get("python"):
        lines += ["", "to begin with:", "", *report["python"]]
    return "\n".join(lines)


def summary_text(summary: CatalogSummary) -> str:
    """Return what a running service serves as lines."""
    lines = [
        f"{summary.files} files, {summary.videos} videos, {summary.frames} frames",
        *(
            f"{field.kind} {field.name!r}: {field.dtype} {field.shape}"
            + (f", in a batch {field.most}, with {field.sides_name!r} beside it" if field.differs else "")
            for field in summary.fields
        ),
        *class_lines((field.name, field.classes) for field in summary.fields),
        *([f"{summary.skipped_files} files were skipped"] if summary.skipped_files else []),
        *([f"{summary.empty_videos} videos without frames were left out"] if summary.empty_videos else []),
    ]
    return "\n".join(lines)


#: What people are told of the ways to a field's frames; a layout that is not here is told by its name.
_WAYS = {
    "raw": "offset in the file",
    "vlen": "HDF5, one frame at a time",
    "raw_rows": "HDF5, one frame at a time",
    "flat": "HDF5, slices of bytes",
    "padded": "HDF5, rows",
    "datasets": "HDF5, one dataset a frame",
    "single": "HDF5, one dataset an image",
    "hdf5": "HDF5, slices",
}


def _field(catalog: Catalog, facts: FieldFacts) -> dict[str, Any]:
    return {
        "name": facts.field.name,
        "kind": facts.field.kind,
        "dtype": facts.field.dtype,
        "shape": list(facts.field.shape),
        "classes": list(facts.field.classes),
        "sides": [list(side) for side in catalog.range_of_sides(facts.field.name)],
        "beside": facts.field.sides_name,
        "encoded": facts.storage == "encoded",
        "formats": [codec.name for codec in catalog.codecs(facts.field.name)],
        "sources": list(facts.sources),
        "access": catalog.ways(facts.field.name),
    }


def _field_text(field: dict[str, Any]) -> str:
    shape = tuple(field["shape"])
    if field["encoded"]:
        formats = " or ".join(field["formats"])
        what = f"{formats} of {shape[0]} x {shape[1]} pixels" if shape[0] else f"{formats}, sizes differ between videos"
    elif 0 in shape:
        what = _differing_text(field)
    else:
        per = {"image": "raw pixels", "array": "for each frame", "value": "for each video"}[field["kind"]]
        what = f"{field['dtype']} {shape} {per}" if shape else f"{field['dtype']} {per}"
    read = ", ".join(
        f"{_WAYS.get(kind, f'HDF5, {kind}')} ({_videos(count)})" for kind, count in field["access"].items()
    )
    return f"{field['kind']} {field['name']!r}: {what}" + (f"; read by {read}" if read else "")


def _videos(count: int) -> str:
    return "1 video" if count == 1 else f"{count} videos"


def _differing_text(field: dict[str, Any]) -> str:
    """Return what a field is whose sides differ, with the shortest and longest of each."""
    ranges = [f"{low}" if low == high else f"{low} to {high}" for low, high in field["sides"]]
    if field["kind"] == "image":
        return f"raw pixels of {' x '.join(ranges[:2])}, sizes differ between videos"
    per = "frame" if field["kind"] == "array" else "video"
    if field["beside"].endswith("_length"):
        entries = f"entries of shape {tuple(field['shape'][1:])}" if field["shape"][1:] else "numbers"
        return f"a list of {ranges[0]} {entries}, {field['dtype']}, for each {per}, with {field['beside']!r} beside it"
    return f"{field['dtype']} for each {per}, of sides {' x '.join(ranges)}, with {field['beside']!r} beside it"


def _video(catalog: Catalog, video: int) -> dict[str, Any]:
    name = next((facts.field.name for facts in catalog.facts if facts.storage in {"encoded", "raw"}), None)
    return {
        "file": catalog.file_path(int(catalog.video_file[video])),
        "video": catalog.name(video).decode("utf-8", "replace"),
        "dataset": None if name is None else catalog.dataset_path(video, name),
        "frames": int(catalog.frame_counts[video]),
        "label": None if catalog.labels is None else catalog.labels[video].item(),
    }


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """Return a table as lines, all columns to the right but a last one of texts, whose head is "at"."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    if head[-1] == "at":
        widths[-1] = 0  # to the left
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
