"""Groups that hold different tables are asked about, and so are pairs and levels of pictures; each remedy works."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.catalog.hdf5.tree import DatasetInfo, ElementKind
from loader_service.catalog.videos.arrays.array_readings import refuse_numbered_sides
from loader_service.errors import CatalogError
from tests.catalog.advice import schemas_in
from tests.public_layouts.pictures import pixels
from tests.support.catalogs import catalog_of, declared_catalog, names_of


def _served(tmp_path):
    with pytest.raises(CatalogError) as said:
        catalog_of(tmp_path)
    for schema in schemas_in(str(said.value)):
        with closing(declared_catalog(tmp_path, schema)) as found:
            yield tuple(found.frame_counts.tolist()), frozenset(field.name for field in found.fields)


def test_tables_with_columns_of_their_own_are_no_videos(tmp_path):
    columns = {"event": (10, "energy"), "hit": (100, "charge"), "particle": (40, "momentum")}
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for table, (rows, column) in columns.items():
            root[f"{table}/id"] = np.arange(3 * rows).reshape(rows, 3)
            root[f"{table}/{column}"] = np.zeros((rows, 1))
    served = list(_served(tmp_path))
    for table, (rows, column) in columns.items():
        assert ((rows,), frozenset({f"{table}_id", f"{table}_{column}"})) in served


def test_levels_of_a_picture_may_be_the_largest_alone(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for level in range(3):
            root[f"s{level}"] = pixels(level, 10)[:, :: 2**level, :: 2**level]
    served = list(_served(tmp_path))
    assert ((10,), frozenset({"s0"})) in served
    assert ((10,), frozenset({"s0", "s1", "s2"})) in served


def test_tables_of_texts_are_no_videos_of_their_ids(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for table, rows in {"users": 10, "items": 30}.items():
            root[f"{table}/id"] = np.arange(rows)
            root[f"{table}/{table}_name"] = np.array([f"{row:03}".encode() for row in range(rows)])
    served = list(_served(tmp_path))
    assert ((10,), frozenset({"users_id", "users_users_name"})) in served
    assert ((30,), frozenset({"items_id", "items_items_name"})) in served


def test_pictures_in_pairs_of_several_sets_are_asked_about(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for name, count in {"Set5": 5, "Set14": 7}.items():
            for number, image in enumerate(pixels(count, count)):
                root[f"{name}/hr/{number}"] = image[: 16 + number]
                root[f"{name}/lr/{number}"] = image[: 16 + number : 2, ::2]
    assert list(_served(tmp_path)) == [((1,) * 7, frozenset({"hr", "lr"})), ((1,) * 24, frozenset({"frames"}))]


def test_points_of_frames_in_a_group_of_each_clip_are_rows_where_clips_differ_in_length_and_no_pictures(tmp_path):
    lengths = {"v00aB.0": 10, "v00aB.1": 23, "v01aB.0": 12}
    with h5py.File(tmp_path / "signs.h5", "w") as root:
        for clip, count in lengths.items():
            root[f"{clip}/joints/pose"] = np.full((count, 33, 4), count, np.float32)
            root[f"{clip}/joints/hand"] = np.full((count, 21, 4), count, np.float32)
            root[f"{clip}/sentence"] = f"says {clip}"
    with closing(catalog_of(tmp_path, tmp_path / "signs.h5")) as found:
        assert dict(zip(names_of(found), found.frame_counts.tolist(), strict=True)) == lengths
        assert {field.name for field in found.fields} == {"pose", "hand", "sentence"}


def test_matrices_of_one_size_in_a_group_of_each_clip_may_be_pictures_and_are_asked_about(tmp_path):
    with h5py.File(tmp_path / "views.h5", "w") as root:
        for clip in range(3):
            root[f"{clip}/view/depth"] = np.full((24, 32, 3), clip, np.float32)
    with pytest.raises(CatalogError, match="whose first axis may be time, or one of a picture's"):
        catalog_of(tmp_path, tmp_path / "views.h5")


@pytest.mark.parametrize("name", ["label", "labels"])
def test_the_schema_for_rows_has_the_labels_of_these_rows_which_lie_beside_them(tmp_path, name):
    with h5py.File(tmp_path / "summaries.h5", "w") as root:
        for video in range(3):
            group = root.create_group(f"video_{video}")
            group["feature"], group[name] = np.full((20, 8), video, np.float32), np.arange(20) % 2
            group["user_summary"] = np.zeros((4, 60), np.float32)
    assert ((20, 20, 20), frozenset({"feature", "label"})) in list(_served(tmp_path))


def test_the_one_label_of_a_video_of_two_rows_is_no_label_of_its_rows(tmp_path):
    with h5py.File(tmp_path / "summaries.h5", "w") as root:
        for video in range(3):
            group = root.create_group(f"video_{video}")
            group["feature"], group["label"] = np.full((2, 80), video, np.float32), np.array([video])
            group["user_summary"] = np.zeros((4, 60), np.float32)
    with pytest.raises(CatalogError) as said:
        catalog_of(tmp_path)
    for schema in schemas_in(str(said.value)):
        assert 'name = "label"' not in schema


@pytest.mark.parametrize("names", [["C3-A2", "Fp1-A2", "O2-A1"], ["mpu6050_acc", "bmi160_acc"]])
def test_sequences_of_one_length_have_a_line_with_the_schema_for_fields_of_one_row(tmp_path, names):
    with h5py.File(tmp_path / "night.h5", "w") as root:
        for number, name in enumerate(names):
            root[name] = np.full((400, 2), number, np.float32)
    with closing(catalog_of(tmp_path)) as found:
        assert found.video_count == len(names)
        (line,) = [line for line in found.left_out if "if row n of one belongs to row n of the other" in line]
    with closing(declared_catalog(tmp_path, schemas_in(line)[0])) as found:
        assert (found.video_count, {field.name for field in found.fields}) == (1, set(names))


@pytest.mark.parametrize("names", [["v_a1b2", "v_c3d4"], ["video_1", "video_2"]])
def test_sequences_of_other_lengths_or_that_numbers_tell_apart_have_no_such_line(tmp_path, names):
    with h5py.File(tmp_path / "features.h5", "w") as root:
        for count, name in enumerate(names, 30):
            root[name] = np.zeros((count if names[0].startswith("v_") else 30, 64), np.float32)
    with closing(catalog_of(tmp_path)) as found:
        assert found.video_count == 2
        assert not [line for line in found.left_out if "row n" in line]


def test_many_groups_of_the_same_few_numbered_arrays_may_be_a_sample_each_and_the_message_stays_short(tmp_path):
    with h5py.File(tmp_path / "glitches.h5", "w") as root:
        for kind in ("Blip", "Chirp"):
            for number in range(5):
                for seconds in ("0.5.png", "1.0.png"):
                    root[f"{kind}/clean/id{number:03d}xQ/{seconds}"] = np.zeros((1, 20, 24), np.float32)
    with pytest.raises(CatalogError, match="and as in 7 more groups, named alike") as said:
        catalog_of(tmp_path)
    with closing(declared_catalog(tmp_path, schemas_in(str(said.value))[0])) as found:
        assert (found.video_count, found.frame_count) == (10, 10)
        assert {field.name for field in found.fields} == {"0.5.png", "1.0.png"}


def test_grey_matrices_of_one_size_may_be_bands_of_one_sample(tmp_path):
    for tile in range(2):
        with h5py.File(tmp_path / f"tile{tile}.h5", "w") as root:
            for number, band in enumerate(("B02", "B03", "B8A")):
                root[band] = np.full((64, 48), number, np.uint16)
    readings = list(_served(tmp_path))
    assert ((1, 1), frozenset({"B02", "B03", "B8A"})) in readings
    assert ((1,) * 6, frozenset({"values"})) in readings


_ANY_SIDES = [(5, 7), (6, 6), (5, 8), (6, 9), (5, 6)]


def test_masks_of_any_size_beside_lists_of_as_many_entries_are_asked_about(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number, sides in zip((3, 4, 9, 10, 12), _ANY_SIDES, strict=True):
            root[f"masks/{number}"] = np.ones(sides, np.uint8)
        root["bboxes"], root["areas"], root["fps"] = np.zeros((5, 4), int), np.arange(5), 30
    with pytest.raises(CatalogError, match="4 more of other sides in 'masks', beside") as said:
        catalog_of(tmp_path)
    each, rows = schemas_in(str(said.value))
    with closing(declared_catalog(tmp_path, each)) as found:
        assert names_of(found) == [f"masks/{number}" for number in (3, 4, 9, 10, 12)]
        assert found.frame_counts.tolist() == [1] * 5
    with closing(declared_catalog(tmp_path, rows)) as found:
        assert (found.frame_counts.tolist(), {field.name for field in found.fields}) == ([5], {"areas", "bboxes"})


@pytest.mark.parametrize("names", [["3", "4"], ["a", "b", "c"], ["3", "4", "9"]])
def test_other_matrices_beside_lists_are_not_asked_about_so(names):
    shapes = {f"masks/{name}": sides for name, sides in zip(names, _ANY_SIDES, strict=False)}
    shapes |= {"bboxes": (5, 4), "areas": (5,)}
    refuse_numbered_sides(
        [DatasetInfo(name, ElementKind.INTEGER, shape, 0, None, "u1") for name, shape in shapes.items()]
    )


@pytest.mark.parametrize("numbers", [[5, 6, 7], [20, 7, 30]])
def test_as_many_points_as_descriptors_have_lines_but_one_change_nothing(tmp_path, numbers):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for picture, count in enumerate(numbers):
            group = root.create_group(f"db/{picture}.jpg")
            group["keypoints"], group["scores"] = np.zeros((count, 2), np.float32), np.zeros(count, np.float32)
            group["descriptors"] = np.zeros((8, count), np.float16)
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == numbers
        assert {field.name for field in found.fields} == {"keypoints", "scores"}
        assert any("'descriptors'" in line for line in found.left_out)
