"""Files that hold a part of each row, pictures here and labels there, are refused with a command that makes one."""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from loader_service.worker.reader import Reader
from tests.catalog.advice import run_command_in, schemas_in
from tests.public_layouts.expectations import Array
from tests.public_layouts.pictures import pixels
from tests.public_layouts.reading import check_field
from tests.support.catalogs import catalog_of, declared_catalog
from tests.support.videos import frame_jpeg

_PICTURES = pixels(0, 12, 16, 20)
_LABELS = np.arange(12) % 3


@pytest.mark.parametrize(
    ("parts", "fields"),
    [
        ({"split_train_x": {"x": _PICTURES}, "split_train_y": {"y": _LABELS.reshape(12, 1, 1, 1)}}, ["x", "y"]),
        ({"images": {"images": _PICTURES}, "labels": {"labels": _LABELS}}, ["images", "labels"]),
        ({"it's x": {"data": _PICTURES}, "y": {"data": _LABELS}}, ["it_s_x", "y"]),
        ({"X": {"X": np.ones((12, 16))}, "y": {"y": _LABELS.astype(float)}}, ["X", "y"]),
    ],
)
def test_the_command_of_the_refusal_makes_one_file_whose_rows_are_served_together(tmp_path, parts, fields):
    for name, datasets in parts.items():
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            for inner, values in datasets.items():
                file[inner] = values
    with pytest.raises(CatalogError) as caught:
        catalog_of(tmp_path)
    line = str(caught.value)
    run_command_in(line, tmp_path / "joined")
    with closing(catalog_of(tmp_path, tmp_path / "joined" / "joined.h5")) as found:
        assert ([field.name for field in found.fields], found.frame_count) == (fields, 12)
    with h5py.File(tmp_path / "joined" / "joined.h5") as file:
        values = [each for datasets in parts.values() for each in datasets.values()]
        assert all(np.array_equal(file[name], each) for name, each in zip(fields, values, strict=True))


def test_files_of_other_numbers_of_rows_are_not_joined(tmp_path):
    for name, count in (("a", 12), ("b", 7)):
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file[name] = np.ones((count, 16))
    with pytest.raises(CatalogError, match="have no frames or arrays in common") as caught:
        catalog_of(tmp_path)
    assert "joined.h5" not in str(caught.value)


@pytest.mark.parametrize("folders", [False, True])
@pytest.mark.parametrize("inside", ["", "/{part}"])
def test_the_command_for_videos_by_name_makes_one_file_in_which_each_has_the_fields_of_all_files(
    tmp_path, folders, inside
):
    lengths = {"log_0007": 5, "log_0012": 3, "log_0013": 5}
    pictures = {name: pixels(number, lengths[name], 16, 20) for number, name in enumerate(lengths)}
    poses = {name: np.full((count, 6), count, np.float32) for name, count in lengths.items()}
    for part, values in (("frames", pictures), ("odometry", poses)):
        path = tmp_path / part / "a.h5" if folders else tmp_path / f"a_{part}.h5"
        path.parent.mkdir(exist_ok=True)
        with h5py.File(path, "w") as file:
            for name, each in values.items():
                file[name + inside.format(part=part)] = each
    with pytest.raises(CatalogError, match=r"(of|has) one name in each of these files") as caught:
        catalog_of(tmp_path, *sorted(tmp_path.rglob("*.h5")))
    run_command_in(str(caught.value), tmp_path / "joined")
    with closing(catalog_of(tmp_path, tmp_path / "joined" / "joined.h5")) as found:
        assert found.frame_counts.tolist() == [5, 3, 5]
        fields = {field.kind: field.name for field in found.fields}
        reader = Reader(found)
        try:
            for video, name in enumerate(lengths):
                check_field(found, reader, video, fields["image"], Array(pictures[name]))
                check_field(found, reader, video, fields["array"], Array(poses[name]))
        finally:
            reader.close()


