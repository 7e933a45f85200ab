"""A disk whose reads take long gives the same bytes, and hardly holds a training up."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

import loader_client
from loader_client import Clip, Frame, Image, Spec
from tests.faults.training import entry
from tests.support.machine import at_most
from tests.support.services import running_service
from tests.support.videos import make_videos, write_videos

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

_LATENCY_MS = 50


@pytest.fixture(scope="module")
def slow_reads(tmp_path_factory):
    """Return the library that makes reads of a process slow."""
    library = tmp_path_factory.mktemp("reads") / "slow_reads.so"
    source = Path(__file__).parent.parent / "support" / "slow_reads.c"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-Wall", "-Werror", "-o", library, source, "-ldl"], check=True)
    return library


def take_all(endpoint, options):
    with loader_client.connect(endpoint) as connection:
        stream = connection.open(Spec(**options))
        began = time.monotonic()
        taken = [entry(0, step, stream.fetch(0, step)) for step in range(stream.steps_per_epoch)]
        return taken, time.monotonic() - began


def write_table(path):
    with h5py.File(path, "w") as file:
        file["features"] = np.random.default_rng(0).normal(size=(400, 500)).astype("f4")


def write_jpegs(path):
    write_videos(path, "vlen", make_videos([20] * 20))


JPEGS = {"image": Image(size=(32, 32))}


@pytest.mark.parametrize(
    ("write", "streams"),
    [
        (
            write_jpegs,
            [
                ({"batch_size": 4, "clip": Clip(8, stride=2), **JPEGS}, 20 * 8),
                ({"batch_size": 8, "clip": Frame(), **JPEGS}, 400),
            ],
        ),
        (write_table, [({"batch_size": 8, "clip": Frame()}, 400)]),
    ],
    ids=["clips and frames", "rows"],
)
def test_slow_reads_give_the_same_bytes_many_at_a_time(tmp_path, slow_reads, write, streams):
    write(tmp_path / "a.h5")
    common = {"workers": 2, "cache_dir": tmp_path / "cache"}
    with running_service(tmp_path / "a.h5", **common) as service:
        undisturbed = [take_all(service.endpoint, options)[0] for options, _ in streams]
    environment = {"LD_PRELOAD": str(slow_reads), "SLOW_PATH": "a.h5", "SLOW_READ_MS": str(_LATENCY_MS)}
    for (options, reads), expected in zip(streams, undisturbed, strict=True):
        # A service that has found its disk slow would begin the next stream better than one that comes new.
        with running_service(tmp_path / "a.h5", environment=environment, **common) as service:
            taken, seconds = take_all(service.endpoint, options)
        assert taken == expected
        # With two workers, one read after the other takes this long.
        assert seconds < at_most(reads * _LATENCY_MS / 1000 / 2)
