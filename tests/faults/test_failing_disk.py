"""Reads that fail are tried again: a disk or a server that comes back ends no training, one that does not is named."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

import loader_client
from loader_client import CatalogError, Clip, Frame, Image, Spec
from tests.faults.training import entry
from tests.support.machine import at_most
from tests.support.services import running_service, started_service
from tests.support.videos import Storage, make_videos, write_videos

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

KINDS = ("EIO", "ESTALE", "SHORT", "NONE", "STAT")


@pytest.fixture(scope="session")
def failing_reads(tmp_path_factory):
    """Return the library that makes reads of a process fail."""
    library = tmp_path_factory.mktemp("reads") / "failing_reads.so"
    source = Path(__file__).with_name("failing_reads.c")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-Wall", "-Werror", "-o", library, source, "-ldl"], check=True)
    return library


class Disk:
    """A disk that fails when it is told to: its failures are files that every process looks at.

    What lies on it fails by its name: ``EIO.h5`` in the way of `KINDS` that it is called after.
    """

    def __init__(self, library: Path, folder: Path) -> None:
        self.folder = folder / "disk"
        self._tallies = folder / "tallies"
        self._library = library
        self.folder.mkdir()
        self._tallies.mkdir()

    def environment(self, count: int) -> dict[str, str]:
        """Return the environment of processes whose reads of each file fail so often after `fail`."""
        for kind in KINDS:
            (self._tallies / kind).write_bytes(bytes(count))
        return {
            "LD_PRELOAD": str(self._library),
            "FAILING_FOLDER": str(self.folder),
            "FAILING_READS": str(count),
            "FAILING_TALLIES": str(self._tallies),
        }

    def fail(self) -> None:
        """Begin to fail."""
        for tally in self._tallies.iterdir():
            os.truncate(tally, 0)

    @property
    def failures(self) -> dict[str, int]:
        """How often it has failed, by kind."""
        return {tally.name: tally.stat().st_size for tally in self._tallies.iterdir() if tally.stat().st_size}


@pytest.fixture
def disk(failing_reads, tmp_path):
    return Disk(failing_reads, tmp_path)


def write_table(path: Path, **stored: object) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("features", data=np.random.default_rng(0).normal(size=(96, 500)), dtype="f4", **stored)


def write_jpegs(path: Path, **stored: object) -> None:
    write_videos(path, "padded", make_videos([12, 9, 15, 10]), storage=Storage(**stored))


_JPEGS = {"batch_size": 2, "clip": Clip(4), "image": Image(size=(32, 32))}
_ROWS = {"batch_size": 12, "clip": Frame()}
_WINDOWS = {"batch_size": 4, "clip": Clip(3, stride=2, sampling="every")}

SCENES = {
    "frames": (write_jpegs, {}, _JPEGS),
    "compressed frames": (write_jpegs, {"chunks": 2, "compression": "gzip"}, _JPEGS),
    "gathered rows": (write_table, {}, _ROWS),
    "compressed rows": (write_table, {"chunks": (8, 500), "compression": "gzip"}, _ROWS),
    "strided rows": (write_table, {}, _WINDOWS),
}


def train(endpoint, options):
    with loader_client.connect(endpoint) as connection:
        stream = connection.open(Spec(**options))
        return [entry(0, step, stream.fetch(0, step)) for step in range(stream.steps_per_epoch)]


@pytest.mark.parametrize("scene", SCENES)
def test_reads_that_fail_a_few_times_in_any_way_change_nothing(disk, scene):
    """Each file of the training fails in a way of its own."""
    write, stored, options = SCENES[scene]
    for kind in KINDS:
        write(disk.folder / f"{kind}.h5", **stored)
    with running_service(disk.folder / "*.h5") as service:
        expected = train(service.endpoint, options)
    with running_service(disk.folder / "*.h5", environment=disk.environment(5)) as service:
        disk.fail()
        assert train(service.endpoint, options) == expected
        assert disk.failures == dict.fromkeys(KINDS, 5)
        with loader_client.connect(service.endpoint) as connection:
            assert {each.name: each.count for each in connection.status().counters}["samples_bad"] == 0


# HDF5 takes a read of nothing for the end of the file: a bad chunk of compressed rows, which is a bad sample.
@pytest.mark.parametrize(
    ("scene", "kind"),
    [
        *itertools.product(["frames", "gathered rows"], ["EIO", "ESTALE", "NONE"]),
        *itertools.product(["compressed rows"], ["EIO", "ESTALE"]),
    ],
)
def test_reads_that_fail_for_good_are_named_within_the_time_of_a_task(disk, scene, kind):
    write, stored, options = SCENES[scene]
    path = disk.folder / f"{kind}.h5"
    write(path, **stored)
    timeout_s = round(at_most(4.0))
    with (
        running_service(path, environment=disk.environment(100_000), task_timeout=timeout_s) as service,
        loader_client.connect(service.endpoint) as connection,
    ):
        stream = connection.open(Spec(**options))
        (pid,) = [each.pid for each in connection.status().workers]
        disk.fail()
        began = time.monotonic()
        cause = rf"{kind} \([A-Z]" if kind != "NONE" else r"expected \d+ bytes at byte \d+, got 0"
        words = rf"frame \d+ of video '.*' in '{re.escape(str(path))}': {cause}.*tried \d+ times in \d"
        with pytest.raises(CatalogError, match=words):
            stream.fetch(0, 0)
        assert time.monotonic() - began < timeout_s
        assert [each.pid for each in connection.status().workers] == [pid]


@pytest.mark.parametrize("kind", ["EIO", "ESTALE", "SHORT", "STAT"])
def test_a_scan_is_begun_anew_when_the_disk_fails(tmp_path, disk, kind):
    for name in ("before", kind, "then"):
        write_jpegs(disk.folder / f"{name}.h5")
    environment = disk.environment(4)
    disk.fail()
    with running_service(disk.folder / "*.h5", environment=environment, cache_dir=tmp_path / "cache") as service:
        assert "3 files, 12 videos" in service.said
        assert disk.failures == {kind: 4}


def test_a_scan_on_a_disk_that_stays_broken_ends_with_its_error(tmp_path, disk):
    write_jpegs(disk.folder / "EIO.h5")
    environment = disk.environment(100_000)
    disk.fail()
    options = {"cache_dir": tmp_path / "cache", "scan_timeout": 4}
    with started_service(disk.folder / "EIO.h5", environment=environment, **options) as service:
        assert service.wait() == 1
        last = service.log.splitlines()[-1]
        assert re.search(r"EIO\.h5' cannot be read: EIO \(Input/output error\), tried \d+ times in \d", last)
