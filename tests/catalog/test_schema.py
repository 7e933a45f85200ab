"""A schema declares fields; what is detected can be printed as one and given back; what is wrong in one is named."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from loader_service.catalog.schema_text import schema_toml
from loader_service.errors import CatalogError, ConfigError
from loader_service.schema import read_schema
from tests.support.catalogs import catalog_of, frames_of, names_of
from tests.support.episodes import write_episode, write_sounds, write_table
from tests.support.videos import LAYOUTS, frame_jpeg, make_videos, write_videos


def schema_of(tmp_path, text):
    path = tmp_path / "schema.toml"
    path.write_text(text, encoding="utf-8")
    return read_schema(str(path))


def write_layout(layout):
    return lambda path: write_videos(path / "a.h5", layout, make_videos([3, 2] if layout != "file" else [3]))


def write_robot(pictures):
    def write(path):
        for number in range(2):
            write_episode(path / f"e{number}.h5", 3 + number, pictures=pictures, seed=number)

    return write


def write_groups(path):
    for number in range(3):
        write_episode(path / "a.h5", 3 + number, seed=number, group=f"day1/demo[{number}]", mode="a")


def write_mixed(path):
    write_videos(path / "a.h5", "group_vlen", make_videos([2, 2]))
    write_videos(path / "b.h5", "file", make_videos([4]))


def write_rows(path):
    texts = np.array([b"a", b"bb", b"ccc"])
    write_table(path / "a.h5", {"features": np.zeros((3, 4), np.float32), "label": np.arange(3), "key": texts})
    write_table(path / "b.h5", {"features": np.zeros((2, 4), np.float32), "label": np.arange(2), "key": texts[:2]})


def write_audio(path):
    write_sounds(path / "a.h5", [np.arange(n, dtype=np.float32) for n in (4, 2, 9)], [1, 2, 3])
    with h5py.File(path / "a.h5", "a") as file:
        file["speaker"] = [b"x", b"yy", b"z"]


WRITERS = {
    **{layout: write_layout(layout) for layout in LAYOUTS},
    "padded episodes": write_robot("padded"),
    "vlen episodes": write_robot("vlen"),
    "raw episodes": write_robot("raw"),
    "episodes in groups": write_groups,
    "files that differ": write_mixed,
    "tables": write_rows,
    "sounds": write_audio,
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_what_is_detected_and_given_back_is_the_same_catalog(tmp_path, write):
    write(tmp_path)
    detected = catalog_of(tmp_path)
    text = schema_toml(detected)
    declared = catalog_of(tmp_path, schema=schema_of(tmp_path, text))
    assert declared.fields == detected.fields
    assert declared.kind == detected.kind
    assert names_of(declared) == names_of(detected)
    for name in sorted(path.name for path in detected.directory.glob("*.npy")):
        assert np.load(declared.directory / name).tolist() == np.load(detected.directory / name).tolist(), name
    for video in range(detected.video_count):
        for facts in detected.facts:
            if facts.storage in {"encoded", "raw"}:
                name = facts.field.name
                assert declared.dataset_path(video, name) == detected.dataset_path(video, name)
    assert schema_toml(declared) == text
    assert schema_toml(declared) != ""


def test_a_schema_renames_and_chooses_fields(tmp_path):
    episode = write_episode(tmp_path / "e0.h5", 3)
    schema = schema_of(
        tmp_path,
        """
        videos = "files"
        [[field]]
        name = "frames"
        kind = "image"
        dataset = "**/wrist"
        [[field]]
        name = "state"
        kind = "array"
        dataset = ["nowhere/qpos", "observations/q[p]os"]
        shape = [14]
        [[field]]
        name = "label"
        kind = "value"
        dataset = "@sim"
        """,
    )
    catalog = catalog_of(tmp_path, schema=schema)
    assert [field.name for field in catalog.fields] == ["frames", "state", "label"]
    assert frames_of(catalog, 0) == episode["wrist"]
    assert catalog.dataset_path(0, "state") == "observations/qpos"
    assert catalog.labels.tolist() == [1]


def test_labels_that_a_schema_names_become_classes_and_stay_in_it(tmp_path):
    for number in range(3):
        write_episode(tmp_path / f"e{number}.h5", 3)
        with h5py.File(tmp_path / f"e{number}.h5", "a") as file:
            file["task"] = ["pick", "place", "pick"][number]
    text = (
        'videos = "files"\n[[field]]\nname = "state"\nkind = "array"\ndataset = "action"\n'
        '[[field]]\nname = "label"\nkind = "value"\ndataset = "task"\n'
    )
    catalog = catalog_of(tmp_path, schema=schema_of(tmp_path, text))
    assert (catalog.labels.tolist(), catalog.classes) == ([0, 1, 0], ("pick", "place"))
    again = catalog_of(tmp_path, schema=schema_of(tmp_path, schema_toml(catalog)))
    assert (again.fields, again.classes) == (catalog.fields, catalog.classes)


def test_bytes_that_are_no_picture_are_refused_whatever_a_schema_says(tmp_path):
    videos = {"v1": [b"raw", b"bytes"], "v2": [b"!"]}
    write_videos(tmp_path / "a.h5", "group_vlen", videos)
    schema = schema_of(tmp_path, '[[field]]\nname="frames"\nkind="image"\ndataset="{video}/frames"')
    with pytest.raises(CatalogError, match=r"'v1/frames', frame 0: expected JPEG or PNG images, found raw bytes"):
        catalog_of(tmp_path, schema=schema)


def test_a_schema_that_ends_with_the_shortest_field_is_printed_as_such_and_travels_to_other_processes(tmp_path):
    for number in range(2):
        with h5py.File(tmp_path / f"{number}.h5", "w") as file:
            file["a"], file["b"] = np.zeros((5, 2), np.float32), np.zeros((3 + number, 2), np.float32)
    fields = "".join(f'[[field]]\nname = "{name}"\nkind = "array"\ndataset = "{name}"\n' for name in "ab")
    schema = schema_of(tmp_path, f'videos = "files"\nlengths = "shortest"\n{fields}')
    catalog = catalog_of(tmp_path, schema=schema, processes=1)
    assert catalog.frame_counts.tolist() == [3, 4]
    again = catalog_of(tmp_path, schema=schema_of(tmp_path, schema_toml(catalog, "shortest")))
    assert again.frame_counts.tolist() == [3, 4]


FIELD = '[[field]]\nname = "q"\nkind = "array"\ndataset = "{video}/q"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("videos = 3", r"videos=3; give a text, or a list of texts"),
        ("x = 1 2", r"is no TOML: .*line 1"),
        ('videos = "group"\n' + FIELD, r"videos='group'; choose one of 'groups', 'files', 'table', 'vlen'"),
        ("", r"expected at least one \[\[field\]\]"),
        ('lengths = "longest"\n' + FIELD, r"lengths='longest'; choose one of 'equal', 'shortest'"),
        (FIELD + 'colour = "red"', r"\[\[field\]\] 1 \('q'\): unknown key 'colour'; there are dataset, dtype, kind"),
        (FIELD + FIELD, r"a name of its own"),
        (FIELD.replace("array", "arrays"), r"kind='arrays'; choose one of 'image', 'array', 'value'"),
        (FIELD.replace("array", "value"), r"a field of kind 'image' or 'array'"),
        (FIELD.replace('"q"', '"index"'), r"every stream has a field of that name already"),
        (FIELD.replace('"{video}/q"', "7"), r"dataset=7; give a text"),
        (FIELD + 'dtype = "float31"', r"dtype='float31' is none; give a NumPy name"),
        (FIELD + "shape = 7", r"shape=7; give a list of whole numbers"),
    ],
)
def test_a_schema_that_is_wrong_is_refused_in_one_line_that_names_file_and_key(tmp_path, text, message):
    with pytest.raises(ConfigError, match=message) as caught:
        schema_of(tmp_path, text)
    assert str(tmp_path / "schema.toml") in str(caught.value)


def test_a_schema_that_is_missing_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.toml': No such file or directory; give a TOML file"):
        read_schema(str(tmp_path / "none.toml"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dataset": "{video}/pos"}, r"the field 'q' of the schema: expected '\{video\}/pos'.*found 'video0/frames'"),
        ({"dtype": "float32"}, r"field 'q': expected array float32, found 'video0/q' float.*array float64 \(7,\)"),
        ({"shape": [8]}, r"field 'q': expected array \(8,\), found 'video0/q' float \(2, 7\), that is array float64"),
        ({"kind": "image"}, r"field 'q': expected image, found 'video0/q' float \(2, 7\)"),
        ({"dataset": "{video}/*"}, r"field 'q': '\{video\}/\*' matches '.*' and '.*'; make it match one"),
        ({"dataset": "{video}/short"}, r"video 'video1', field 'q': expected 3 frames, like its other fields, found 1"),
        ({"dataset": "{video}/only0"}, r"video 'video1' has no field 'q'|expected 3 frames"),
    ],
)
def test_files_that_are_not_as_declared_are_errors_with_expected_and_found(tmp_path, change, message):
    write_videos(tmp_path / "a.h5", "group_vlen", make_videos([2, 3]))
    with h5py.File(tmp_path / "a.h5", "a") as file:
        for number in range(2):
            file[f"video{number}/q"] = np.zeros((2 + number, 7))
            file[f"video{number}/short"] = np.zeros((2 - number, 7))
        file["video0/only0"] = np.zeros((2, 7))
    entry = {"name": "q", "kind": "array", "dataset": "{video}/q", **change}
    frames = '[[field]]\nname = "frames"\nkind = "image"\ndataset = "{video}/frames"\n'
    own = "[[field]]\n" + "".join(f"{key} = {value!r}\n" for key, value in entry.items())
    first = own + frames if entry["dataset"] == "{video}/pos" else frames + own
    with pytest.raises(CatalogError, match=message) as caught:
        catalog_of(tmp_path, schema=schema_of(tmp_path, first))
    assert str(tmp_path / "a.h5") in str(caught.value)


def test_a_field_that_a_schema_names_must_be_alike_in_all_files(tmp_path):
    for name, dtype in (("a", "f8"), ("b", "f4")):
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file["g0/q"], file["g1/q"] = np.zeros((2, 7), dtype), np.zeros((4, 7), dtype)
    with pytest.raises(CatalogError, match=r"the field 'q': float64 \(7,\) in '.*a\.h5', float32 \(7,\) in '.*b\.h5'"):
        catalog_of(tmp_path, schema=schema_of(tmp_path, FIELD))


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("", ((0,), (8,))),
        ("shape = [0]", ((0,), (8,))),
        ("shape = [-1]", ((0,), (8,))),
        ("shape = [7]", r"expected array \(7,\), found .* \(8,\); say `shape = \[-1\]` in the schema"),
    ],
)
def test_a_schema_says_whether_sides_may_differ(tmp_path, shape, expected):
    for name, width in (("a", 7), ("b", 8)):
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file["g0/q"], file["g1/q"] = np.zeros((2, width)), np.zeros((4, width))
    schema = schema_of(tmp_path, FIELD + shape)
    if isinstance(expected, str):
        with pytest.raises(CatalogError, match=expected):
            catalog_of(tmp_path, schema=schema)
        return
    field = catalog_of(tmp_path, schema=schema).field("q")
    assert (field.shape, field.most) == expected


@pytest.mark.parametrize(("side", "expected"), [(0, ((0,), (7,), "q_length")), (-1, ((7,), (), ""))])
def test_a_side_of_zero_differs_even_where_all_files_have_the_same_and_one_of_minus_one_is_theirs(
    tmp_path, side, expected
):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["g0/q"], file["g1/q"] = np.zeros((2, 7)), np.zeros((4, 7))
    field = catalog_of(tmp_path, schema=schema_of(tmp_path, FIELD + f"shape = [{side}]")).field("q")
    assert (field.shape, field.most, field.sides_name) == expected


def test_frames_and_a_schema_exclude_each_other(tmp_path):
    write_videos(tmp_path / "a.h5", "vlen", {"v": [frame_jpeg(0)]})
    with pytest.raises(ConfigError, match="both say where frames are"):
        catalog_of(tmp_path, schema=schema_of(tmp_path, FIELD), frames="*")


def test_another_process_scans_by_the_same_schema(tmp_path):
    write_robot("vlen")(tmp_path)
    schema = schema_of(tmp_path, schema_toml(catalog_of(tmp_path)))
    here = catalog_of(tmp_path, schema=schema)
    there = catalog_of(tmp_path / "..", tmp_path / "*.h5", processes=1, schema=schema)
    assert there.fields == here.fields
    assert there.fingerprint == here.fingerprint
