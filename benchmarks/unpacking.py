"""Measures `unpack` against bare loops on all cores, and reading TFRecord against TensorFlow; sides take turns.

The bare loops are what one would write by hand: h5py, and `open`, `tf.io.TFRecordWriter` or PyAV, in as many processes
as there are cores; their start and their imports do not count, while `unpack` is measured with those of its workers.
`python -m benchmarks.unpacking` prints a table; with `--results DIR` it also writes `unpacking.json` there.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import h5py
import numpy as np
import simplejpeg

from benchmarks.data import DEFAULT_DIRECTORY, prepare
from loader_service.catalog.scan.catalog_scan import scan
from loader_service.formats.range_file import DiskFile
from loader_service.formats.tfrecord import RecordWriter, locate_records, read_records
from loader_service.scan_options import ScanOptions
from loader_service.unpack.unpack_options import UnpackOptions
from loader_service.unpack.unpacking import Unpacking
from loader_service.worker_limits import workers_for_all_cores

#: Files of the data set that each target is measured with: enough for some seconds.
_FILES = {"tfrecord": 8, "folders": 4, "mp4": 1}
_FPS, _QUALITY = 25, 18
_SMALL_BYTES, _SMALL_COUNT = 200, 500_000
_PATIENCE_S = 600.0

#: Our side, the other, and what the first is to be of the second.
PAIRS = (
    ("tfrecord-read", "tensorflow-read", 1.0),
    ("tfrecord-read-small", "tensorflow-read-small", 1.0),
    ("tfrecord-find-small", "tensorflow-read-small", 1.0),
    ("tfrecord", "tfrecord-bare", 0.85),
    ("folders", "folders-bare", 0.8),
    ("mp4", "mp4-bare", 0.85),
)


def _read_here(path: Path) -> int:
    return sum(1 for _ in read_records(path))


def _find_here(path: Path) -> int:
    """Find where all records lie, as `pack` does before its processes read them."""
    with DiskFile(path) as file:
        return sum(1 for _ in locate_records(file))


def _read_tensorflow(path: Path) -> int:
    import tensorflow as tf  # noqa: PLC0415 - only here

    # In batches: else iterating over it would be what is measured.
    return sum(1 for _ in tf.data.TFRecordDataset(str(path)).batch(256))


_READERS = {"tfrecord-read": _read_here, "tfrecord-find": _find_here, "tensorflow-read": _read_tensorflow}


def _unpack(files: list[str], place: Path, target: str) -> float:
    catalog = scan(files, ScanOptions(), cache_dir=Path(files[0]).parent / "cache")
    options = UnpackOptions(output=str(place), to=target, fps=_FPS if target == "mp4" else 0.0)  # type: ignore[arg-type]
    unpacking = Unpacking(catalog, options, workers_for_all_cores())
    began = time.perf_counter()
    unpacking.run(lambda *_: None)
    return time.perf_counter() - began


def _bare(files: list[str], place: Path, target: str) -> float:
    """Return how long as many processes as there are cores take, from when all are ready."""
    place.mkdir()
    count = workers_for_all_cores()
    shares = [[(file, number, count) for file in files] for number in range(count)]
    context = multiprocessing.get_context("spawn")
    ready, go = context.Barrier(count + 1), context.Event()
    processes = [context.Process(target=_bare_worker, args=(share, place, target, ready, go)) for share in shares]
    for process in processes:
        process.start()
    ready.wait(_PATIENCE_S)
    began = time.perf_counter()
    go.set()
    for process in processes:
        process.join(_PATIENCE_S)
    if any(process.exitcode for process in processes):
        raise SystemExit("a bare loop failed")
    return time.perf_counter() - began


def _bare_worker(share: list[tuple[str, int, int]], place: Path, target: str, ready: Any, go: Any) -> None:
    write = {"tfrecord": _bare_tfrecord, "folders": _bare_folders, "mp4": _bare_mp4}[target](place)
    ready.wait(_PATIENCE_S)
    go.wait(_PATIENCE_S)
    for file, number, count in share:
        for place_in_file, (name, frames) in enumerate(_videos(file)):
            if place_in_file % count == number:
                write(f"{Path(file).stem}-{name.replace('/', '-')}", frames)
    write("", None)


def _videos(path: str) -> Iterator[tuple[str, h5py.Dataset]]:
    found: list[tuple[str, h5py.Dataset]] = []

    def look(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.dtype.kind == "O" and item.ndim == 1:
            found.append((name, item))

    with h5py.File(path) as file:
        file.visititems(look)
        yield from found


_Write = Callable[[str, Any], None]


def _bare_tfrecord(place: Path) -> _Write:
    import tensorflow as tf  # noqa: PLC0415 - only here

    writer = tf.io.TFRecordWriter(str(place / f"{os.getpid()}.tfrecord"))

    def write(name: str, frames: Any) -> None:
        if frames is None:
            writer.close()
            return
        jpegs = [frame.tobytes() for frame in frames[()]]
        feature = {
            "frames": tf.train.Feature(bytes_list=tf.train.BytesList(value=jpegs)),
            "name": tf.train.Feature(bytes_list=tf.train.BytesList(value=[name.encode()])),
        }
        writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())

    return write


def _bare_folders(place: Path) -> _Write:
    def write(name: str, frames: Any) -> None:
        if frames is None:
            return
        (place / name).mkdir()
        for number, frame in enumerate(frames[()]):
            (place / name / f"{number:06}.jpg").write_bytes(frame.tobytes())

    return write


def _bare_mp4(place: Path) -> _Write:
    import av  # noqa: PLC0415 - only here

    def write(name: str, frames: Any) -> None:
        if frames is None:
            return
        with av.open(str(place / f"{name}.mp4"), "w") as container:
            options = {"crf": str(_QUALITY), "preset": "fast"}
            stream = container.add_stream("libx264", rate=Fraction(_FPS), options=options)
            stream.codec_context.thread_count = 1
            for frame in frames[()]:
                pixels = simplejpeg.decode_jpeg(frame.tobytes())
                if not stream.codec_context.is_open:
                    stream.height, stream.width = pixels.shape[:2]
                    stream.pix_fmt = "yuv420p"
                container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
            container.mux(stream.encode())

    return write


def _measure(side: str, data: Path) -> dict[str, float]:
    """Return the MB/s of one side: of the file that is read, or of the frames that are written."""
    read = _READERS.get(side.removesuffix("-small"))
    if read is not None:
        path = data / ("unpacking-small.tfrecord" if "small" in side else "unpacking.tfrecord")
        read(path)  # the first time it is loaded, and its threads begin
        began, cpu_s = time.perf_counter(), time.process_time()
        read(path)
        seconds, cpu_s = time.perf_counter() - began, time.process_time() - cpu_s
        size_mb = path.stat().st_size / 1e6
        return {"MB/s": size_mb / seconds, "MB/CPU s": size_mb / cpu_s}
    target = side.removesuffix("-bare")
    files = sorted(map(str, data.glob("videos-*.h5")))[: _FILES[target]]
    place = Path(tempfile.mkdtemp(prefix="unpacking-", dir=data))
    try:
        seconds = (_bare if side.endswith("-bare") else _unpack)(files, place / "out", target)
    finally:
        shutil.rmtree(place)
    return {"MB/s": sum(os.path.getsize(file) for file in files) / 1e6 / seconds}


def _prepare(data: Path) -> None:
    """Write the TFRecord files that are read: frames of the data set, and small records."""
    prepare(data)
    frames, small = data / "unpacking.tfrecord", data / "unpacking-small.tfrecord"
    if not frames.exists():
        with frames.open("wb") as file, RecordWriter(file) as writer:
            for path in sorted(data.glob("videos-*.h5")):
                for _, dataset in _videos(str(path)):
                    for frame in dataset[()]:
                        writer.write(frame.tobytes())
    if not small.exists():
        record = np.random.default_rng(0).bytes(_SMALL_BYTES)
        with small.open("wb") as file, RecordWriter(file) as writer:
            for _ in range(_SMALL_COUNT):
                writer.write(record)


def _measure_apart(side: str, data: Path) -> dict[str, float]:
    print(f"  {side} ...", file=sys.stderr, flush=True)
    words = [sys.executable, "-m", "benchmarks.unpacking", "--side", side, "--data", str(data)]
    quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(words, capture_output=True, text=True, timeout=_PATIENCE_S, check=False, env=quiet)
    if done.returncode:
        raise SystemExit(f"measuring {side} failed:\n{done.stderr}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _table(rounds: dict[str, list[dict[str, float]]]) -> str:
    lines = ["| side | MB/s | the other | MB/s | ratio | ratio of CPU time | bar |", "|---|---|---|---|---|---|---|"]
    for ours, other, bar in PAIRS:
        if ours in rounds and other in rounds:
            left, right = (median(each["MB/s"] for each in rounds[side]) for side in (ours, other))
            ratios = " | ".join(_ratio(rounds[ours], rounds[other], unit) for unit in ("MB/s", "MB/CPU s"))
            lines.append(f"| {ours} | {left:,.0f} | {other} | {right:,.0f} | {ratios} | {bar} |")
    return "\n".join(lines) + "\n"


def _ratio(ours: list[dict[str, float]], other: list[dict[str, float]], unit: str) -> str:
    if unit not in ours[0]:
        return ""
    return f"{median(here[unit] / there[unit] for here, there in zip(ours, other, strict=True)):.2f}"


def main() -> None:
    """Measure one side, or all of them in turn."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.unpacking", description=__doc__)
    parser.add_argument("--side", help="one side, as JSON")
    parser.add_argument("--only", nargs="+", default=[ours for ours, _, _ in PAIRS], help="pairs, by our side")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data", type=Path, default=DEFAULT_DIRECTORY, metavar="DIR")
    parser.add_argument("--results", type=Path, metavar="DIR", help="where unpacking.json goes")
    arguments = parser.parse_args()
    data = arguments.data.resolve()
    if arguments.side:
        print(json.dumps(_measure(arguments.side, data)))
        return
    _prepare(data)
    sides = list(dict.fromkeys(side for ours, other, _ in PAIRS if ours in arguments.only for side in (ours, other)))
    rounds: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
    for number in range(arguments.rounds):
        for side in sides if number % 2 == 0 else sides[::-1]:
            rounds[side].append(_measure_apart(side, data))
    print(_table(rounds))
    if arguments.results:
        arguments.results.mkdir(parents=True, exist_ok=True)
        (arguments.results / "unpacking.json").write_text(json.dumps(rounds, indent=1) + "\n")


if __name__ == "__main__":
    main()
