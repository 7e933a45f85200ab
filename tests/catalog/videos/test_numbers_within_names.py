"""Episodes whose number stands within the names of their datasets, ``ep0_obs`` beside ``ep0_act``."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from loader_service.worker.reader import Reader
from tests.catalog.advice import schemas_in
from tests.support.catalogs import catalog_of, declared_catalog, names_of

_COUNT = 11


def _write(path, word, *, more):
    """Write two datasets for each number; `more`: by so many rows each is longer than the last."""
    with h5py.File(path, "w") as root:
        for number in range(_COUNT):
            rows = 5 + number * more
            root[f"{word}{number}_obs"] = np.full((rows, 16, 16, 3), number, np.uint8)
            root[f"{word}{number}_act"] = np.full((rows, 2), number, np.float32)


@pytest.mark.parametrize(
    "word", ["ep", "episode_", "traj", "video_", "demo_", "clip", "seq_", "patient", "subject_", "sub"]
)
def test_episodes_of_one_length_are_asked_about(tmp_path, word):
    _write(tmp_path / "a.h5", word, more=0)
    with pytest.raises(CatalogError, match="a video for each number or columns of one table") as caught:
        catalog_of(tmp_path)
    videos, _ = schemas_in(str(caught.value))
    with closing(declared_catalog(tmp_path, videos)) as found:
        assert names_of(found) == [str(number) for number in range(_COUNT)]
        assert len(found.fields) == 2


def test_episodes_of_other_lengths_are_videos(tmp_path):
    _write(tmp_path / "a.h5", "ep", more=1)
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == [5 + number for number in range(_COUNT)]
        assert {field.name for field in found.fields} == {"frames", "ep_act"}


@pytest.mark.parametrize("more", [0, 1])
def test_steps_between_frames_are_a_field_of_the_video_of_their_number(tmp_path, more):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(_COUNT):
            root[f"frames_{number}"] = np.full((6 + number * more, 16, 16, 3), number, np.uint8)
            root[f"actions_{number}"] = np.full((5 + number * more, 2), number, np.float32)
    if more:
        found = catalog_of(tmp_path)
    else:
        with pytest.raises(CatalogError, match="a video for each number") as caught:
            catalog_of(tmp_path)
        found = declared_catalog(tmp_path, schemas_in(str(caught.value))[0])
    with closing(found):
        assert found.frame_counts.tolist() == [6 + number * more for number in range(_COUNT)]
        assert {field.name: (field.kind, field.shape) for field in found.fields} == {
            "frames": ("image", (16, 16, 3)),
            "actions": ("array", (2,)),
        }
        with closing(Reader(found)) as reader:
            out = np.zeros((5 + 2 * more, 2), np.float32)
            reader.read_array(2, "actions", 0, out)
            np.testing.assert_array_equal(out, np.full_like(out, 2))


@pytest.mark.parametrize("word", ["cam", "robot", "imu", "joint"])
def test_numbers_of_cameras_and_sensors_tell_no_episodes(tmp_path, word):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(2):
            root[f"{word}{number}_rgb"] = np.zeros((6, 16, 16, 3), np.uint8)
            root[f"{word}{number}_pos"] = np.zeros((6, 3), np.float32)
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == [6]


@pytest.mark.parametrize("name", ["{}_frames {}_pose", "frames_{} pose_{}"])
def test_films_of_persons_of_one_length_have_a_line(tmp_path, name):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for person in ("alice", "bob"):
            frames, pose = name.format(person, person).split()
            root[frames], root[pose] = np.zeros((6, 16, 16, 3), np.uint8), np.zeros((6, 4), np.float32)
    with closing(catalog_of(tmp_path)) as found:
        (line,) = [line for line in found.left_out if "have columns of their own" in line]
    (schema,) = schemas_in(line)
    with closing(declared_catalog(tmp_path, schema)) as found:
        assert len(found.fields) == 2
