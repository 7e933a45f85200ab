"""The check that every test leaves nothing behind: it finds what is left, and blames no test for what others left."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loader_service.protocol.segments import instance_directory
from tests.support.leaks import Belongings, Strangers, abandoned_segments
from tests.support.services import running_service, started_service

#: Notes what there is, and at each line that it is told says what is new. It is no ancestor of the tests' services.
_ONLOOKER = """
import sys
from pathlib import Path
from tests.support.leaks import Belongings, Strangers
belongings = Belongings(Path(sys.argv[1]), Strangers())
print("noted", flush=True)
for line in sys.stdin:
    print([each for each in belongings.what_is_new() if each.startswith("segments")], flush=True)
"""


class Onlooker:
    """Another run of tests, to which the services of this one are strangers' services."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        assert self._answer() == "noted"

    def sees(self) -> str:
        """Return which segments would be held against its test."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@contextmanager
def an_onlooker(folder: Path) -> Iterator[Onlooker]:
    command = [sys.executable, "-c", _ONLOOKER, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Onlooker(process)
        process.kill()


@pytest.fixture
def belongings(private_directories: Path) -> Belongings:
    return Belongings(private_directories, Strangers())


def test_a_killed_service_is_found_by_its_sockets_and_segments(small_videos: Path, belongings: Belongings) -> None:
    with started_service(small_videos / "*.h5") as service:
        service.await_ready()
        folder = instance_directory(service.instance)
        assert any(line.startswith(f"process {service.pid} ") for line in belongings.what_is_new())
        service.kill()
        left = belongings.what_is_new()
        assert f"segments in {folder}" in left
        assert any(line.startswith("file ") and ".sock" in line for line in left)
    with running_service(small_videos / "*.h5", endpoint=service.endpoint):
        assert not folder.exists()


def test_an_open_descriptor_is_found(belongings: Belongings, tmp_path: Path) -> None:
    with (tmp_path / "file").open("w"):
        assert [line.split(maxsplit=2)[2] for line in belongings.what_is_new()] == [f"({tmp_path / 'file'})"]
    assert belongings.what_is_new() == []


def test_a_strangers_service_that_is_killed_during_a_test_is_not_held_against_it(
    small_videos: Path, tmp_path: Path
) -> None:
    with started_service(small_videos / "*.h5") as old, started_service(small_videos / "*.h5") as young:
        old.await_ready()
        with an_onlooker(tmp_path) as onlooker:
            young.await_ready()
            assert onlooker.sees() == "[]"
            folders = {instance_directory(each.instance) for each in (old, young)}
            old.kill()
            young.kill()
            assert folders <= abandoned_segments()
            assert onlooker.sees() == "[]"
    with running_service(small_videos / "*.h5", endpoint=old.endpoint):
        assert not folders & abandoned_segments()
    with running_service(small_videos / "*.h5", endpoint=young.endpoint):
        pass
