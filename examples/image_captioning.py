"""Looks up the image features of a million captions: 100,000 rows of 4096 floats, none of them twice on disk.

python examples/image_captioning.py                      # writes 1.6 GB to a temporary folder; --rows 10000 for less

An epoch is a shuffle of the captions. `index` says which image each one belongs to; the field `position` says which
caption a row of the batch is for, and the captions themselves stay in the trainer, where the graph gathers them.

On two busy cores it takes 34 s in all, and the 1.6 GB are in nobody's memory: the trainer grows by 14 MiB, index
included; the daemon has 26 MiB, each worker 18, and the slots that they share 128 MiB.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import h5py
import numpy as np
import tensorflow as tf

import loader_client

WORDS = 16


def write_features(path: Path, rows: int, width: int) -> None:
    """Write ``features[rows, width]`` float32, 4096 rows at a time."""
    random = np.random.default_rng(0)
    with h5py.File(path, "w") as file:
        features = file.create_dataset("features", (rows, width), "float32")
        for first in range(0, rows, 4096):
            size = min(4096, rows - first)
            features[first : first + size] = random.random((size, width), dtype=np.float32)


def memory_mib(pid: int) -> float:
    """Return the memory that belongs to one process alone: neither shared with others nor a file's."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    fields = {line.split(":")[0]: line.split()[1] for line in lines[1:]}
    return (int(fields["Private_Clean"]) + int(fields["Private_Dirty"])) / 1024


def main() -> None:
    """Go through some batches of captions; print rate and memory."""
    parser = argparse.ArgumentParser(description="image captioning by look-up")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--captions", type=int, default=1_000_000)
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=1000)
    asked = parser.parse_args()
    random = np.random.default_rng(1)
    image_of_caption = random.integers(0, asked.rows, asked.captions)
    captions = tf.constant(random.integers(0, 30_000, (asked.captions, WORDS), dtype=np.int32))

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "features.h5"
        write_features(path, asked.rows, asked.width)
        print(f"{path}: {path.stat().st_size / 2**20:,.0f} MiB, {asked.captions:,} captions of {asked.rows:,} images")
        with loader_client.connect(path, workers=2, service={"cache_dir": folder}) as connection:
            train(connection, image_of_caption, captions, asked.steps)


def train(connection: loader_client.Connection, image_of_caption: np.ndarray, captions: tf.Tensor, steps: int) -> None:
    """Read batches as a training would, and say what that takes."""
    before = memory_mib(os.getpid())
    images = loader_client.dataset(connection, batch_size=128, index=image_of_caption, fields=("features", "position"))
    pairs = images.map(lambda features, position: (features, tf.gather(captions, position)))
    print("an epoch has", len(pairs), "batches of", pairs.element_spec)

    begun, cpu = time.perf_counter(), time.process_time()
    for features, words in pairs.take(steps):
        del features, words  # here the training step would be
    wall, cpu = time.perf_counter() - begun, time.process_time() - cpu
    print(f"{steps / wall:,.0f} batches/s, {1000 * cpu / steps:.2f} ms of the trainer's CPU for each")
    print(f"memory of the trainer: {memory_mib(os.getpid()) - before:+,.0f} MiB since before the dataset was made")
    status = connection.status()
    print(f"memory of the daemon: {memory_mib(status.pid):,.0f} MiB")
    for worker in status.workers:
        print(f"memory of worker {worker.worker}: {memory_mib(worker.pid):,.0f} MiB")
    print(f"shared slots: {status.memory_bytes / 2**20:,.0f} MiB")


if __name__ == "__main__":
    main()
