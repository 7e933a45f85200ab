"""An array of one entry less than a table has rows has a line with the field by which rows end with it."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING

import h5py
import numpy as np
import pytest

from loader_service.catalog.schema_text import schema_toml
from tests.support.catalogs import catalog_of, declared_catalog

if TYPE_CHECKING:
    from pathlib import Path


def _line_and_schema(folder: Path, name: str) -> tuple[str, str]:
    with closing(catalog_of(folder)) as found:
        (line,) = [line for line in found.left_out if line.startswith(f"'{name}'")]
        return line, schema_toml(found)


@pytest.mark.parametrize("name", ["labels", "maps"])
def test_the_field_that_a_line_shows_ends_rows_with_what_has_one_entry_less(tmp_path: Path, name: str) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as opened:
        opened["data"] = np.zeros((12, 2, 8, 8), np.float32)
        opened[name] = np.ones((11, 8, 8), np.float32)
    line, schema = _line_and_schema(tmp_path, name)
    shown = r"add a \[\[field\]\] with (.*), (kind = .*) and (dataset = .*) to what .* prints, and `(.*)` at its top"
    *field, lengths = re.search(shown, line).groups()
    with closing(declared_catalog(tmp_path, "\n".join([lengths, schema, "[[field]]", *field]))) as found:
        assert found.frame_counts.tolist() == [11]
        assert {field.name for field in found.fields} == {"data", name}


def test_what_has_fewer_entries_by_more_than_one_is_no_step_of_the_rows(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as opened:
        opened["data"] = np.zeros((12, 2, 8, 8), np.float32)
        opened["times"] = np.arange(12.0)
        opened["maps"] = np.ones((9, 8, 8), np.float32)
    line, _ = _line_and_schema(tmp_path, "maps")
    assert "shortest" not in line
