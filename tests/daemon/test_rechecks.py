"""Files are looked at again by a process of their own, which may die, and ends when no file is left to look at."""

from __future__ import annotations

import os
import select
import signal
import threading
import time

import h5py
import pytest

from loader_service.daemon import rechecks
from loader_service.daemon.rechecks import Rechecks
from loader_service.scan_options import ScanOptions
from tests.support.catalogs import catalog_of
from tests.support.processes import children
from tests.support.videos import make_videos, write_videos
from tests.support.warm_python import SERVER


@pytest.fixture
def looks(tmp_path):
    """Return what looks at three files, the descriptor that it is woken by, and what it says."""
    for number in range(3):
        write_videos(tmp_path / f"{number}.h5", "group_vlen", make_videos([3, 4], seed=number))
    watched = select.epoll()
    notes: list[str] = []
    made = Rechecks(watched, catalog_of(tmp_path), ScanOptions(), notes.append)
    yield made, watched, notes
    made.close()
    watched.close()


def _looking() -> list[int]:
    """Return the processes that look at files: this one's children, but for what other tests keep warm."""
    return [pid for pid, command in children().items() if str(SERVER) not in command]


def turn_until(looks, count):
    """Return what comes of so many files, as the daemon's loop would hear of it; fail when that loop would spin."""
    made, watched, _ = looks
    found, turns, deadline = [], 0, time.monotonic() + 100
    while len(found) < count:
        assert time.monotonic() < deadline
        wake = made.next_deadline()
        left_s = 30.0 if wake is None else max(0.0, wake - time.monotonic())
        ready = {descriptor for descriptor, _ in watched.poll(left_s)}
        found += made.turn(ready, time.monotonic())
        turns += 1
    assert turns < 20 * count + 40, "the loop spun"
    return found


def test_files_of_the_same_content_are_adopted_and_said_once(looks, tmp_path):
    made, _, notes = looks
    for file in range(3):
        os.utime(tmp_path / f"{file}.h5")
        made.want(file, time.monotonic())
        made.want(file, time.monotonic())
    found = turn_until(looks, 3)
    assert [(each.file, each.message) for each in found] == [(0, ""), (1, ""), (2, "")]
    assert set(made.adopted) == {0, 1, 2}
    (line,) = notes
    assert "0.h5' and 2 other files were touched or copied" in line


def test_a_process_that_is_killed_at_a_file_costs_that_file_only(looks, tmp_path, monkeypatch):
    monkeypatch.setattr(rechecks, "_REPLACED_S", 0.0)
    made = looks[0]
    made.want(0, time.monotonic())
    turn_until(looks, 1)
    (pid,) = _looking()
    os.kill(pid, signal.SIGSTOP)
    made.want(1, time.monotonic())
    assert list(made.turn(set(), time.monotonic())) == []
    os.kill(pid, signal.SIGKILL)
    (lost,) = turn_until(looks, 1)
    assert "the process that scanned it was killed by SIGKILL" in lost.message
    made.want(2, time.monotonic())
    (kept,) = turn_until(looks, 1)
    assert (kept.file, kept.message) == (2, "")


def test_the_process_ends_when_nothing_is_left_to_look_at(looks, monkeypatch):
    monkeypatch.setattr(rechecks, "_IDLE_S", 0.0)
    made = looks[0]
    made.want(0, time.monotonic())
    turn_until(looks, 1)
    list(made.turn(set(), time.monotonic()))
    assert not _looking()
    assert made.next_deadline() is None


def test_a_file_that_is_replaced_slowly_is_waited_for(looks, tmp_path):
    made, path = looks[0], tmp_path / "0.h5"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    made.want(0, time.monotonic())
    timer = threading.Timer(1.0, path.write_bytes, [whole])  # while it is looked at, which takes less
    timer.start()
    (kept,) = turn_until(looks, 1)
    timer.join()
    assert kept.message == ""


def test_a_file_that_changes_all_the_time_is_given_up(looks, tmp_path, monkeypatch):
    monkeypatch.setattr(rechecks, "_MOST_LOOKS", 3)
    made = looks[0]
    for _ in range(3):
        made.want(0, time.monotonic())
        assert turn_until(looks, 1)[0].message == ""
    made.want(0, time.monotonic())
    assert "changes all the time; stop what writes to it" in turn_until(looks, 1)[0].message


def test_a_file_that_another_program_writes_is_named_at_once_and_given_up_in_the_end(looks, tmp_path, monkeypatch):
    monkeypatch.setattr(rechecks, "_IN_USE_S", 0.5)
    made, _, notes = looks
    with h5py.File(tmp_path / "0.h5", "a"):
        made.want(0, time.monotonic())
        (failed,) = turn_until(looks, 1)
    (line,) = notes
    assert "0.h5' waits up to 0.5 s: another program has it open for writing" in line
    assert "0.h5' cannot be read: another program has it open for writing" in failed.message
    assert "restore it" not in failed.message
