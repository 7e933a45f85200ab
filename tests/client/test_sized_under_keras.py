"""A pool sizes itself under a real Keras model: up while `fit` waits, in a private service, and down in a daemon.

An item of the source is sleep, and so is nearly all of a training step: which of them is slower does not depend on what
else a machine does. That a worker which only takes the trainer's core goes has no such test: it needs a machine whose
cores nobody else uses, so the simulated hosts of `tests/core/test_worker_controller.py` show it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import loader_client
from loader_client import Connection, Frame
from tests.support.machine import at_most
from tests.support.services import running_service

pytestmark = pytest.mark.tensorflow

#: Each item takes 20 ms of sleep: a worker makes a batch in 0.32 s.
SOURCE = "tests.daemon.own_sources:SlowItems"
BATCH: dict[str, Any] = {"batch_size": 16, "clip": Frame(), "fields": ("grid",)}

#: Until the number is another one, on a machine with nothing else to do; fewer take 30 s of calm, for each half.
UP_S, DOWN_S = 40.0, 150.0


def training(tf: Any, connection: Connection, step_s: float, is_over: Callable[[float], bool]) -> None:
    """Let Keras fit a model until that is over, which is asked after each step with the time at which it ended."""

    class Steps(tf.keras.callbacks.Callback):  # type: ignore[misc] # TensorFlow has no types
        """Notes the steps, each of which takes so long at the least."""

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            time.sleep(step_s)
            self.model.stop_training = self.model.stop_training or is_over(time.monotonic())

    data = loader_client.dataset(connection, **BATCH).map(lambda grid: (grid, tf.reduce_sum(grid, axis=(1, 2))))
    model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(data, epochs=10_000, verbose=0, callbacks=[Steps()], shuffle=False)


def test_a_private_service_gets_workers_while_fit_waits_and_steps_come_faster(tf: Any) -> None:
    numbers: list[int] = []
    ended: list[float] = []

    def steps_come_faster() -> bool:
        alone = [after - before for before, after, number in zip(ended, ended[1:], numbers, strict=False) if number < 2]
        return sorted(alone)[len(alone) // 2] > 1.6 * (ended[-1] - ended[-7]) / 6

    with loader_client.connect([], workers="1..3", service={"source": SOURCE, "source_arg": "count=64"}) as connection:
        connection.scale(1)
        connection.scale("1..3")
        deadline = time.monotonic() + at_most(UP_S)

        def has_more(now: float) -> bool:
            ended.append(now)
            status = connection.status()
            numbers.append(sum(each.state == "working" for each in status.workers))
            return (numbers[-8:] == [3] * 8 and steps_come_faster()) or now > deadline

        training(tf, connection, 0.001, has_more)
        status = connection.status()
    assert numbers[0] == 1
    assert numbers[-1] == status.workers_wanted == 3, status
    assert "the trainer waits" in status.workers_why
    assert steps_come_faster(), "three workers, and hardly more steps"


@pytest.mark.soak
def test_a_daemon_does_with_one_worker_when_the_model_is_what_is_waited_for(tf: Any) -> None:
    with (
        running_service(source=SOURCE, source_arg="count=64", workers="auto") as service,
        loader_client.connect(service.endpoint) as connection,
    ):
        first = connection.status().workers_wanted
        deadline = time.monotonic() + at_most(DOWN_S)
        wanted = [first]

        def has_fewer(now: float) -> bool:
            wanted.append(connection.status().workers_wanted)
            return wanted[-1] == 1 or now > deadline

        training(tf, connection, 1.0, has_fewer)
        status, log = connection.status(), service.log
    assert wanted[-1] == 1, status
    assert first == 1 or "→ 1 worker: the trainer waits 0% of its time" in log
    assert wanted == sorted(wanted, reverse=True), "and it went back and forth"
