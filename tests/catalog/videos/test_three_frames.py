"""A clip of exactly three grey frames, ``(3, H, W)``, is read as the clips beside it, and not as a picture."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.catalog.advice import schemas_in
from tests.support.catalogs import catalog_of, declared_catalog, names_of

_CLIPS = 'videos = "groups"\nfield = [{name = "values", kind = "array", dataset = "{video}"}]\n'


def _write(tmp_path, paths, counts):
    lengths = dict(zip(paths, counts * (len(paths) // len(counts)), strict=True))
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for path, count in lengths.items():
            root[path] = np.arange(count * 16 * 24).reshape(count, 16, 24).astype(np.uint8)
    return lengths


def _counts(found):
    return dict(zip(names_of(found), found.frame_counts.tolist(), strict=True))


@pytest.mark.parametrize("counts", [(3, 9, 12), (9, 3, 12)])
@pytest.mark.parametrize("name", ["video{}", "videos/v_g0{}_c01"])
def test_of_one_group_each_is_a_video(tmp_path, name, counts):
    lengths = _write(tmp_path, [name.format(number) for number in range(3)], counts)
    with closing(catalog_of(tmp_path)) as found:
        assert _counts(found) == lengths


def test_names_with_the_class_and_an_id_are_a_video_each(tmp_path):
    paths = [f"{word}/person0{number}_{word}_d1" for word in ("boxing", "running") for number in range(3)]
    lengths = _write(tmp_path, paths, (3, 4, 6))
    with closing(catalog_of(tmp_path)) as found:
        assert _counts(found) == lengths


@pytest.mark.parametrize(
    "name", ["{word}/{number}", "{word}/person0{number}", "{word}/v_Apply_g0{number}_c01", "{word}/{word}_{letter}"]
)
def test_of_groups_that_words_name_they_are_asked_about_and_a_schema_serves_all(tmp_path, name):
    paths = [
        name.format(word=word, number=number, letter="abc"[number])
        for word in ("boxing", "running")
        for number in range(3)
    ]
    lengths = _write(tmp_path, paths, (3, 9, 12))
    with pytest.raises(CatalogError, match="videos of their own") as asked:
        catalog_of(tmp_path)
    assert _CLIPS.replace("\n", "") in [schema.replace("\n", "") for schema in schemas_in(str(asked.value))]
    with closing(declared_catalog(tmp_path, _CLIPS)) as found:
        assert _counts(found) == lengths


@pytest.mark.parametrize("counts", [(3, 4), (4, 3, 1)])
def test_a_schema_serves_all_clips_that_are_as_long_as_colours_are_many(tmp_path, counts):
    lengths = _write(tmp_path, [f"person{number}" for number in range(len(counts))], counts)
    with closing(declared_catalog(tmp_path, _CLIPS)) as found:
        assert _counts(found) == lengths


@pytest.mark.parametrize(
    "channels", [{"rgb_01": 3, "classes_01": 20}, {"rgb": 3, "s1": 2, "s2": 13}, {"image_01": 3, "image_02": 4}]
)
def test_channels_of_one_picture_are_no_clips(tmp_path, channels):
    _write(tmp_path, list(channels), tuple(channels.values()))
    with closing(catalog_of(tmp_path)) as found:
        assert set(found.frame_counts.tolist()) == {1}
