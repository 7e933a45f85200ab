"""A service that keeps decoded frames gives the bytes of one that does not, over kills, restarts and full disks."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loader_client
from loader_client import Clip, Image
from loader_service.failpoints import ENVIRONMENT_VARIABLE as FAILPOINTS
from loader_service.frame_cache.frame_folder import folder_name
from tests.support.services import command_line, new_endpoint, running_service
from tests.support.videos import make_videos, write_videos

OPTIONS: dict[str, Any] = {
    "batch_size": 4,
    "clip": Clip(frames=6, sampling="random"),
    "image": Image(size=(40, 48), crop="random", flip=True),
    "fields": ("frames", "index"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("videos")
    for number in range(3):
        write_videos(folder / f"{number}.h5", "flat", make_videos([12, 15, 9, 20], seed=number))
    return folder


def epochs(endpoint: str, count: int) -> list[bytes]:
    with loader_client.connect(endpoint) as connection:
        batches: Iterator[dict[str, np.ndarray]] = connection.batches(epochs=count, **OPTIONS)
        return [batch["frames"].tobytes() + batch["index"].tobytes() for batch in batches]


@pytest.fixture(scope="module")
def right(files: Path) -> list[bytes]:
    with running_service(files / "*.h5") as service:
        return epochs(service.endpoint, 3)


@pytest.mark.parametrize(("size", "workers"), [("64M", 1), ("250K", 2)])
def test_bytes_are_the_same_with_a_cache_over_epochs_restarts_and_worker_counts(
    files: Path, right: list[bytes], tmp_path: Path, size: str, workers: int
) -> None:
    found = []
    for run in range(2):
        with running_service(files / "*.h5", workers=workers + run, cache=f"{size}:{tmp_path}") as service:
            assert epochs(service.endpoint, 3) == right
            with loader_client.connect(service.endpoint) as connection:
                cache = connection.status().frame_cache
            assert cache is not None
            assert cache.frames_found + cache.frames_decoded >= 3 * 3 * 4 * 6
            assert sum(form.taken_bytes for form in cache.forms) <= 2**16 + cache.budget_bytes
            found.append(cache.frames_found)
            shown = subprocess.run(command_line("status", service.endpoint), capture_output=True, text=True, check=True)
            assert f"decoded frames in {str(tmp_path / folder_name())!r}" in shown.stdout
            assert "frames: 48 x 64 x 3: room for" in shown.stdout

    assert min(found) > 0
    if size != "250K":  # with room for a part, it depends on what is made ahead at the end
        assert found[0] < found[1]


def test_workers_that_are_killed_over_a_frame_leave_no_wrong_pixel(
    files: Path, right: list[bytes], tmp_path: Path
) -> None:
    points = ";".join(f"worker.frame_kept=kill@{count}:{tmp_path / str(count)}" for count in (3, 11))
    with running_service(
        files / "*.h5", workers=2, cache=f"64M:{tmp_path}", environment={FAILPOINTS: points}
    ) as service:
        assert epochs(service.endpoint, 3) == right
        assert {(tmp_path / str(count)).exists() for count in (3, 11)} == {True}
    with running_service(files / "*.h5", cache=f"64M:{tmp_path}") as service:
        assert epochs(service.endpoint, 3) == right


def refusal(*arguments: object) -> str:
    ended = subprocess.run(
        command_line("start", f"--endpoint={new_endpoint()}", *arguments),
        capture_output=True,
        check=False,
        text=True,
        timeout=300,
    )
    assert ended.returncode != 0
    (line,) = [line for line in ended.stderr.splitlines() if "cache=" in line]
    return line


def test_a_cache_that_cannot_be_had_is_one_line_with_a_remedy(files: Path, tmp_path: Path) -> None:
    with running_service(files / "*.h5", cache=f"1M:{tmp_path}") as service:
        line = refusal(f"--cache=1M:{tmp_path}", files / "*.h5")
        assert f"is in use by the service at {service.endpoint} (pid {service.pid})" in line
        assert "--cache SIZE:FOLDER" in line
    assert "can be had" in refusal(f"--cache=9000T:{tmp_path}", files / "*.h5")
    assert "give SIZE or SIZE:FOLDER" in refusal("--cache=1M:", files / "*.h5")
    (tmp_path / "file").write_text("")
    assert "give a folder of your own" in refusal(f"--cache=1M:{tmp_path / 'file'}", files / "*.h5")
    other = tmp_path / "other" / folder_name()
    other.mkdir(parents=True)
    (other / "mine").write_text("mine")
    assert "empty or rename it" in refusal(f"--cache=1M:{tmp_path / 'other'}", files / "*.h5")
    assert (other / "mine").read_text() == "mine"
