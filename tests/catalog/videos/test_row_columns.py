"""Rows that name their video, or count from its begin, say where it ends; other columns say nothing."""

from __future__ import annotations

import numpy as np
import pytest

from loader_service.catalog.hdf5.tree import DatasetInfo, ElementKind
from loader_service.catalog.videos.bounds.row_columns import find_by_rows


def starts_of(name, entries, *, any_end=False):
    """Return the first rows of the videos that one column gives, or None."""
    values = np.asarray(entries)
    text = values.dtype.kind == "S"
    info = DatasetInfo(
        name, ElementKind.TEXT if text else ElementKind.INTEGER, values.shape, 0, None, str(values.dtype)
    )
    found = find_by_rows([info], len(values), {name: values}.get, any_end=any_end)
    return None if found is None else found.starts.tolist()


@pytest.mark.parametrize(
    ("name", "entries", "starts"),
    [
        ("video_name", [b"a", b"a", b"b", b"b", b"b"], [0, 2]),
        ("meta/episode_id", [[b"a"], [b"a"], [b"b"], [b"b"]], [0, 2]),
        ("clip", [b"x", b"x", b"a", b"a"], [0, 2]),
        ("frame_index", [0, 1, 0, 1, 2], [0, 2]),
        ("timestep", [1, 2, 3, 1, 2], [0, 3]),
        ("frame_index", [0, 2, 4, 0, 2, 4, 6], [0, 3]),
        ("frame_index", [0, 1, 3, 0, 2, 3], [0, 3]),
        ("timestamp", [0, 0.1, 0.2, 0, 0.1], [0, 3]),
        ("obs/time", [5, 6, 5, 6, 9], [0, 2]),
    ],
)
def test_runs_of_a_name_and_numbers_that_begin_anew_are_videos(name, entries, starts):
    assert starts_of(name, entries) == starts


@pytest.mark.parametrize(
    ("name", "entries"),
    [
        ("video_name", [b"a", b"a", b"b", b"a"]),
        ("video_name", [b"a", b"b", b"c", b"d"]),
        ("video_name", [b"a", b"a", b"a", b"a"]),
        ("caption", [b"a", b"a", b"b", b"b"]),
        ("frame_index", [0, 1, 2, 3]),
        ("frame_index", [0, 1, 5, 6]),
        ("frame_index", [0, 0, 0, 0]),
        ("action_index", [0, 1, 0, 1]),
        ("frame_index", [0, 0, 1, 1, 0, 0]),
        ("frame_index", [0, 1, 2, 1, 2, 3]),
        ("timestamp", [0.5, 0.6, 0.7, 0.8]),
        ("timestamp", [0.5, 0.6, 0.1, 0.2]),
        ("timestamp", [0, float("nan"), 0, 0.1]),
        ("lifetime", [0, 1, 0, 1]),
    ],
)
def test_names_that_come_back_or_are_of_a_row_each_and_numbers_that_run_on_are_none(name, entries):
    assert starts_of(name, entries) is None


@pytest.mark.parametrize(
    ("name", "entries", "starts"),
    [
        ("path", [b"a/1.jpg", b"a/2.jpg", b"b/1.jpg", b"b/2.jpg"], [0, 2]),
        ("image_id", [b"v1_3", b"v1_4", b"v2_9", b"v2_11", b"v2_12"], [0, 2]),
        ("path", [b"1.jpg", b"2.jpg", b"3.jpg", b"4.jpg"], None),
        ("path", [b"a/1.jpg", b"b/1.jpg", b"a/2.jpg", b"b/2.jpg"], None),
        ("path", [b"a/2.jpg", b"a/1.jpg", b"b/1.jpg", b"b/2.jpg"], None),
        ("path", [b"a/1.jpg", b"a/2.jpg", b"b/1.jpg", b"none"], None),
        ("caption", [b"a 1", b"a 2", b"b 1", b"b 2"], None),
    ],
)
def test_names_of_pictures_may_say_their_videos_where_that_is_asked(name, entries, starts):
    assert starts_of(name, entries) is None
    assert starts_of(name, entries, any_end=True) == starts


_ANEW = [0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("columns", "starts"),
    [
        ({"video": _ANEW}, [0, 3, 5, 7]),
        ({"video": _ANEW, "Y": [0] * 5 + [1] * 5 + [2] * 2}, [0, 3, 5, 7, 10]),
        ({"video": _ANEW, "person_id": [0] * 5 + [1] * 5 + [2] * 2}, [0, 3, 5, 7, 10]),
        ({"video": _ANEW, "label": [0] * 3 + [1] * 9}, [0, 3, 5, 7]),
        ({"video": _ANEW, "label": list(range(12))}, [0, 3, 5, 7]),
        ({"vid": [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 1, 1]}, [0, 2, 4, 6, 8]),
        ({"video": [0, 0, 0, 2, 2, 0, 0, 1, 1, 1, 1, 1]}, None),
        ({"clip": _ANEW}, None),
        ({"video": [0, 1] * 6}, None),
    ],
)
def test_numbers_called_video_that_begin_anew_say_videos_where_that_is_asked(columns, starts):
    arrays = {name: np.array(values) for name, values in columns.items()}
    infos = [DatasetInfo(name, ElementKind.INTEGER, (12,), 0, None, str(each.dtype)) for name, each in arrays.items()]
    assert find_by_rows(infos, 12, arrays.get) is None
    found = find_by_rows(infos, 12, arrays.get, any_end=True)
    assert (None if found is None else found.starts.tolist()) == starts
