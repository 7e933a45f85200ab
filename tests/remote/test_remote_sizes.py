"""A real service finds how many remote workers its trainer needs, and the order does not depend on that."""

from __future__ import annotations

import time
from pathlib import Path

import loader_client
from loader_client import Clip
from tests.remote.scene import remote_service, remote_workers, steps
from tests.support.machine import at_most
from tests.support.services import running_service

#: One frame a step, so that a window of evidence is a few seconds.
STEP = {"batch_size": 1, "clip": Clip(1)}

#: Each frame takes a tenth of a second of sleep, so workers need no core, and one alone keeps no trainer busy.
SLOW = {"LOADER_SERVICE_FAILPOINTS": "worker.frame_written=delay"}

#: Until the service has a remote worker, on a machine with nothing else to do.
PATIENCE_S = 40.0


def test_remote_workers_come_while_the_trainer_waits_and_the_order_stays_the_same(small_videos: Path) -> None:
    files = small_videos / "*.h5"
    with remote_service(files, remote=0, ray_workers="0..2", environment=SLOW) as (service, connection):
        assert (connection.status().remote_wanted, connection.status().remote_bounds) == (0, "0..2")
        got, deadline = [], time.monotonic() + at_most(PATIENCE_S)
        for step in steps(connection, epochs=1000, **STEP):
            got.append(step)
            if len(got) % 5 == 0 and remote_workers(connection):
                break
            assert time.monotonic() < deadline, connection.status()
        status = connection.status()
        assert status.remote_wanted >= 1
        assert "the trainer waits" in status.workers_why
        assert "0 → 1 remote worker: the trainer waits" in service.log
    with running_service(files, workers=1) as plain, loader_client.connect(plain.endpoint) as connection:
        alone = [step for step, _ in zip(steps(connection, epochs=1000, **STEP), got, strict=False)]
    assert got == alone, "the order depends on the number of workers"
