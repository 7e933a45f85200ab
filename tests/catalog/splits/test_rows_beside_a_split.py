"""Columns of one length with the word of a split, beside those called so without it, are asked about with labels."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.catalog.advice import schemas_in
from tests.public_layouts.pictures import jpegs, write_vlen
from tests.support.catalogs import catalog_of, declared_catalog


def _write(path, names, *, group="", encoded=False):
    with h5py.File(path / "a.h5", "w") as root:
        for number, name in enumerate(names):
            if "y" in name or "label" in name:
                root[f"{group}{name}"] = np.arange(6) + number
            elif encoded:
                write_vlen(root, f"{group}{name}", jpegs(number, 6))
            else:
                root[f"{group}{name}"] = np.full((6, 4, 4, 3), number, np.uint8)


@pytest.mark.parametrize(
    ("names", "split"),
    [
        (("X", "y", "X_test", "y_test"), "test"),
        (("X", "y", "X_val", "y_val"), "val"),
        (("X", "y", "X_dev", "y_dev"), "dev"),
        (("X", "y", "XEval", "yEval"), "Eval"),
        (("images", "labels", "test_images", "test_labels"), "test"),
        (("X", "y", "X_test"), "test"),
    ],
)
@pytest.mark.parametrize("group", ["", "data/"])
def test_rows_of_a_split_beside_rows_without_its_word_are_asked_about(tmp_path, names, split, group):
    _write(tmp_path, names, group=group)
    with pytest.raises(CatalogError, match=f"may be splits: `--split {split}` serves") as refused:
        catalog_of(tmp_path)
    own = [name for name in names if split in name]
    rest, both = schemas_in(str(refused.value))
    with closing(declared_catalog(tmp_path, rest)) as found:
        assert found.frame_counts.tolist() == [6]
        assert not any(split in field.name for field in found.fields)
        assert len(found.fields) == len(names) - len(own)
    with closing(declared_catalog(tmp_path, both)) as found:
        assert found.frame_counts.tolist() == [6]
        assert any(split in field.name for field in found.fields)
    with closing(catalog_of(tmp_path, split=split)) as found:
        assert found.frame_counts.tolist() == [6]
        assert len(found.fields) == len(own)


@pytest.mark.parametrize(
    "names",
    [
        ("images", "labels", "images_aug", "labels_aug"),
        ("X", "y", "X_2", "y_2"),
        ("images", "valid_images", "labels"),
        ("images", "dev_images", "labels"),
        ("images", "val_images", "labels"),
    ],
)
def test_other_words_beside_a_column_are_fields_of_its_rows(tmp_path, names):
    _write(tmp_path, names)
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == [6]
        assert len(found.fields) == len(names)


def test_logs_of_a_training_are_columns_of_one_table(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for name in ("loss", "test_loss", "y", "test_y"):
            root[name] = np.arange(6.0)
    with closing(catalog_of(tmp_path)) as found:
        assert len(found.fields) == 4
