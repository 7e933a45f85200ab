"""A frame is given out only when it is whole, whatever became of the process that wrote it and of the file."""

from __future__ import annotations

import errno
import os
import resource
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from loader_service.frame_cache.cells import BLOCK_FRAMES, Cells, FrameRun
from loader_service.frame_cache.form_file import EMPTY, OTHER, FormFile
from loader_service.frame_cache.form_header import (
    DamagedHeader,
    ForeignFile,
    FormHeader,
    keep_less,
    read_extent,
    read_header,
    write_extent,
    write_header,
)

CELLS = Cells(100, 5000)
HEADER = FormHeader(b"k" * 32, CELLS, "frames: 10 x 500 x 1")
TAG = 12345


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "form"
    descriptor = os.open(made, os.O_RDWR | os.O_CREAT)
    write_header(descriptor, HEADER)
    write_extent(descriptor, CELLS.blocks, 1)
    os.close(descriptor)
    return made


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def open_form(path: Path, lines: list[str]) -> Iterator[Callable[..., FormFile]]:
    opened: list[FormFile] = []

    def open_again(*, is_in_memory: bool = True) -> FormFile:
        form = FormFile(os.open(path, os.O_RDWR), str(path), CELLS, lines.append, is_in_memory=is_in_memory)
        opened.append(form)
        form.begin()
        return form

    yield open_again
    for each in opened:
        each.close()


@pytest.fixture
def form(open_form: Callable[..., FormFile]) -> FormFile:
    return open_form()


@contextmanager
def by_others(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR)
    yield descriptor
    os.close(descriptor)


def run_of(frame: int, count: int = 1) -> FrameRun:
    (run,) = CELLS.runs(range(frame, frame + count))
    return run


def pixels_of(frame: int) -> np.ndarray:
    return np.random.default_rng(frame).integers(0, 256, CELLS.frame_bytes, dtype=np.uint8)


def put(form: FormFile, frame: int, tag: int = TAG) -> bool:
    word = form.stamps(run_of(frame), tag)[0]
    return form.write(run_of(frame), frame, word, tag, pixels_of(frame))


def got(form: FormFile, frame: int, tag: int = TAG) -> bytes | None:
    words = form.stamps(run_of(frame), tag)
    out = np.zeros((1, CELLS.frame_bytes), np.uint8)
    if words[0] < 0 or not form.read(run_of(frame), frame, words, tag, out):
        return None
    return out.tobytes()


def test_what_was_written_is_read_by_another_process_too(
    form: FormFile, open_form: Callable[..., FormFile], lines: list[str]
) -> None:
    for frame in (0, 17, 99):
        assert got(form, frame) is None
        assert put(form, frame)
    for reader in (form, open_form(), open_form(is_in_memory=False)):
        assert [got(reader, frame) for frame in (0, 17, 99)] == [pixels_of(frame).tobytes() for frame in (0, 17, 99)]
        assert got(reader, 18) is None
    assert lines == []


def test_a_file_that_cannot_be_mapped_is_read(
    open_form: Callable[..., FormFile], monkeypatch: pytest.MonkeyPatch, lines: list[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))

    monkeypatch.setattr("loader_service.frame_cache.form_file.mmap.mmap", refuse)
    form = open_form()
    assert put(form, 17)
    run, room = run_of(17), np.zeros(CELLS.frame_bytes, np.uint8)
    (word,) = form.stamps(run, TAG)
    assert got(form, 17) == pixels_of(17).tobytes()
    assert form.views(run, 17, [word], TAG, (1, CELLS.frame_bytes, 1)) is None
    found = form.view(run, 17, word, TAG, room)
    assert found is room
    assert found.tobytes() == pixels_of(17).tobytes()
    assert lines == []


def test_looking_for_frames_takes_no_memory_where_none_is() -> None:
    # A page that is taken so, where memory is full, is a SIGBUS.
    with tempfile.TemporaryFile(dir="/dev/shm") as file:
        write_header(file.fileno(), HEADER)
        write_extent(file.fileno(), CELLS.blocks, 1)
        form = FormFile(os.dup(file.fileno()), "form", CELLS, print, is_in_memory=True)
        form.begin()
        before = os.fstat(file.fileno()).st_blocks
        found = [got(form, frame) for frame in range(100)]
        after = os.fstat(file.fileno()).st_blocks
        form.close()

    assert found == [None] * 100
    assert after == before


def test_neighbours_are_read_together(form: FormFile) -> None:
    for frame in range(32, 48):
        put(form, frame)
    run = run_of(32, 16)
    out = np.zeros((16, CELLS.frame_bytes), np.uint8)

    assert form.read(run, 32, form.stamps(run, TAG), TAG, out)
    assert (out == [pixels_of(frame) for frame in range(32, 48)]).all()


def test_smaller_frames_lie_in_cells_of_the_largest(form: FormFile, open_form: Callable[..., FormFile]) -> None:
    for frame in range(3):
        form.write(run_of(frame), frame, EMPTY, TAG, pixels_of(frame)[:777])
    reader, run, out = open_form(), run_of(0, 3), np.zeros((3, 777), np.uint8)

    assert reader.read(run, 0, reader.stamps(run, TAG), TAG, out)
    assert (out == [pixels_of(frame)[:777] for frame in range(3)]).all()


def test_frames_of_a_file_that_has_changed_are_not_there(form: FormFile) -> None:
    put(form, 5)

    assert form.stamps(run_of(5), TAG + 2) == [OTHER]
    assert got(form, 5, TAG + 2) is None
    assert put(form, 5, TAG + 2)
    assert got(form, 5) is None
    assert got(form, 5, TAG + 2) == pixels_of(5).tobytes()


