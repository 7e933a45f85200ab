"""Worker processes: started, watched, reaped, with the cause of their end."""

from __future__ import annotations

import os
import re
import signal

import pytest

from loader_service.daemon.pool import Pool
from loader_service.daemon.words import MOST_LINES
from loader_service.worker_options import WorkerOptions
from tests.support import processes
from tests.support.waiting import eventually

MISSING = "/nowhere/catalog"
OPTIONS = WorkerOptions(0, "ipc:///nowhere.sock", "0" * 16, MISSING)


@pytest.fixture
def pool(watched):
    """A pool whose workers end at once, as their catalog is not there."""
    with Pool(watched, OPTIONS) as pool:
        yield pool


def ended(watched, pool):
    """Return what `reap` reports once it does, driven by the descriptors alone."""
    found = []
    while not found:
        assert watched.poll(20), "neither words nor an end"
        pool.listen()
        found = list(pool.reap())
    return found


def test_a_worker_that_fails_is_reaped_with_its_last_words(watched, pool):
    pool.start(7)
    assert len(pool) == 1
    ((worker, cause),) = ended(watched, pool)
    assert worker == 7
    assert cause.startswith("exited with code 1: CatalogError: ")
    assert MISSING in cause
    assert len(pool) == 0
    assert pool.pid(7) == 0


def test_words_that_come_in_pieces_are_one_line_and_endless_ones_are_cut(watched, pool, monkeypatch, tmp_path, caplog):
    program = "import os; os.write(2, b'half '); os.write(2, b'and half' + b'.' * 200_000); os._exit(3)"
    (tmp_path / "sitecustomize.py").write_text(program)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    pool.start(1)
    ((_, cause),) = ended(watched, pool)
    assert caplog.messages[0].startswith("worker 1 says: half and half...")
    assert max(map(len, caplog.messages)) < 140_000
    assert cause.startswith("exited with code 3: ")
    assert len(cause) < 600


def test_what_it_prints_is_no_warning_and_its_last_words_are_those_of_its_errors(
    watched, pool, monkeypatch, tmp_path, caplog
):
    program = "import os; os.write(2, b'broken\\n'); os.write(1, b'a line\\nhalf a line'); os._exit(3)"
    (tmp_path / "sitecustomize.py").write_text(program)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    caplog.set_level("INFO")
    pool.start(1)
    assert ended(watched, pool) == [(1, "exited with code 3: broken")]
    assert sorted((each.levelname, each.message) for each in caplog.records) == [
        ("INFO", "worker 1 says: a line"),
        ("INFO", "worker 1 says: half a line"),
        ("WARNING", "worker 1 says: broken"),
    ]


def test_of_a_flood_of_lines_a_few_are_logged_and_the_others_counted(watched, pool, monkeypatch, tmp_path, caplog):
    program = "import os; [os.write(2, b'again\\n' * 1000) for _ in range(300)]; os._exit(3)"
    (tmp_path / "sitecustomize.py").write_text(program)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    pool.start(1)
    assert ended(watched, pool) == [(1, "exited with code 3: again")]
    said = [each for each in caplog.messages if each == "worker 1 says: again"]
    assert MOST_LINES <= len(said) <= 3 * MOST_LINES  # on a busy machine it takes longer than a while
    numbers = [
        re.fullmatch(r"worker 1 has said (\d+) more lines, which are left out", each) for each in caplog.messages
    ]
    assert len(said) + sum(int(each[1]) for each in numbers if each) == 300_000


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        (signal.SIGKILL, "was killed by SIGKILL"),
        (signal.SIGSEGV, "was killed by SIGSEGV"),
        (signal.SIGRTMIN + 1, f"was killed by signal {signal.SIGRTMIN + 1}"),
    ],
)
def test_a_worker_that_is_killed_is_reaped_with_the_signals_name(watched, pool, number, cause):
    pool.start(1)
    os.kill(pool.pid(1), number)
    assert ended(watched, pool) == [(1, cause)]


def test_kill_ends_a_worker_and_an_unknown_one_is_no_error(watched, pool):
    pool.start(1)
    pool.kill(99)
    os.kill(pool.pid(1), signal.SIGSTOP)
    pool.kill(1)
    assert ended(watched, pool) == [(1, "was killed by SIGKILL")]


def test_no_worker_outlives_the_pool(watched):
    with Pool(watched, OPTIONS) as pool:
        for worker in (1, 2):
            pool.start(worker)
            os.kill(pool.pid(worker), signal.SIGSTOP)
        pids = [pool.pid(worker) for worker in (1, 2)]
    assert not any(processes.is_alive(pid) for pid in pids)
    assert watched.poll(0) == []


def test_a_worker_that_cannot_be_watched_is_not_kept(pool, monkeypatch):
    def no_descriptor_left(_pid):
        raise OSError(24, "Too many open files")

    before = set(processes.children())
    monkeypatch.setattr(os, "pidfd_open", no_descriptor_left)
    with pytest.raises(OSError, match="Too many open files"):
        pool.start(1)
    assert len(pool) == 0
    eventually(lambda: set(processes.children()) == before, "the worker is gone")
