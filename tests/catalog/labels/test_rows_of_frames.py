"""Rows of a CSV file that name datasets, each of which is a frame of one video here, and not the video."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.catalog.advice import schemas_in
from tests.catalog.labels.csv_files import values, with_csv
from tests.support.catalogs import declared_catalog
from tests.support.videos import frame_jpeg

PICTURE = np.random.default_rng(0).integers(0, 255, (16, 20, 3), np.uint8)


def csv_of(paths):
    return "video,label\n" + "".join(f"{path},{7 * number}\n" for number, path in enumerate(paths))


def write(path, datasets):
    with h5py.File(path, "w") as file:
        for name, data in datasets.items():
            file[name] = data


LAYOUTS = {
    "root": {f"Train_{number}": PICTURE for number in range(12)},
    "grey": {f"Train_{number}": PICTURE[..., 0] for number in range(12)},
    "numbers": {f"img_{number}": PICTURE[0, 0] / 255 for number in range(12)},
    "groups": {f"v{video}/frame_{number}": PICTURE for video in range(2) for number in range(4)},
    "beside masks": {
        f"{kind}_{number}": data for number in range(6) for kind, data in (("img", PICTURE), ("mask", PICTURE[..., 0]))
    },
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_rows_that_name_frames_are_no_label_of_the_first_alone(tmp_path, name):
    write(tmp_path / "a.h5", LAYOUTS[name])
    paths = [path for path in LAYOUTS[name] if "mask" not in path]
    with pytest.raises(CatalogError, match=f"row 2: '{paths[0]}' and [0-9]+ more rows name datasets that are") as error:
        with_csv(tmp_path, csv_of(paths))
    (schema,) = schemas_in(str(error.value))
    with closing(declared_catalog(tmp_path, schema, labels=str(tmp_path / "labels.csv"))) as catalog:
        assert sorted(catalog.labels.tolist()) == [7 * number for number in range(len(paths))]


def test_what_else_lies_in_groups_of_frames_leaves_the_name_of_the_video_as_a_remedy(tmp_path):
    frames = {f"v{video}/frame_{number}": PICTURE for video in (0, 1) for number in range(4)}
    write(tmp_path / "a.h5", frames | {f"v{video}/pose": np.zeros((4, 3)) for video in (0, 1)})
    with pytest.raises(CatalogError, match=r"; name the video itself, as 'a\.h5/v0' or 'v0', and no frame of it"):
        with_csv(tmp_path, csv_of(frames))
    assert values(with_csv(tmp_path, "video,label\nv0,5\nv1,6\n")) == [5, 6]


def test_a_video_may_be_called_by_its_first_frame_alone_or_beside_its_frames(tmp_path):
    write(tmp_path / "a.h5", LAYOUTS["groups"])
    assert values(with_csv(tmp_path, "video,label\nv0/frame_0,5\nv1/frame_0,6\nv2/frame_0,7\n")) == [5, 6]
    assert values(with_csv(tmp_path, "video,label\nv0,5\nv0/frame_1,7\nv0/frame_2,8\nv1,6\n")) == [5, 6]


def test_encoded_frames_that_rows_name_are_refused_too(tmp_path):
    jpeg = np.frombuffer(frame_jpeg(0), np.uint8)
    write(tmp_path / "a.h5", dict.fromkeys(LAYOUTS["root"], jpeg))
    with pytest.raises(CatalogError, match="expected a label for each of 1 video, found 0"):
        with_csv(tmp_path, csv_of(LAYOUTS["root"]))
