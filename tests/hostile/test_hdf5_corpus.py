"""Damaged files: each ends in a catalog whose frames can be read, or in a named error, whatever HDF5 makes of it."""

from __future__ import annotations

import re
import time
from random import Random

import pytest

import loader_client
from benchmarks.fuzz import FILE_S, damage_file
from loader_service.catalog.scan.scan_pool import ScanPool
from loader_service.errors import CatalogError, LoaderError
from loader_service.protocol.spec import Clip, Image, Spec
from loader_service.scan_options import ScanOptions
from tests.hostile import inputs
from tests.support.services import running_service

_FILES = 200


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Return the paths of damaged files, the same in every run."""
    directory = tmp_path_factory.mktemp("damaged")
    valid, random = inputs.hdf5_files(directory), Random(15)
    (directory / "valid.h5").unlink()
    for number in range(_FILES):
        (directory / f"{number}.h5").write_bytes(damage_file(valid[number % len(valid)], random))
    return sorted(map(str, directory.glob("*.h5")))


def test_each_damaged_file_is_scanned_or_refused_by_name_in_time(corpus):
    scanned = 0
    with ScanPool(ScanOptions(scan_timeout=FILE_S), 2) as pool:
        last = time.monotonic()
        for path, outcome in zip(corpus, pool.scan(corpus), strict=True):
            if isinstance(outcome, CatalogError):
                assert repr(path) in str(outcome)
            else:
                scanned += 1
            assert time.monotonic() - last < FILE_S + 60, "it is given up in time"
            last = time.monotonic()
    assert _FILES // 5 < scanned < _FILES


def test_each_step_of_what_is_left_of_damaged_files_is_a_batch_or_a_named_error(corpus, tmp_path):
    options = {"on_bad_file": "skip", "scan_timeout": FILE_S, "task_timeout": FILE_S, "cache_dir": tmp_path}
    spec = Spec(4, Clip(frames=3), Image(size=(16, 16)), fields=("frames",), drop_remainder=False)
    batches, errors = 0, []
    with running_service(*corpus, **options) as service, loader_client.connect(service.endpoint) as connection:
        stream = connection.open(spec)
        for step in range(stream.steps_per_epoch):
            try:
                batches += stream.fetch(0, step)["frames"].shape[1:] == (3, 16, 16, 3)
            except LoaderError as error:
                errors.append(error)
    assert batches > len(corpus) // 20
    assert errors
    for error in errors:
        assert re.search(r"/\d+\.h5'", str(error)), error
