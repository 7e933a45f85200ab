"""Complex numbers, which no schema serves, are named in questions, and of schemas, with the command that helps."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.catalog.advice import run_command_in, schemas_in
from tests.support.catalogs import catalog_of, declared_catalog

if TYPE_CHECKING:
    from pathlib import Path

_SIGNAL = np.arange(36 * 40).reshape(36, 40) * (1 + 2j)


def _write_detectors(path: Path) -> None:
    with h5py.File(path, "w") as root:
        root["001121a05/frequency_Hz"] = np.arange(36.0)
        for detector in ("H1", "L1"):
            root[f"001121a05/{detector}/SFTs"] = _SIGNAL.astype(np.complex64)
            root[f"001121a05/{detector}/timestamps_GPS"] = np.arange(40)


def test_a_question_names_complex_numbers_that_no_reading_serves(tmp_path: Path) -> None:
    _write_detectors(tmp_path / "a.h5")
    with pytest.raises(CatalogError, match=r"none of these serves '001121a05/H1/SFTs' complex .* and 1 dataset more"):
        catalog_of(tmp_path)
    with pytest.raises(CatalogError) as caught:
        catalog_of(tmp_path)
    run_command_in(str(caught.value), tmp_path / "flat")
    with closing(catalog_of(tmp_path / "flat")) as found:
        assert found.frame_counts.tolist() == [36]
        assert "001121a05/H1/SFTs" in {field.name for field in found.fields}


def test_a_line_of_what_a_schema_does_not_name_says_that_it_is_complex(tmp_path: Path) -> None:
    _write_detectors(tmp_path / "a.h5")
    with pytest.raises(CatalogError) as caught:
        catalog_of(tmp_path)
    for schema in schemas_in(str(caught.value)):
        with closing(declared_catalog(tmp_path, schema)) as found:
            (line,) = found.left_out
        assert "the schema does not name it, nor " in line
        assert re.search(r"SFTs' is complex numbers, of which `loader-service flatten` writes", line)


def test_a_question_that_speaks_of_complex_numbers_has_the_command_alone(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["kspace"] = np.ones((5, 4, 32, 24), np.complex64)
        root["mask"] = np.ones(24, np.float32)
    with pytest.raises(CatalogError, match="complex numbers are not served") as caught:
        catalog_of(tmp_path)
    assert "none of these serves" not in str(caught.value)
    run_command_in(str(caught.value), tmp_path / "flat")
    with h5py.File(tmp_path / "flat" / "flat.h5") as file:
        assert file["kspace"].shape == (5, 4, 32, 24, 2)
