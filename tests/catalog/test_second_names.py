"""A hard link to a dataset in its own group, and a link to a file, are other names of what is there already."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.public_layouts.pictures import jpegs, pixels, write_vlen
from tests.support.catalogs import catalog_of


@pytest.mark.parametrize("encoded", [True, False])
def test_a_second_name_has_a_line_and_a_schema_may_use_it(tmp_path, encoded):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        if encoded:
            write_vlen(root, "rgb", jpegs(0, 6))
        else:
            root["rgb"] = pixels(0, 6)
        root["top"], root["act"] = root["rgb"], np.zeros((6, 2))
    with closing(catalog_of(tmp_path)) as found:
        assert [field.kind for field in found.fields] == ["image", "array"]
        assert any("'top': found another name of 'rgb'" in line for line in found.left_out)
    (tmp_path / "schema.toml").write_text('videos="files"\nfield=[{name="top",kind="image",dataset="top"}]')
    with closing(catalog_of(tmp_path, schema=str(tmp_path / "schema.toml"))) as found:
        assert [field.name for field in found.fields] == ["top"]


def test_a_dataset_that_groups_share_is_a_field_of_each(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for video in range(3):
            root[f"v{video}/x"] = pixels(video, 15 + video)
            root[f"v{video}/camera"] = root["v0/camera"] if video else np.eye(4)
    with closing(catalog_of(tmp_path)) as found:
        assert {field.name for field in found.fields} == {"frames", "camera"}


def test_labels_that_have_another_name_are_labels(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["x"], root["classes"] = np.zeros((6, 4)), np.arange(6)
        root["label"] = root["classes"]
    with closing(catalog_of(tmp_path)) as found:
        assert {field.name for field in found.fields} == {"x", "classes", "label"}


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_a_link_to_a_file_given_beside_it_has_a_line(tmp_path, link):
    for number, name in enumerate("ab"):
        with h5py.File(tmp_path / f"{name}.h5", "w") as root:
            root["rgb"] = pixels(number, 6)
    with closing(catalog_of(tmp_path)) as found:
        assert not found.left_out
    link(tmp_path / "c.h5", tmp_path / "a.h5")
    with closing(catalog_of(tmp_path)) as found:
        assert found.video_count == 3
        (line,) = found.left_out
        assert "c.h5' is '" in line
        assert "its videos are served twice; leave one out" in line
