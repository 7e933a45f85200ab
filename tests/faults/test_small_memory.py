"""With little shared memory, trainings run with fewer slots; where none can run, the error says who holds it."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.machine import at_most
from tests.support.unshared import UNSHARED, can_have_a_shared_memory_of_its_own
from tests.support.videos import make_videos, write_videos


@pytest.fixture(autouse=True)
def shared_memory_of_its_own() -> None:
    if not can_have_a_shared_memory_of_its_own():
        pytest.skip("needs the right to mount file systems")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Some forty clips of 16 frames."""
    folder = tmp_path_factory.mktemp("clips")
    for number in range(2):
        write_videos(folder / f"{number}.h5", "group_vlen", make_videos((20, 18, 25, 30, 17, 19), seed=number))
    return str(folder / "*.h5")


def play(scene: str, size: str, files: str, folder: Path, **environment: str) -> dict[str, Any]:
    """Play a scene, and return what it saw; what its services wrote to standard error is under ``"log"``."""
    report = folder / "report.pickle"
    command = [sys.executable, "-m", "tests.faults.scene_of_small_memory", scene, files, str(report)]
    done = subprocess.run(
        [*UNSHARED, size, *command],
        check=False,
        timeout=300,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = pickle.loads(report.read_bytes())
    return {**seen, "log": done.stderr}


def test_batches_of_19_mb_run_in_64_mb_with_one_warning(files: str, tmp_path: Path) -> None:
    """Docker's default. Bytes and order are those of a service that has room."""
    roomy, tight = play("plain_epochs", "2g", files, tmp_path), play("epochs", "64m", files, tmp_path)
    assert roomy["slots"] == 26
    assert tight["slots"] == 2
    expected = roomy["plain"]
    assert len(expected) == len(set(expected)) >= 8
    for way in ("plain", "kept", "turns", "reversed"):
        assert tight[way] == expected, way
    assert roomy["warnings"] == []
    (said,) = tight["warnings"]
    assert "there is room for 2 of 26 batches of 18.4 MiB: all of them come, in the same order" in said
    assert "use a smaller batch_size" in said
    assert "LOADER_SERVICE_SHM" in said
    assert tight["log"] == ""  # and its private services say nothing


def test_streams_for_training_and_validation_open_in_one_gigabyte(files: str, tmp_path: Path) -> None:
    saw = play("two_streams", "1g", files, tmp_path)
    assert saw["slots"] == [6, 3, 2]
    assert saw["two"] == saw["one"][:2]
    assert len(set(saw["one"])) == 3
    assert saw["refusal"] == ""


def test_what_does_not_fit_says_who_holds_how_much_and_what_helps(files: str, tmp_path: Path) -> None:
    saw = play("refusals", "60m", files, tmp_path)
    for said in (saw["budget"], saw["alone"], saw["beside others"]):
        found = re.match(
            r"ConfigError: batches of (\d+) bytes need (\d+) bytes of shared memory, (\d+) are left in ", said
        )
        batch, need, left = map(int, found.groups())
        assert 2 * batch == need > left
        assert "use a smaller batch_size, fewer frames or smaller images" in said
        assert "name a larger tmpfs in LOADER_SERVICE_SHM" in said  # a larger budget would not help
        assert "--shm-size" not in said  # this is no /dev/shm
        assert "--memory" not in said
    assert "which has 60.0 MiB" in saw["alone"]
    assert "holds" not in saw["alone"]
    beside = saw["beside others"]
    assert re.search(
        r"client scene_of_small_memory\.py@\S+ \(pid \d+\) holds 1\d\.\d MiB in \d+ slots of 1 stream;", beside
    )
    assert re.search(r"1 other service of this user: 1\d\.\d MiB \(a private one ends with its dataset\)", beside)
    assert re.search(r"other files in \S+: 5\.\d MiB", beside)
    assert "smaller prefetch" in beside


@pytest.mark.tensorflow
def test_a_notebook_cell_can_be_run_again_and_again_in_one_gigabyte(files: str, tmp_path: Path) -> None:
    saw = play("notebook", "1g", files, tmp_path, TF_CPP_MIN_LOG_LEVEL="3")
    assert len(saw["seen"]) == 4
    assert all(seen == saw["seen"][0] for seen in saw["seen"])
    assert saw["warnings"] == []


def test_one_stopped_worker_of_two_is_a_short_pause_with_64_mb_too(files: str, tmp_path: Path) -> None:
    seen = play("stopped", "64m", files, tmp_path)
    assert seen["seen"] == seen["expected"]
    assert seen["longest_s"] <= at_most(2.0), seen["log"]
