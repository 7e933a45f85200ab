"""Measures what one slow worker of four costs: it is stopped nine tenths of the time, so it takes ten times as long.

    python -m benchmarks.stragglers

The sides alternate within one run: all workers as they are, then one of them slowed. On two cores the other three have
enough to do with both cores, so what is lost is what waiting for the slow one costs.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import threading
import time

import loader_client
from benchmarks.data import BATCH_SIZE, CLIP_FRAMES, DEFAULT_DIRECTORY, FRAMES_PER_BATCH, prepare
from benchmarks.summary import RESULTS_DIRECTORY, write_summary
from loader_client import Clip
from loader_service.daemon.launcher import PrivateService

#: One round of running and standing still, in seconds, and the share of it that the slow worker runs.
_ROUND_S, _SHARE = 0.1, 0.1


class Brake(threading.Thread):
    """Makes a process ten times as slow, by stopping it most of the time."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._over = threading.Event()

    def run(self) -> None:
        """Stop and continue the process until told to let it go."""
        while not self._over.is_set():
            os.kill(self._pid, signal.SIGSTOP)
            self._over.wait(_ROUND_S * (1 - _SHARE))
            os.kill(self._pid, signal.SIGCONT)
            self._over.wait(_ROUND_S * _SHARE)

    def release(self) -> None:
        """Let the process run."""
        self._over.set()
        self.join()


def measure(endpoint: str, seconds: float) -> float:
    """Return frames/s of a stream, after a second of warm-up."""
    with loader_client.connect(endpoint) as connection:
        begun, count = 0.0, 0
        started = time.monotonic()
        for _ in connection.batches(BATCH_SIZE, clip=Clip(frames=CLIP_FRAMES), epochs=None, fields=("frames",)):
            now = time.monotonic()
            if not begun:
                begun = now if now - started > 1 else 0.0
                continue
            count += 1
            if now - begun > seconds:
                return count * FRAMES_PER_BATCH / (now - begun)
    raise RuntimeError("the stream ended")


def main() -> None:
    """Print both rates and their ratio: medians, smallest and largest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    options = parser.parse_args()
    data = prepare(DEFAULT_DIRECTORY)
    service = PrivateService([str(path) for path in data.videos], {"workers": "4"}, timeout_s=120)
    try:
        with loader_client.connect(service.endpoint) as connection:
            slow = connection.status().workers[0].pid
        rates: dict[str, list[float]] = {"as they are": [], "one of four slowed": []}
        for _ in range(options.rounds):
            rates["as they are"].append(measure(service.endpoint, options.seconds))
            brake = Brake(slow)
            brake.start()
            rates["one of four slowed"].append(measure(service.endpoint, options.seconds))
            brake.release()
    finally:
        service.stop()
    ratios = [slowed / plain for plain, slowed in zip(*rates.values(), strict=True)]
    for name, values in {**rates, "ratio": ratios}.items():
        print(f"{name:20s} median {statistics.median(values):9.2f}   {min(values):9.2f} to {max(values):9.2f}")
    write_summary(RESULTS_DIRECTORY / "stragglers.json", {**rates, "ratio": ratios})


if __name__ == "__main__":
    main()
