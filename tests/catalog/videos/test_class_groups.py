"""Raw pictures, and clips of one length, in groups of classes: no cameras of one video, and no fields of one sample."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError, ConfigError
from loader_service.worker.reader import Reader
from tests.catalog.advice import schemas_in
from tests.public_layouts.pictures import jpegs, write_vlen
from tests.support.catalogs import catalog_of, declared_catalog, names_of

if TYPE_CHECKING:
    from pathlib import Path

    from loader_service.catalog.columns import Catalog

_FRAMES = 4

#: Names of three clips in a group.
_NUMBERS = {
    "numbers": ("0", "1", "2"),
    "wide": ("000000", "000001", "000002"),
    "persons": ("person01", "person02", "person03"),
    "ids": ("v_g01_c01", "v_g01_c02", "v_g02_c01"),
    "many": tuple(map(str, range(12))),
}
_PLAIN = ("bob", "eve", "tom")


def _clip(value: int, frames: int = _FRAMES) -> np.ndarray:
    return np.stack([np.full((16, 20, 3), 10 * value + step, np.uint8) for step in range(frames)])


def _write(folder: Path, groups: tuple[str, ...], names: tuple[str, ...]) -> list[str]:
    """Write a clip for each name in each group; return their paths in order."""
    paths = [f"{group}/{name}" for group in groups for name in names]
    with h5py.File(folder / "a.h5", "w") as root:
        for number, path in enumerate(paths):
            root[path] = _clip(number % 25)
    return paths


def _read(found: Catalog, video: int, field: str, frames: int) -> np.ndarray:
    out = np.zeros((frames, 16, 20, 3), np.uint8)
    with closing(Reader(found)) as reader:
        reader.read_array(video, field, 0, out)
    return out


@pytest.mark.parametrize("groups", [("running", "walking"), ("a", "b", "c")], ids=["two", "three"])
@pytest.mark.parametrize("names", _NUMBERS.values(), ids=_NUMBERS)
def test_raw_clips_that_numbers_tell_apart_in_groups_of_classes_are_videos(tmp_path, groups, names):
    paths = _write(tmp_path, groups, names)
    with closing(catalog_of(tmp_path, label="{group}")) as found:
        assert names_of(found) == paths
        assert [field.name for field in found.fields] == ["frames", "label"]
        np.testing.assert_array_equal(_read(found, len(names), "frames", _FRAMES), _clip(len(names)))


def test_raw_clips_of_persons_by_camera_and_number_are_videos(tmp_path):
    paths = _write(tmp_path, ("a/test", "b/test"), ("0", "1"))
    with closing(catalog_of(tmp_path)) as found:
        assert names_of(found) == paths


@pytest.mark.parametrize("groups", [("running", "walking"), ("running",)], ids=["two", "one"])
def test_raw_clips_of_plain_names_are_asked_about(tmp_path, groups):
    paths = _write(tmp_path, groups, _PLAIN)
    with pytest.raises(CatalogError, match="cameras of one video or videos of their own") as asked:
        catalog_of(tmp_path)
    together, apart = schemas_in(str(asked.value))
    with closing(declared_catalog(tmp_path, together)) as found:
        assert [field.name for field in found.fields if field.kind == "image"] == list(_PLAIN)
        np.testing.assert_array_equal(_read(found, 0, "eve", _FRAMES), _clip(1))
    with closing(declared_catalog(tmp_path, apart)) as found:
        assert names_of(found) == paths
        np.testing.assert_array_equal(_read(found, 1, "frames", _FRAMES), _clip(1))


def test_raw_clips_of_plain_names_of_which_a_group_lacks_some_are_asked_about(tmp_path):
    _write(tmp_path, ("running", "walking"), _PLAIN)
    with h5py.File(tmp_path / "a.h5", "a") as root:
        del root["walking/eve"]
    with pytest.raises(CatalogError, match="cameras of one video or videos of their own") as asked:
        catalog_of(tmp_path)
    together, apart = schemas_in(str(asked.value))
    with closing(declared_catalog(tmp_path, together)) as found:
        assert [field.name for field in found.fields if field.kind == "image"] == ["bob", "tom"]
    with closing(declared_catalog(tmp_path, apart)) as found:
        assert found.video_count == 5


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        (("kitchen", "garden"), ("left", "right")),
        (("kitchen", "garden"), ("overview_image", "wrist_image")),
        (("ep_0", "ep_1"), ("main", "second")),
        (("patient01", "patient02"), ("2ch", "4ch")),
    ],
    ids=" ".join,
)
def test_raw_cameras_in_groups_stay_fields_of_one_video(tmp_path, groups, names):
    _write(tmp_path, groups, names)
    with closing(catalog_of(tmp_path)) as found:
        assert sorted(names_of(found)) == sorted(groups)
        assert sorted(field.name for field in found.fields if field.kind == "image") == sorted(names)


@pytest.mark.parametrize("names", [_PLAIN, ("0", "1")], ids=" ".join)
def test_raw_cameras_beside_an_array_of_their_frames_stay_fields_of_one_video(tmp_path, names):
    _write(tmp_path, ("kitchen", "garden"), names)
    with h5py.File(tmp_path / "a.h5", "a") as root:
        for group in ("kitchen", "garden"):
            root[f"{group}/actions"] = np.zeros((_FRAMES, 7), np.float32)
    with closing(catalog_of(tmp_path)) as found:
        assert names_of(found) == ["garden", "kitchen"]
        assert {field.name for field in found.fields} == {*names, "actions"}


def test_pictures_of_the_same_plain_names_in_groups_of_classes_are_asked_about(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number, path in enumerate(f"{group}/{name}" for group in ("cat", "dog") for name in _PLAIN):
            root[path] = _clip(number, 1)[0]
    with pytest.raises(CatalogError, match="one sample a group, of single pictures or pictures of their own") as asked:
        catalog_of(tmp_path)
    sample, each = schemas_in(str(asked.value))
    with closing(declared_catalog(tmp_path, sample)) as found:
        assert names_of(found) == ["cat", "dog"]
        np.testing.assert_array_equal(_read(found, 1, "bob", 1), _clip(3, 1))
    with closing(declared_catalog(tmp_path, each)) as found:
        assert names_of(found) == [f"{group}/{name}" for group in ("cat", "dog") for name in _PLAIN]
        np.testing.assert_array_equal(_read(found, 4, "frames", 1), _clip(4, 1))


@pytest.mark.parametrize(
    ("groups", "names", "beside"),
    [
        (("left_lung", "right_lung"), ("image", "mask_picture"), None),
        (("patient_1", "patient_2"), ("before", "after"), None),
        (("anna", "bert"), ("before", "after"), "age"),
    ],
    ids=["seen", "numbered", "beside"],
)
def test_pictures_of_one_sample_in_groups_stay_its_fields(tmp_path, groups, names, beside):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for group in groups:
            for name in names:
                root[f"{group}/{name}"] = _clip(1, 1)[0]
            if beside:
                root[f"{group}/{beside}"] = 30
    with closing(catalog_of(tmp_path)) as found:
        assert sorted(names_of(found)) == sorted(groups)
        assert set(names) <= {field.name for field in found.fields}


@pytest.mark.parametrize("above", ["", "data/"], ids=["file", "group"])
@pytest.mark.parametrize(
    ("name", "encoded"),
    [
        ("{number}", False),
        ("{number}", True),
        ("image_{number:04d}", False),
        ("image_{number:04d}", True),
        ("{group}.{number}.jpg", True),
    ],
)
def test_numbered_pictures_in_groups_of_classes_are_videos_and_a_line_makes_them_pictures(
    tmp_path, name, encoded, above
):
    counts = {"cat": 3, "dog": 4, "eel": 12}
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for place, (group, count) in enumerate(counts.items()):
            for number, data in enumerate(jpegs(place, count)):
                path = f"{above}{group}/{name.format(group=group, number=number)}"
                root[path] = np.frombuffer(data, np.uint8) if encoded else _clip(place, 1)[0]
    with closing(catalog_of(tmp_path)) as found:
        assert dict(zip(names_of(found), found.frame_counts.tolist(), strict=True)) == {
            f"{above}{group}": count for group, count in counts.items()
        }
        (line,) = [each for each in found.left_out if "--label '{group}'" in each]
    (schema,) = schemas_in(line)
    if not above:
        with pytest.raises(ConfigError, match="in a --schema makes each picture a video"):
            catalog_of(tmp_path, label="{group}")
    with closing(declared_catalog(tmp_path, schema, label="{group}")) as found:
        assert found.video_count == sum(counts.values())
        assert found.frame_counts.tolist() == [1] * found.video_count
        assert found.labels is not None
        assert found.labels.tolist() == [0] * 3 + [1] * 4 + [2] * 12
        assert names_of(found)[-1] == f"{above}eel/{name.format(group='eel', number=11)}"
        if not encoded:
            np.testing.assert_array_equal(_read(found, 5, "frames", 1), _clip(1, 1))


@pytest.mark.parametrize(
    "path", ["{word}/frame_{number}", "take_{place}/{number}", "{word}/t{number}", "trial/{word}/frame{number}"]
)
def test_frames_of_recordings_have_no_line_about_classes(tmp_path, path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for place, word in enumerate(("alice", "bob")):
            for number in range(4 + place):
                root[path.format(word=word, place=place, number=number)] = _clip(place, 1)[0]
    with closing(catalog_of(tmp_path)) as found:
        assert not [each for each in found.left_out if "--label '{group}'" in each]


@pytest.mark.parametrize("counts", [(3, 4), (4, 4)], ids=["unequal", "equal"])
def test_raw_pictures_called_as_their_group_is_are_asked_about(tmp_path, counts):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for place, group in enumerate(("cat", "dog")):
            for number in range(counts[place]):
                root[f"{group}/{group}.{number}.jpg"] = _clip(10 * place + number, 1)[0]
    with pytest.raises(CatalogError, match=r"numbered pictures such as 'cat/cat\.0\.jpg' in 2 groups") as asked:
        catalog_of(tmp_path)
    each, films = schemas_in(str(asked.value))
    with closing(declared_catalog(tmp_path, each, label="{group}")) as found:
        assert found.labels is not None
        assert found.labels.tolist() == [0] * counts[0] + [1] * counts[1]
        np.testing.assert_array_equal(_read(found, counts[0], "frames", 1), _clip(10, 1))
    with closing(declared_catalog(tmp_path, films)) as found:
        assert names_of(found) == ["cat", "dog"]
        assert found.frame_counts.tolist() == list(counts)
        np.testing.assert_array_equal(_read(found, 1, "frames", 1), _clip(10, 1))


def _write_by_number(folder: Path, lengths: tuple[int, ...], *, encoded: bool) -> None:
    """Write a group for each length, with two sequences of it called 0 and 1."""
    with h5py.File(folder / "a.h5", "w") as root:
        for group, length in enumerate(lengths):
            for name in "01":
                place = root.require_group(f"ep_{group}")
                if encoded:
                    write_vlen(place, name, jpegs(2 * group + int(name), length))
                else:
                    place[name] = _clip(2 * group + int(name), length)


@pytest.mark.parametrize("encoded", [False, True], ids=["raw", "jpeg"])
def test_numbered_sequences_whose_lengths_differ_between_groups_alone_are_asked_about(tmp_path, encoded):
    _write_by_number(tmp_path, (4, 5, 6), encoded=encoded)
    with pytest.raises(CatalogError, match="cameras of one video or videos of their own") as caught:
        catalog_of(tmp_path)
    found = []
    for schema in schemas_in(str(caught.value)):
        with closing(declared_catalog(tmp_path, schema)) as catalog:
            found.append((catalog.video_count, [field.name for field in catalog.fields]))
    assert found == [(3, ["0", "1"]), (6, ["frames"])]


@pytest.mark.parametrize("encoded", [False, True], ids=["raw", "jpeg"])
def test_numbered_sequences_of_one_length_are_videos_with_a_line_for_cameras(tmp_path, encoded):
    _write_by_number(tmp_path, (4, 4, 4), encoded=encoded)
    with closing(catalog_of(tmp_path)) as catalog:
        (line,) = [line for line in catalog.left_out if "if they are cameras of one" in line]
        assert catalog.video_count == 6
    (schema,) = schemas_in(line)
    with closing(declared_catalog(tmp_path, schema)) as catalog:
        assert (catalog.video_count, [field.name for field in catalog.fields]) == (3, ["0", "1"])


@pytest.mark.parametrize("lengths", [(4,), (1, 1, 1)], ids=["one_group", "single_pictures"])
def test_numbered_sequences_that_are_no_cameras_have_no_such_line(tmp_path, lengths):
    _write_by_number(tmp_path, lengths, encoded=True)
    with closing(catalog_of(tmp_path)) as catalog:
        assert not [line for line in catalog.left_out if "if they are cameras of one" in line]
