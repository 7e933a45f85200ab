"""What every test gets: directories of its own, small data sets, and a check that it leaves nothing behind."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from loader_service.protocol.segments import user_directory
from tests.support import processes
from tests.support.videos import make_videos, write_videos
from tests.support.waiting import eventually

#: How long what a test used may take to go away after it, in seconds.
_PATIENCE_S = 5.0

#: Helpers of `multiprocessing` that live until the interpreter ends.
_LASTING_PROCESSES = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")

LENGTHS = ((9, 12, 20, 3), (8, 16, 11), (30, 1, 17, 14, 5))
"""Frames of the videos of `small_videos`, by file."""


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_counts() -> None:
    """Undo what a shell or a runner does to its jobs: SIGINT would be ignored, here and in all processes of a test."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def private_directories() -> Iterator[Path]:
    """Keep sockets and caches of the tests in a temporary directory; its path is short, as sockets need it."""
    directory = Path(tempfile.mkdtemp(prefix="ls-", dir="/tmp"))
    with pytest.MonkeyPatch.context() as patch:
        for name, part in (("XDG_RUNTIME_DIR", "run"), ("XDG_CACHE_HOME", "cache")):
            (directory / part).mkdir(mode=0o700)
            patch.setenv(name, str(directory / part))
        patch.delenv("LOADER_SERVICE_ENDPOINT", raising=False)
        processes.adopt_orphans()
        yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def small_videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of three labelled files with twelve videos of 48 x 64 pixels; not to be changed.

    Frames of each: see `LENGTHS`. Labels: ten times the file's number plus the video's place in it.
    """
    directory = tmp_path_factory.mktemp("small")
    for number, lengths in enumerate(LENGTHS):
        videos = make_videos(lengths, seed=number, prefix=f"f{number}v")
        labels = {name: number * 10 + place for place, name in enumerate(videos)}
        write_videos(directory / f"part{number}.h5", "group_vlen", videos, labels)
    return directory


@pytest.fixture(autouse=True)
def nothing_left_behind(private_directories: Path, request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test after which processes, descriptors, sockets or segments are there that were not there before."""
    before = _Belongings(private_directories)
    yield
    request.node.funcargs.clear()  # pytest would hold the values of fixtures, and what they hold open, until later
    try:
        eventually(lambda: not before.what_is_new(), "the test leaves nothing behind", within_s=_PATIENCE_S)
    except AssertionError:
        pytest.fail(f"the test left behind: {'; '.join(before.what_is_new())}")
    finally:
        processes.bury_orphans()


class _Belongings:
    """What this process, and those below it, have at a moment."""

    def __init__(self, directory: Path) -> None:
        self._runtime = directory / "run"
        self._children = set(processes.children())
        self._descriptors = processes.descriptors()
        self._sockets = _files(self._runtime)
        self._segments = _abandoned_segments()

    def what_is_new(self) -> list[str]:
        """Return one line for each thing that was not there before, after a chance for the garbage collector."""
        found = self._look()
        if found:
            gc.collect()
            found = self._look()
        return found

    def _look(self) -> list[str]:
        children, pipes = processes.children(), set()
        for pid, command in list(children.items()):
            if any(name in command for name in _LASTING_PROCESSES):
                pipes.update(processes.descriptors(pid).values())
                del children[pid]
        descriptors = processes.descriptors().items() - self._descriptors.items()
        return [
            *(f"process {pid} ({command})" for pid, command in children.items() if pid not in self._children),
            *(f"file {path}" for path in _files(self._runtime) - self._sockets),
            *(f"segments in {path}" for path in _abandoned_segments() - self._segments),
            *(f"descriptor {number} ({target})" for number, target in descriptors if target not in pipes),
        ]


def _files(directory: Path) -> set[Path]:
    return {path for path in directory.rglob("*") if not path.is_dir()}


def _abandoned_segments() -> set[Path]:
    """Return the folders of segments that no living service has; those of services outside of the tests are locked."""
    if not user_directory().exists():
        return set()
    with _opened(user_directory()) as everything:
        fcntl.flock(everything, fcntl.LOCK_SH)  # as the sweep of a service: one that just starts is not to be disturbed
        return {path for path in user_directory().iterdir() if _is_abandoned(path)}


def _is_abandoned(directory: Path) -> bool:
    with contextlib.suppress(FileNotFoundError), _opened(directory) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
    return False  # gone in this moment


@contextlib.contextmanager
def _opened(directory: Path) -> Iterator[int]:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
