"""Each dataset that becomes no field has a line that says why; many alike have one together."""

from __future__ import annotations

import ast
import re
from contextlib import closing
from pathlib import Path

import h5py
import numpy as np
import pytest

import loader_service.catalog as catalog_package
from loader_service.advice import python_lines
from loader_service.catalog.columns import Catalog
from loader_service.catalog.schema_text import schema_toml
from loader_service.commands.reports import catalog_text, describe_catalog
from loader_service.protocol.spec import MAX_FIELDS
from tests.support.catalogs import catalog_of, declared_catalog
from tests.support.videos import frame_jpeg


def _write_videos(file: h5py.File, count: int = 2) -> None:
    for number in range(count):
        group = file.create_group(f"clip{number}")
        group.create_dataset("frames", (3,), h5py.vlen_dtype(np.uint8))
        for frame in range(3):
            group["frames"][frame] = np.frombuffer(frame_jpeg(number * 3 + frame, 16, 16), np.uint8)


@pytest.fixture
def file(tmp_path: Path) -> h5py.File:
    with h5py.File(tmp_path / "a.h5", "w") as opened:
        _write_videos(opened)
        yield opened


def _lines(file: h5py.File, **options: str) -> tuple[str, ...]:
    folder = Path(file.filename).parent
    file.close()
    catalog: Catalog = catalog_of(folder, **options)
    lines = catalog.left_out
    catalog.close()
    return lines


def test_what_all_belongs_to_videos_has_no_line(file: h5py.File) -> None:
    for number in range(2):
        file[f"clip{number}/speed"] = np.zeros(3, np.float32)
        file[f"clip{number}"].attrs["weather"] = "rain"
        file[f"clip{number}/label"] = number
    assert _lines(file) == ()


def test_a_dataset_outside_of_all_videos_has_a_line_with_its_path(file: h5py.File) -> None:
    file["meta/camera/matrix"] = np.eye(3)
    (line,) = _lines(file)
    assert line.startswith("'meta/camera/matrix': expected it in the group of a video")
    assert "(3, 3)" in line
    assert "a.h5" in line


def test_what_is_empty_or_no_number_in_a_video_says_so(file: h5py.File) -> None:
    for number in range(2):
        file[f"clip{number}/points"] = np.zeros((0, 2))
        file[f"clip{number}/boxes"] = np.zeros(2, [("x", "f4"), ("y", "f4")])
    strange, empty = sorted(_lines(file))
    assert "'points': expected at least one number" in empty
    assert "'boxes': found compound elements" in strange


def test_a_label_that_a_pattern_names_has_no_line(file: h5py.File) -> None:
    for number in range(2):
        file[f"clip{number}/action"] = number
    assert _lines(file, label="*/action") == ()


@pytest.mark.parametrize("name", ["run_{}/score", "scores/{:x}a"], ids=["numbered", "siblings"])
def test_many_alike_have_one_line_with_a_pattern_and_a_count(file: h5py.File, name: str) -> None:
    for number in range(200):
        file[name.format(number)] = np.zeros(7)
    (line,) = _lines(file)
    pattern = "run_*/score" if "run" in name else "scores/*"
    assert line.startswith(f"'{pattern}': 200 datasets: expected it in the group of a video")


def test_files_that_lack_what_others_have_in_no_field_say_it_once(tmp_path: Path) -> None:
    for number in range(3):
        with h5py.File(tmp_path / f"{number}.h5", "w") as opened:
            _write_videos(opened)
            opened["notes"] = np.zeros(number + 5)
    catalog = catalog_of(tmp_path)
    assert len(catalog.left_out) == 1
    catalog.close()


def test_many_fields_that_other_files_lack_have_one_line(tmp_path: Path) -> None:
    for number in range(2):
        with h5py.File(tmp_path / f"{number}.h5", "w") as opened:
            _write_videos(opened)
            for clip in range(2):
                for sensor in range(20 if number else 0):
                    opened[f"clip{clip}/sensor_{sensor}"] = np.zeros(3)
    catalog = catalog_of(tmp_path)
    (line,) = catalog.left_out
    catalog.close()
    assert line.startswith("'sensor_*': 20 datasets: not in ")


def test_what_is_said_of_one_of_many_neighbours_is_not_folded_into_their_line(file: h5py.File) -> None:
    for number in range(8):
        file[f"clip0/{'abcdefgh'[number]}"] = np.zeros((7 + number, 2), np.float32)
    file["clip0/matrix"] = np.zeros((0, 5))
    lines = _lines(file)
    assert any("'*': 8 datasets (a, b, c, d, e, f, g, h): expected an entry for each" in line for line in lines)
    assert any("'matrix': expected at least one number" in line for line in lines)


