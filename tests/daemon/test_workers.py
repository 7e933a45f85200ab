"""Worker processes as the loop deals with them."""

from __future__ import annotations

import select
from pathlib import Path

import zmq

from loader_service.daemon.pool import Pool
from loader_service.daemon.service_log import ServiceLog
from loader_service.daemon.sockets import Router
from loader_service.daemon.workers import Workers
from loader_service.protocol import messages as m
from loader_service.worker_options import WorkerOptions
from tests.support.waiting import eventually

OPTIONS = WorkerOptions(0, "ipc:///nowhere.sock", "0" * 16, "/nowhere/catalog")


def test_a_worker_that_is_heard_after_its_end_is_not_weighed(watched: select.epoll, tmp_path: Path) -> None:
    with zmq.Context() as context, Pool(watched, OPTIONS) as pool:
        socket: Router[m.FromWorker] = Router(context, f"ipc://{tmp_path}/workers.sock", m.FromWorker)
        with socket:
            workers = Workers(pool, socket, 0, ServiceLog(), runs_users_code=False)
            for worker in (1, 2):
                assert not workers.start(worker)
            ends: list[tuple[int, str]] = []
            workers.kill(1)
            eventually(
                lambda: ends.extend(workers.ended()) or any(worker == 1 for worker, _ in ends), "worker 1 is reaped"
            )
            workers.arrived(1, 0.0)
            assert list(workers.overweight(1.0)) == []
            assert 1 not in workers.seen()
