"""Two workers of a `MultiWorkerMirroredStrategy` get each row once, in two processes over the loopback."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any

import pytest

from tests.client.trainers import result_of, trainer
from tests.support.ports import free_ports
from tests.support.services import Service

pytestmark = pytest.mark.tensorflow

_WORKER = """
import json, os, sys

endpoint, config, mode, options = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
os.environ["TF_CONFIG"] = config
import tensorflow as tf
import loader_client

strategy = tf.distribute.MultiWorkerMirroredStrategy()
common = dict(clip=loader_client.Clip(frames=2), fields=("index",), drop_remainder=options.get("drop", True))

def make(context=None):
    if context is None:
        return loader_client.dataset(endpoint, batch_size=options["batch"], **common)
    size = context.get_per_replica_batch_size(options["batch"])
    return loader_client.dataset(endpoint, batch_size=size, shard="auto", **common)

class Model(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)

    def call(self, inputs):
        return self.dense(inputs)

    def train_step(self, index):
        tf.py_function(lambda values: seen[-1].append(values.numpy()[:, 0].astype(int).tolist()), [index], [])
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self(index) ** 2)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": tf.reshape(loss, [1])}  # Keras 3 reduces over an axis, which a number has not

class Epochs(tf.keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        seen.append([])

seen = []
if mode == "fit":
    with strategy.scope():
        model = Model()
        model.compile("sgd", jit_compile=False)
    rows = make().map(lambda index: tf.cast(index, tf.float32)[:, None])
    model.fit(rows, epochs=3, verbose=0, shuffle=False, callbacks=[Epochs()])
else:
    distributed = (
        strategy.experimental_distribute_dataset(make().map(lambda index: (index,)))
        if mode == "distribute" else strategy.distribute_datasets_from_function(make)
    )
    for _ in range(3):
        seen.append([])
        for (batch,) in distributed:
            seen[-1].append([int(each) for part in strategy.experimental_local_results(batch) for each in part])
print(json.dumps(seen), flush=True)
"""


def _epochs(service: Service, mode: str, **options: Any) -> list[Any]:
    """Return, by worker, the samples of each step of each epoch."""
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
    with ExitStack() as stack:
        workers = []
        for rank in range(2):
            config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": rank}}
            arguments = (service.endpoint, json.dumps(config), mode, json.dumps(options))
            workers.append(stack.enter_context(trainer(_WORKER, *arguments)))
        return [json.loads(result_of(worker)) for worker in workers]


@pytest.mark.parametrize("mode", ["distribute", "fit", pytest.param("function", marks=pytest.mark.soak)])
def test_each_row_comes_to_one_worker_once_an_epoch(service: Service, mode: str) -> None:
    both = _epochs(service, mode, batch=4)
    orders = set()
    for first, second in zip(*both, strict=True):
        assert [len(step) for step in first] == [len(step) for step in second] == [2, 2, 2]
        rows = [row for step in first + second for row in step]
        assert sorted(rows) == list(range(12))
        orders.add(tuple(rows))
    assert len(both[0]) == len(orders) == 3


@pytest.mark.soak
def test_a_shorter_last_batch_is_divided_too(service: Service) -> None:
    both = _epochs(service, "distribute", batch=5, drop=False)
    for first, second in zip(*both, strict=True):
        assert [len(step) for step in first] == [3, 3, 1]
        assert [len(step) for step in second] == [2, 2, 1]
        assert sorted(row for step in first + second for row in step) == list(range(12))