@pytest.mark.parametrize("written", [0, 1, 4096, 4999])
def test_a_writer_that_died_over_the_pixels_leaves_no_frame(form: FormFile, path: Path, written: int) -> None:
    run = run_of(3)
    with path.open("r+b") as file:
        file.seek(CELLS.frame_at(run.place, run.begin))
        file.write(pixels_of(3).tobytes()[:written])

    assert got(form, 3) is None


@pytest.mark.parametrize("lost", [slice(0, 4096), slice(4096, 5000), slice(2000, 2512)])
def test_a_stamp_without_its_pixels_is_no_frame(
    form: FormFile, path: Path, open_form: Callable[..., FormFile], lost: slice
) -> None:
    put(form, 3)
    run = run_of(3)
    with path.open("r+b") as file:
        file.seek(CELLS.frame_at(run.place, run.begin) + lost.start)
        file.write(bytes(lost.stop - lost.start))
    after = open_form()

    assert got(after, 3) is None
    assert put(after, 3)
    assert got(open_form(), 3) == pixels_of(3).tobytes()


def test_on_a_disk_the_sum_is_compared_each_time(path: Path, open_form: Callable[..., FormFile]) -> None:
    form = open_form(is_in_memory=False)
    put(form, 3)
    assert got(form, 3) == pixels_of(3).tobytes()
    run = run_of(3)
    with path.open("r+b") as file:  # as a page that the disk has lost comes back
        file.seek(CELLS.frame_at(run.place, run.begin))
        file.write(bytes(512))

    assert got(form, 3) is None


@pytest.mark.parametrize("is_in_memory", [True, False])
@pytest.mark.parametrize("size", [0, 100, CELLS.file_bytes(2) - 3, CELLS.file_bytes(CELLS.blocks) - 1])
def test_a_file_that_was_cut_off_keeps_nothing_and_says_so_once(
    open_form: Callable[..., FormFile], path: Path, lines: list[str], size: int, is_in_memory: bool
) -> None:
    form = open_form(is_in_memory=is_in_memory)
    for frame in range(0, 100, 9):
        put(form, frame)
    os.truncate(path, size)
    assert not form.is_unchanged()
    form.begin()
    form.begin()

    assert [got(form, frame) for frame in range(0, 100, 9)] == [None] * 12
    assert not put(form, 4)
    assert len(lines) == 1
    assert "is damaged; it is made anew when a stream opens" in lines[0]


def test_only_what_has_a_place_is_kept(form: FormFile, path: Path) -> None:
    with by_others(path) as descriptor:
        write_extent(descriptor, 3, 2)
    form.begin()
    kept = [frame for frame in range(100) if put(form, frame)]

    assert {CELLS.place_of(frame // BLOCK_FRAMES) for frame in kept} == {0, 1, 2}
    assert path.stat().st_blocks * 512 <= CELLS.file_bytes(3) + 4096


def test_a_reader_notices_that_the_file_was_cut_meanwhile(form: FormFile, path: Path) -> None:
    put(form, 3)
    form.begin()
    assert got(form, 3) is not None
    with by_others(path) as descriptor:
        keep_less(descriptor, CELLS, 0, 1)
        write_extent(descriptor, CELLS.blocks, 2)

    assert not form.is_unchanged()
    form.begin()
    assert form.is_unchanged()
    assert got(form, 3) is None


def test_a_stamp_that_came_after_the_cut_is_not_trusted(form: FormFile, path: Path) -> None:
    put(form, 3)
    run = run_of(3)
    with by_others(path) as descriptor:
        stamp = os.pread(descriptor, 16, CELLS.stamp_at(run.place, run.begin))
        keep_less(descriptor, CELLS, 0, 1)
        write_extent(descriptor, CELLS.blocks, 2)
        os.pwrite(descriptor, stamp, CELLS.stamp_at(run.place, run.begin))
    form.begin()

    assert got(form, 3) is None


def test_a_header_is_read_as_it_was_written(path: Path) -> None:
    with path.open("rb") as file:
        assert read_header(file.fileno()) == HEADER
        assert read_extent(file.fileno()) == (CELLS.blocks, 1)


@pytest.mark.parametrize(
    ("at", "error"), [(0, ForeignFile), (9, DamagedHeader), (20, DamagedHeader), (60, DamagedHeader)]
)
def test_a_damaged_header_is_noticed(path: Path, at: int, error: type[Exception]) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(b"\xff\xfe")
        file.flush()
        with pytest.raises(error):
            read_header(file.fileno())


def test_a_damaged_number_of_blocks_keeps_nothing_and_says_so_once(
    form: FormFile, path: Path, lines: list[str]
) -> None:
    put(form, 3)
    with path.open("r+b") as file:
        file.seek(2048)
        file.write(b"\xff")
    form.begin()
    form.begin()

    assert got(form, 3) is None
    assert not put(form, 4)
    assert len(lines) == 1
    assert "is damaged" in lines[0]


def test_a_full_file_system_costs_the_frame_and_one_line(form: FormFile, path: Path, lines: list[str]) -> None:
    put(form, 3)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (CELLS.file_bytes(0) + 100, hard))
    try:
        written = [put(form, frame) for frame in (40, 41, 42)]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert written == [False, False, False]
    assert got(form, 3) == pixels_of(3).tobytes()
    assert len(lines) == 1
    assert "finds no room" in lines[0]
    assert "start with a smaller --cache" in lines[0]