def test_attributes_that_are_no_value_have_a_line_with_what_they_say(file: h5py.File) -> None:
    file.attrs["rig"] = '{"cameras": ["left"]}'
    file["clip0/frames"].attrs["fps"] = file["clip1/frames"].attrs["fps"] = 29.97
    file["clip0"].attrs["weather"] = file["clip1"].attrs["weather"] = "rain"
    file["clip0"].attrs["notes"] = file["clip1"].attrs["notes"] = np.arange(1000)
    file["clip0/frames"].attrs["DIMENSION_LABELS"] = ["time"]
    lines = {line.partition(":")[0]: line for line in _lines(file)}
    assert sorted(lines) == ["'@notes'", "'@rig'", "'frames/@fps'"]
    assert "attribute of '/' that is no value of a video: a JSON text of 21 letters; if it is of all" in lines["'@rig'"]
    assert "expected one text, or numbers of at most 4096 bytes" in lines["'@notes'"]
    assert "29.97" in lines["'frames/@fps'"]


def test_attributes_of_a_table_and_labels_are_values_or_labels_and_have_no_line(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as opened:
        opened["x"] = np.zeros((4, 3))
        opened["x"].attrs["unit"], opened.attrs["year"] = "mm", 2024
    catalog = catalog_of(tmp_path)
    assert [field.name for field in catalog.fields] == ["x", "year"]
    (line,) = catalog.left_out
    assert line.startswith("'x/@unit': attribute of 'x' that is no value of a video: 'mm'")
    catalog.close()


def test_an_attribute_of_a_videos_group_that_is_its_label_has_no_line_wherever_its_images_lie(file: h5py.File) -> None:
    for number in range(2):
        file.move(f"clip{number}/frames", f"clip{number}/obs/images")
        file[f"clip{number}"].attrs["label"] = 7 - number
    assert _lines(file) == ()


def test_a_dataset_called_label_says_that_an_attribute_is_the_label_and_how_to_take_it(file: h5py.File) -> None:
    for number in range(2):
        file[f"clip{number}/label"] = 7 - number
        file[f"clip{number}"].attrs["label"] = 99
    folder = Path(file.filename).parent
    (line,) = _lines(file)
    assert line.startswith("'label': the label is an attribute, '@label'; `--label '*/label'` takes this one")
    catalog = catalog_of(folder, label="*/label")
    assert catalog.values("label").tolist() == [7, 6]
    assert [each for each in catalog.left_out if "'@label': attribute of 'clip0'" in each]
    catalog.close()


def test_many_attributes_alike_have_one_line(file: h5py.File) -> None:
    for number in range(20):
        file.attrs[f"class_{number}"] = "walk"
    (line,) = _lines(file)
    assert line.startswith("'@class_*': 20 attributes: ")


def test_what_is_said_about_a_field_is_not_printed_as_no_field(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as opened:
        opened["x"], opened["is_train"] = np.zeros((4, 3)), np.arange(4) < 3
        opened["notes"] = np.zeros(7)
    catalog = catalog_of(tmp_path)
    lines = catalog_text(describe_catalog(catalog)).splitlines()
    catalog.close()
    assert [line for line in lines if line.startswith("about 'is_train': takes 3 rows")]
    assert [line.partition(":")[0] for line in lines if line.startswith("no field")] == ["no field 'notes'"]


def test_each_kind_of_line_about_what_is_served_is_printed_as_such(file: h5py.File) -> None:
    sources = [path.read_text(encoding="utf-8") for path in Path(catalog_package.__file__).parent.rglob("*.py")]
    kinds = sorted(set(re.findall(r'f"\{[^"]*\} \(([a-z ]+)\)"', "".join(sources))))
    assert len(kinds) > 20
    folder = Path(file.filename).parent
    file.close()
    with closing(catalog_of(folder)) as catalog:
        report = describe_catalog(catalog) | {"left_out": [f"'x ({kind})': said" for kind in kinds]}
    assert catalog_text(report).splitlines().count("about 'x': said") == len(kinds)


def test_lines_of_missing_numbers_are_not_lost_among_others(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as opened:
        for word in ["red", "blue", "green", "black", "white", "grey", "pink", "brown", "beige"]:
            opened[word] = np.zeros((6, 4), np.int16)
            opened[word].attrs["_FillValue"] = np.int16(-9)
            opened[f"{word}_of_range"] = np.zeros(4)
    lines = _lines(h5py.File(tmp_path / "a.h5"))
    assert any("red, white): -9 stands for a number that is missing" in line for line in lines), lines
    assert any("white_of_range): expected an entry for each of the 6 frames" in line for line in lines), lines
    assert not any(line.count("9 datasets") > 1 for line in lines), lines


@pytest.mark.parametrize(
    ("shape", "reason"), [((3, 1), "expected one axis, a list for each frame"), ((1,), "an entry for each of the 3")]
)
def test_lists_in_two_axes_or_of_another_count_say_what_is_wrong_with_them(
    file: h5py.File, shape: tuple[int, ...], reason: str
) -> None:
    for number in range(2):
        file[f"clip{number}"].create_dataset("boxes", shape, h5py.vlen_dtype(np.float32))[...] = np.ones(4, np.float32)
    assert any("'boxes'" in line and reason in line for line in _lines(file))


@pytest.mark.parametrize("layout", ["groups", "files"])
def test_the_field_that_a_line_shows_makes_a_small_array_a_value_of_each_video(tmp_path: Path, layout: str) -> None:
    forces = np.arange(9, dtype=np.float32).reshape(3, 3)
    for number, force in enumerate(forces):
        with h5py.File(tmp_path / ("a.h5" if layout == "groups" else f"a{number}.h5"), "a") as opened:
            group = opened.create_group(f"v{number}") if layout == "groups" else opened
            group["frames"] = np.full((5, 24, 32, 3), number, np.uint8)
            group["touch/force"] = force
            group["names"] = np.array([b"left", b"right"])
    with closing(catalog_of(tmp_path)) as found:
        shown = r'add a \[\[field\]\] with (.*), (kind = "value") and (.*) to what `inspect --toml` prints, in a file'
        fields = [re.search(shown, line) for line in found.left_out]
        schema = schema_toml(found)
    assert len(fields) == 2
    lines = ["\n".join(["[[field]]", *field.groups()]) for field in fields if field]
    with closing(declared_catalog(tmp_path, "\n".join([schema, *lines]))) as found:
        assert [field.kind for field in found.fields] == ["image", "value", "value"]
        served = found.values("touch_force")
        np.testing.assert_array_equal(served, forces)


def test_attributes_of_one_name_have_one_line_and_those_that_libraries_write_none(file: h5py.File) -> None:
    for name in "abcde":
        file[f"part_{name}/x"] = np.zeros(ord(name))
        file[f"part_{name}"].attrs.update(CLASS="GROUP", TITLE="", VERSION="1.0", kind="node")
    (line,) = [line for line in _lines(file) if "that is no value" in line]
    assert line.startswith("'*/@kind': 5 attributes: attribute of 'part_a' that is no value of a video: 'node'")


@pytest.mark.parametrize(
    ("attributes", "values"),
    [
        ({"CLASS": "GROUP", "TITLE": "t", "VERSION": "1.0", "speed": 3}, {"speed"}),
        ({"CLASS": "dog", "speed": 3}, {"CLASS", "speed"}),
    ],
)
def test_what_pytables_writes_beside_each_group_is_no_value_and_a_class_alone_is(
    file: h5py.File, attributes: dict[str, object], values: set[str]
) -> None:
    for number in range(2):
        file[f"clip{number}"].attrs.update(attributes)
    folder = Path(file.filename).parent
    file.close()
    catalog = catalog_of(folder)
    assert {field.name for field in catalog.fields if field.kind == "value"} == values
    catalog.close()


@pytest.mark.parametrize(("names", "empty"), [(("jump", "walk", "run"), 1), (("video0", "notes", "video1"), 0)])
def test_an_empty_group_is_a_video_without_frames_if_it_is_named_as_videos_are(
    tmp_path: Path, names: tuple[str, str, str], empty: int
) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as opened:
        _write_videos(opened)
        opened.move("clip0", names[0] if not empty else names[1])
        opened.move("clip1", names[2])
        opened.create_group(names[1] if not empty else names[0])
    catalog = catalog_of(tmp_path)
    assert (catalog.video_count, catalog.empty_videos) == (2, empty)
    catalog.close()


def test_many_values_that_only_numbers_tell_apart_have_one_line_and_are_not_asked_for(file: h5py.File) -> None:
    for number in range(9):
        for video in range(2):
            file[f"clip{video}/sensor{number}/gain"] = number * 2.0
    folder = Path(file.filename).parent
    file.close()
    catalog = catalog_of(folder)
    report = catalog_text(describe_catalog(catalog))
    (line,) = [line for line in report.splitlines() if "gain" in line]
    assert line.startswith("value 'sensor0/gain': float64 for each video")
    assert line.endswith("so are 8 more that only numbers tell apart: name those that are wanted")
    assert "fields=('frames',)" in "".join(python_lines(catalog, ["a.h5"], {}))
    catalog.close()


def test_the_line_of_actions_between_frames_says_that_the_last_frame_has_none(file: h5py.File) -> None:
    for video in range(2):
        file[f"clip{video}/actions"], file[f"clip{video}/state"] = np.zeros((2, 7)), np.zeros((3, 7))
    folder = Path(file.filename).parent
    file.close()
    with closing(catalog_of(folder)) as catalog:
        said = [
            line for line in catalog_text(describe_catalog(catalog)).splitlines() if "the last frame has none" in line
        ]
        assert [line.split(":")[0] for line in said] == ["array 'actions'"]
        assert catalog.counts_with(["frames", "actions"]).tolist() == [2, 2]


def _write_read_for_others(file: h5py.File) -> None:
    """Write images end to end with their offsets, padded ones with their lengths, and the ends of videos."""
    images = [frame_jpeg(number, 16, 16) for number in range(6)]
    lengths = np.array([len(image) for image in images])
    file["joined"] = np.frombuffer(b"".join(images), np.uint8)
    file["joined_offsets"] = np.cumsum(lengths) - lengths
    file["padded"] = np.zeros((6, int(lengths.max()) + 9), np.uint8)
    for row, image in enumerate(images):
        file["padded"][row, : len(image)] = np.frombuffer(image, np.uint8)
    file["padded_lengths"] = lengths
    file["episode_ends"] = [2, 6]


def test_what_is_read_for_other_datasets_says_for_what(file: h5py.File) -> None:
    for name in list(file):
        del file[name]
    _write_read_for_others(file)
    file["actions"] = np.zeros((6, 7), np.float32)
    said = {line.partition(" in a file")[0].rstrip(",") for line in _lines(file)}
    assert said == {
        "'joined_offsets': says where each image of 'joined' begins or ends",
        "'padded_lengths': says how many bytes each image of 'padded' has",
        "'episode_ends': says which rows are a video each",
    }


def test_the_lengths_of_padded_videos_say_what_they_are(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["videos"] = np.random.default_rng(0).integers(0, 255, (3, 8, 16, 16, 3), np.uint8)
        file["lengths"] = [8, 5, 2]
        lines = _lines(file)
    assert [line.partition(", in a file")[0] for line in lines] == [
        "'lengths': says how many frames of 'videos' each video has"
    ]


def test_what_has_an_entry_for_each_video_says_that_only_labels_are_read_there(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for number in range(5):
            file[f"target_{number}/field"] = np.ones((10 + number, 12), np.float32)
        file["planet_params"] = np.ones((5, 8))
    with closing(catalog_of(tmp_path, tmp_path / "a.h5")) as catalog:
        (line,) = [line for line in catalog.left_out if "planet_params" in line]
    assert "expected it in the group of each video: of what lies beside, only labels have an entry each" in line


def test_boxes_of_no_object_beside_a_single_picture_have_no_line(tmp_path):
    """They are as many as there are steps between one frame and the next: none."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["photo"] = np.frombuffer(frame_jpeg(1, 16, 16), np.uint8)
        file["boxes"], file["points"] = np.zeros((0, 4)), np.ones((5, 2))
    with closing(catalog_of(tmp_path)) as catalog:
        assert {field.name for field in catalog.fields} == {"frames", "boxes", "points"}
        assert catalog.left_out == ()


def test_the_lines_of_python_name_no_more_fields_than_a_stream_can_have(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as opened:
        for number in range(90):
            opened[f"{chr(97 + number % 26)}_{'x' * (number // 26)}"] = np.zeros((6, 2)) + number
        opened.attrs["rate"] = 30
    with closing(catalog_of(tmp_path)) as catalog:
        lines = python_lines(catalog, ["a.h5"], {})
    assert "# a stream has at most 64 fields, of 91 here" in lines
    (fields,) = (line for line in lines if line.startswith("    fields="))
    assert len(ast.literal_eval(fields.removeprefix("    fields=").rstrip(","))) == MAX_FIELDS
