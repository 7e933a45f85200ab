"""Pictures in whose names two numbers count are asked about; a schema makes those of one first number a video."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.catalog.schema_text import schema_toml
from loader_service.errors import CatalogError
from loader_service.worker.reader import Reader
from tests.catalog.advice import schemas_in
from tests.public_layouts.pictures import jpegs, pixels
from tests.support.catalogs import catalog_of, declared_catalog, names_of

_FORMS = {
    "grey": lambda video, count: list(pixels(video, count, 24, 32)[..., 0]),
    "colours": lambda video, count: list(pixels(video, count, 24, 32)),
    "encoded": lambda video, count: [np.frombuffer(each, np.uint8) for each in jpegs(video, count)],
}


def _write(path, form, counts, name="subject{:06}_frame{:08}"):
    frames = {}
    with h5py.File(path, "w") as file:
        for video, count in enumerate(counts):
            frames[video] = _FORMS[form](video, count)
            for number, picture in enumerate(frames[video]):
                file[name.format(video, number)] = picture
            file[f"subject{video:06}_age"] = 40 + video
    return frames


def _schemas(folder, path):
    with pytest.raises(CatalogError) as caught:
        catalog_of(folder, path)
    return schemas_in(str(caught.value))


def _read(catalog, field):
    reader = Reader(catalog)
    found = {}
    for video in range(catalog.video_count):
        count = int(catalog.frame_counts[video])
        if catalog.is_encoded(field.name):
            found[video] = [np.frombuffer(each, np.uint8) for each in reader.read(video, range(count), field.name)]
        else:
            out = np.zeros((count, *catalog.shape_in(video, field.name)), field.dtype)
            reader.read_array(video, field.name, 0, out)
            found[video] = list(out)
    reader.close()
    return found


@pytest.mark.parametrize("name", ["subject{:06}_frame{:08}", "scans/patient{}-{:03}"])
@pytest.mark.parametrize("form", _FORMS)
def test_the_schema_that_is_shown_makes_each_subject_a_video_and_serves_other_files(tmp_path, form, name):
    _write(tmp_path / "a.h5", form, [4, 6, 5], name)
    frames = _write(tmp_path / "b.h5", form, [3, 1, 2, 12], name)
    videos, each = _schemas(tmp_path, tmp_path / "a.h5")
    with closing(declared_catalog(tmp_path, videos, tmp_path / "b.h5")) as found:
        assert found.frame_counts.tolist() == [3, 1, 2, 12]
        assert names_of(found) == [f"{name.partition('}')[0]}}}".format(video) for video in range(4)]
        read = _read(found, found.fields[0])
        printed = schema_toml(found)
    for video, pictures in frames.items():
        assert all(map(np.array_equal, read[video], pictures))
    with closing(declared_catalog(tmp_path, printed, tmp_path / "a.h5")) as found:
        assert found.frame_counts.tolist() == [4, 6, 5]
    with closing(declared_catalog(tmp_path, each, tmp_path / "a.h5")) as found:
        assert found.video_count == 15


def test_a_value_of_each_subject_goes_with_its_video(tmp_path):
    _write(tmp_path / "a.h5", "grey", [4, 6])
    videos, _ = _schemas(tmp_path, tmp_path / "a.h5")
    age = ', {name = "age", kind = "value", dataset = "subject{video}_age"}]'
    with closing(declared_catalog(tmp_path, videos.rstrip().removesuffix("]") + age)) as found:
        assert found.values("age").tolist() == [40, 41]


def test_a_frame_that_is_missing_or_of_another_form_is_an_error_that_names_it(tmp_path):
    _write(tmp_path / "a.h5", "grey", [4, 6])
    videos, _ = _schemas(tmp_path, tmp_path / "a.h5")
    (tmp_path / "schema.toml").write_text(videos)
    with h5py.File(tmp_path / "a.h5", "a") as file:
        del file["subject000001_frame00000002"]
    with pytest.raises(
        CatalogError, match="found 'subject000001_frame00000001' and then 'subject000001_frame00000003'"
    ):
        catalog_of(tmp_path, schema=str(tmp_path / "schema.toml"))
    with h5py.File(tmp_path / "a.h5", "a") as file:
        file["subject000001_frame00000002"] = np.zeros((5, 6), np.uint8)
    with pytest.raises(CatalogError, match="in all frames of a video, found others in video '000001'"):
        catalog_of(tmp_path, schema=str(tmp_path / "schema.toml"))


def test_encoded_frames_of_which_one_was_lost_are_asked_about_and_served_without_it(tmp_path):
    frames = _write(tmp_path / "a.h5", "encoded", [6, 6])
    with h5py.File(tmp_path / "a.h5", "a") as file:
        del file["subject000001_frame00000002"]
    del frames[1][2]
    videos, _ = _schemas(tmp_path, tmp_path / "a.h5")
    with closing(declared_catalog(tmp_path, videos)) as found:
        read = _read(found, found.fields[0])
    assert [len(each) for each in read.values()] == [6, 5]
    assert all(map(np.array_equal, read[1], frames[1]))


@pytest.mark.parametrize("name", ["{:08}_{:06}", "patient{}_slice{}"])
def test_names_of_two_numbers_alone_and_maps_of_floats_called_slices_are_asked_about(tmp_path, name):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for video in range(2):
            for frame in range(4):
                file[name.format(video, frame)] = np.full((32, 32), frame, np.float32 if "s" in name else np.uint8)
    videos, _ = _schemas(tmp_path, tmp_path / "a.h5")
    with closing(declared_catalog(tmp_path, videos)) as found:
        assert found.frame_counts.tolist() == [4, 4]


@pytest.mark.parametrize(
    ("name", "videos"),
    [
        ("{group}/v{video}_f{frame}", ["cat/v0", "cat/v1", "dog/v0", "dog/v1"]),
        ("{group}_{video}_{frame}", ["0_0", "0_1", "1_0", "1_1"]),
    ],
)
def test_videos_of_several_groups_and_of_more_numbers_are_all_in_the_schema(tmp_path, name, videos):
    numbered = "/" not in name
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for place, group in enumerate(("cat", "dog")):
            for video in range(2):
                for frame, picture in enumerate(jpegs(2 * place + video, 4)):
                    path = name.format(group=place if numbered else group, video=video, frame=frame)
                    file[path] = np.frombuffer(picture, np.uint8)
    schema, _ = _schemas(tmp_path, tmp_path / "a.h5")
    with closing(declared_catalog(tmp_path, schema)) as found:
        assert (names_of(found), found.frame_counts.tolist()) == (videos, [4] * 4)
        read = _read(found, found.fields[0])
    for video in range(4):
        assert [each.tobytes() for each in read[video]] == jpegs(video, 4)


@pytest.mark.parametrize("form", ["colours", "encoded"])
@pytest.mark.parametrize("cameras", [1, 2])
def test_pictures_of_which_arrays_count_the_first_number_are_offered_first_as_cameras_of_one_video(
    tmp_path, form, cameras
):
    frames = {camera: _FORMS[form](camera, 8) for camera in range(cameras + 1)}
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for camera, pictures in frames.items():
            for step, picture in enumerate(pictures):
                file[f"colors/{step:06}_color_{camera}.jpg"] = picture
        file["states/qpos"] = np.arange(56.0).reshape(8, 7)
        file["actions/qpos"] = np.ones((8, 7))
    first, *others = _schemas(tmp_path, tmp_path / "a.h5")
    with closing(declared_catalog(tmp_path, first)) as found:
        assert found.frame_counts.tolist() == [8]
        for camera, pictures in frames.items():
            (read,) = _read(found, found.field(f"color_{camera}")).values()
            assert all(np.array_equal(one, other) for one, other in zip(read, pictures, strict=True))
    assert len(others) == 2
    with h5py.File(tmp_path / "a.h5", "a") as file:  # as long as nothing that the first number counts
        del file["states"], file["actions"]
        file["times"] = np.arange(5.0)
    assert len(_schemas(tmp_path, tmp_path / "a.h5")) == 2
