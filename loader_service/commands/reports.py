"""What files hold, as text for people; knows messages and columns, no socket and no terminal."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.advice import (
    columns_advice,
    label_advice,
    list_advice,
    numbered_values,
    vectors_advice,
    volume_advice,
)
from loader_service.catalog.labels.class_lists import class_advice, class_lines
from loader_service.frame_check import BadFrame
from loader_service.sizes import counted, size_text

if TYPE_CHECKING:
    from loader_service.catalog.columns import Catalog, FieldFacts
    from loader_service.protocol.messages import CatalogSummary
    from loader_service.schema import VideoLayout

#: Bad frames that are shown; `--json` has all.
_MOST_BAD = 1000


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
        "layouts": list(catalog.layouts),
        "frame_shape": list(catalog.frame_shape) if catalog.frame_shape else None,
        "field_bytes": int(catalog.file_bytes.sum()),
        "largest_frame_bytes": catalog.largest_frame_bytes,
        "fields": [_field(catalog, facts) for facts in catalog.facts],
        "label_dtype": None if labels is None else labels.dtype.name,
        "classes": list(catalog.classes) if catalog.classes else None,
        "class_advice": class_advice(catalog),
        "label_advice": label_advice(catalog),
        "volume_advice": volume_advice(catalog),
        "columns_advice": columns_advice(catalog),
        "vectors_advice": vectors_advice(catalog),
        "list_advice": list_advice(catalog),
        "first_videos": [_video(catalog, video) for video in range(min(5, catalog.video_count))],
        "left_out": list(catalog.left_out),
        "skipped": [list(each) for each in catalog.skipped],
        "empty_videos": catalog.empty_videos,
        "fetched": None if catalog.fetched is None else asdict(catalog.fetched),
    }


#: What advice is about, in its order.
_ADVICE = ("class", "label", "volume", "columns", "vectors", "list")


def catalog_text(report: dict[str, Any]) -> str:
    """Return a catalog's description as lines."""
    low, middle, high = report["frames_per_video"] or (0, 0, 0)
    unit = "row" if report["kind"] == "rows" else "frame"
    of = "file" if report["kind"] == "rows" else "video"
    lines = [
        f"{counted(report['files'], 'file')}, {_videos(report['videos'])}, {counted(report['frames'], unit)}, "
        f"{size_text(report['field_bytes'])}",
        f"{unit}s in a {of}: {low} to {high}, median {middle}",
        *(f"read as: {_READINGS[layout]}" for layout in report["layouts"]),
        *_field_lines(report["fields"]),
        *class_lines((field["name"], field["classes"]) for field in report["fields"]),
        *filter(None, (report[f"{what}_advice"] for what in _ADVICE)),
        *(f"for example {v['video']!r} in {v['file']!r}: {counted(v['frames'], unit)}" for v in report["first_videos"]),
        *map(_left_out_text, report["left_out"]),
        *(f"skipped {path!r}: {reason}" for path, reason in report["skipped"]),
    ]
    if report.get("decoder") and any("JPEG" in field["formats"] for field in report["fields"]):
        lines.append(f"JPEGs: {report['decoder']}")
    if report["fetched"]:
        fetched = report["fetched"]
        share = 100 * fetched["size_bytes"] / max(1, fetched["of_bytes"])
        lines.append(
            f"the scan fetched {size_text(fetched['size_bytes'])} of {size_text(fetched['of_bytes'])} in stores "
            f"({share:.2f} %), in {fetched['requests']:,} requests; what it found is kept under --cache-dir"
        )
    if report["empty_videos"]:
        lines.append(
            f"{counted(report['empty_videos'], 'video')} without frames {_were(report['empty_videos'])} left out"
        )
    if "bad" in report:
        bad = [BadFrame(**each) for each in report["bad"]]
        lines += [*map(str, bad[:_MOST_BAD]), *([f"and {len(bad) - _MOST_BAD} more"] if len(bad) > _MOST_BAD else [])]
        looked_at = "all frames" if report["checked"] == "all" else "the first, middle and last frame"
        rest = "" if report["checked"] == "all" else "; --check=all decodes every frame"
        lines.append(f"decoded {looked_at} of each video: {len(bad) or 'none'} bad{rest}")
    if report.get("python"):
        lines += ["", "to begin with:", "", *report["python"]]
    return "\n".join(lines)


def summary_text(summary: CatalogSummary) -> str:
    """Return what a running service serves as lines."""
    lines = [
        f"{counted(summary.files, 'file')}, {_videos(summary.videos)}, {counted(summary.frames, 'frame')}",
        *(
            f"{field.kind} {field.name!r}: {field.dtype} {field.shape}"
            + (f", in a batch {field.most}, with {field.sides_name!r} beside it" if field.differs else "")
            for field in summary.fields
        ),
        *class_lines((field.name, field.classes) for field in summary.fields),
        *(
            [f"{counted(summary.skipped_files, 'file')} {_were(summary.skipped_files)} skipped"]
            if summary.skipped_files
            else []
        ),
        *(
            [f"{counted(summary.empty_videos, 'video')} without frames {_were(summary.empty_videos)} left out"]
            if summary.empty_videos
            else []
        ),
    ]
    return "\n".join(lines)


