"""A training while the shared memory fills up, played in a process with a shared memory of its own; asserts nothing.

python -m tests.faults.scene_of_full_memory FILES REPORT
"""

from __future__ import annotations

import errno
import itertools
import os
import pickle
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from loader_client import ConfigError, Image
from loader_service.protocol.segment_files import shared_memory
from tests.faults.training import STREAM, train_numpy
from tests.support.services import running_service

_FILLER = shared_memory() / "filler"


def main() -> None:
    files, report = sys.argv[1:]
    saw: dict[str, Any] = {"refusals": []}
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as folder,
        running_service(files, workers=2, memory="1G", endpoint=f"ipc://{folder}/scene.sock") as service,
    ):
        saw["refusals"].append(_refusal(service.endpoint, image=Image(size=400)))  # more than there is
        steps = train_numpy(service.endpoint)
        log = list(itertools.islice(steps, 3))
        saw["spoilt"] = _fill()
        saw["refusals"].append(_refusal(service.endpoint))  # more than is left
        saw["log"] = [*log, *steps]
        _FILLER.unlink()
    Path(report).write_bytes(pickle.dumps(saw))


def _refusal(endpoint: str, **options: object) -> str:
    with pytest.raises(ConfigError) as caught:
        list(train_numpy(endpoint, **{**STREAM, **options}))
    return str(caught.value)


def _fill() -> str:
    """Write to the shared memory until it is full; return the name of the error that says so."""
    with _FILLER.open("wb", buffering=0) as filler:
        try:
            while True:
                filler.write(b"x" * 4096)
        except OSError as error:
            return errno.errorcode[error.errno or 0]


if __name__ == "__main__":
    os.environ.setdefault("XDG_RUNTIME_DIR", "/tmp")
    main()
