"""The byte order of a file's numbers says nothing of what they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from loader_service.catalog.scan.file_scan import scan_file
from loader_service.errors import CatalogError
from loader_service.scan_options import ScanOptions
from tests.public_layouts.expectations import Case
from tests.public_layouts.reading import files_of
from tests.public_layouts.table import TABLE

#: All cases hold; these are those that read numbers by their type, and take the least time to write.
_CASES = [case for case in TABLE.values() if "MATLAB" in case.source]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in _CASES])
def test_a_file_is_read_alike_whatever_the_byte_order_of_its_numbers(tmp_path: Path, case: Case) -> None:
    for path in files_of(tmp_path, case.write(tmp_path)):
        if not h5py.is_hdf5(path):
            continue
        found = _reading(path)
        if _swap(path):
            assert _reading(path) == found


def test_a_grey_matrix_of_floats_may_be_a_picture_in_either_byte_order(tmp_path: Path) -> None:
    for name, dtype in {"little": "<f4", "big": ">f4"}.items():
        with h5py.File(tmp_path / f"{name}.h5", "w") as root:
            root["density_map"] = np.ones((40, 60), dtype)
        with pytest.raises(CatalogError, match="whose first axis may be time, or one of a picture's"):
            scan_file(str(tmp_path / f"{name}.h5"), ScanOptions())


def _reading(path: Path) -> object:
    """Return what a scan finds."""
    try:
        scan = scan_file(str(path), ScanOptions())
    except CatalogError as error:
        return str(error)
    fields = [(each.key, each.source, each.kind, each.dtype, each.shape, each.missing) for each in scan.fields]
    return scan.layout, scan.names, scan.labels, scan.frame_counts.tolist(), fields, dict(scan.left_out)


def _swap(path: Path) -> bool:
    """Write all numbers of a file anew, high bytes first; False where scales refer to datasets, or it is no plain file.

    What was never written, or lies elsewhere, stays.
    """
    try:
        root = h5py.File(path, "r+")
    except OSError:
        return False
    with root:
        datasets: dict[str, h5py.Dataset] = {}
        root.visititems(lambda name, node: datasets.setdefault(name, node) and None)
        datasets = {name: node for name, node in datasets.items() if isinstance(node, h5py.Dataset)}
        if any({"DIMENSION_LIST", "REFERENCE_LIST"} & set(node.attrs) for node in datasets.values()):
            return False
        numbers = {name: node for name, node in datasets.items() if _is_number(node)}
        for name, node in numbers.items():
            values, attributes = node[()], dict(node.attrs)
            del root[name]
            anew: Any = root.create_dataset(name, data=np.asarray(values, node.dtype.newbyteorder(">")))
            for key, value in attributes.items():
                anew.attrs[key] = value
        return bool(numbers)


def _is_number(node: h5py.Dataset) -> bool:
    there = node.shape is not None and not node.is_virtual and not node.external and node.id.get_storage_size() > 0
    return bool(there and node.dtype.kind in "iuf" and node.dtype.itemsize > 1)
