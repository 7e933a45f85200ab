"""A question about two readings names what was tried, and what helps siblings of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import h5py
import numpy as np
import pytest

from loader_service.catalog.videos.readings import Reading, TwoReadingsError
from loader_service.errors import CatalogError
from loader_service.protocol.fields import SERVICE_FIELDS
from loader_service.schema import VIDEO, Schema, SchemaField
from tests.catalog.advice import schemas_in
from tests.support.catalogs import catalog_of, declared_catalog

if TYPE_CHECKING:
    from pathlib import Path


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


def test_a_schema_is_shown_though_the_order_of_labels_is_asked_next(tmp_path: Path):
    with h5py.File(tmp_path / "flow.h5", "w") as root:
        root["labels"] = np.arange(3)
        for number, name in enumerate(("run_g01", "jump_g01", "sit_g02")):
            root[f"u/{name}"] = root[f"v/{name}"] = np.zeros((5 + number, 24, 32), np.uint8)
    with pytest.raises(CatalogError, match="named alike in each group") as asked:
        catalog_of(tmp_path)
    schema = next(each for each in schemas_in(str(asked.value)) if "u/{video}" in each)
    (tmp_path / "s.toml").write_text(schema)
    with pytest.raises(CatalogError, match="`--label labels` takes them in the order of names"):
        catalog_of(tmp_path, schema=str(tmp_path / "s.toml"))
    catalog = catalog_of(tmp_path, schema=str(tmp_path / "s.toml"), label="labels")
    assert catalog.labels is not None
    assert catalog.labels.tolist() == [0, 1, 2]
    catalog.close()


@pytest.mark.parametrize("sides", [(64, 64, 20), (128, 128, 14)])
@pytest.mark.parametrize("truth", ["label", "mask"])
def test_a_volume_of_square_slices_beside_its_truth_is_asked_about(tmp_path, sides, truth):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["image"], root[truth] = np.zeros(sides, np.float32), np.zeros(sides, np.uint8)
    with pytest.raises(CatalogError, match="whose first axis may be time, or one of a picture's"):
        catalog_of(tmp_path)


def test_a_field_of_a_schema_that_is_offered_has_one_name_whichever_reading_it_is_of(tmp_path: Path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(3):
            root[f"{number}/view/depth"] = np.zeros((24, 32, 3), np.float32)
    with pytest.raises(CatalogError, match="whose first axis may be time") as asked:
        catalog_of(tmp_path)
    schema = next(each for each in schemas_in(str(asked.value)) if "*/view/depth" in each)
    assert '"view_depth"' in schema
    catalog = declared_catalog(tmp_path, schema)
    assert (catalog.video_count, catalog.frame_count, catalog.fields[0].name) == (1, 3, "view_depth")
    catalog.close()


def test_what_is_called_as_a_field_of_every_stream_has_another_name_in_a_schema():
    (taken, *_) = SERVICE_FIELDS
    for field in (SchemaField.at(taken), SchemaField.in_group(taken), SchemaField.across(f"b/{taken}")):
        assert field.name == f"{taken}_of_file"
    assert SchemaField.at(f"a/{taken}").name == f"a_{taken}"
    assert SchemaField.in_group("") == SchemaField("values", "array", (VIDEO,))
    assert SchemaField.across("") == SchemaField.in_group("")


def test_fields_of_one_name_are_called_by_their_paths_or_else_by_a_number():
    across = [SchemaField.across(group, "image") for group in ("0/rgb", "0/depth", "1/rgb", "1/depth", "mask")]
    (reading,) = TwoReadingsError("found", [Reading.of_groups("samples", across)]).readings
    assert [field.name for field in reading.schema.fields] == ["0_rgb", "0_depth", "1_rgb", "1_depth", "mask"]
    same = [SchemaField.at(path, name="x") for path in ("a/b", "a_b", "a/b/c")]
    (reading,) = TwoReadingsError("found", [Reading.of_file("a sample", same)]).readings
    assert [field.name for field in reading.schema.fields] == ["a_b", "a_b_2", "a_b_c"]
