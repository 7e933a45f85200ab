"""Groups that are videos and classes at once: where `{group}` names none, the refusal says what does."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from loader_service.errors import ConfigError
from tests.catalog.labels.csv_files import with_csv
from tests.public_layouts.pictures import jpegs, write_vlen
from tests.support.catalogs import catalog_of


def test_groups_of_rows_that_are_classes_are_labelled_by_a_csv_file(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name, count in (("benign", 3), ("malignant", 5)):
            write_vlen(file, f"{name}/images", jpegs(0, count))
            file[f"{name}/age"] = np.arange(count)
    with pytest.raises(ConfigError, match=r"give --labels FILE\.csv, with a row 'video,label' for each") as said:
        catalog_of(tmp_path, label="{group}")
    assert "{video}" not in str(said.value)
    catalog = with_csv(tmp_path, "video,label\nbenign,benign\nmalignant,malignant\n")
    assert (catalog.values("label").tolist(), catalog.classes) == ([0, 1], ("benign", "malignant"))
