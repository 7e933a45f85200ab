"""What a scan of a small file costs, in calls of functions: the same on a busy machine and on an idle one."""

from __future__ import annotations

import sys

import h5py
import numpy as np

from loader_service.catalog.scan.file_scan import scan_file
from loader_service.scan_options import ScanOptions
from tests.public_layouts.pictures import jpegs, write_vlen

#: Calls, of Python's functions and of C's; 1,700 when this was written, of 1.7 ms. `inspect` of 5,000 files then takes
#: 5 s on two cores (`benchmarks/inspecting.py`).
_MOST_CALLS = 2200


def test_a_small_file_is_scanned_in_few_calls(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as root:
        write_vlen(root, "frames", jpegs(0, 6))
        root["actions"], root["label"] = np.zeros((6, 7), np.float32), 3
        root.attrs["fps"] = 30
    options = ScanOptions()
    scan_file(str(path), options)  # what is made once a process is made now
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        scan_file(str(path), options)
    finally:
        sys.setprofile(None)
    assert 500 < calls <= _MOST_CALLS
