"""What datasets mean is decided by pure functions over paths, types, shapes and numbers: no file is needed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loader_service.catalog.hdf5.tree import DatasetInfo, ElementKind, Tree
from loader_service.catalog.inner_paths import common_group, differing_parts, renumbered
from loader_service.catalog.videos.aside.set_aside import set_aside
from loader_service.catalog.videos.bounds.bounds import find_bounds
from loader_service.catalog.videos.frame_axis import are_ids, are_numbered, frame_counts_of, have_roles, rival_of
from loader_service.catalog.videos.numbered import find_numbered
from loader_service.catalog.videos.sibling_groups import sibling_groups
from loader_service.catalog.videos.single_pictures import find_single_pictures
from loader_service.errors import CatalogError


def info(path, shape, dtype="float32", kind=None):
    kinds = {"u": ElementKind.BYTES, "i": ElementKind.INTEGER, "f": ElementKind.FLOAT}
    return DatasetInfo(path, kind or kinds[dtype[0]], shape, int(np.prod(shape)) * 4, None, dtype)


def bounds_of(columns, frame_count):
    """Return starts and ends that datasets of these numbers give, and the names that gave them."""
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    found = find_bounds([info(name, each.shape, "int64") for name, each in arrays.items()], frame_count, arrays.get)
    return found and (found.starts.tolist(), found.ends.tolist(), sorted(found.paths))


def test_flags_are_called_by_their_type():
    assert info("p", (3,), "bool", ElementKind.OTHER).describe() == "'p' bool (3,)"
    assert info("p", (3,), "int8", ElementKind.BYTES).describe() == "'p' int8 (3,)"


# --- numbered datasets ------------------------------------------------------------------------------------------------


@given(count=st.integers(2, 40), first=st.integers(0, 1), width=st.sampled_from([1, 4]), suffix=st.sampled_from("xy"))
def test_numbers_that_run_densely_are_frames_in_their_order(count, first, width, suffix):
    names = [f"v/frame_{number:0{width}d}_{suffix}" for number in range(first, first + count)]
    found = find_numbered([info(name, (16, 20, 3), "uint8") for name in reversed(names)])
    (frames,) = found["v"]
    assert [each.path for each in frames.members] == names
    assert [renumbered(names[0], frames.digits, step) for step in range(count)] == names
    assert (frames.key, frames.pattern) == (f"frame_{suffix}", f"v/frame_*_{suffix}")


@pytest.mark.parametrize(
    "names",
    [
        ("frame_0", "frame_2"),
        ("image_5", "image_6"),
        ("cam0_0", "cam0_2"),
        ("frame_1", "frame_01"),
        ("a_0_1", "a_1_2"),
        ("frame_0", "other_1"),
    ],
)
def test_numbers_with_gaps_or_in_two_places_are_no_frames(names):
    assert find_numbered([info(name, (16, 20, 3), "uint8") for name in names]) == {}


def test_what_is_called_a_frame_counts_from_anywhere_and_a_device_has_its_own_frames():
    names = ["cam0_frame_5", "cam0_frame_6", "cam1_frame_5", "cam1_frame_6"]
    first, second = find_numbered([info(name, (16, 20, 3), "uint8") for name in names])[""]
    assert [[each.path for each in frames.members] for frames in (first, second)] == [names[:2], names[2:]]
    assert (first.key, second.key, first.first_number) == ("cam0_frame", "cam1_frame", 5)


def test_numbered_features_are_videos_and_no_frames():
    assert find_numbered([info(f"vid{number}", (8, 64)) for number in range(3)]) == {}


# --- pictures, or rows ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(20, 30, 3), (20, 30, 4), (20, 30, 1), (3, 20, 30)])
def test_a_picture_of_bytes_that_shares_its_first_axis_with_nothing_is_a_sample(shape):
    picture = info("image", shape, "uint8")
    assert find_single_pictures([picture]) == ([picture], [])
    assert find_single_pictures([picture, info("camera", (3, 3))])[0] == [picture]


def test_what_else_has_the_first_axis_makes_it_time():
    picture = info("image", (20, 30, 3), "uint8")
    assert find_single_pictures([picture, info("labels", (20,), "int64")]) == ([], [])


def test_a_map_with_the_sides_of_a_picture_belongs_to_it():
    picture, depth = info("rgb", (3, 20, 30), "uint8"), info("depth", (20, 30))
    assert find_single_pictures([picture, depth]) == ([picture, depth], [])


def test_numbers_with_the_sides_of_a_picture_can_be_rows_too():
    poses = info("poses", (50, 17, 3))
    assert find_single_pictures([poses]) == ([], [poses])
    assert find_single_pictures([info("s0/pose", (50, 17, 3)), info("s1/pose", (51, 17, 3))]) == ([], [])


# --- which length counts the frames -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shapes", "counts"),
    [
        ({"x": (20, 5), "y": (20,), "names": (9,)}, [20]),
        ({"observations": (5, 39), "actions": (4, 28), "rewards": (4,)}, [5]),
        ({"tensor": (7, 5, 16), "t": (6,), "x": (16,)}, [7]),
        ({"x": (20, 5), "centroids": (7, 50)}, [20, 7]),
    ],
)
def test_frames_are_as_many_as_most_datasets_have_those_of_one_row_less_included(shapes, counts):
    assert frame_counts_of([info(name, shape) for name, shape in shapes.items()]) == counts


def test_pictures_count_the_frames_whatever_else_is_longer():
    images = info("images", (4, 3, 16, 16), "uint8")
    captions = [info("captions", (9, 16)), info("lengths", (9,), "int64")]
    assert frame_counts_of([images, *captions]) == [4]
    assert rival_of([images, *captions], 4) is None


def test_a_longer_length_that_datasets_share_is_a_rival_and_coordinates_are_none():
    imu = [info("imu", (30, 6)), info("imu_ts", (30,))]
    assert rival_of([info("x", (6, 4)), *imu], 6) == imu[0]
    assert rival_of([info("data", (6, 8, 8)), info("x", (8,)), info("y", (8,))], 6) is None


@pytest.mark.parametrize(
    ("names", "numbered", "roles", "ids"),
    [
        (["video0", "video1"], True, False, False),
        (["cam0_video", "cam1_video"], False, True, True),
        (["rgb", "depth"], False, True, False),
        (["video_u", "video_v"], False, True, False),
        (["-3g5yACwYnA", "9y-fZ3swSY"], False, False, True),
        (["cat", "dog"], False, False, False),
    ],
)
def test_names_tell_videos_from_cameras(names, numbered, roles, ids):
    assert (are_numbered(names), have_roles(names), are_ids(names)) == (numbered, roles, ids)


def test_groups_beside_each_other_are_those_with_the_same_paths_inside():
    arrays = [info(f"run{n}/{name}", (5, 2)) for n in range(2) for name in ("data", "grid/t")]
    found = sibling_groups([*arrays, info("stats/mean", (2,))])
    assert found is not None
    assert {group: sorted(members) for group, members in found.items()} == {
        "run0": ["data", "grid/t"],
        "run1": ["data", "grid/t"],
    }
    assert sibling_groups([info("obs/qpos", (5, 2)), info("action/velocity", (5, 2))]) is None


def test_paths_differ_first_in_one_part():
    paths = ["data/demo_0/obs", "data/demo_1/obs"]
    assert (common_group(paths), differing_parts(paths)) == ("data", ["demo_0", "demo_1"])


# --- end to end -------------------------------------------------------------------------------------------------------


@given(lengths=st.lists(st.integers(1, 9), min_size=2, max_size=8))
def test_ends_starts_lengths_offsets_pairs_and_numbers_say_the_same(lengths):
    ends = np.cumsum(lengths)
    starts, count = ends - lengths, int(ends[-1])
    expected = starts.tolist(), ends.tolist()
    columns = [
        {"episode_ends": ends},
        {"ep_offset": starts, "ep_len": np.array(lengths)},
        {"offsets": np.concatenate([[0], ends])},
        {"pos_boxes": np.stack([starts, ends], 1)},
        {"num_frames": np.array(lengths)},
        {"episode_index": np.repeat(np.arange(len(lengths)), lengths)},
    ]
    for each in columns:
        if all(len(values) < count or name == "episode_index" for name, values in each.items()):
            assert bounds_of(each, count) == (*expected, sorted(each))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"episode_ends": [5, 3, 13]}, "'episode_ends': expected ends that never fall and reach 13"),
        ({"episode_ends": [5, 9, 40]}, "at most 40"),
        ({"traj_lengths": [3, 3]}, "in sum 6"),
        ({"starts": [0, 4, 7], "lengths": [6, 3, 5]}, "entries 0 and 1 that overlap: to 6, and from 4"),
        ({"starts": [8, 0, 4], "lengths": [5, 4, 4]}, "entries 0 and 1 in another order than their rows: to 13, and"),
        ({"starts": [0, 5, 3]}, "'starts': expected ends that never fall"),
        ({"starts": [0, 9], "lengths": [6, 7]}, "expected sequences within 13 rows, found entry 1 from 9 to 16"),
        ({"episode_id": [0] * 6 + [1] * 3 + [0] * 4}, "found episode 0 in more than one place"),
    ],
)
def test_what_is_named_as_ends_and_does_not_fit_is_refused(columns, message):
    with pytest.raises(CatalogError, match=message):
        bounds_of(columns, 13)


@pytest.mark.parametrize("columns", [{"ms_to_idx": [0, 8, 39]}, {"classes": [6, 7]}, {"episode_index": [4] * 13}])
def test_what_is_not_named_as_ends_cuts_nothing(columns):
    assert bounds_of(columns, 13) is None


# --- what is set aside ------------------------------------------------------------------------------------------------


def test_references_sparse_matrices_and_weights_are_set_aside_with_a_reason_each():
    there = [
        info("#refs#/a", (3, 1), "uint16"),
        info("X/data", (9,)),
        info("X/indices", (9,), "int32"),
        info("X/indptr", (5,), "int32"),
        info("layers/dense/vars/0", (8, 16)),
        info("kspace", (5, 24), "", ElementKind.COMPLEX),
        info("obs/score", (4, 2)),
    ]
    aside = set_aside(Tree({each.path: each for each in there}, (), ()))
    assert list(aside) == ["#refs#", "X/data", "X/indices", "X/indptr", "layers/dense/vars/0", "kspace"]
    assert "sparse" in aside["X/data"]
    assert "weights" in aside["layers/dense/vars/0"]
    assert "complex" in aside["kspace"]
