"""loader-service's own sides: through tf.data, through NumPy, and with tiny batches. Knows no peer."""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import loader_client
from benchmarks.data import BATCH_SIZE, CLIP_FRAMES, Data
from loader_client import Clip, Image

WORKERS = 2
CLIP = Clip(frames=CLIP_FRAMES, sampling="random")
FIELDS = ("frames", "label")

#: How long a service may take to be ready or to end before a measurement is given up, in seconds.
_PATIENCE_S = 60.0


def through_tf_data(data: Data) -> Iterator[Any]:
    """Return an endless iterator of batches, as a trainer has it: a private service that `dataset` starts."""
    return iter(dataset(data).repeat())


def dataset(data: Data) -> Any:
    """Return the `tf.data.Dataset` of the measurements, one epoch long."""
    return loader_client.dataset(
        data.videos,
        batch_size=BATCH_SIZE,
        clip=CLIP,
        image=Image(),
        fields=FIELDS,
        workers=WORKERS,
        service={"cache_dir": str(data.directory / "cache")},
        shuffle=True,
        seed=0,
    )


def through_numpy(data: Data) -> Iterator[Any]:
    """Yield batches without end to a client that has no TensorFlow."""
    with running(data.videos, data.directory / "cache") as service:
        yield from numpy_batches(service.endpoint)


def numpy_batches(endpoint: str) -> Iterator[Any]:
    """Yield (frames, label) of a running service without end."""
    with loader_client.connect(endpoint) as connection:
        for batch in connection.batches(BATCH_SIZE, clip=CLIP, image=Image(), epochs=None, fields=FIELDS):
            yield batch["frames"], batch["label"]


def tiny_through_tf_data(data: Data) -> Iterator[Any]:
    """Return an endless iterator of batches of one frame of 8 x 8 pixels: all that they cost is the fixed cost."""
    batches = loader_client.dataset(
        data.tiny,
        batch_size=1,
        clip=Clip(frames=1, sampling="every"),
        image=Image(),
        fields=FIELDS,
        workers=WORKERS,
        service={"cache_dir": str(data.directory / "cache")},
    )
    return iter(batches.repeat())


@dataclass(frozen=True)
class Service:
    """A service that runs in a process of its own, as `loader-service start` starts it.

    Attributes
    ----------
    endpoint
        Where it listens.
    pid
        The daemon's process.
    start_s
        Seconds from the command to its `ready:` line.
    """

    endpoint: str
    pid: int
    start_s: float


@contextlib.contextmanager
def running(
    files: list[str], cache: Path, *flags: str, environment: Mapping[str, str] | None = None
) -> Iterator[Service]:
    """Run a service with an index cache of its own, further flags and variables, and end it.

    Raises
    ------
    RuntimeError
        When it ended before it was ready.
    """
    with tempfile.TemporaryDirectory(prefix="loader-bench-") as directory:
        endpoint = f"ipc://{directory}/{secrets.token_hex(4)}.sock"
        command = [sys.executable, "-m", "loader_service", "start", f"--endpoint={endpoint}"]
        command += [f"--workers={WORKERS}", f"--cache-dir={cache}", *flags, "--", *files]
        began = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})}
        )
        try:
            _await_ready(process)
            yield Service(endpoint, process.pid, time.perf_counter() - began)
        finally:
            _end(process)


def _await_ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    lines = list(itertools.takewhile(lambda line: not line.startswith("ready: "), process.stdout))
    if process.poll() is not None:
        raise RuntimeError(f"the service ended with code {process.returncode} before it was ready, saying {lines!r}")


def _end(process: subprocess.Popen[str]) -> None:
    """End the service as a user does, and the hard way when that does not help."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGTERM)
    try:
        process.communicate(timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
