"""Reads that are begun ahead bring the same bytes as plain ones, merged, bounded, and never those of another file."""

from __future__ import annotations

import os
import threading
import time
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loader_service.catalog.attempts import ShortRead
from loader_service.worker.open_file import OpenFile
from loader_service.worker.read_ahead import MOST_READS, ByteRange, ReadAhead
from loader_service.worker.read_threads import ReadThreads, ThreadRead
from loader_service.worker.scattered_read import scattered_read
from loader_service.worker.task_reads import TaskReads
from tests.support.waiting import eventually

CONTENT = np.random.default_rng(0).integers(0, 256, 1_000_000, np.uint8).tobytes()


class Files:
    """Files of the same content, whose reads are counted, and may be held up or fail."""

    def __init__(self) -> None:
        self.reads: list[tuple[int, int]] = []
        self.open = 0
        self.may_read = threading.Event()
        self.may_read.set()
        self.fails = False

    def hold(self, file):
        """Return what reads parts of a file, and what counts that it is over."""
        self.open += 1
        return self.parts_read, self.release

    def parts_read(self, starts, ends):
        """Return what reads parts, with one read."""

        def read():
            data = self.read(starts[0], ends[-1] - starts[0])
            return [data[start - starts[0] : end - starts[0]] for start, end in zip(starts, ends, strict=True)]

        return read

    def release(self):
        """Count a file that is not needed any more."""
        self.open -= 1

    def read(self, offset, length):
        """Return bytes, when that is allowed."""
        self.reads.append((offset, length))
        assert self.may_read.wait(60)
        if self.fails:
            raise OSError(5, "no")
        return CONTENT[offset : offset + length]


@pytest.fixture
def files():
    return Files()


@pytest.fixture
def ahead(files):
    ahead = ReadAhead(files.hold)
    yield ahead
    files.may_read.set()
    ahead.close()


def test_what_was_expected_is_there(ahead, files):
    ahead.expect(7, [ByteRange(0, 10, 20), ByteRange(1, 500_000, 30)])
    ahead.begin(7)
    assert ahead.read(0, 10, 20) == CONTENT[10:30]
    assert ahead.read(1, 500_000, 30) == CONTENT[500_000:500_030]
    ahead.end(7)
    eventually(lambda: files.open == 0, "the files are closed")


def test_ranges_that_nearly_touch_are_one_read(ahead, files):
    ahead.expect(1, [ByteRange(0, start, 100) for start in range(0, 100_000, 1000)])
    ahead.begin(1)
    assert ahead.read(0, 50_000, 100) == CONTENT[50_000:50_100]
    assert files.reads == [(0, 99_100)]


def test_frames_of_one_read_are_given_out_as_they_were_read():
    """A second copy of each, out of another core's cache, would take long."""
    made = []

    def hold(_file):
        def prepare(starts, ends):
            made[:] = [CONTENT[start:end] for start, end in zip(starts, ends, strict=True)]
            return lambda: made

        return prepare, lambda: None

    ahead = ReadAhead(hold)
    frames = [ByteRange(0, 20_000 * number, 20_000 - 10 * (number % 2)) for number in range(4)]
    ahead.expect(1, frames)
    ahead.begin(1)
    given = [ahead.read(*each) for each in frames]
    assert len(made) == 4
    assert all(each is part for each, part in zip(given, made, strict=True))
    ahead.close()


def test_short_ranges_are_parts_together():
    parts = []

    def prepare(starts, ends):
        parts.append((starts, ends))
        return list

    ahead = ReadAhead(lambda _: (prepare, lambda: None))
    ahead.expect(1, [ByteRange(0, 20 * number, 20) for number in range(1000)])
    assert parts == [([0, 8200, 16_400], [8200, 16_400, 20_000])]
    ahead.close()


