"""What lies in the group of a video's name, beside the group of the videos, is a field of that video."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.catalog.schema_text import schema_toml
from loader_service.worker.reader import Reader
from tests.public_layouts.pictures import jpegs, write_vlen
from tests.support.catalogs import catalog_of, names_of

_CLASSES = [7, 3, 5]


def _write(tmp_path, kind, count=6, *, without=""):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number, klass in enumerate(_CLASSES):
            video = f"v{number}"
            if kind == "vlen":
                write_vlen(root, f"frames/{video}", jpegs(number, count))
            elif kind == "datasets":
                for frame, data in enumerate(jpegs(number, count)):
                    root[f"frames/{video}/{frame}"] = np.void(data)
            else:
                sides = (24, 32, 3) if kind == "raw" else (3,)
                root[f"frames/{video}"] = np.full((count, *sides), number, np.uint8 if kind == "raw" else np.float32)
            if video != without:
                root[f"labels/{video}/class"] = klass
            root[f"labels/{video}/steps/actions"] = np.full((count - 1, 2), klass, np.float32)


@pytest.mark.parametrize("declared", [False, True], ids=["found", "declared"])
@pytest.mark.parametrize("kind", ["vlen", "datasets", "raw", "numbers"])
def test_values_and_rows_of_a_videos_name_are_its_fields_and_those_of_no_other(tmp_path, kind, declared):
    _write(tmp_path, kind)
    given = {}
    if declared:
        with closing(catalog_of(tmp_path)) as found:
            (tmp_path / "schema.toml").write_text(schema_toml(found))
        given = {"schema": str(tmp_path / "schema.toml")}
    with closing(catalog_of(tmp_path, **given)) as found:
        assert found.frame_counts.tolist() == [6, 6, 6]
        assert [name.rpartition("/")[2] for name in names_of(found)] == ["v0", "v1", "v2"]
        assert "labels" not in "\n".join(found.left_out)
        reader = Reader(found)
        for video, klass in enumerate(_CLASSES):
            assert found.values("class")[video] == klass
            actions = np.zeros((5, 2), np.float32)
            reader.read_array(video, "actions", 0, actions)
            assert (actions == klass).all()
        reader.close()


def test_what_one_video_lacks_is_a_line_and_no_field(tmp_path):
    _write(tmp_path, "numbers", without="v1")
    with closing(catalog_of(tmp_path)) as found:
        assert "class" not in {field.name for field in found.fields}
        assert "'labels/v0/class'" in "\n".join(found.left_out)
