"""Padded rows beside two lists of lengths, of which one counts what else each row has."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np

from tests.catalog.advice import schemas_in
from tests.support.catalogs import catalog_of, declared_catalog

_FRAMES, _LETTERS = np.array([9, 5, 7, 3]), np.array([5, 2, 3, 1])


def test_films_end_by_the_lengths_that_their_longest_one_has(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["clips"] = np.zeros((4, 9, 16, 20, 3), np.uint8)
        root["caption_lengths"], root["frame_lengths"] = _LETTERS, _FRAMES
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == _FRAMES.tolist()


def test_rows_of_numbers_have_a_line_with_theirs_and_its_schema_takes_lists_that_are_called_labels(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["sequences"], root["labels"] = np.zeros((4, 9, 16), np.float32), np.ones((4, 5), int)
        root["label_lengths"], root["sequence_lengths"] = _LETTERS, _FRAMES
    with closing(catalog_of(tmp_path)) as found:
        (line,) = [line for line in found.left_out if "'sequence_lengths' says how many" in line]
    (schema,) = schemas_in(line)
    with closing(declared_catalog(tmp_path, schema)) as found:
        assert found.frame_counts.tolist() == _FRAMES.tolist()
        assert {field.name for field in found.fields} == {"sequences", "labels", "label_lengths"}
