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


def test_shapes_that_are_shown_take_any_side_but_few_channels():
    error = TwoReadingsError("found", [_reading("pictures", (24, 0, 3)), _reading("samples", (7,))])
    text = error.text(error.readings)
    assert "shape = [-1, 0, 3]" in text
    assert "shape = [-1]" in text
    assert text.endswith("; in a shape, -1 is any side, 0 one that differs")
    assert "-1" not in TwoReadingsError("found", [_reading("rows")]).text([_reading("rows")])
