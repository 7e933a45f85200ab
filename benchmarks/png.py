"""Measures PNG frames through a worker's own code against a bare loop of the decoder, in CPU time, alternating.

    python -m benchmarks.png

Both run in this process, on one core, over the same 256 x 342 colour PNGs. The bare loop has them in memory and decodes
each; the worker's code reads them from HDF5, decodes and writes RGB into a slot. The bar: at least 0.85 of the loop.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
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


def _cpu_s(work: Callable[[], None]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def main() -> None:
    """Print the median, the least and the most of the ratio over all rounds, and whether the bar holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    cv2.setNumThreads(1)
    frames = _pictures()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder / "a.h5", frames)
        bare, worker = _bare(frames), _worker(folder)
        bare(), worker()
        times = [(_cpu_s(bare), _cpu_s(worker)) for _ in range(rounds)]
    ratios = [loop / ours for loop, ours in times]
    ratio = statistics.median(ratios)
    print(
        f"PNG frames: {ratio:.2f} of a bare cv2.imdecode loop ({min(ratios):.2f} to {max(ratios):.2f}); "
        f"{statistics.median(ours for _, ours in times) / _FRAMES * 1e6:.0f} us of CPU a frame; "
        f"bar {BAR}: {'holds' if ratio >= BAR else 'does not hold'}"
    )


if __name__ == "__main__":
    main()
