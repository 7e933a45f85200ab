"""What verdicts advise where no worker is left to add: each advice is tried as it is written, and costs less then."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import loader_client
from loader_client import Frame, Image
from loader_service.protocol.messages import Status
from loader_service.watching.rates import rates
from loader_service.watching.remedies_of_waiting import Remedy
from tests.support.services import command_line, running_service
from tests.support.videos import make_videos, write_videos

_FRAMES = 24


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of frames that are worth making smaller."""
    path = tmp_path_factory.mktemp("large") / "large.h5"
    write_videos(path, "group_vlen", make_videos([_FRAMES], height=480, width=640))
    return path


@pytest.fixture(scope="module")
def connection(large: Path) -> Iterator[loader_client.Connection]:
    with running_service(large, workers=1) as service, loader_client.connect(service.endpoint) as connection:
        yield connection


def advised(status: Status) -> str:
    """Return what is advised for the only stream of a service whose workers have all cores, and all decode."""
    busy = dataclasses.replace(status, cores=1, workers_wanted=1)
    return Remedy(busy, busy.streams[0], rates(None, busy), "").for_decoding()


def train(connection: loader_client.Connection, image: Image, epochs: int = 8) -> tuple[str, float]:
    """Return what is advised meanwhile, and the seconds of the worker's processor for each frame."""
    if epochs > 1:
        train(connection, image, epochs=1)  # what a worker needs is imported with the first frame that needs it
    (pid,) = [each.pid for each in connection.status().workers]
    before = processor_s(pid)
    batches = connection.batches(4, clip=Frame(), image=image, epochs=epochs)
    next(batches)
    advice = advised(connection.status())
    rows = 4 * (1 + sum(1 for _ in batches))
    return advice, (processor_s(pid) - before) / rows


def processor_s(pid: int) -> float:
    """Return what a process has had of processors: unlike its work, that is the same on a busy machine."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def test_half_scale_is_cheaper_to_decode(connection: loader_client.Connection) -> None:
    advice, whole_s = train(connection, Image())
    (size,) = re.findall(r"; decode at half scale: Image\(size=\((\d+), (\d+)\)\), instead of 480 x 640 pixels", advice)
    image = Image(size=(int(size[0]), int(size[1])))
    assert image.size == (240, 320)
    after, half_s = train(connection, image)
    assert half_s < 0.9 * whole_s
    assert "half scale" not in after, "it is not advised twice"


def test_smaller_frames_are_packed_by_the_command_and_cheaper_to_decode(
    connection: loader_client.Connection, large: Path, tmp_path: Path
) -> None:
    advice, before_s = train(connection, Image(size=(96, 128)))
    (command,) = re.findall(r"`loader-service (pack .*?)`", advice)
    packed = tmp_path / "OUT.h5"
    words = [{"FILES": str(large), "OUT.h5": str(packed)}.get(each, each) for each in command.split()]
    subprocess.run(command_line(*words), check=True, capture_output=True, timeout=300)
    with running_service(packed, workers=1) as service, loader_client.connect(service.endpoint) as other:
        assert other.status().stored_frame == (96, 128), "no smaller than what the trainer gets"
        _, after_s = train(other, Image(size=(96, 128)))
    assert after_s < 0.8 * before_s
