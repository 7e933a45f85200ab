"""What every test gets: directories of its own, small data sets, and a check that it leaves nothing behind."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import types
import warnings
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from loader_service import children
from loader_service.protocol import segment_files
from tests.support import processes, warm_python
from tests.support.leaks import Belongings
from tests.support.videos import make_videos, write_videos

#: How long what a test used may take to go away after it, in seconds; on a busy machine it takes that long.
_PATIENCE_S = 60.0

LENGTHS = ((9, 12, 20, 3), (8, 16, 11), (30, 1, 17, 14, 5))
"""Frames of the videos of `small_videos`, by file."""

_HAS_FAILED = pytest.StashKey[bool]()

# How long an example takes, or the making of some, tells of the machine.
hypothesis.settings.register_profile("tests", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("tests")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let the end of a test know that it has failed."""
    report = yield
    item.stash[_HAS_FAILED] = item.stash.get(_HAS_FAILED, False) or report.failed
    return report


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect the tests without looks for garbage, which took a third of the time, and leave them out of all later.

    Each process of a run does so, with or without a test of TensorFlow, whose imports take longer than all else.
    """
    gc.disable()
    try:
        result = yield
    finally:
        _keep_for_good()
        gc.enable()
    if "tensorflow" in sys.modules:
        raise pytest.UsageError("a test file imports TensorFlow or Keras: expected that a test does, which has begun")
    return result


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_counts() -> None:
    """Undo what a shell, a runner or `nohup` does to its jobs: signals would be ignored in all processes of a test."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def private_directories() -> Iterator[Path]:
    """Keep sockets, caches and segments of the tests apart; the path of a socket is to be short.

    So several runs of tests at once, and trainings beside them, do not see each other.
    """
    directory = Path(tempfile.mkdtemp(prefix="ls-", dir="/tmp"))
    memory = Path(tempfile.mkdtemp(prefix="ls-", dir=segment_files.shared_memory()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(segment_files.ENVIRONMENT_VARIABLE, str(memory))
        for name, part in (("XDG_RUNTIME_DIR", "run"), ("XDG_CACHE_HOME", "cache")):
            (directory / part).mkdir(mode=0o700)
            patch.setenv(name, str(directory / part))
        patch.delenv("LOADER_SERVICE_ENDPOINT", raising=False)
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)  # each process of a test would compile all it imports
        patch.setenv("OPENBLAS_NUM_THREADS", "1")  # else NumPy's import takes 0.05 s of CPU more, for threads unused
        processes.adopt_orphans()
        warm_python.live_in(directory)
        yield directory
        warm_python.end_all()
    shutil.rmtree(directory)
    shutil.rmtree(memory)


@pytest.fixture
def memory_path(private_directories: Path) -> Iterator[Path]:
    """Return a folder in memory, for tests of what is found in files: a disk takes 1 ms to remove each small file.

    Ways to read are tested on a disk, since those of file systems in memory are fewer.
    """
    with tempfile.TemporaryDirectory(prefix="test-", dir=segment_files.shared_memory()) as folder:
        yield Path(folder)


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


@pytest.fixture(scope="session")
def tf(request: pytest.FixtureRequest) -> Any:
    """Return TensorFlow with two logical devices, awake: what it opens once per process is open.

    Each test that uses TensorFlow in this process asks for it, since the devices cannot be had later. But in the soak,
    and in trainings of other processes, it leaves the functions of datasets as they are: it would optimize them anew
    for each iterator that is made or restored, which took half of the time.
    """
    from loader_client.interrupts import INTERRUPTS  # noqa: PLC0415 - with TensorFlow only

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of TensorFlow's own imports
        gc.disable()  # looks for garbage take a sixth of the time of the import, which makes none
        import tensorflow  # noqa: PLC0415, ICN001 - 4 s that only some tests need; `tf` is this function

        gc.enable()
    cpu = tensorflow.config.list_physical_devices("CPU")[0]
    two = [tensorflow.config.LogicalDeviceConfiguration()] * 2
    tensorflow.config.set_logical_device_configuration(cpu, two)
    is_soak = request.config.getoption("markexpr") == "soak"
    tensorflow.config.optimizer.set_experimental_options({"disable_meta_optimizer": not is_soak})
    doubled = tensorflow.data.Dataset.range(4).map(
        lambda number: tensorflow.py_function(lambda plain: 2 * plain, [number], tensorflow.int64)
    )
    assert [int(number) for number in doubled.prefetch(2)] == [0, 2, 4, 6]
    INTERRUPTS.watch()
    _keep_for_good()
    return tensorflow


def _keep_for_good() -> None:
    """Take what is there now out of all later looks of the garbage collector, which many a test asks for.

    The 350,000 objects of TensorFlow, and pytest's own, took 0.2 s of each look.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def warm_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have private services, and processes that pack, forked from one with their imports, which take 0.3 s of CPU."""
    forking = types.SimpleNamespace(**{**vars(subprocess), "Popen": warm_python.start_child})
    monkeypatch.setattr(children, "subprocess", forking)


@pytest.fixture(autouse=True)
def levels_of_logs() -> Iterator[None]:
    """Give the project's loggers their levels back: commands that run in this process change them, as in their own."""
    loggers = [logging.getLogger(name) for name in ("loader_client", "loader_service")]
    before = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, before, strict=True):
        logger.setLevel(level)


@pytest.fixture(autouse=True)
def nothing_left_behind(private_directories: Path, request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test after which processes, descriptors, sockets or segments are there that were not there before.

    One that has failed already could not tidy up, and its traceback holds what it had open: it fails once.
    """
    before = Belongings(private_directories)
    yield
    request.node.funcargs.clear()  # pytest would hold the values of fixtures, and what they hold open, until later
    try:
        left = [] if request.node.stash.get(_HAS_FAILED, False) else before.what_stays(_PATIENCE_S)
    finally:
        processes.bury_orphans()
    if left:
        pytest.fail(f"the test left behind: {'; '.join(left)}")
