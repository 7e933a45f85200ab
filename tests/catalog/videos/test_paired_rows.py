"""Groups, or fields, of one length whose names are words have a line with the other reading, which works."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.catalog.advice import schemas_in
from tests.public_layouts.pictures import jpegs, write_vlen
from tests.support.catalogs import catalog_of, declared_catalog, names_of


def _write(path, arrays):
    with h5py.File(path / "a.h5", "w") as root:
        for number, (name, shape) in enumerate(arrays.items()):
            if shape is None:
                write_vlen(
                    root.require_group(name.rpartition("/")[0] or "/"), name.rpartition("/")[2], jpegs(number, 6)
                )
            else:
                root[name] = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + number


def _lines(path):
    with closing(catalog_of(path)) as found:
        return found.frame_counts.tolist(), [line for line in found.left_out if "(pairs)" in line]


_GROUPS = {"noise/strain": (20, 8), "noise/snr": (20,), "injections/strain": (20, 8), "injections/snr": (20,)}
_PERSONS = {"person_0/joints": (20, 8), "person_1/joints": (20, 8)}
_ENCODED = {"positive/images": None, "negative/images": None}
_TABLES = {"events/id": (20,), "events/energy": (20, 3), "hits/id": (20,), "hits/charge": (20, 3)}
_FIELDS = {"clean": (20, 8), "noisy": (20, 8)}


@pytest.mark.parametrize(
    ("arrays", "served", "declared", "names"),
    [
        (_GROUPS, [20, 20], [20], {"injections_strain", "injections_snr", "noise_strain"}),
        (_PERSONS, [20, 20], [20], {"person_0_joints", "person_1_joints"}),
        (_ENCODED, [6, 6], [6], {"positive_images", "negative_images"}),
        (_FIELDS, [20], [20, 20], {"values"}),
        (_TABLES, [20], [20], {"events_id", "events_energy"}),
    ],
)
def test_the_other_reading_has_a_line_whose_schema_works(tmp_path, arrays, served, declared, names):
    _write(tmp_path, arrays)
    counts, (line,) = _lines(tmp_path)
    assert counts == served
    with closing(declared_catalog(tmp_path, schemas_in(line)[0])) as found:
        assert found.frame_counts.tolist() == declared
        assert {field.name for field in found.fields} == names


_DOMAINS = {"source_x": (20, 8), "source_y": (20,), "target_x": (20, 8), "target_y": (20,)}
_EPISODE = {"support_images": None, "support_labels": (6,), "query_images": None, "query_labels": (6,)}
_MASKED = {"benign": (20, 8, 9, 3), "benign_mask": (20, 8, 9), "normal": (20, 8, 9, 3), "normal_mask": (20, 8, 9)}
_AT_END = {"x_clean": (20, 8), "label_clean": (20, 1), "x_noisy": (20, 8), "label_noisy": (20, 1)}


@pytest.mark.parametrize(
    ("arrays", "names"),
    [
        (_DOMAINS, {"source_x", "source_y"}),
        ({f"data/{name}": shape for name, shape in _DOMAINS.items()}, {"data_source_x", "data_source_y"}),
        (_EPISODE, {"query_images", "query_labels"}),
        (_AT_END, {"x_clean", "label_clean"}),
        (_MASKED, {"benign", "benign_mask"}),
        (_MASKED | {"ill": (20, 8, 9, 3), "ill_mask": (20, 8, 9)}, {"benign", "benign_mask"}),
    ],
)
def test_tables_with_labels_of_their_own_have_a_line_whose_schema_serves_one_alone(tmp_path, arrays, names):
    _write(tmp_path, arrays)
    counts, (line,) = _lines(tmp_path)
    with closing(declared_catalog(tmp_path, schemas_in(line)[0])) as found:
        assert found.frame_counts.tolist() == counts
        assert {field.name for field in found.fields} == names


@pytest.mark.parametrize(
    "arrays",
    [
        {"a/x": (20, 8), "b/x": (21, 8), "a/y": (20,), "b/y": (21,)},
        {"trial_1/x": (20, 8), "trial_2/x": (20, 8)},
        {"demo_1/x": (20, 8), "demo_1/y": (20,), "demo_2/x": (20, 8), "demo_2/y": (20,)},
        {"person01_boxing/x": (20, 8), "person02_boxing/x": (20, 8)},
        {"clean": (20, 8), "noisy": (20, 8), "snr": (20,)},
        {"rgb": (20, 8), "depth": (20, 8)},
        {"x": (20, 8), "y": (20, 3)},
        {"agent_pos": (20, 3), "agent_quat": (20, 4), "block_pos": (20, 3), "block_quat": (20, 4)},
        {"ball_x": (20,), "ball_y": (20,), "goal_x": (20,), "goal_y": (20,)},
        {"left_image": (20, 8), "left_label": (20,), "right_image": (20, 8), "right_label": (20,)},
        {"clean_x": (20, 8), "clean_y": (20,), "noisy_x": (20, 8), "noisy_y": (20,), "snr": (20,)},
        {"clean_x": (20, 8), "clean_y": (20,), "noisy_x": (20, 9), "noisy_y": (20,)},
        {"rgb": (20, 8, 9), "rgb_mask": (20, 8, 9), "depth": (20, 8, 9), "depth_mask": (20, 8, 9)},
        {"image": (20, 8, 9, 3), "image_mask": (20, 8, 9), "edges": (20, 8, 9, 3), "edges_mask": (20, 8, 9)},
        {"src": (20, 8), "src_mask": (20,), "tgt": (20, 8), "tgt_mask": (20,)},
        {"t1": (20, 8, 9, 3), "t1_seg": (20, 8, 9), "t2": (20, 8, 9, 3), "t2_seg": (20, 8, 9)},
        {"imu/accelerometer": (20, 3), "pose/position": (20, 3), "pose/speed": (20,)},
    ],
)
def test_what_is_told_has_no_such_line(tmp_path, arrays):
    _write(tmp_path, arrays)
    assert _lines(tmp_path)[1] == []


def test_groups_of_the_same_names_in_all_videos_of_one_length_have_a_line_whose_schema_makes_each_a_video(tmp_path):
    actions = [f"{person}/{action}" for person in ("s1", "s5", "s6") for action in ("eating", "walking")]
    _write(tmp_path, {f"{action}/{name}": (20, 8) for action in actions for name in ("joints", "views/left")})
    counts, (line,) = _lines(tmp_path)
    assert counts == [20, 20, 20]
    assert "row n of 's1/eating' and of 's1/walking' are served as one sample" in line
    with closing(declared_catalog(tmp_path, schemas_in(line)[0])) as found:
        assert names_of(found) == actions
        assert {field.name for field in found.fields} == {"joints", "views_left"}


@pytest.mark.parametrize(("words", "lengths"), [(("left", "right"), (20, 20)), (("eating", "walking"), (20, 24))])
def test_sides_of_what_is_seen_and_groups_as_long_as_each_other_in_videos_of_any_length_have_none(
    tmp_path, words, lengths
):
    arrays = {f"s{n}/{word}/joints": (length, 8) for n, length in enumerate(lengths) for word in words}
    _write(tmp_path, arrays | {name.replace("joints", "hands"): shape for name, shape in arrays.items()})
    counts, lines = _lines(tmp_path)
    assert counts == list(lengths)
    assert not any("served as one sample" in line for line in lines)


def test_groups_inside_of_groups_are_asked_about_with_a_video_each_of_them(tmp_path):
    lengths = {"s1/eating": 9, "s1/walking": 11, "s5/eating": 8, "s5/walking": 12}
    arrays = {f"{group}/{name}": (length, 8) for group, length in lengths.items() for name in ("joints", "views/left")}
    _write(tmp_path, arrays)
    with pytest.raises(CatalogError, match="a video each of the groups such as 's1/eating'") as caught:
        catalog_of(tmp_path)
    schema = next(each for each in schemas_in(str(caught.value)) if '"{video}/views/left"' in each)
    with closing(declared_catalog(tmp_path, schema)) as found:
        assert dict(zip(names_of(found), found.frame_counts.tolist(), strict=True)) == lengths


_PATIENTS = ["TCGA-A1", "TCGA-B2", "TCGA-C13"]


@pytest.mark.parametrize(
    ("names", "shape", "said"),
    [
        (_PATIENTS, (32,), True),
        (_PATIENTS[:2], (32,), False),
        (_PATIENTS, (8,), False),
        (["acc_x1", "acc_y1", "acc_z1"], (32,), False),
        ([*_PATIENTS, "speed"], (32,), False),
    ],
)
def test_columns_that_codes_name_have_a_line_whose_schema_makes_each_a_sample(tmp_path, names, shape, said):
    _write(tmp_path, dict.fromkeys(names, shape))
    with closing(catalog_of(tmp_path)) as found:
        lines = [line for line in found.left_out if "(samples)" in line or "is a column of" in line]
        assert found.frame_counts.tolist() == [shape[0]]
    assert len(lines) == said
    if said:
        with closing(declared_catalog(tmp_path, schemas_in(lines[0])[0])) as found:
            assert found.frame_counts.tolist() == [1] * len(names)
            assert found.fields[0].shape == shape


@pytest.mark.parametrize(
    ("name", "numbers", "said"),
    [
        ("image_indices", [0, 0, 1, 1, 2, 3], True),
        ("img_idx", [[1], [1], [1], [2], [3], [3]], True),
        ("image_index", [0, 1, 2, 3, 4, 5], False),
        ("image_index", [0, 1, 2, 0, 1, 2], False),
        ("image_index", [0, 0, 2, 2, 4, 4], False),
        ("image_id", [0, 0, 1, 1, 2, 3], False),
        ("question_index", [0, 0, 1, 1, 2, 3], False),
    ],
)
def test_numbers_of_pictures_that_come_back_have_a_line(tmp_path, name, numbers, said):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["images"], root["questions"] = np.zeros((6, 16, 16, 3), np.uint8), np.zeros((6, 5), int)
        root[name] = numbers
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == [6]
        assert any("its numbers come back" in line for line in found.left_out) is said


@pytest.mark.parametrize("name", ["fold_0_{}", "fold0_{}", "split_0_{}"])
def test_tables_of_numbered_parts_have_the_line_of_two_tables(tmp_path, name):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(2):
            own = name.replace("0", str(number))
            root[own.format("images")] = np.zeros((8, 16, 16, 3), np.uint8)
            root[own.format("labels")] = np.arange(8)
    with closing(catalog_of(tmp_path)) as found:
        assert [line for line in found.left_out if "have labels of their own" in line]


@pytest.mark.parametrize(
    ("names", "others", "served"),
    [
        (("flux_NO_halo", "flux_halo", "mask_NO_halo", "mask_halo"), (), ["flux_halo", "mask_halo"]),
        (("frames_pos", "frames_neg"), ("angle",), ["frames_pos"]),
        (("positive", "negative"), ("angle",), ["positive"]),
        (("norain", "rain"), ("angle",), ["rain"]),
        (("sound_with_drums", "sound_without_drums"), (), ["sound_with_drums"]),
        (("positive", "negative", "anchor"), (), []),
        (("frame", "frame_no"), (), []),
        (("pos", "vel"), ("angle",), []),
        (("normal", "abnormal_rmal"), ("angle",), []),
    ],
)
def test_columns_of_a_word_and_its_opposite_have_a_line_whose_schema_serves_one_alone(tmp_path, names, others, served):
    _write(tmp_path, dict.fromkeys(names, (6, 40)) | dict.fromkeys(others, (6,)))
    _, lines = _lines(tmp_path)
    lines = [line for line in lines if "opposites" in line]
    assert bool(lines) is bool(served)
    if served:
        with closing(declared_catalog(tmp_path, schemas_in(lines[0])[0])) as found:
            assert ([field.name for field in found.fields], found.frame_counts.tolist()) == (served, [6])


def test_numbered_pictures_of_two_tables_have_a_line_whose_schema_serves_one_alone(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(12):
            for side in "LR":
                root[f"hr_{side}/{number}"] = np.full((24, 36, 3), number, np.uint8)
                root[f"lr_{side}/{number}"] = np.full((12, 18, 3), number, np.uint8)
    _, (line,) = _lines(tmp_path)
    assert "row n of 'hr_L/*' and of 'hr_R/*' are served as one sample" in line
    with closing(declared_catalog(tmp_path, schemas_in(line)[0])) as found:
        assert ([field.name for field in found.fields], found.frame_counts.tolist()) == (["hr_L", "lr_L"], [12])
