"""`docs/metrics.md` and `docs/waiting.md` have each name that programs and people meet."""

from __future__ import annotations

import dataclasses
import re
import typing
from pathlib import Path

from loader_service.protocol.messages import (
    CachedForm,
    Counter,
    Fault,
    FrameCacheStatus,
    Status,
    StreamStatus,
    WorkerStatus,
)
from loader_service.protocol.totals import FileSystemTotals, FileTotals, StreamTotals, WorkerTotals
from loader_service.watching.metric_table import METRICS
from loader_service.watching.status_json import VERSION, status_json
from loader_service.watching.verdict import Kind, StreamVerdict
from tests.watching.looks import look, stream, worker

DOCS = Path(__file__).parents[2] / "docs"


def names_in(page: str) -> set[str]:
    return set(re.findall(r"`([a-z_]+)`", (DOCS / page).read_text()))


def test_each_name_of_the_json_is_documented() -> None:
    kinds = (
        Status,
        WorkerStatus,
        StreamStatus,
        WorkerTotals,
        StreamTotals,
        FileSystemTotals,
        FileTotals,
        StreamVerdict,
        FrameCacheStatus,
        CachedForm,
        Counter,
        Fault,
    )
    names = {field.name for kind in kinds for field in dataclasses.fields(kind)} - {"request"}
    assert names <= names_in("metrics.md"), names - names_in("metrics.md")
    made = status_json(None, look(9.0, [worker(1, 9.0)], [stream(1, 9.0)]))
    assert set(made) <= names_in("metrics.md")
    assert f"`version` is {VERSION}" in (DOCS / "metrics.md").read_text()


def test_each_metric_is_documented_as_it_is() -> None:
    lines = (DOCS / "metrics.md").read_text().splitlines()
    for each in METRICS:
        label = f"`{each.label}`" if each.label else ""
        assert f"| `{each.full_name}` | {each.kind} | {label} | {each.text} |" in lines


def test_each_verdict_is_explained() -> None:
    assert set(typing.get_args(Kind)) <= names_in("waiting.md")
