"""Measures what TensorFlow itself takes for a `py_function` that does nothing, at a training's pace: the floor of ours.

    python -m benchmarks.floor

The function sleeps for as long as a batch takes to decode and returns two small arrays. What the process uses beside
that is TensorFlow's: the iterator, the function's graph, the executor's threads.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from typing import Any

import numpy as np


def cpu_ms_a_call(pace_s: float, calls: int) -> float:
    """Return the process's CPU for each call, in milliseconds."""
    import tensorflow as tf  # noqa: PLC0415 - after its log level is set

    pixels, label = np.zeros((1, 1, 8, 8, 3), np.uint8), np.zeros(1, np.int64)

    def sleep(_: Any) -> list[Any]:
        time.sleep(pace_s)
        return [pixels, label]

    options = tf.data.Options()
    options.autotune.enabled = False
    dataset = tf.data.Dataset.range(2**40).map(lambda step: tf.py_function(sleep, [step], [tf.uint8, tf.int64]))
    iterator = iter(dataset.with_options(options))
    for _ in range(20):
        next(iterator)
    begun = time.process_time()
    for _ in range(calls):
        next(iterator)
    return (time.process_time() - begun) / calls * 1e3


def main() -> None:
    """Print the median, the least and the most of several rounds, at the pace of large, looked-up and tiny batches."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    for pace_s, calls in ((0.035, 80), (0.002, 1000), (0.0, 4000)):
        costs = [cpu_ms_a_call(pace_s, calls) for _ in range(rounds)]
        print(
            f"one call every {pace_s * 1e3:.0f} ms: {statistics.median(costs):.2f} ms of CPU a call "
            f"({min(costs):.2f} to {max(costs):.2f})"
        )


if __name__ == "__main__":
    main()
