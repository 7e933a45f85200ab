"""Trainers that write down what they see, and the stream that all of them read; knows nothing of faults."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import loader_client
from loader_client import Clip, Image, Patience, Spec

EPOCHS = 3

#: Each step is about 2.2 MB, more than one task holds, and the prefetch is short: faults hit a training at work.
STREAM: dict[str, Any] = {
    "batch_size": 24,
    "clip": Clip(frames=16, sampling="every", hop=4),
    "image": Image(size=(40, 48), crop="random", flip=True),
    "drop_remainder": False,
    "prefetch": 2,
}


@dataclass(frozen=True)
class Entry:
    """One step, as the trainer saw it."""

    epoch: int
    step: int
    samples: tuple[int, ...]
    crcs: tuple[tuple[str, int], ...]  # of each field, by name


Log = list[Entry]
Train = Callable[..., Iterator[Entry]]


def entry(epoch: int, step: int, batch: Mapping[str, Any]) -> Entry:
    """Return the log's line about a batch of NumPy arrays."""
    crcs = tuple((name, _crc(batch[name])) for name in sorted(batch))
    return Entry(epoch, step, tuple(np.asarray(batch["index"]).tolist()), crcs)


def train_numpy(endpoint: str, *, patience: Patience | None = None, start: int = 0, **options: Any) -> Iterator[Entry]:
    """Train without TensorFlow, from a step counted through all epochs: yield each step as it comes."""
    with loader_client.connect(endpoint, patience=patience, timeout_s=30) as connection:
        stream = connection.open(Spec(**{**STREAM, **options}))
        for position in range(start, EPOCHS * stream.steps_per_epoch):
            epoch, step = divmod(position, stream.steps_per_epoch)
            yield entry(epoch, step, stream.fetch(epoch, step))


def train_tf_data(endpoint: str, *, patience: Patience | None = None, **options: Any) -> Iterator[Entry]:
    """Train with `tf.data`: yield each step as it comes."""
    dataset = loader_client.dataset(endpoint, patience=patience, **{**STREAM, **options})
    for epoch in range(EPOCHS):
        for step, batch in enumerate(dataset):
            yield entry(epoch, step, {name: tensor.numpy() for name, tensor in batch.items()})
            del batch


def disturb(steps: Iterator[Entry], faults: Mapping[int, Callable[[], object]]) -> Log:
    """Return the log of a training, with `faults[n]` called after its n-th step."""
    log = []
    for number, line in enumerate(steps):
        log.append(line)
        if number in faults:
            faults[number]()
    return log


def _crc(array: Any) -> int:
    values = np.asarray(array)
    # TensorFlow's strings are Python objects in NumPy; ours are bytes of fixed width.
    data = b"\0".join(values.tolist()) if values.dtype.kind in "OS" else np.ascontiguousarray(values).tobytes()
    return zlib.crc32(data)
