"""Cameras of which one is shorter are asked about; what is a row short is a field, and what is none has a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.catalog.advice import schemas_in
from tests.public_layouts.pictures import jpegs
from tests.support.catalogs import catalog_of, declared_catalog

if TYPE_CHECKING:
    from pathlib import Path


def _film(count: int) -> np.ndarray:
    return np.full((count, 24, 32, 3), count, np.uint8)


@pytest.mark.parametrize("groups", [("",), ("a/", "b/")], ids=["file", "groups"])
def test_two_cameras_of_which_one_lost_a_frame_are_one_video_or_two_as_each_schema_says(tmp_path: Path, groups) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for group in groups:
            root[f"{group}left"], root[f"{group}right"] = _film(10), _film(9)
    with pytest.raises(
        CatalogError, match="two cameras of one video, of which one lost frames, or two videos"
    ) as asked:
        catalog_of(tmp_path)
    found = []
    for schema in schemas_in(str(asked.value)):
        catalog = declared_catalog(tmp_path, schema)
        found.append((catalog.video_count, catalog.frame_count, len(catalog.fields)))
        catalog.close()
    assert found == [(count * len(groups), frames * len(groups), fields) for count, frames, fields in _READINGS]


#: Videos, frames and fields of one group, by each schema.
_READINGS = ((1, 9, 2), (1, 10, 1), (1, 9, 1), (2, 19, 1))


def test_schemas_of_two_cameras_work_without_labels_that_fit_neither_reading(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for group in ("a/", "b/"):
            root[f"{group}left"], root[f"{group}right"] = _film(10), _film(9)
        root["labels"] = [1, 2, 3]
    with pytest.raises(CatalogError, match=r"; give --label '\{none\}' with it, as labels of the file fit") as asked:
        catalog_of(tmp_path)
    for schema, (count, _, fields) in zip(schemas_in(str(asked.value)), _READINGS, strict=True):
        catalog = declared_catalog(tmp_path, schema, label="{none}")
        assert (catalog.video_count, len(catalog.fields), catalog.labels) == (2 * count, fields, None)
        catalog.close()


def test_what_lies_between_the_frames_of_videos_in_a_group_beside_theirs_is_a_field(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(3):
            root[f"visual/v{number}"] = _film(6 + number)
            root[f"actions/v{number}"] = np.zeros((5 + number, 4), np.float32)
    catalog = catalog_of(tmp_path)
    assert (catalog.video_count, [field.name for field in catalog.fields]) == (3, ["frames", "actions"])
    assert (catalog.missing(["visual"]), catalog.missing(["actions"])) == (0, 1)
    catalog.close()


def test_starts_and_last_rows_that_count_from_1_cut_rows_as_those_from_0_do(tmp_path: Path) -> None:
    for first in (0, 1):
        with h5py.File(tmp_path / "a.h5", "w") as root:
            root["x"] = np.arange(120.0).reshape(30, 4)
            root["starts"], root["ends"] = np.array([0, 12, 21]) + first, np.array([11, 20, 29]) + first
        catalog = catalog_of(tmp_path)
        assert catalog.frame_counts.tolist() == [12, 9, 9]
        catalog.close()


def test_labels_of_numbered_objects_in_the_group_of_a_video_have_a_line(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(3):
            root[f"v{number}/frames"] = _film(5 + number)
            root[f"v{number}/object_0/label"], root[f"v{number}/object_1/label"] = number, number + 1
    catalog = catalog_of(tmp_path)
    assert catalog.labels is None
    assert any("object_0/label" in line for line in catalog.left_out)
    catalog.close()
    with pytest.raises(CatalogError, match=r"expected one dataset in the group of 'v0', found 'v0/object_0/label' and"):
        catalog_of(tmp_path, label="*/*/label")
    catalog = catalog_of(tmp_path, label="*/object_1/label")
    assert catalog.labels is not None
    assert catalog.labels.tolist() == [1, 2, 3]
    catalog.close()


@pytest.mark.parametrize("labels", [True, False])
def test_films_of_one_name_and_length_in_each_group_may_be_fields_of_a_video(tmp_path: Path, labels) -> None:
    counts = {"dive": 3, "jump": 4, "swim": 5}
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for group in ("rgb", "flow"):
            for name, count in counts.items():
                root[f"{group}/{name}"] = _film(count)
        if labels:
            root["labels"] = np.arange(3)
    with pytest.raises(CatalogError, match="videos with a field in each group") as asked:
        catalog_of(tmp_path)
    first, *others = schemas_in(str(asked.value))
    assert bool(others) != labels
    catalog = declared_catalog(tmp_path, first, **({"label": "labels"} if labels else {}))
    assert (catalog.frame_counts.tolist(), len(catalog.fields)) == ([3, 4, 5], 2 + labels)
    catalog.close()


def test_a_label_beside_the_only_sequence_of_a_numbered_group_is_that_of_its_video(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(3):
            root[f"v{number}/cam_0/frames"], root[f"v{number}/cam_0/label"] = _film(5 + number), number
    catalog = catalog_of(tmp_path)
    assert catalog.labels is not None
    assert catalog.labels.tolist() == [0, 1, 2]
    assert not any("label" in line for line in catalog.left_out)
    catalog.close()


@pytest.mark.parametrize(("inner", "said"), [(np.zeros(4), "found it in 3"), ("a", "expected numbers in the group")])
def test_what_not_all_groups_of_frames_have_as_numbers_has_a_line(tmp_path: Path, inner, said) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number, picture in enumerate(jpegs(0, 4)):
            root[f"frames/{number:04d}/rgb/img"] = np.frombuffer(picture, np.uint8)
            if number != 2 or isinstance(inner, str):
                root[f"frames/{number:04d}/pose/p"] = inner
    catalog = catalog_of(tmp_path)
    assert [line for line in catalog.left_out if said in line]
    catalog.close()


def test_a_label_of_a_video_itself_goes_before_those_deeper_in_its_group(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(3):
            root[f"v{number}/frames"], root[f"v{number}/label"] = _film(5 + number), number
            root[f"v{number}/object_0/label"] = 7
    catalog = catalog_of(tmp_path, label="**/label")
    assert catalog.labels is not None
    assert catalog.labels.tolist() == [0, 1, 2]
    catalog.close()


def test_arrays_of_which_one_is_shorter_are_called_no_cameras(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["left"], root["right"] = np.zeros((10, 7)), np.zeros((9, 7))
    with pytest.raises(CatalogError, match=r"two sequences of one video, .*: one video with all 2 sequences") as asked:
        catalog_of(tmp_path)
    assert "camera" not in str(asked.value)


def test_frames_beyond_the_end_of_a_file_that_is_a_video_are_said_of_its_only_video(tmp_path: Path) -> None:
    for number in range(2):
        with h5py.File(tmp_path / f"run_{number}.h5", "w") as root:
            root["left"], root["right"] = _film(10), _film(9)
    fields = ", ".join(f'{{name = "{each}", kind = "image", dataset = "{each}"}}' for each in ("left", "right"))
    catalog = declared_catalog(tmp_path, f'videos = "files"\nlengths = "shortest"\nfield = [{fields}]\n')
    (line,) = catalog.left_out
    assert "not served are the last frames, 1 frame at most, of the only video, since lengths" in line
    assert "run_0.h5" in line
    assert "''" not in line
    catalog.close()
