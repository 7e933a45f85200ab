"""Files whose videos are datasets of the same names are asked about, and each remedy works; numbers are no names."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.advice import volume_advice
from loader_service.errors import CatalogError
from tests.catalog.advice import run_command_in, schemas_in
from tests.public_layouts.pictures import jpegs, pixels, write_vlen
from tests.support.catalogs import catalog_of, declared_catalog


def _write(folder, names, values):
    for number in range(3):
        with h5py.File(folder / f"{number:04d}.h5", "w") as root:
            for name in names:
                root[name] = values(number)


def _served(folder):
    with pytest.raises(CatalogError, match="hold datasets of the same names") as said:
        catalog_of(folder)
    for schema in schemas_in(str(said.value)):
        with closing(declared_catalog(folder, schema)) as found:
            yield found.frame_counts.tolist(), sorted(field.name for field in found.fields)


@pytest.mark.parametrize("group", ["", "input/"])
def test_maps_of_the_same_names_in_each_file_may_be_fields_of_one_sample_of_one_row_or_videos(tmp_path, group):
    names = [f"{group}2m_temperature", f"{group}z500"]
    _write(tmp_path, names, lambda number: np.full((32, 64), number, np.float32))
    fields = [name.replace("/", "_") for name in names]
    assert list(_served(tmp_path)) == [([1] * 3, fields), ([32] * 3, fields), ([32] * 6, ["values"])]


def test_sequences_of_the_same_ids_in_each_file_are_no_rows_where_their_lengths_differ(tmp_path):
    for number in range(2):
        with h5py.File(tmp_path / f"{number}.h5", "w") as root:
            for count, name in enumerate(["v_a1b2", "v_c3d4", "v_e5f6"], 4):
                root[name] = np.full((count, 16), number, np.float32)
    assert list(_served(tmp_path)) == [
        ([1, 1], ["v_a1b2", "v_c3d4", "v_e5f6"]),
        ([4, 5, 6] * 2, ["values"]),
    ]


def test_sequences_of_pictures_of_the_same_words_in_each_file_may_be_what_one_of_them_says_or_videos(tmp_path):
    for number in range(2):
        with h5py.File(tmp_path / f"{number}.h5", "w") as root:
            for name, count in (("garden", 4), ("street", 9)):
                write_vlen(root, name, jpegs(number, count + number))
    assert list(_served(tmp_path)) == [
        ([4, 5], ["garden"]),
        ([9, 10], ["street"]),
        ([4, 9, 5, 10], ["frames"]),
    ]


def test_pictures_and_masks_of_the_same_ids_in_a_file_each_are_asked_about_with_a_command_that_joins_them(tmp_path):
    for name in ("images", "masks"):
        with h5py.File(tmp_path / f"{name}.h5", "w") as root:
            for number in (15670, 15902, 16034):
                root[f"ISIC_{number:07d}"] = np.frombuffer(jpegs(number, 1)[0], np.uint8)
    assert list(_served(tmp_path)) == [([1] * 6, ["frames"])]
    with pytest.raises(CatalogError, match="if what has one name in each of these files belongs together"):
        catalog_of(tmp_path)


@pytest.mark.parametrize("names", [["0", "1", "2"], ["video_7", "video_8"]])
def test_numbers_begin_anew_in_each_file_and_are_videos(tmp_path, names):
    for number in range(2):
        with h5py.File(tmp_path / f"{number}.h5", "w") as root:
            for name in names:
                write_vlen(root, name, jpegs(number, 3))
    with closing(catalog_of(tmp_path)) as found:
        assert found.video_count == 2 * len(names)


def test_numbered_features_of_the_same_lengths_in_two_files_are_asked_about(tmp_path):
    for name in ("rgb", "flow"):
        with h5py.File(tmp_path / f"{name}.h5", "w") as root:
            for number, count in enumerate((9, 4, 6)):
                root[f"video{number}"] = np.full((count, 16), number, np.float32)
    assert list(_served(tmp_path))[-1] == ([9, 4, 6] * 2, ["values"])


def test_raw_videos_of_other_ids_in_each_file_are_videos(tmp_path):
    for number in range(2):
        with h5py.File(tmp_path / f"{number}.h5", "w") as root:
            for each in ("x1y", "z2w"):
                root[f"v_{each}{number}"] = pixels(number, 5 + number, 16, 16)
    with closing(catalog_of(tmp_path)) as found:
        assert found.video_count == 4


@pytest.mark.parametrize(("rows", "said"), [(32, True), (400, False)])
def test_maps_that_words_name_have_a_line_with_the_schema_for_one_sample_a_file_and_long_tables_have_none(
    tmp_path, rows, said
):
    _write(tmp_path, ["humidity", "temperature"], lambda number: np.full((rows, 64), number, np.float32))
    with closing(catalog_of(tmp_path)) as found:
        assert found.kind == "rows"
        advice = volume_advice(found)
    assert bool(advice) == said
    if advice:
        with closing(declared_catalog(tmp_path, schemas_in(advice)[0])) as found:
            assert found.frame_counts.tolist() == [1, 1, 1]


def test_groups_of_the_same_names_and_lengths_in_two_files_have_a_line_whose_command_makes_one_video_of_each(tmp_path):
    for number, name in enumerate(("i3d_rgb", "i3d_flow")):
        with h5py.File(tmp_path / f"{name}.h5", "w") as root:
            for count, video in enumerate(("v_a1b2", "v_c3d4", "v_e5f6"), 4):
                root[f"{video}/features"] = np.full((count, 16), number, np.float32)
    with closing(catalog_of(tmp_path)) as found:
        assert found.video_count == 6
        (line,) = [line for line in found.left_out if "videos of the same names and lengths" in line]
    run_command_in(line, tmp_path / "joined")
    with closing(catalog_of(tmp_path, tmp_path / "joined" / "joined.h5")) as found:
        assert found.frame_counts.tolist() == [4, 5, 6]
        assert sorted(field.name for field in found.fields) == ["features", "features_1"]


def test_groups_of_the_same_names_and_other_lengths_have_no_such_line(tmp_path):
    for number in range(2):
        with h5py.File(tmp_path / f"subject{number}.h5", "w") as root:
            for count, video in enumerate(("rest", "task_a", "task_b"), 4):
                root[f"{video}/bold"] = np.full((count + number * 3 - count % 2, 16), number, np.float32)
    with closing(catalog_of(tmp_path)) as found:
        assert not [line for line in found.left_out if "of the same names" in line]


def test_a_matrix_a_file_has_that_line_also_beside_what_is_said_of_each_file(tmp_path):
    for number in range(3):
        with h5py.File(tmp_path / f"{number}.h5", "w") as root:
            root["mel"] = np.full((80, 40), number, np.float32)
            root.attrs["text"] = f"word {number}"
    with closing(catalog_of(tmp_path)) as found:
        assert "each of 3 files has 80 rows; if a file is one sample" in (volume_advice(found) or "")