@pytest.mark.parametrize("between", [0, 1, 64 * 2**10])
def test_parts_of_a_real_file_come_with_one_read(tmp_path, between):
    path = tmp_path / "a"
    path.write_bytes(CONTENT)
    file = OpenFile(str(path))
    starts = [100 + number * (between + 1000) for number in range(10)]
    ends = [start + 1000 for start in starts]
    prepare, after = file.hold()
    assert scattered_read(file.descriptor, starts, ends)() == prepare(starts, ends)()
    assert prepare(starts, ends)() == [CONTENT[start:end] for start, end in zip(starts, ends, strict=True)]
    os.truncate(path, ends[-1] - 1)
    assert scattered_read(file.descriptor, starts, ends)() is None
    with pytest.raises(ShortRead, match="expected 1000 bytes"):
        prepare(starts, ends)()
    after()
    file.close()


def test_a_thread_that_fails_says_so_where_the_result_is_asked_for():
    over = []
    threads = ReadThreads(1)
    reads = [ThreadRead(lambda: 1 // 0, lambda: over.append(0)), ThreadRead(lambda: 7, lambda: over.append(1))]
    for each in reads:
        threads.begin(each)
    with pytest.raises(ZeroDivisionError):
        reads[0].result(60)
    assert reads[1].result(60) == 7  # the thread goes on
    eventually(lambda: over == [0, 1], "both are over")
    threads.close()


def test_what_was_read_is_held_by_who_asked_for_it_alone():
    may_read = threading.Event()
    threads = ReadThreads(2)
    stuck, quick = ThreadRead(may_read.wait, lambda: None), ThreadRead(lambda: np.zeros(9), lambda: None)
    threads.begin(stuck)
    threads.begin(quick)
    result = weakref.ref(quick.result(60))
    assert result() is not None
    del quick
    eventually(lambda: result() is None, "its result is gone")
    may_read.set()
    assert stuck.result(60)
    threads.close()


def test_a_read_that_does_not_end_is_given_up_and_one_that_was_cancelled_is_never_begun():
    may_read, over = threading.Event(), []
    threads = ReadThreads(1)
    stuck, cancelled = ThreadRead(may_read.wait, lambda: over.append(0)), ThreadRead(over.clear, lambda: over.append(1))
    threads.begin(stuck)
    threads.begin(cancelled)
    with pytest.raises(TimeoutError, match=r"not ended within 0\.01 s"):
        stuck.result(0.01)
    cancelled.cancel()
    assert over == [1]
    may_read.set()
    assert stuck.result(60)
    threads.close()
    eventually(lambda: over == [1, 0], "both are over")


def test_what_nobody_expected_is_for_the_caller(ahead):
    ahead.expect(1, [ByteRange(0, 10, 20)])
    assert ahead.read(0, 10, 20) is None  # not at that task
    ahead.begin(1)
    assert ahead.read(1, 10, 20) is None
    assert ahead.read(0, 5, 10) is None
    assert ahead.read(0, 20, 11) is None


def test_memory_is_bounded_and_comes_back(files):
    ahead = ReadAhead(files.hold, most_bytes=300_000)
    ahead.expect(1, [ByteRange(number, 0, 100_000) for number in range(6)])
    eventually(lambda: len(files.reads) == 3, "three reads")
    ahead.begin(1)
    for number in range(6):
        assert ahead.read(number, 0, 100_000) == CONTENT[:100_000]
    ahead.end(1)
    assert ahead._held == 0
    ahead.close()


def test_what_is_needed_waits_for_no_memory(files):
    ahead = ReadAhead(files.hold, most_bytes=100_000)
    ahead.expect(1, [ByteRange(number, 0, 100_000) for number in range(3)])
    ahead.begin(1)
    assert ahead.read(2, 0, 100_000) == CONTENT[:100_000]
    ahead.close()


def test_a_read_that_fails_is_for_the_caller(ahead, files):
    files.fails = True
    ahead.expect(1, [ByteRange(0, 0, 10), ByteRange(1, 0, 10)])
    ahead.begin(1)
    assert ahead.read(0, 0, 10) is None
    assert not ahead.fill(1, 0, np.zeros(10, np.uint8))


def test_a_file_that_cannot_be_opened_is_for_the_caller():
    ahead = ReadAhead(lambda _: None)
    ahead.expect(1, [ByteRange(0, 0, 10)])
    ahead.begin(1)
    assert ahead.read(0, 0, 10) is None


def test_bytes_of_a_file_that_may_be_another_now_are_dropped(ahead):
    ahead.expect(1, [ByteRange(0, 0, 10), ByteRange(1, 0, 10)])
    ahead.begin(1)
    ahead.drop_file(0)
    assert ahead.read(0, 0, 10) is None
    assert ahead.read(1, 0, 10) == CONTENT[:10]


def test_files_stay_open_until_their_reads_have_ended(files):
    files.may_read.clear()
    ahead = ReadAhead(files.hold)
    ahead.expect(1, [ByteRange(number, 0, 10) for number in range(2 * MOST_READS)])
    eventually(lambda: len(files.reads) == MOST_READS, "as many reads as may be")
    ahead.close()
    assert files.open == MOST_READS  # what had not begun is let go
    files.may_read.set()
    eventually(lambda: files.open == 0, "the files are closed")


def test_what_is_in_memory_is_looked_for_once_a_read_and_left_to_the_caller(files):
    looks = []

    def is_in_memory(file, offset, length):
        looks.append((file, offset, length))
        return file == 0

    ahead = ReadAhead(files.hold, is_in_memory)
    ahead.expect(1, [ByteRange(file, number * 1000, 1000) for file in (0, 1) for number in range(16)])
    ahead.begin(1)
    assert looks == [(0, 0, 16_000), (1, 0, 16_000)]  # not one for each range
    assert ahead.read(0, 3000, 1000) is None
    assert ahead.read(1, 3000, 1000) == CONTENT[3000:4000]
    assert files.reads == [(0, 16_000)]
    ahead.close()


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 990_000), st.integers(0, 10_000)), max_size=40),
    st.integers(1_000, 200_000),
)
def test_any_ranges_bring_their_bytes(ranges, most_bytes):
    ahead = ReadAhead(Files().hold, most_bytes=most_bytes)
    expected = [ByteRange(*each) for each in ranges]
    ahead.expect(1, expected)
    ahead.begin(1)
    for file, offset, length in expected:
        data = ahead.read(file, offset, length)
        assert data is None or data == CONTENT[offset : offset + length]
        out = np.zeros(length, np.uint8)
        if ahead.fill(file, offset, out):
            assert out.tobytes() == CONTENT[offset : offset + length]
    ahead.end(1)
    assert ahead._held == 0
    ahead.close()


def test_what_is_in_memory_is_nothing_to_read_ahead(files):
    is_in_memory = [True]
    ahead = ReadAhead(files.hold, lambda *_: is_in_memory[0])
    for task, needed in ((1, False), (2, True)):
        is_in_memory[0] = not needed
        ahead.expect(task, [ByteRange(0, 0, 100)])
        assert ahead.end(task) is needed
    ahead.close()


def test_a_slow_read_has_the_rest_of_its_task_read_ahead(files):
    reads = TaskReads(files.hold)
    ranges = [ByteRange(0, number * 100_000, 100) for number in range(10)]
    reads.begin(1, lambda: ranges)

    def slow(offset, length):
        time.sleep(0.05)
        return files.read(offset, length)

    assert reads.read(0, 0, 100, slow) == CONTENT[:100]
    assert reads.are_slow
    for number in range(1, 10):
        expected = CONTENT[number * 100_000 :][:100]
        assert reads.read(0, number * 100_000, 100, None) == expected  # not by the plain way
    assert reads.end() >= 0.05
    assert reads.tasks_wanted() >= 2
    assert reads.tasks_wanted() is None  # it was said
    reads.close()
