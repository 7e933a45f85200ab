"""How slow reads are told from quick ones, and how many tasks are asked for ahead because of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from loader_service.worker.read_pace import SLOW_S, ReadPace
from loader_service.worker.task_reads import TaskReads


def test_quick_reads_are_not_slow():
    pace = ReadPace(0.0)
    assert not any(pace.read(1e-5, 22_000, number * 5e-4) for number in range(10_000))
    assert pace.tasks_wanted(0.0) == 2


def test_slow_reads_show_at_once_and_quick_ones_again_later():
    pace = ReadPace(0.0)
    assert pace.read(0.1, 22_000, 0.1)
    pace.task_ended(0.05, 1.0)
    assert pace.is_slow
    assert pace.tasks_wanted(0.1) == 6
    pace.task_ended(0.05, 20.0)
    assert not pace.is_slow  # it is tried without
    assert pace.read(0.1, 22_000, 20.1)
    pace.task_ended(0.05, 40.0)
    assert pace.is_slow  # for twice as long now


def test_reads_are_quick_again_when_a_second_brought_nothing_to_read_ahead():
    pace = ReadPace(0.0)
    assert pace.read(0.1, 22_000, 0.1)
    pace.task_ended(0.05, 1.0)
    pace.task_ended(0.05, 1.9, was_needed=False)
    assert pace.is_slow
    pace.task_ended(0.05, 2.1, was_needed=False)
    assert not pace.is_slow
    assert pace.read(0.1, 22_000, 2.2)  # a slow one shows as before
    pace.task_ended(0.05, 10.0)
    assert pace.is_slow


def test_one_slow_read_among_many_quick_ones_changes_nothing():
    pace = ReadPace(0.0)
    assert not pace.read(10 * SLOW_S, 0, 5.0)
    assert not pace.is_slow


#: Reads that take a core's time and never wait, or wait; prints whether they count as slow, and have been waited for.
_READS = """
import sys, time
from loader_service.worker.read_threads import ReadThreads, ThreadRead
from loader_service.worker.scattered_read import scattered_read
from loader_service.worker.task_reads import TaskReads

def busy(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass

reads = TaskReads(lambda _: None)
reads.begin(1, tuple)
for _ in range(20):
    reads.timed(100, {"busy": busy, "asleep": time.sleep}[sys.argv[1]], 0.003)
waited_s = reads.end()
print(reads.are_slow, waited_s > 0)
reads.close()
"""


@pytest.mark.parametrize(("read", "said"), [("busy", "False False"), ("asleep", "True True")])
def test_reads_that_only_lacked_a_core_are_not_slow(read, said):
    """In a process of one thread, which waits for no other one's lock."""
    program = [sys.executable, "-c", _READS, read]
    done = subprocess.run(program, capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.strip() == said


def test_more_tasks_are_asked_for_at_once_and_fewer_when_it_shows(tmp_path):
    reads = TaskReads(lambda _: None, always=True)
    reads._pace.task_ended(0.05, 1.0)
    said = []
    for latency_s in (0.1, 0.15, 0.13, 0.1, 0.02):
        reads._ahead.latency_s = latency_s
        said.append(reads.tasks_wanted())
    assert said == [6, 7, None, None, 3]  # one too few would wait, one too many costs nothing
    reads.close()
