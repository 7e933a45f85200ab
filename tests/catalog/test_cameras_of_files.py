"""The cameras that files have in common, where some have more of them than others."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import h5py
import numpy as np
import pytest

from loader_service.catalog.scan.recheck import Recheck
from loader_service.scan_options import ScanOptions
from loader_service.worker.reader import Reader
from tests.public_layouts.pictures import pixels
from tests.support.catalogs import catalog_of


@pytest.mark.parametrize("lacking", [0, 1])
def test_a_camera_of_all_files_is_served_where_one_of_them_has_no_other(tmp_path: Path, lacking: int) -> None:
    for number in range(3):
        with h5py.File(tmp_path / f"episode_{number}.h5", "w") as root:
            root["observations/images/top"] = pixels(number, 5 + number)
            root["action"] = np.zeros((5 + number, 7), np.float32)
            if number != lacking:
                root["observations/images/wrist"] = pixels(number + 9, 5 + number)
    with closing(catalog_of(tmp_path)) as catalog:
        assert [field.name for field in catalog.fields] == ["top", "action"]
        assert any(f"wrist': not in '{tmp_path}/episode_{lacking}.h5'" in line for line in catalog.left_out)
        reader = Reader(catalog)
        for number in range(3):
            out = np.zeros((5 + number, 24, 32, 3), np.uint8)
            reader.read_array(number, "top", 0, out)
            np.testing.assert_array_equal(out, pixels(number, 5 + number))
        reader.close()
        judged = Recheck(catalog, ScanOptions())
        assert [judged.judge(str(tmp_path / f"episode_{number}.h5")).difference for number in range(3)] == ["", "", ""]
