"""Workers that grow too large are replaced, but not again and again for what their work takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from loader_client import connect
from loader_service.daemon.workers import Verdict, Weights
from tests.support.services import running_service
from tests.support.waiting import eventually

#: What the source below loads, more than a worker may have there, in bytes.
_LOADED_BYTES = 96 * 2**20


def test_a_worker_is_replaced_once_when_it_has_grown_above_its_limit():
    weights = Weights(100)
    weights.begins(1, now=0.0)
    assert weights.judge(1, 100, now=500.0) is None
    line = "worker 1 has 101 bytes of its own, more than --worker-memory=100; replacing it"
    assert weights.judge(1, 101, now=501.0) == Verdict(line, is_replaced=True)
    assert weights.judge(1, 200, now=502.0) is None


def test_what_a_worker_has_at_its_start_does_not_count():
    weights = Weights(100)
    weights.begins(1, now=0.0, bytes_at_start=1000)
    assert weights.judge(1, 1100, now=1.0) is None
    verdict = weights.judge(1, 1101, now=2.0)
    assert verdict is not None
    assert verdict.is_replaced


def test_a_slow_leak_is_a_reason_to_replace_every_worker():
    weights = Weights(100)
    for worker in range(1, 6):
        weights.begins(worker, now=100.0 * worker)
        verdict = weights.judge(worker, 150, now=100.0 * worker + 60.0)
        assert verdict is not None
        assert verdict.is_replaced
        weights.ends(worker)


def test_a_worker_that_is_as_heavy_at_once_as_the_one_before_it_stays_and_may_have_twice_as_much():
    weights = Weights(100)
    weights.begins(1, now=0.0)
    weights.judge(1, 150, now=1.0)
    weights.begins(2, now=2.0)
    verdict = weights.judge(2, 160, now=3.0)
    assert verdict is not None
    assert not verdict.is_replaced
    assert verdict.line.endswith("workers are now replaced above 320 bytes: raise --worker-memory")
    assert weights.judge(2, 320, now=500.0) is None
    verdict = weights.judge(2, 321, now=500.0)
    assert verdict is not None
    assert verdict.is_replaced


class Lazy:
    """A source that loads its data with its first item."""

    def __init__(self) -> None:
        self._data: np.ndarray[Any, Any] | None = None

    def __len__(self) -> int:
        return 64

    def __getitem__(self, number: int) -> dict[str, Any]:
        if self._data is None:
            self._data = np.ones(_LOADED_BYTES, np.uint8)
        return {"x": self._data[number : number + 4], "number": np.int64(number)}


def test_a_source_that_loads_its_data_late_has_one_worker_replaced_and_no_more():
    with (
        running_service(source=f"{__name__}:Lazy", worker_memory="64M") as service,
        connect(service.endpoint) as connection,
    ):

        def replaced() -> int:
            for _ in connection.batches(8):
                pass
            return next(each.count for each in connection.status().counters if each.name == "workers_recycled")

        eventually(lambda: replaced() == 1, "the first worker is replaced")
        eventually(lambda: replaced() and "raise --worker-memory" in service.log, "the limit is raised")
        eventually(lambda: len(service.worker_pids) == 1, "the first worker has ended")
        workers = service.worker_pids
        for _ in range(20):
            assert replaced() == 1
        assert service.worker_pids == workers