#: What people are told of how videos are cut, or samples; where a field lies stands in its own line.
_READINGS: dict[VideoLayout, str] = {
    "groups": "a video is a group, or a dataset, named by {video} below; entry n of its fields is frame n",
    "files": "a file is one video; entry n of its fields is frame n",
    "table": "a file is a table; entry n of its fields is one sample",
    "vlen": "a video is one entry of a dataset whose entries differ in length",
    "spans": "videos lie end to end, cut where another dataset says that one ends; entry n of the fields is frame n",
    "padded": "a video is one entry of a dataset (videos, frames, …); entry n of each field is of video n",
}

#: Patterns of a field's places that are shown; `--json` has all.
_MOST_SOURCES = 2

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


#: What is said about a field, or about rows, that are served; all other lines are of what is no field.
_NOTE = re.compile(
    r"((['\"]).*) \((?:axes|cut off|gaps|no pictures|too large|episodes|names|packed|padded|split|samples|constant|"
    r"cameras|zeros|pixels|ring|unfilled|pairs|unwritten|chunks|bytes|between videos|parts|map|numbers|end|empty|"
    r"files|link|rows|word|alone|channels)\)\2: ",
    re.DOTALL,
)


def _left_out_text(line: str) -> str:
    note = _NOTE.match(line)
    if note:
        return f"about {note[1]}{note[2]}: {line[note.end() :]}"
    return f"no field {line}" if line.startswith(("'", '"')) else line  # one with an apostrophe has the other kind


def _field(catalog: Catalog, facts: FieldFacts) -> dict[str, Any]:
    return {
        "name": facts.field.name,
        "kind": facts.field.kind,
        "dtype": facts.field.dtype,
        "shape": list(facts.field.shape),
        "classes": list(facts.field.classes),
        "sides": [list(side) for side in catalog.range_of_sides(facts.field.name)],
        "beside": facts.field.sides_name,
        "missing": facts.missing,
        "encoded": facts.storage == "encoded",
        "formats": [codec.name for codec in catalog.codecs(facts.field.name)],
        "sources": list(facts.sources),
        "access": catalog.ways(facts.field.name),
    }


def _field_lines(fields: list[dict[str, Any]]) -> list[str]:
    """Return a line for each field, and one for many values of which only numbers tell apart."""
    many = numbered_values([field["name"] for field in fields if field["kind"] == "value"])
    lines = []
    for field in fields:
        alike = many.get(field["name"], [field["name"]])
        if field["name"] == alike[0]:
            more = f"; so are {len(alike) - 1} more that only numbers tell apart: name those that are wanted"
            lines.append(_field_text(field) + more * (len(alike) > 1))
    return lines


def _field_text(field: dict[str, Any]) -> str:
    shape = tuple(field["shape"])
    if field["encoded"]:
        formats = " or ".join(field["formats"])
        what = f"{formats} of {shape[0]} x {shape[1]} pixels" if shape[0] else f"{formats}, sizes differ"
    elif 0 in shape:
        what = _differing_text(field)
    else:
        per = {"image": "raw pixels", "array": "for each frame", "value": "for each video"}[field["kind"]]
        what = f"{field['dtype']} {shape} {per}" if shape else f"{field['dtype']} {per}"
    if field["missing"]:
        what += "; the last frame has none, and batches with it leave that out"
    read = ", ".join(
        f"{_WAYS.get(kind, f'HDF5, {kind}')} ({_videos(count)})" for kind, count in field["access"].items()
    )
    places = [_place_text(field["sources"])] * bool(field["sources"])
    how = ", ".join([*places, *([f"read by {read}"] if read else [])])
    return f"{field['kind']} {field['name']!r}: {what}" + (f"; {how}" if how else "")


def _place_text(sources: list[str]) -> str:
    more = len(sources) - _MOST_SOURCES
    return "from " + " or ".join(map(repr, sources[:_MOST_SOURCES])) + (f" or {more} more" if more > 0 else "")


def _videos(count: int) -> str:
    return counted(count, "video")


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


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
    path, shown = catalog.place(video)
    name = next((facts.field.name for facts in catalog.facts if facts.storage in {"encoded", "raw"}), None)
    return {
        "file": path,
        "video": shown,
        "dataset": None if name is None else catalog.dataset_path(video, name),
        "frames": int(catalog.frame_counts[video]),
        "label": None if catalog.labels is None else catalog.labels[video].item(),
    }
