"""Measures PNG frames through workers' own code against bare loops of the decoder, on both cores, alternating.

    python -m benchmarks.png

Two processes, each held to a core of its own, decode the same 256 x 342 colour PNGs at the same time: in one round both
run the bare loop, which has them in memory; in the next both run a worker's code, which reads them from HDF5, decodes
and writes RGB into a slot. The bar: the workers do at least 0.85 of the frames that the loops do. Beside the wall time
stands the CPU time, which other programs on the machine disturb less.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import cv2
import h5py
import numpy as np

from loader_service.catalog.scan.catalog_scan import scan
from loader_service.plan.stream_fields import CatalogFacts, stream_fields
from loader_service.protocol.fields import SlotLayout
from loader_service.protocol.rows import Rows
from loader_service.protocol.spec import Clip, Spec
from loader_service.scan_options import ScanOptions
from loader_service.worker.frame_fields import Origin
from loader_service.worker.reader import Reader
from loader_service.worker.row_writer import RowWriter

BAR = 0.85

_FRAMES = 64
_CLIP = 16

#: Passes over all frames in a round: about half a second, so that both processes' begin and end weigh little.
_PASSES = 6

#: How long a process may take for a round, or to begin, in seconds.
_PATIENCE_S = 120.0


def _pictures() -> list[bytes]:
    random = np.random.default_rng(0)
    coarse = [random.integers(0, 256, (8, 10, 3)).astype(np.uint8) for _ in range(_FRAMES)]
    smooth = [cv2.resize(each, (342, 256), interpolation=cv2.INTER_CUBIC) for each in coarse]
    return [bytes(cv2.imencode(".png", each)[1].tobytes()) for each in smooth]


def _write(path: Path, frames: list[bytes]) -> None:
    with h5py.File(path, "w") as file:
        rows = file.create_dataset("v/frames", (len(frames),), h5py.vlen_dtype(np.uint8))
        for number, frame in enumerate(frames):
            rows[number] = np.frombuffer(frame, np.uint8)


def _bare(frames: list[bytes]) -> Callable[[], None]:
    arrays = [np.frombuffer(frame, np.uint8) for frame in frames]

    def decode() -> None:
        for array in arrays:
            cv2.imdecode(array, cv2.IMREAD_COLOR)

    return decode


def _worker(folder: Path) -> Callable[[], None]:
    catalog = scan([str(folder / "*.h5")], ScanOptions(), cache_dir=folder / "cache", processes=0)
    spec = Spec(batch_size=_FRAMES // _CLIP, clip=Clip(frames=_CLIP, sampling="every"), fields=("frames",))
    layout = SlotLayout(stream_fields(CatalogFacts(catalog.fields, catalog.name_width), spec), spec.batch_size)
    writer = RowWriter(Origin(catalog, Reader(catalog)), spec, layout)
    slot = np.zeros(layout.size_bytes, np.uint8)
    rows = Rows(tuple(range(spec.batch_size)), tuple(range(spec.batch_size)), ())

    def fill() -> None:
        bad = writer.write(slot, 0, rows)
        if bad:
            raise RuntimeError(str(bad))

    return fill


def _serve(asked: Connection, core: int, folder: str) -> None:
    """Run rounds as they are asked for, on one core, and answer with the CPU time of each; until there are no more."""
    os.sched_setaffinity(0, {core})
    cv2.setNumThreads(1)
    works = {"bare": _bare(_pictures()), "worker": _worker(Path(folder))}
    for work in works.values():
        work()
    asked.send(0.0)
    while (name := asked.recv()) is not None:
        begun = time.process_time()
        for _ in range(_PASSES):
            works[name]()
        asked.send(time.process_time() - begun)


@dataclass(frozen=True)
class _Round:
    """One round of one side: seconds until all were done, and the mean of their CPU seconds."""

    wall_s: float
    cpu_s: float


def _answer(process: Connection) -> float:
    if not process.poll(_PATIENCE_S):
        raise TimeoutError(f"a process did not end a round within {_PATIENCE_S:.0f} s")
    return float(process.recv())


def _round(name: str, processes: list[Connection]) -> _Round:
    """Have all processes do the same at the same time."""
    begun = time.perf_counter()
    for each in processes:
        each.send(name)
    cpu = [_answer(each) for each in processes]
    return _Round(time.perf_counter() - begun, statistics.mean(cpu))


def _rounds(folder: Path, cores: list[int], count: int) -> list[tuple[_Round, _Round]]:
    """Return rounds of bare loops and of workers, in turns."""
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in cores]
    started = [
        context.Process(target=_serve, args=(theirs, core, str(folder)))
        for (_, theirs), core in zip(pipes, cores, strict=True)
    ]
    for each in started:
        each.start()
    ours = [each for each, _ in pipes]
    try:
        for each in ours:
            _answer(each)
        return [(_round("bare", ours), _round("worker", ours)) for _ in range(count)]
    finally:
        for connection in ours:
            connection.send(None)
        for process in started:
            process.join(_PATIENCE_S)


def main() -> None:
    """Print the median, the least and the most of the ratio over all rounds, and whether the bar holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--cores", type=int, default=2)
    given = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))[: given.cores]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder / "a.h5", _pictures())
        _worker(folder)  # so that the processes find the catalog made
        rounds = _rounds(folder, cores, given.rounds)
    ratios = [bare.wall_s / ours.wall_s for bare, ours in rounds]
    of_cpu = statistics.median(bare.cpu_s / ours.cpu_s for bare, ours in rounds)
    ratio = statistics.median(ratios)
    frame_us = statistics.median(ours.cpu_s for _, ours in rounds) / (_PASSES * _FRAMES) * 1e6
    print(
        f"PNG frames on {len(cores)} cores at once: {ratio:.2f} of bare cv2.imdecode loops ({min(ratios):.2f} to "
        f"{max(ratios):.2f}), of CPU time {of_cpu:.2f}; {frame_us:.0f} us of CPU a frame; "
        f"bar {BAR}: {'holds' if ratio >= BAR else 'does not hold'}"
    )


if __name__ == "__main__":
    main()
