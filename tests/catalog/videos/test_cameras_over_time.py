"""Pictures by times, or by numbers of which some are missing, are asked about, and are no cameras of one frame."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.catalog.advice import schemas_in
from tests.public_layouts.pictures import jpegs, pixels
from tests.support.catalogs import catalog_of, declared_catalog

_TIMES = [f"2017_03_21_08_18_{10 + number}_{(105 * number) % 1000:03}" for number in range(6)]


def _write(tmp_path, names, *, encoded=False):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for place, name in enumerate(names):
            root[name] = np.frombuffer(jpegs(place, 1)[0], np.uint8) if encoded else pixels(place, 1, 16, 24)[0]
        root["steering"] = np.arange(6.0)


def _asked(tmp_path, match, count):
    with pytest.raises(CatalogError, match=match) as asked:
        catalog_of(tmp_path)
    (schema,) = schemas_in(str(asked.value))
    with closing(declared_catalog(tmp_path, schema)) as found:
        assert found.frame_counts.tolist() == [1] * count
    return str(asked.value)


@pytest.mark.parametrize("times", [_TIMES, [str(1501234567123 + 33 * number) for number in range(6)]])
@pytest.mark.parametrize("words", [("center", "left", "right"), ("rgb",)], ids=len)
def test_raw_pictures_by_a_word_and_a_time_are_times_of_one_video(tmp_path, words, times):
    _write(tmp_path, [f"IMG/{word}_{time}" for word in words for time in times])
    _asked(tmp_path, "whose names seem to be times in one video a group", len(words) * len(times))


def test_encoded_pictures_by_words_and_times_are_asked_about_and_those_of_a_word_are_a_video(tmp_path):
    _write(
        tmp_path, [f"IMG/{word}_{time}.jpg" for word in ("center", "left", "right") for time in _TIMES], encoded=True
    )
    said = _asked(tmp_path, "whose names seem to be times in one video", 18)
    assert "--frames 'IMG/center_[0-9]*' makes one video of the names that begin with 'center_'" in said
    with closing(catalog_of(tmp_path, frames="IMG/center_[0-9]*")) as found:
        assert found.frame_counts.tolist() == [6]


@pytest.mark.parametrize("groups", [("ep0/", "ep1/"), ("",)], ids=len)
@pytest.mark.parametrize("words", [("rgb",), ("rgb", "depth")], ids=len)
def test_raw_pictures_by_numbers_of_which_some_are_missing_are_frames(tmp_path, words, groups):
    numbers = (0, 1, 2, 5, 6, 7)
    names = [f"{group}{word}_{number:06}" for group in groups for word in words for number in numbers]
    _write(tmp_path, names)
    _asked(tmp_path, "numbers seem to count the frames of one video a group, though some numbers are", len(names))


@pytest.mark.parametrize("name", ["{}", "x_{:04}"])
def test_numbers_of_two_groups_that_words_name_are_parts_of_samples_or_classes(tmp_path, name):
    _write(
        tmp_path, [f"{group}/{name.format(number)}" for group in ("hr", "lr") for number in (0, 1, 2, 4, 5, 6, 7, 8, 9)]
    )
    with pytest.raises(
        CatalogError, match="and pictures of the same names in 2 groups: samples with a picture in each"
    ):
        catalog_of(tmp_path)


@pytest.mark.parametrize(
    "names",
    [
        ["rgb_1", "rgb_3"],
        ["rgb_0", "rgb_1", "rgb_2", "rgb_5"],
        ["cam_000", "cam_001", "cam_003", "cam_004"],
        ["rgb_815412070907", "rgb_815412070332", "rgb_818312070212", "rgb_018312070212"],
        ["left_rgb", "right_rgb"],
    ],
    ids=lambda names: names[-1],
)
def test_few_devices_are_cameras(tmp_path, names):
    _write(tmp_path, [f"{group}/{name}" for group in ("ep0", "ep1") for name in names])
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == [1, 1]
        assert {field.name for field in found.fields} == set(names)


def test_names_of_which_no_last_number_counts_are_refused_with_the_option_that_names_some(tmp_path):
    _write(
        tmp_path, [f"a/{word}_{number}_{number + 1}.jpg" for word in ("le", "ri") for number in range(6)], encoded=True
    )
    with pytest.raises(CatalogError, match="name those of one with --frames"):
        catalog_of(tmp_path)


def test_a_schema_for_videos_of_their_own_says_of_bytes_that_are_no_pictures_what_they_are(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["v0"] = np.frombuffer(b"\0\0\0\x18ftypmp42" + bytes(200), np.uint8)
    with pytest.raises(CatalogError, match="MP4"):
        declared_catalog(
            tmp_path, 'videos = "groups"\nfield = [{name = "frames", kind = "image", dataset = "{video}"}]\n'
        )


@pytest.mark.parametrize("name", ["{:.6f}", "1700000000.{:06.0f}", "20240131_1200{:02.0f}"])
def test_grey_pictures_by_times_are_asked_about_as_such(tmp_path, name):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(8):
            root["images/" + name.format(number * 1.25)] = pixels(number, 1, 16, 24)[0, ..., 0]
    with pytest.raises(CatalogError, match=r"times in one video.* they may be: a grey picture each") as asked:
        catalog_of(tmp_path)
    with closing(declared_catalog(tmp_path, schemas_in(str(asked.value))[0])) as found:
        assert found.frame_counts.tolist() == [1] * 8


@pytest.mark.parametrize("counts", [(5, 5), (5, 7, 4), (5,)], ids=len)
@pytest.mark.parametrize("above", ["{}/", ""], ids=["groups", "file"])
def test_raw_pictures_by_times_in_groups_of_recordings_are_offered_as_videos(tmp_path, counts, above):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for run, count in enumerate(counts if above else counts[:1]):
            for number in range(count):
                time = 1600000000000 + 50 * number
                root[f"{above.format(run)}rgb/{time}"] = pixels(run + number, 1, 16, 24)[0]
                root[f"{above.format(run)}semantic/{time}"] = pixels(run, 1, 16, 24)[0]
                root[f"{above.format(run)}depth/{time}"] = np.full((16, 24), number, np.float32)
    with pytest.raises(CatalogError, match="with its frames by time or samples with a picture in each") as asked:
        catalog_of(tmp_path)
    schemas = schemas_in(str(asked.value))
    with closing(declared_catalog(tmp_path, schemas[0])) as found:
        assert found.frame_counts.tolist() == list(counts if above else counts[:1])
        assert [field.name for field in found.fields] == ["rgb", "semantic", "depth"]
    for schema in schemas[1:]:
        declared_catalog(tmp_path, schema).close()


@pytest.mark.parametrize(
    "days", [("2018-01-05", "2018-01-15", "2018-02-04", "2018-12-01"), ("2018_01_05", "2019_03_16")]
)
@pytest.mark.parametrize("encoded", [False, True])
@pytest.mark.parametrize("groups", [("T31TFM", "T32UNB", "T33UWU"), ("T31TFM",)], ids=len)
def test_pictures_called_by_days_are_asked_about_as_times(tmp_path, days, encoded, groups):
    _write(tmp_path, [f"{group}/{day}{'.jpg' * encoded}" for group in groups for day in days], encoded=encoded)
    said = _asked(tmp_path, "whose names seem to be times in one video", len(groups) * len(days))
    if encoded:
        option = said.partition("--frames '")[2].partition("'")[0]
        with closing(catalog_of(tmp_path, frames=option)) as found:
            assert found.frame_counts.tolist() == [len(days)] * len(groups)


def test_pictures_of_one_day_a_month_are_frames_and_groups_of_days_have_a_line(tmp_path):
    months = [f"2018-{month:02}-05" for month in range(1, 7)]
    _write(tmp_path, [f"{group}/{day}.jpg" for group in ("T31TFM", "T32UNB") for day in months[:5]], encoded=True)
    with closing(catalog_of(tmp_path)) as found:
        assert set(found.frame_counts.tolist()) == {5}
    _write(tmp_path, [f"{day}/{word}.jpg" for day in ("2018-01-05", "2018-02-04") for word in "ab"], encoded=True)
    with closing(catalog_of(tmp_path)) as found:
        assert any("since their names are dates" in line for line in map(str, found.left_out))


_CAMERAS = ("CAM_BACK", "CAM_FRONT", "CAM_FRONT_LEFT")


def _of_cameras(times):
    return [
        f"{camera}/n015-2018-07-24__{camera}__{int(time) + place}.jpg"
        for place, camera in enumerate(_CAMERAS)
        for time in times
    ]


@pytest.mark.parametrize("first", [1532402927626460, 1532402927626, 1532402927])
def test_encoded_pictures_by_times_behind_what_a_group_begins_with_are_frames_of_its_camera(tmp_path, first):
    _write(tmp_path, _of_cameras([first + 7 * number**2 for number in range(8)]), encoded=True)
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == [8]
        assert [field.name for field in found.fields] == list(_CAMERAS)
        assert any("called by times" in line for line in map(str, found.left_out))


def test_raw_pictures_by_such_times_are_asked_about(tmp_path):
    _write(tmp_path, _of_cameras([1532402927626460 + 7 * number**2 for number in range(8)]))
    _asked(tmp_path, "whose names seem to be times in one video", 24)


@pytest.mark.parametrize(
    "names",
    [
        [f"COCO_val2014_{570000 + 7 * number**2:012}" for number in range(6)],
        [f"IMG_2024013112{7 * number:02}30" for number in range(6)],
        [f"ISIC_{15670 + 7 * number**2:07}" for number in range(6)],
    ],
    ids=lambda names: names[0],
)
def test_other_long_numbers_behind_a_word_are_no_times(tmp_path, names):
    _write(tmp_path, [f"{('cats', 'dogs')[place % 2]}/{name}.jpg" for place, name in enumerate(names)], encoded=True)
    with closing(catalog_of(tmp_path)) as found:
        assert set(found.frame_counts.tolist()) == {1}
