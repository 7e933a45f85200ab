"""Rows out of a mapped file are those of plain reads; a file that is cut off costs the rows, and no process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from loader_service.catalog.columns import Catalog
from loader_service.errors import FileTouched
from loader_service.native.library import native_library
from loader_service.protocol.fields import Field
from loader_service.protocol.messages import PrepareStream, Task, TaskDone
from loader_service.protocol.rows import Rows
from loader_service.protocol.spec import Frame, Spec
from loader_service.remote.private_slots import PrivateSlots
from loader_service.worker import catalog_files, main, mapped_file, open_file
from loader_service.worker.gather import Runs, beyond_memory, gather
from loader_service.worker.main import WorkerProcess
from loader_service.worker.mapped_file import MappedFile, map_file
from loader_service.worker.read_ahead import ByteRange
from loader_service.worker.reader import Reader
from loader_service.worker_options import WorkerOptions
from tests.support.catalogs import catalog_of

pytestmark = pytest.mark.skipif(native_library().functions is None, reason="needs the native code")

ROWS, WIDTH = 300, 500
PAGE = os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(scope="module")
def matrix() -> NDArray[np.float32]:
    return np.random.default_rng(0).standard_normal((ROWS, WIDTH), np.float32)


@pytest.fixture
def catalog(tmp_path: Path, matrix: NDArray[np.float32]) -> Catalog:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["features"] = matrix
    return catalog_of(tmp_path)


@contextmanager
def mapped(path: Path, size: int) -> Iterator[MappedFile]:
    path.write_bytes(np.arange(size, dtype=np.uint32).astype(np.uint8).tobytes())
    with path.open("rb") as file:
        found = map_file(file.fileno())
        assert found is not None
        yield found
        found.close()


def copied(file: MappedFile, pieces: list[tuple[int, int, int]], room: NDArray[np.uint8]) -> int:
    """Copy pieces none of which counts as slow, though another program may have the core meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mapped_file, "SLOW_S", 60.0)
        return file.gather(np.array(pieces, np.int64).reshape(-1, 3), room.ctypes.data)


@pytest.fixture(scope="module")
def bytes_in_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MappedFile, NDArray[np.uint8]]]:
    path = tmp_path_factory.mktemp("mapped") / "bytes"
    with mapped(path, 5 * PAGE + 17) as file:
        yield file, np.fromfile(path, np.uint8)


@settings(max_examples=100)
@given(pieces=st.lists(st.tuples(st.integers(-3, 5 * PAGE + 40), st.integers(0, 3000)), max_size=12))
def test_pieces_are_copied_up_to_the_first_that_does_not_lie_in_the_file(
    bytes_in_memory: tuple[MappedFile, NDArray[np.uint8]], pieces: list[tuple[int, int]]
) -> None:
    file, content = bytes_in_memory
    room = np.full(13 * 3000, 0xA5, np.uint8)
    wanted = [begin >= 0 and begin + length <= len(content) for begin, length in pieces]
    whole = wanted.index(False) if False in wanted else len(wanted)
    placed = [(begin, number * 3000, length) for number, (begin, length) in enumerate(pieces)]
    assert copied(file, placed, room) == whole
    expected = np.full_like(room, 0xA5)
    for begin, to, length in placed[:whole]:
        expected[to : to + length] = content[begin : begin + length]
    np.testing.assert_array_equal(room, expected)


def test_a_file_that_was_cut_off_ends_the_copy_and_not_the_process(tmp_path: Path) -> None:
    with mapped(tmp_path / "bytes", 8 * PAGE) as file:
        os.truncate(tmp_path / "bytes", 4 * PAGE)
        room = np.zeros(8 * PAGE, np.uint8)
        assert copied(file, [(0, 0, PAGE), (6 * PAGE, PAGE, PAGE), (PAGE, 2 * PAGE, PAGE)], room) == 1
        assert copied(file, [(PAGE, 0, PAGE), (2 * PAGE, PAGE, PAGE)], room) == 2


