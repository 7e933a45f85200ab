"""A service with nothing to do rests: no descriptor stays ready, and no deadline stays due."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import loader_client
from loader_client import Clip
from tests.support.services import running_service

_LOOK_S, _MOST = 1.0, 0.2


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def _share_of_a_processor(pid: int) -> float:
    before = _cpu_s(pid)
    time.sleep(_LOOK_S)
    return (_cpu_s(pid) - before) / _LOOK_S


@pytest.mark.parametrize("steps", [1, 50])
def test_a_service_whose_stream_waits_for_its_client_uses_no_processor(small_videos: Path, steps: int) -> None:
    with running_service(small_videos / "*.h5", workers=2) as service:
        for seed in range(2):  # slots that are made, and the word that they are, race each other
            with loader_client.connect(service.endpoint) as client:
                batches = client.batches(2, clip=Clip(2), seed=seed, epochs=None)
                for _ in range(steps):
                    next(batches)
                looks = (_share_of_a_processor(service.pid) for _ in range(5))  # it may have work left at first
                assert any(share < _MOST for share in looks), "it takes a processor without a word"
                batches.close()
