"""A question about two readings names what was tried, and what helps siblings of a file."""

from __future__ import annotations

from loader_service.catalog.videos.readings import Reading, TwoReadingsError
from loader_service.schema import VIDEO, Schema, SchemaField


def _reading(words: str, shape: tuple[int, ...] | None = None) -> Reading:
    return Reading(words, Schema(("groups",), (SchemaField("values", "array", (VIDEO,), "", shape),)))


def test_a_reading_whose_schema_does_not_work_is_not_named():
    works, fails = _reading("videos"), _reading("rows")
    error = TwoReadingsError("found 'x'", [fails, works])
    assert error.text([works]).startswith("found 'x': videos; say which in a --schema FILE: for videos, `videos = ")
    assert error.text([]) == "found 'x': rows or videos; serve them by --source package.module:Name"


def test_shapes_are_said_to_take_a_side_that_differs():
    fixed, free = _reading("samples", (24, 32)), _reading("samples of any size", (0, 0))
    assert TwoReadingsError("found", [fixed]).text([fixed]).endswith("; 0 in a shape is for a side that differs")
    assert "0 in a shape" not in TwoReadingsError("found", [free]).text([free])
