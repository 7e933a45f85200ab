"""One worker of a `MultiWorkerMirroredStrategy`: each of them reads its own share of each epoch, and no more.

    TF_CONFIG='{"cluster": {"worker": ["host1:2222", "host2:2222"]}, "task": {"type": "worker", "index": 0}}' \\
        python examples/multi_worker.py 'data/*.h5'

Run it on each host with its own index. A pattern of files starts a service of this worker's own; workers on one host
can share one: give them its endpoint, ipc:///path.
"""

import argparse

import tensorflow as tf

import loader_client
from loader_client import Clip, Image


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("source", help="a pattern of HDF5 files, or ipc:///path of a running service")
    parser.add_argument("--batch-size", type=int, default=4, help="of all workers together")
    parser.add_argument("--epochs", type=int, default=1)
    args = parser.parse_args()
    strategy = tf.distribute.MultiWorkerMirroredStrategy()  # before the dataset: TensorFlow requires it
    workers = None if args.source.startswith("ipc://") else 1

    def share(context: tf.distribute.InputContext) -> tf.data.Dataset:
        return loader_client.dataset(
            args.source,
            workers=workers,
            batch_size=context.get_per_replica_batch_size(args.batch_size),
            clip=Clip(frames=2),
            image=Image(size=(16, 16)),
            fields=("index", "frames"),
            shard="auto",
        )

    with strategy.scope():
        weights = tf.Variable(tf.zeros([16 * 16 * 3]))

    @tf.function
    def step(frames: tf.Tensor) -> tf.Tensor:
        values = tf.reshape(tf.reduce_mean(tf.cast(frames, tf.float32) / 255, axis=1), [-1, 16 * 16 * 3])
        gradient = tf.distribute.get_replica_context().all_reduce(
            tf.distribute.ReduceOp.MEAN, tf.reduce_mean(values - weights, axis=0)
        )
        weights.assign_add(0.1 * gradient)
        return tf.reduce_sum(weights)

    data = strategy.distribute_datasets_from_function(share)
    for epoch in range(args.epochs):
        for index, frames in data:
            print("samples", epoch, *strategy.experimental_local_results(index)[0].numpy(), flush=True)
            total = strategy.run(step, args=(frames,))
        print("weights", f"{float(total):.6f}", flush=True)  # the same on all workers


if __name__ == "__main__":
    main()
