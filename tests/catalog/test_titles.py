"""Titles of PyTables that a user gave to groups of videos have a line, and a field that serves them."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from tests.support.catalogs import catalog_of, declared_catalog


def _titles(directory, *titles):
    with h5py.File(directory / "a.h5", "w") as root:
        for number, title in enumerate(titles):
            root[f"author{number}/samples"] = np.zeros((4 + number, 8, 20), np.uint8)
            root[f"author{number}"].attrs.update(CLASS=np.bytes_("GROUP"), TITLE=title, VERSION=np.bytes_("1.0"))
    with closing(catalog_of(directory)) as found:
        return [line for line in found.left_out if "TITLE" in line]


@pytest.mark.parametrize("text", [np.bytes_, str])
def test_titles_have_a_line_with_the_field_that_serves_them(tmp_path, text):
    (line,) = _titles(tmp_path, text("Ann"), text("Bob"), text("Eve"))
    assert "'Ann'" in line
    assert 'dataset = "{video}/@TITLE"' in line
    schema = """videos = "groups"
field = [
    {name = "samples", kind = "array", dataset = "{video}/samples"},
    {name = "title", kind = "value", dataset = "{video}/@TITLE"},
]"""
    with closing(declared_catalog(tmp_path, schema)) as found:
        assert {field.name for field in found.fields} == {"samples", "title"}


@pytest.mark.parametrize("empty", [np.bytes_(""), "", h5py.Empty("S1")], ids=["bytes", "text", "null"])
def test_empty_titles_have_none(tmp_path, empty):
    assert not _titles(tmp_path, empty, empty, empty)