@pytest.mark.parametrize("names", [("img", "mask"), ("image", "label_map")])
def test_the_command_for_files_that_go_by_numbers_makes_one_of_each_number(tmp_path, names):
    rng = np.random.default_rng(0)
    written = {number: (rng.normal(size=(24, 20, 14)), rng.normal(size=(24, 20))) for number in (1, 2, 10)}
    for number, values in written.items():
        for kind, name, each in zip(("image", "mask"), names, values, strict=True):
            (tmp_path / kind).mkdir(exist_ok=True)
            with h5py.File(tmp_path / kind / f"{kind}_{number}.h5", "w") as file:
                file[name] = each
    with pytest.raises(CatalogError, match="if files of one number belong together") as caught:
        catalog_of(tmp_path, tmp_path / "*" / "*.h5")
    run_command_in(str(caught.value), tmp_path)
    with pytest.raises(CatalogError) as asked:
        catalog_of(tmp_path, tmp_path / "joined" / "*.h5")
    served = []
    for schema in schemas_in(str(asked.value)):
        with closing(declared_catalog(tmp_path, schema, tmp_path / "joined" / "*.h5")) as found:
            served.append([field.shape for field in found.fields])
    assert [(24, 20, 14), (24, 20)] in served
    for number, values in written.items():
        with h5py.File(tmp_path / "joined" / f"{number}.h5") as file:
            assert all(np.array_equal(file[name], each) for name, each in zip(file, values, strict=True))


@pytest.mark.parametrize("split", [None, "train"])
def test_files_that_list_the_rows_of_others_are_joined_and_are_splits_then(tmp_path, split):
    parts = {
        "visual_feature": {"avadataset": np.arange(12 * 4, dtype=np.float32).reshape(12, 4)},
        "labels": {"avadataset": np.eye(12)[:, :3], "why": np.arange(12)},
        "train_order": {"order": np.array([0, 1, 2, 5, 6, 7, 9, 10])},
        "test_order": {"order": np.array([3, 4, 8, 11])},
    }
    for name, datasets in parts.items():
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file.update(datasets)
    with pytest.raises(CatalogError, match=r"lists rows of 'labels.h5', make one file of all 4") as caught:
        catalog_of(tmp_path, split=split)
    run_command_in(str(caught.value), tmp_path / "joined")
    for word in ("train", "test"):
        with closing(catalog_of(tmp_path, tmp_path / "joined" / "joined.h5", split=word)) as found:
            assert {field.name for field in found.fields} == {"visual_feature", "avadataset", "why"}
            reader, rows = Reader(found), np.zeros((found.frame_count, 4), np.float32)
            places = np.cumsum([0, *found.frame_counts.tolist()]).tolist()
            for video, (first, end) in enumerate(pairwise(places)):
                reader.read_array(video, "visual_feature", 0, rows[first:end])
            reader.close()
        assert (rows[:, 0] / 4).tolist() == parts[f"{word}_order"]["order"].tolist()


def _write_cell(root, name, cells, kind):
    references = [root.create_dataset(f"#refs#/{name}{number}", data=each) for number, each in enumerate(cells)]
    for each in references:
        each.attrs["MATLAB_class"] = np.bytes_(kind)
    root[name] = np.array([[each.ref for each in references]], h5py.ref_dtype)


def test_the_command_of_the_refusal_writes_structs_complex_numbers_and_cells_as_datasets(tmp_path):
    table = np.zeros(6, [("t", "f8"), ("place", "f4", (3,)), ("note", "S4")])
    table["t"], table["place"], table["note"] = np.arange(6), np.arange(18).reshape(6, 3), b"abc"
    signal = np.arange(6) + 1j * np.arange(6)[::-1]
    videos = [np.arange(12.0 + 4 * number).reshape(4, -1) for number in range(3)]
    with h5py.File(tmp_path / "it's a.h5", "w") as root:
        root["df/table"], root["signal"] = table, signal
        _write_cell(root, "videos", videos, "double")
        _write_cell(
            root, "names", [np.array([[ord(each)] for each in name], np.uint16) for name in ("é", "run")], "char"
        )
    with pytest.raises(CatalogError, match="found no video, but") as caught:
        catalog_of(tmp_path)
    run_command_in(str(caught.value), tmp_path / "flat")
    with h5py.File(tmp_path / "flat" / "flat.h5") as file:
        assert all(np.array_equal(file[f"df/table/{name}"], table[name]) for name in table.dtype.names)
        assert np.array_equal(file["signal"], np.stack([signal.real, signal.imag], -1))
        assert [file[f"names/{number}"].asstr()[()] for number in range(2)] == ["é", "run"]
        assert all(np.array_equal(file[f"videos/{number}"], each.T) for number, each in enumerate(videos))
        assert "#refs#" not in file


