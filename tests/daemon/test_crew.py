"""What is said to workers, and by which of them: one that has ended is no one to talk to."""

from __future__ import annotations

import zmq

from loader_service.config import ServiceConfig
from loader_service.daemon.crew import Crew
from loader_service.daemon.journal import Journal
from loader_service.daemon.pool import Pool
from loader_service.daemon.sockets import Router
from loader_service.protocol import messages as m
from tests.support.waiting import eventually

ARGUMENTS = ("--address=ipc:///nowhere.sock", f"--instance={'0' * 16}", "--catalog=/nowhere/catalog")


def test_a_worker_that_is_heard_after_its_end_is_given_nothing_to_do(watched, tmp_path):
    with zmq.Context() as context, Pool(watched, ARGUMENTS) as pool:
        socket: Router[m.FromWorker] = Router(context, f"ipc://{tmp_path}/workers.sock", m.FromWorker)
        with socket:
            crew = Crew(pool, socket, ServiceConfig(("a.h5",)), Journal())
            for worker in (1, 2):
                assert crew.start(worker) is None
            assert crew.arrived(2)
            ends = []
            pool.kill(1)
            eventually(
                lambda: ends.extend(crew.ended()) or any(worker == 1 for worker, _ in ends), "worker 1 is reaped"
            )
            assert not crew.arrived(1)
            assert 1 not in crew.staying
