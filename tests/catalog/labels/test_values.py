"""Labels of videos in the files: which values they may have, and what becomes of them."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.catalog.schema_text import schema_toml
from loader_service.errors import CatalogError
from tests.support.catalogs import catalog_of
from tests.support.episodes import write_table
from tests.support.videos import make_videos, write_videos

VIDEOS = make_videos([1, 1, 1])


def labels_of(catalog):
    return None if catalog.labels is None else catalog.labels.tolist()


@pytest.mark.parametrize("shape", [(3, 1), (1, 3)])
@pytest.mark.parametrize("values", [[4, 5, 6], [b"cat", b"dog", b"cow"]])
def test_entries_in_two_axes_are_labels_as_in_one(tmp_path, values, shape):
    write_videos(tmp_path / "a.h5", "group_vlen", VIDEOS)
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file["labels"] = np.reshape(values, shape)
    assert labels_of(catalog_of(tmp_path)) == ([4, 5, 6] if values[0] == 4 else [0, 2, 1])


@pytest.mark.parametrize("label_dataset", [None, "labels"])
def test_texts_become_classes_in_sorted_order(tmp_path, label_dataset):
    labels = {"video0": "Straße", "video1": "cat", "video2": "Straße"}
    write_videos(tmp_path / "a.h5", "vlen", VIDEOS, labels, label_dataset=label_dataset)
    catalog = catalog_of(tmp_path)
    assert (labels_of(catalog), catalog.classes) == ([0, 1, 0], ("Straße", "cat"))


def test_texts_are_numbered_over_all_files(tmp_path):
    for name, label in (("a", "zebra"), ("b", "ape")):
        write_videos(tmp_path / f"{name}.h5", "vlen", VIDEOS, dict.fromkeys(VIDEOS, label))
    catalog = catalog_of(tmp_path)
    assert (labels_of(catalog), catalog.classes) == ([1, 1, 1, 0, 0, 0], ("ape", "zebra"))


def test_fractions_become_float32(tmp_path):
    write_videos(tmp_path / "a.h5", "vlen", VIDEOS, {"video0": 0.5, "video1": 2, "video2": -1.0})
    catalog = catalog_of(tmp_path)
    assert (labels_of(catalog), catalog.labels.dtype) == ([0.5, 2.0, -1.0], np.float32)


def test_whole_numbers_that_float32_lacks_keep_their_values(tmp_path):
    write_videos(tmp_path / "a.h5", "vlen", VIDEOS, {"video0": 16_777_217.0, "video1": -3.0, "video2": 2.0**40 + 1})
    assert labels_of(catalog_of(tmp_path)) == [16_777_217, -3, 2**40 + 1]


def test_times_that_float32_would_move_by_minutes_are_refused(tmp_path):
    write_videos(tmp_path / "a.h5", "vlen", VIDEOS, {"video0": 1.7e9 + 0.25, "video1": 1.7e9 + 1, "video2": 0.5})
    with pytest.raises(CatalogError, match=r"fits float32, got 1700000000\.25; scale the labels, or take off"):
        catalog_of(tmp_path)


@pytest.mark.parametrize(
    ("labels", "label_dataset", "message"),
    [
        ({"video0": 1, "video2": 2}, None, r"a label for each of 3 videos, found 2.*'video1' in '.*a\.h5'"),
        ({"video0": 1.0, "video1": float("nan"), "video2": 2.0}, None, r"'label' of 'video1'.*finite number, got nan"),
        (
            {"video0": 1.0, "video1": float("inf"), "video2": 2.0},
            "labels",
            r"entry 1 of 'labels'.*finite number, got inf",
        ),
        ({"video0": 1, "video1": "two", "video2": 3}, None, r"all texts or all numbers, found 'two'"),
    ],
)
def test_labels_that_are_missing_or_no_values_are_refused(tmp_path, labels, label_dataset, message):
    write_videos(tmp_path / "a.h5", "group_vlen", VIDEOS, labels, label_dataset=label_dataset)
    with pytest.raises(CatalogError, match=message):
        catalog_of(tmp_path)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2], r"expected 3 labels, one per video; found 'labels' integer \(2,\)"),
        ([[1, 2, 3]] * 2, r"expected 3 labels, one per video; found 'labels' integer \(2, 3\)"),
        (np.zeros(3, [("x", "i4")]), r"numbers or texts; found 'labels' compound"),
        (np.array([2**63, 0, 0], np.uint64), r"entry 0 of 'labels': expected a 64-bit number"),
    ],
)
def test_datasets_of_labels_of_the_wrong_length_or_type_are_refused(tmp_path, values, message):
    write_videos(tmp_path / "a.h5", "group_vlen", VIDEOS)
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file["labels"] = values
    with pytest.raises(CatalogError, match=message) as caught:
        catalog_of(tmp_path)
    assert "or --label '{none}' to serve the videos without labels" in str(caught.value)
    served = catalog_of(tmp_path, label="{none}")
    assert served.labels is None
    assert served.video_count == len(VIDEOS)
    assert any("'labels'" in line for line in served.left_out), served.left_out


def test_labels_of_some_videos_are_left_out_where_a_user_says_so(tmp_path):
    write_videos(tmp_path / "a.h5", "group_vlen", VIDEOS, {"video0": 1, "video2": 2})
    with pytest.raises(CatalogError, match=r"or serve the videos without labels: --label '\{none\}'"):
        catalog_of(tmp_path)
    served = catalog_of(tmp_path, label="{none}")
    assert served.labels is None
    assert served.video_count == len(VIDEOS)
    assert any("'@label'" in line for line in served.left_out), served.left_out


def test_a_schema_without_labels_is_served_without_them(tmp_path):
    write_videos(tmp_path / "a.h5", "group_vlen", VIDEOS)
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file["labels"] = [1, 2]
    (tmp_path / "schema.toml").write_text(schema_toml(catalog_of(tmp_path, label="{none}")))
    with pytest.raises(CatalogError, match=r"or --label '\{none\}'"):
        catalog_of(tmp_path, schema=str(tmp_path / "schema.toml"))
    assert catalog_of(tmp_path, schema=str(tmp_path / "schema.toml"), label="{none}").labels is None


_KINDS = h5py.enum_dtype({"walk": 3, "run": 5, "jump": 9}, "i2")


@pytest.mark.parametrize("place", ["attribute", "one dataset", "a dataset each"])
def test_numbers_of_an_enumeration_are_classes_by_their_names(tmp_path, place):
    write_videos(tmp_path / "a.h5", "group_vlen", VIDEOS)
    with h5py.File(tmp_path / "a.h5", "a") as file:
        numbers = np.array([5, 3, 5], "i2")
        if place == "one dataset":
            file.create_dataset("label", data=numbers, dtype=_KINDS)
        for name, number in zip(VIDEOS, numbers, strict=True):
            if place == "attribute":
                file[name].attrs.create("label", number, dtype=_KINDS)
            elif place == "a dataset each":
                file[name].create_dataset("label", data=number, dtype=_KINDS)
    catalog = catalog_of(tmp_path)
    assert catalog.classes == ("run", "walk")
    assert labels_of(catalog) == [0, 1, 0]


@pytest.mark.parametrize("count", [4, 3])
def test_cells_of_matlab_are_labels_only_where_there_are_as_many_as_videos(tmp_path, count):
    """As FieldTrip calls the names of channels."""
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(3):
            root[f"s{number}"] = np.zeros((10 + number, 5))
        root["label"] = np.full((1, count), root.ref, h5py.ref_dtype)
    if count == 3:
        with pytest.raises(
            CatalogError, match=r"expected labels that are numbers or texts; found 'label' reference \(1, 3\)"
        ):
            catalog_of(tmp_path)
        return
    catalog = catalog_of(tmp_path)
    assert catalog.labels is None
    assert any(line.startswith("'label': found references") for line in catalog.left_out), catalog.left_out


@pytest.mark.parametrize("name", ["label_names", "class_names", "classes", "list_classes"])
def test_names_of_classes_beside_numbers_are_shown_and_numbers_stay(tmp_path, name):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["images"], root["labels"] = np.zeros((6, 16, 16, 3), np.uint8), np.array([5, 2, 1, 1, 5, 2])
        root[name] = [b"walk", b"run", b"jump"]
    with closing(catalog_of(tmp_path)) as found:
        assert f"'{name}': it names 3 classes: 0 'walk', 1 'run', 2 'jump'" in "\n".join(found.left_out)
        assert [field.dtype for field in found.fields if field.name == "labels"] == ["int64"]


def test_files_whose_classes_are_named_otherwise_have_a_line(tmp_path):
    for file, names in (("a", [b"walk", b"run"]), ("b", [b"run", b"walk"]), ("c", [b"walk", b"run"])):
        with h5py.File(tmp_path / f"{file}.h5", "w") as root:
            root["images"], root["labels"] = np.zeros((6, 16, 16, 3), np.uint8), np.arange(6) % 2
            root["class_names"] = names
    with closing(catalog_of(tmp_path)) as found:
        assert "b.h5' has other names than" in "\n".join(found.left_out)


def test_a_schema_with_a_label_that_is_an_empty_text_is_not_shown(tmp_path):
    write_table(tmp_path / "a.h5", {"points": np.ones((6, 3, 2), np.float32), "angles": np.ones((6, 4), np.float32)})
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file.attrs["label"] = ""
    with pytest.raises(CatalogError, match=r"expected 6 labels.*rows without it") as refused:
        catalog_of(tmp_path)
    assert "@label" not in str(refused.value).partition("say which")[2]