@pytest.mark.parametrize(
    "names", [["2016-01-30--11-24-51", "2016-02-02--10-16-51"], ["lena", "baboon"], ["drive_3", "drive_12"]]
)
def test_files_of_the_same_names_in_two_folders_have_the_command_that_makes_one_of_each(tmp_path, names):
    for number, name in enumerate(names):
        for folder, inside, values in (("camera", "frames", _PICTURES), ("log", "speed", np.full((12, 3), number))):
            (tmp_path / folder).mkdir(exist_ok=True)
            with h5py.File(tmp_path / folder / f"{name}.h5", "w") as file:
                file[inside] = values
    with pytest.raises(CatalogError, match="have no frames or arrays in common") as caught:
        catalog_of(tmp_path, *sorted(tmp_path.rglob("*.h5")))
    assert "--schema" not in str(caught.value)
    run_command_in(str(caught.value), tmp_path / "new")
    with closing(catalog_of(tmp_path, tmp_path / "new/joined/*.h5")) as found:
        assert ([field.name for field in found.fields], found.file_count) == (["frames", "speed"], 2)


@pytest.mark.parametrize(
    "names", [[f"patient{p}_slice_{n}" for p in (1, 2) for n in (1, 2, 3)], ["traj0", "traj1", "traj2"]]
)
def test_files_that_only_numbers_tell_apart_are_not_joined(tmp_path, names):
    for name in names:
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file["image"] = np.ones((31, 26), np.float32)
            file["label"] = np.ones((31, 26), np.uint8)
    with pytest.raises(CatalogError, match="first axis may be time") as caught:
        catalog_of(tmp_path)
    assert "join" not in str(caught.value)


def test_files_that_endings_tell_apart_have_the_command_for_files_of_one_name(tmp_path):
    for name in ("train_001_V00", "train_002_V00"):
        for ending, values in (("im", np.zeros((16, 12, 10), np.float32)), ("seg", np.ones((16, 12, 10, 6), np.uint8))):
            with h5py.File(tmp_path / f"{name}.{ending}", "w") as file:
                file["data"] = values
    with pytest.raises(CatalogError, match="if files of one name belong together") as caught:
        catalog_of(tmp_path, tmp_path / "*.im", tmp_path / "*.seg")
    assert "--schema" not in str(caught.value)
    run_command_in(str(caught.value), tmp_path / "new")
    with closing(catalog_of(tmp_path, tmp_path / "new/joined/*.h5")) as found:
        assert found.file_count == 2


def _numbered(kind, number):
    """Return what one of two files has under a number: pixels, encoded ones, or floats of any sides or of one size."""
    height, width = (10, 12) if kind.startswith("same") else (10 + number, 12 + number)
    if kind == "JPEG":
        return np.frombuffer(frame_jpeg(number), np.uint8)
    return pixels(number, 3, height, width)[..., 0] / 255 if "float" in kind else pixels(number, 1, height, width)[0]


@pytest.mark.parametrize("kind", ["same float", "float", "JPEG", "same pixels"])
def test_numbered_datasets_of_the_same_names_in_two_files_are_pairs_by_the_command(tmp_path, kind):
    for part, first in (("input", 0), ("target", 20)):
        with h5py.File(tmp_path / f"train_{part}.h5", "w") as file:
            for number in range(12):
                file[str(number)] = _numbered(kind, first + number)
    try:
        with closing(catalog_of(tmp_path)) as found:
            (line,) = [line for line in found.left_out if "join" in line]
    except CatalogError as error:
        line = str(error)
    run_command_in(line, tmp_path / "joined")
    joined = tmp_path / "joined" / "joined.h5"
    with h5py.File(joined) as file:
        assert {name: len(each) for name, each in file.items()} == {"input": 12, "target": 12}
        assert np.array_equal(file["target/3"], _numbered(kind, 23))
    try:
        with closing(catalog_of(tmp_path, joined)) as found:
            names = [[field.name for field in found.fields]]
    except CatalogError as error:
        names = []
        for schema in schemas_in(str(error)):
            with closing(declared_catalog(tmp_path, schema, joined)) as found:
                names.append([field.name for field in found.fields])
    assert ["input", "target"] in names


@pytest.mark.parametrize("how", ["rows", "groups"])
def test_what_else_lies_beside_numbered_datasets_is_joined_as_before(tmp_path, how):
    for part in ("a", "b"):
        with h5py.File(tmp_path / f"{part}.h5", "w") as file:
            file["0"], file["1"], file["names"] = np.zeros(3), np.ones(3), np.arange(2)
    line = f"`loader-service join --by {how} -o joined.h5 {tmp_path}/a.h5 {tmp_path}/b.h5`"
    run_command_in(line, tmp_path / "joined")
    with h5py.File(tmp_path / "joined" / "joined.h5") as file:
        assert {*file} == {"0", "1", "names", "0_1", "1_1", "names_1"}