def test_long_pieces_go_past_the_cache_and_end_where_short_ones_do(tmp_path: Path) -> None:
    sizes = np.random.default_rng(0).integers(PAGE - 99, 2 * PAGE, 300)  # short ones, too; more than a MB together
    room = np.full(int(sizes.sum()) + 200 * len(sizes), 0xA5, np.uint8)
    ends = np.cumsum(sizes + 3 * (np.arange(len(sizes)) % 64))
    with mapped(tmp_path / "bytes", 8 * PAGE) as file:
        content = np.fromfile(tmp_path / "bytes", np.uint8)
        placed = [
            (number * 37 % (6 * PAGE), int(end - size), int(size))
            for number, (size, end) in enumerate(zip(sizes, ends, strict=True))
        ]
        assert copied(file, placed, room) == len(placed)
        expected = np.full_like(room, 0xA5)
        for begin, to, length in placed:
            expected[to : to + length] = content[begin : begin + length]
        np.testing.assert_array_equal(room, expected)
        os.truncate(tmp_path / "bytes", 4 * PAGE)
        whole = [begin + length <= 4 * PAGE for begin, _, length in placed].index(False)
        assert copied(file, placed, room) <= whole
        assert copied(file, [(0, 0, PAGE)] * 300, room) == 300


def test_the_zeros_behind_the_end_of_a_file_are_taken_for_no_row(tmp_path: Path) -> None:
    with mapped(tmp_path / "bytes", 4 * PAGE) as file:
        os.truncate(tmp_path / "bytes", 2 * PAGE + 100)
        room = np.zeros(4 * PAGE, np.uint8)
        assert copied(file, [(2 * PAGE, 0, 200)], room) == 0  # no signal tells of it
        assert copied(file, [(2 * PAGE, 0, 100)], room) == 1


