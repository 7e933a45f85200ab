"""Measures what decoding less saves: windows and resized crops against full decodes and TensorFlow's own, alternating.

    python -m benchmarks.windows

Two parts. Windows in one process: what a worker does for a frame, against a full decode of the same JPEGs, in turns.
Then resized crops of 480 x 640 to 224 x 224 through tf.data with two workers, against two loops of full decodes at
once, and against `tf.io.decode_and_crop_jpeg` over TFRecord; each side in a process of its own, in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import simplejpeg

from benchmarks.data import DEFAULT_DIRECTORY
from benchmarks.window_sides import SIDES, encoded, prepare
from loader_service.plan.image_draws import ImageDraws
from loader_service.plan.randomness import Purpose, draws
from loader_service.protocol.spec import Image
from loader_service.worker.image import ImageWriter
from loader_service.worker.turbo_library import decoder_text

_ROOT = Path(__file__).parent.parent
_ENVIRONMENT = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
_PATIENCE_S = 180.0

#: Ratios of sides, and what they must reach.
_BARS = (
    ("resized crops ÷ two full decode loops", "service", ("full-pair",), None),
    ("… with strict=False", "service-lenient", ("full-pair",), 1.4),
    ("resized crops ÷ decode_and_crop_jpeg", "service", ("tensorflow", "tensorflow-bytes"), None),
    ("… with strict=False", "service-lenient", ("tensorflow", "tensorflow-bytes"), 1.8),
)

#: Windows of frames, in pixels: side of the window, and height and width of the frame.
_WINDOWS = ((112, 256, 342), (224, 256, 342), (224, 480, 640), (512, 1080, 1920))


def _measured(side: str, seconds: float, folder: Path) -> tuple[float, float]:
    """Return pictures a second, and CPU microseconds of one."""
    command = [sys.executable, "-m", "benchmarks.window_sides", side, "--seconds", str(seconds), "--data", str(folder)]
    done = subprocess.run(
        command,
        cwd=_ROOT,
        env={**os.environ, **_ENVIRONMENT},
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"measuring {side} failed with code {done.returncode}:\n{done.stderr}")
    per_s, cpu_us = json.loads(done.stdout.splitlines()[-1])
    return per_s, cpu_us


def measure_sides(rounds: int, seconds: float, directory: Path) -> None:
    """Print the ratios of all sides, each from one round, over all rounds."""
    folder = prepare(directory)
    names = [*(name for name in SIDES if name != "full"), "full-pair"]
    results: list[dict[str, tuple[float, float]]] = []
    for number in range(rounds):
        order = names if number % 2 == 0 else names[::-1]
        results.append({name: _measured(name, seconds, folder) for name in order})
    for name in names:
        per_s, cpu_us = (statistics.median(each[name][figure] for each in results) for figure in (0, 1))
        print(f"{name:>18}: {per_s:8.0f} pictures/s, {cpu_us:6.0f} µs of CPU each")
    for title, side, peers, bar in _BARS:
        _print_ratios(title, [each[side][0] / max(each[peer][0] for peer in peers) for each in results], bar)
        _print_ratios("    by CPU time", [min(each[peer][1] for peer in peers) / each[side][1] for each in results])


def _print_ratios(title: str, ratios: Sequence[float], bar: float | None = None) -> None:
    middle = statistics.median(ratios)
    held = "" if bar is None else f"; bar {bar}: {'holds' if middle >= bar else 'does not hold'}"
    print(f"{title}: {middle:.2f} ({min(ratios):.2f} to {max(ratios):.2f}){held}", flush=True)


def _timed(work: Callable[[bytes, ImageDraws], None], jpegs: Sequence[bytes], drawn: Sequence[ImageDraws]) -> float:
    begun = time.process_time()
    for jpeg, each in zip(jpegs, drawn, strict=True):
        work(jpeg, each)
    return time.process_time() - begun


def measure_window(side: int, height: int, width: int, crop: Literal["random", "resized"], rounds: int) -> None:
    """Print how many times as fast as a full decode a worker makes windows of a frame."""
    count = max(8, 60_000_000 // (height * width * 8))
    jpegs = encoded(count, height, width)
    words = draws(0, 0, np.arange(3 * count), Purpose.CROP_TOP).tolist()
    drawn = [ImageDraws((top, left), box=box) for top, left, box in zip(*[iter(words)] * 3, strict=True)]
    whole, out = np.empty((height, width, 3), np.uint8), np.empty((side, side, 3), np.uint8)
    strict, lenient = (
        ImageWriter(Image(size=side if crop == "resized" else (side, side), crop=crop, strict=each), out.shape)
        for each in (True, False)
    )

    def full(jpeg: bytes, _: ImageDraws) -> None:
        simplejpeg.decode_jpeg(jpeg, "RGB", fastdct=True, fastupsample=True, buffer=whole)

    works = (full, lambda jpeg, each: strict.write(jpeg, out, each), lambda jpeg, each: lenient.write(jpeg, out, each))
    times = [[_timed(work, jpegs, drawn) for work in works] for _ in range(rounds)]
    full_us = statistics.median(each[0] for each in times) / count * 1e6
    title = f"{side}² {crop} of {height} x {width} (full decode {full_us:.0f} µs)"
    _print_ratios(title, [each[0] / each[1] for each in times])
    _print_ratios("… with strict=False", [each[0] / each[2] for each in times])


def main() -> None:
    """Measure all, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--data", type=Path, default=DEFAULT_DIRECTORY, metavar="DIR")
    parser.add_argument("--only", choices=["service", "windows"], help="one of the two parts")
    given = parser.parse_args()
    print(f"JPEGs: {decoder_text()}")
    if given.only != "service":
        for side, height, width in _WINDOWS:
            measure_window(side, height, width, "random", given.rounds)
        measure_window(224, 480, 640, "resized", given.rounds)
    if given.only != "windows":
        measure_sides(given.rounds, given.seconds, given.data.resolve())


if __name__ == "__main__":
    main()
