"""Trainings with an index cache on a disk that is full or fills up, played on a disk of its own; asserts nothing.

python -m tests.faults.scene_of_full_disk FILES DISK REPORT
"""

from __future__ import annotations

import errno
import itertools
import pickle
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.faults.training import Log, train_numpy
from tests.support.services import running_service, started_service


def main() -> None:
    files, disk, report = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        endpoint = f"ipc://{folder}/scene.sock"
        saw = {
            # No room; room for some scans of files, or for all but not for the catalog beside them.
            "starts": [_start(files, disk, endpoint, room) for room in (0, 8192, 36_864)],
            "filled_while_training": _filled_while_training(files, disk, endpoint),
            "no_room_at_all": _no_room_at_all(files, disk, endpoint),
        }
    report.write_bytes(pickle.dumps(saw))


def _start(files: str, disk: Path, endpoint: str, room: int) -> dict[str, Any]:
    """Train with a service whose cache has so much room; return what came, what was said, and what is left half."""
    cache = disk / "cache"
    _fill(disk, room)
    with running_service(files, workers=2, endpoint=endpoint, cache_dir=cache) as service:
        log = list(train_numpy(endpoint))
        said = service.log
    left = [str(path) for path in disk.rglob(".new-*")]
    _clear(disk)
    return {"log": log, "said": said, "left": left}


def _filled_while_training(files: str, disk: Path, endpoint: str) -> Log:
    cache = disk / "cache"
    with running_service(files, workers=2, endpoint=endpoint, cache_dir=cache):
        steps = train_numpy(endpoint)
        log = list(itertools.islice(steps, 3))
        _fill(disk, 0)
        log += steps
    _clear(disk)
    return log


def _no_room_at_all(files: str, disk: Path, endpoint: str) -> tuple[int, str]:
    """Start a service without a cache, with two pages of room in its temporary directory; return its end and words."""
    place = disk / "temporary"
    place.mkdir()
    _fill(disk, 8192)
    cache = disk / "filler" / "cache"
    with started_service(files, endpoint=endpoint, cache_dir=cache, environment={"TMPDIR": str(place)}) as service:
        return service.wait(), service.log


def _fill(disk: Path, room: int) -> None:
    """Write to the disk until it is full, then leave so many bytes of room."""
    with (disk / "filler").open("wb", buffering=0) as filler:
        written = 0
        try:
            while True:
                written += filler.write(b"x" * 4096)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        filler.truncate(written - room)


def _clear(disk: Path) -> None:
    for path in disk.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


if __name__ == "__main__":
    main()