def test_the_signal_means_what_it_meant_when_it_is_no_copy_of_ours(tmp_path: Path) -> None:
    program = f"""
import os, signal, sys
import numpy as np
from pathlib import Path
from tests.worker.test_gather import copied, mapped, PAGE
with mapped(Path({str(tmp_path / "bytes")!r}), 8 * PAGE) as file:
    os.truncate({str(tmp_path / "bytes")!r}, PAGE)
    assert copied(file, [(4 * PAGE, 0, PAGE)], np.zeros(PAGE, np.uint8)) == 0
assert signal.getsignal(signal.SIGBUS) == signal.SIG_DFL
print("alive", flush=True)
os.kill(os.getpid(), signal.SIGBUS)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGBUS, "alive\n"), done.stderr


@pytest.mark.parametrize("is_mapped", [True, False], ids=["mapped", "read"])
def test_rows_are_those_of_the_file(
    catalog: Catalog, matrix: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch, is_mapped: bool
) -> None:
    if not is_mapped:
        monkeypatch.setattr(open_file, "map_file", lambda _: None)
    reader = Reader(catalog)
    starts = np.array([0, 299, 17, 17, 30, 200])
    lengths = np.array([1, 1, 1, 1, 60, 2])
    begins = np.array([3, 0, 1, 2, 10, 4])
    frames = np.zeros((80, WIDTH), np.float32)
    gather(catalog, reader, (0, "features"), Runs(starts, lengths, begins), frames)
    expected = np.zeros_like(frames)
    for start, length, begin in zip(starts, lengths, begins, strict=True):
        expected[begin : begin + length] = matrix[start : start + length]
    np.testing.assert_array_equal(frames, expected)
    assert reader.reads.spent.read_bytes == int(lengths.sum()) * WIDTH * 4
    reader.close()


def test_a_table_that_is_cut_off_under_its_reader_is_named(catalog: Catalog, tmp_path: Path) -> None:
    reader = Reader(catalog)
    frames = np.zeros((2, WIDTH), np.float32)
    runs = Runs(*np.array([[0, 280], [1, 1], [0, 1]]))
    gather(catalog, reader, (0, "features"), runs, frames)
    cut: list[Any] = []
    file = reader.open_file(0)
    real = file.mapped

    def cut_first() -> MappedFile | None:
        if not cut:
            cut.append(os.truncate(tmp_path / "a.h5", 100 * WIDTH * 4))  # behind the look at the file
        return real()

    file.mapped = cut_first  # type: ignore[method-assign]
    with pytest.raises(FileTouched, match=r"a\.h5"):
        gather(catalog, reader, (0, "features"), runs, frames)
    assert cut
    reader.close()


def test_one_look_at_a_table_is_for_the_tasks_that_are_reported_together(
    catalog: Catalog, tmp_path: Path, matrix: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = Spec(2, Frame(), fields=("features",), indexed=True)
    field = Field("features", "float32", (WIDTH,))
    slots = PrivateSlots()
    worker = WorkerProcess(WorkerOptions(1, "", "", ""), catalog, slots)
    worker.prepare(PrepareStream(1, spec, (field,)))
    tasks = [Task(number, 1, 0, number, Rows((0, 1), (3, 280))) for number in range(3)]
    done: list[TaskDone] = []

    def look_away(*messages: Any) -> None:
        done.extend(each for each in messages if isinstance(each, TaskDone))
        os.utime(tmp_path / "a.h5", (0, 0))

    monkeypatch.setattr(main, "_REPORT_AFTER_S", 60.0)
    looks: list[str] = []
    real = catalog_files.stat_of
    monkeypatch.setattr(catalog_files, "stat_of", lambda path: (looks.append(path), real(path))[1])
    worker.obey(tasks[:2], look_away)
    assert len(looks) == 1
    assert [each.bad for each in done] == [(), ()]
    memory = slots.take()
    assert memory is not None
    assert memory[: 8 * WIDTH] == matrix[[3, 280]].tobytes()
    slots.give_back(memory)
    worker.obey(tasks[2:], look_away)
    assert [each.error for each in done[2].bad] == ["FileTouched", "FileTouched"]
    worker.close()


def test_rows_beyond_the_table_are_refused(catalog: Catalog) -> None:
    reader = Reader(catalog)
    frames = np.zeros((1, WIDTH), np.float32)
    with pytest.raises(IndexError, match="reading frames 300 to 300"):
        gather(catalog, reader, (0, "features"), Runs(*np.array([[300], [1], [0]])), frames)
    reader.close()


def test_rows_in_memory_are_copied_where_reads_are_slow_too(
    catalog: Catalog, matrix: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = Reader(catalog)
    reader.reads._pace.is_slow = True
    asked: list[int] = []
    file = reader.open_file(0)
    real, absent = file.is_in_memory, 41

    def is_in_memory(offset: int, length: int) -> bool:
        asked.append((offset - catalog.address(0, "features")) // (WIDTH * 4))
        return asked[-1] != absent and real(offset, length)

    def count_in_memory(pieces: NDArray[np.int64]) -> int:
        rows = (pieces[:, 0] - catalog.address(0, "features")) // (WIDTH * 4)
        return int(np.append(np.flatnonzero(rows == absent), len(rows))[0])

    file.is_in_memory = is_in_memory  # type: ignore[method-assign]
    row = WIDTH * 4
    ahead = [ByteRange(0, catalog.address(0, "features") + number * row, row) for number in (7, absent)]
    file.count_in_memory = count_in_memory  # type: ignore[method-assign]
    alone: list[int] = []
    read_array = reader.read_array

    def read_alone(video: int, field: str, first: int, out: NDArray[Any], stride: int = 1) -> None:
        alone.append(first)
        read_array(video, field, first, out, stride)

    monkeypatch.setattr(reader, "read_array", read_alone)
    starts = np.array([7, absent, 90, 91])
    frames = np.zeros((4, WIDTH), np.float32)
    runs = Runs(starts, np.ones(4, np.int64), np.arange(4))
    reader.begin(1, lambda: ahead)
    begun = reader.reads._ahead._current
    assert begun is not None
    assert [piece.place for piece in begun.pieces] == [1]  # what is in memory is not begun by a thread
    gather(catalog, reader, (0, "features"), runs, frames)
    reader.end()
    np.testing.assert_array_equal(frames, matrix[starts])
    assert alone == [absent]
    assert asked == [7, absent]
    reader.close()


@pytest.mark.parametrize("is_mapped", [True, False])
def test_of_many_rows_those_alone_are_read_ahead_that_are_not_in_memory(catalog: Catalog, is_mapped: bool) -> None:
    reader = Reader(catalog)
    runs = Runs(np.array([3, 41, 90]), np.array([1, 2, 1]), np.array([0, 1, 3]))
    place, row_bytes = (0, "features"), WIDTH * 4
    assert beyond_memory(catalog, reader, place, runs, row_bytes) == [0, 1, 2]  # the file is not open
    file = reader.open_file(0)
    if not is_mapped:
        file.mapped = lambda: None  # type: ignore[method-assign]
    assert beyond_memory(catalog, reader, place, runs, row_bytes) == []  # it was written a moment ago
    beyond = Runs(np.array([3, ROWS, 90]), *runs[1:])
    assert beyond_memory(catalog, reader, place, beyond, row_bytes) == [1]
    reader.close()
