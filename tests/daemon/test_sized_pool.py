"""A real service sizes itself under a real trainer, and the trainer gets the bytes that it would get anyway."""

from __future__ import annotations

import time

import numpy as np

import loader_client
from loader_client import Frame
from tests.support.machine import at_most
from tests.support.services import running_service

#: Each item takes 20 ms of sleep, so workers take no core: four items a step are 12 steps a second for each worker.
SLOW = "tests.daemon.own_sources:SlowItems"
BATCH = {"batch_size": 4, "clip": Frame(), "fields": ("index", "grid"), "seed": 3, "epochs": 100}

#: What the trainer does with a step, in seconds: it takes 25 a second.
STEP_S = 0.04

#: Until the service has more workers, on a machine with nothing else to do.
PATIENCE_S = 30.0


def test_a_trainer_that_waits_gets_workers_until_it_does_not_and_the_order_stays_the_same() -> None:
    with running_service(source=SLOW, source_arg="count=400", workers="1..4") as service:
        with loader_client.connect(service.endpoint) as connection:
            connection.scale((1, 4))
            connection.scale(1)
            connection.scale("1..4")
            got, deadline = [], time.monotonic() + at_most(PATIENCE_S)
            for batch in connection.batches(**BATCH):
                got.append(batch["index"].copy())
                time.sleep(STEP_S)
                if len(got) % 25 == 0 and connection.status().workers_wanted >= 2:
                    break
                assert time.monotonic() < deadline, connection.status()
            status = connection.status()
            assert status.workers_bounds == "1..4"
            assert "the trainer waits" in status.workers_why
            connection.scale(2)
            alone = [batch["index"].copy() for batch, _ in zip(connection.batches(**BATCH), got, strict=False)]
        assert "workers: the trainer waits" in service.log
    assert np.array_equal(np.stack(got), np.stack(alone)), "the order depends on the number of workers"
