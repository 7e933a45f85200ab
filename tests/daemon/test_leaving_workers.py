"""A worker leaves when it is told to, whatever a user's code has started in it."""

from __future__ import annotations

import multiprocessing
import threading
from typing import Any

import numpy as np

from loader_client import connect
from tests.support.processes import children, is_alive
from tests.support.services import running_service
from tests.support.waiting import eventually


class Busy:
    """A source with a thread that never ends and a process that waits for work."""

    def __init__(self) -> None:
        threading.Thread(target=threading.Event().wait).start()
        self._pool = multiprocessing.get_context("spawn").Pool(1)

    def __len__(self) -> int:
        return 8

    def __getitem__(self, number: int) -> dict[str, Any]:
        return {"number": np.int64(self._pool.apply(abs, (-number,)))}


def test_a_worker_whose_source_has_a_thread_and_a_process_leaves_with_both():
    with running_service(source=f"{__name__}:Busy", workers=2) as service, connect(service.endpoint) as connection:
        assert sorted(int(n) for batch in connection.batches(2) for n in batch["number"]) == list(range(8))
        before = {worker: children(worker) for worker in service.worker_pids}
        connection.scale(1)
        eventually(lambda: len(service.worker_pids) == 1, "one worker leaves")
        (left,) = before.keys() - set(service.worker_pids)
        eventually(lambda: not any(map(is_alive, before[left])), "its processes leave too")
