"""Encoded sequences beside what is seen in them: at another depth of their group, or with a word behind their name."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from tests.public_layouts.pictures import jpegs
from tests.support.catalogs import catalog_of, names_of


def _write(path, lengths):
    with h5py.File(path, "w") as root:
        for seed, (name, count) in enumerate(lengths.items()):
            for number, jpeg in enumerate(jpegs(seed, count)):
                root[f"{name}/{number:03d}.jpg"] = np.frombuffer(jpeg, np.uint8)


def test_videos_called_as_others_with_a_word_behind_have_a_line_with_the_frames_that_serve_the_others(tmp_path):
    _write(tmp_path / "a.h5", {"Test001": 6, "Test001_gt": 6, "Test002": 5, "Test003": 7, "Test003_gt": 7})
    with closing(catalog_of(tmp_path)) as found:
        (line,) = [line for line in found.left_out if "have the name of another, 'Test001', with '_gt'" in line]
    pattern = line.partition("--frames '")[2].partition("'")[0]
    with closing(catalog_of(tmp_path, frames=pattern)) as found:
        assert names_of(found) == ["Test001", "Test002", "Test003"]


@pytest.mark.parametrize(
    "lengths",
    [
        {"Test001": 6, "Test001_gt": 4},
        {"Test001": 6, "Test001_gt": 6, "Test002_mask": 5, "Test002": 5},
        {"Test001": 6, "Test002_gt": 6},
    ],
    ids=["other lengths", "several words", "of no other"],
)
def test_other_names_with_words_behind_have_no_such_line(tmp_path, lengths):
    _write(tmp_path / "a.h5", lengths)
    with closing(catalog_of(tmp_path)) as found:
        assert not [line for line in found.left_out if "have the name of another" in line]


@pytest.mark.parametrize("counts", [(6, 6, 6), (5, 8, 6)], ids=["equal", "unlike"])
def test_sequences_at_other_depths_of_numbered_groups_are_fields(tmp_path, counts):
    keys = ("left_frames", "ground_truth/Maryland_labels", "ground_truth/Prograsp_labels")
    videos = {f"dataset_{number}/{key}": count for number, count in enumerate(counts, 1) for key in keys}
    _write(tmp_path / "a.h5", videos)
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == list(counts)
        assert {facts.sources for facts in found.facts} == {(f"{{video}}/{key}",) for key in keys}
