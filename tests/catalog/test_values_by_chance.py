"""What is a value of its video in one file and has one entry less than frames in another is one, by a schema."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING

import h5py
import numpy as np

from loader_service.catalog.schema_text import schema_toml
from tests.catalog.advice import schemas_in
from tests.support.catalogs import catalog_of, declared_catalog
from tests.support.videos import frame_jpeg

if TYPE_CHECKING:
    from pathlib import Path

#: Frames of each trial, and its objects.
_FRAMES, _OBJECTS = (5, 12), 4


def _write_trials(folder: Path) -> None:
    for trial, count in enumerate(_FRAMES):
        with h5py.File(folder / f"{trial:04d}.h5", "w") as root:
            root["static/mass"] = np.arange(_OBJECTS, dtype=np.float32) + trial
            for frame in range(count):
                group = root.create_group(f"frames/{frame:04d}")
                picture = frame_jpeg(frame, 16, 16)
                group["images/_img"] = np.frombuffer(picture, np.uint8)
                group["objects/positions"] = np.full((_OBJECTS, 3), frame, np.float32)
                group["collisions/object_ids"] = np.full((frame % 3, 2), frame)


def test_masses_of_objects_are_a_value_and_no_steps_between_frames(tmp_path: Path) -> None:
    _write_trials(tmp_path)
    with closing(catalog_of(tmp_path)) as found:
        (line,) = [line for line in found.left_out if "static/mass" in line]
        schema = schema_toml(found)
    assert "shortest" not in line
    shown = r'add a \[\[field\]\] with (name = .*), (kind = "value") and (dataset = .*) to what `inspect --toml` prints'
    field = re.search(shown, line).groups()
    with closing(declared_catalog(tmp_path, "\n".join([schema, "[[field]]", *field]))) as found:
        assert found.frame_counts.tolist() == list(_FRAMES)
        assert found.values("static_mass").tolist() == [[0, 1, 2, 3], [1, 2, 3, 4]]


def test_one_step_of_two_frames_is_no_value_of_longer_videos(tmp_path: Path) -> None:
    for number, count in enumerate((2, 5)):
        with h5py.File(tmp_path / f"{number}.h5", "w") as root:
            root["demo/images"] = np.full((count, 16, 16, 3), number, np.uint8)
            root["demo/foo"] = np.arange(count - 1.0)
            root["demo/times"] = np.arange(count)
    with closing(catalog_of(tmp_path)) as found:
        assert not any('kind = "value"' in line for line in found.left_out if "'demo/foo'" in line or "'foo'" in line)


def test_contacts_of_each_frame_are_lists_of_samples_by_the_schema_of_their_line(tmp_path: Path) -> None:
    _write_trials(tmp_path)
    with closing(catalog_of(tmp_path)) as found:
        (line,) = [line for line in found.left_out if "collisions/object_ids'" in line]
    (schema,) = schemas_in(line)
    with closing(declared_catalog(tmp_path, schema)) as found:
        assert found.frame_counts.tolist() == [1] * sum(_FRAMES)
        assert found.field("collisions_object_ids").differs
        assert found.field("_img").kind == "image"
