"""The folder of frames belongs to one user and one service, and never touches what it did not make."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from loader_service.frame_cache.cells import Cells
from loader_service.frame_cache.form_file import EMPTY, FormFile
from loader_service.frame_cache.form_header import FormHeader
from loader_service.frame_cache.frame_folder import (
    FolderTaken,
    FrameFolder,
    claim,
    folder_name,
    form_sizes,
    is_in_memory,
    open_frames,
    taken_bytes,
)
from loader_service.private_folders import NotOurs

CELLS = Cells(320, 2000)
FULL = CELLS.file_bytes(CELLS.blocks)


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def folder(tmp_path: Path, lines: list[str]) -> Iterator[FrameFolder]:
    opened = FrameFolder(tmp_path, FULL, lines.append)
    yield opened
    opened.close()


def header(number: int, cells: Cells = CELLS) -> FormHeader:
    return FormHeader(bytes([number]) * 32, cells, f"form {number}")


def opened_form(folder: FrameFolder, number: int) -> FormFile:
    form = folder.open_form(header(number))
    assert form is not None
    form.begin()
    return form


def fill(form: FormFile) -> int:
    """Write all frames that have a place; return how many."""
    pixels = np.ones(CELLS.frame_bytes, np.uint8)
    runs = [next(iter(CELLS.runs([frame]))) for frame in range(CELLS.frames)]
    return sum(form.write(run, frame, EMPTY, 1, pixels) for frame, run in enumerate(runs))


def path_of(tmp_path: Path, number: int) -> Path:
    return tmp_path / folder_name() / f"{bytes([number]).hex() * 16}.frames"


def taken(tmp_path: Path) -> int:
    """Return what all forms take."""
    with open_frames(tmp_path) as folder:
        return taken_bytes(folder)


def test_one_form_may_take_all_of_the_budget(folder: FrameFolder, tmp_path: Path) -> None:
    assert fill(opened_form(folder, 1)) == CELLS.frames
    assert taken(tmp_path) <= FULL + 4096


def test_a_second_form_halves_the_share_of_the_first_without_moving_its_frames(
    folder: FrameFolder, tmp_path: Path, lines: list[str]
) -> None:
    first = opened_form(folder, 1)
    fill(first)
    others = FrameFolder(tmp_path, FULL, lines.append)  # as another worker
    second = opened_form(others, 2)
    assert not first.is_unchanged()
    first.begin()
    kept = [first.stamps(next(iter(CELLS.runs([frame]))), 1)[0] >= 0 for frame in range(CELLS.frames)]

    assert sum(kept) == CELLS.frames * 9 // 20
    assert fill(second) == CELLS.frames * 9 // 20
    assert taken(tmp_path) <= FULL + 4 * 4096  # files take whole pages
    others.close()


def test_a_share_grows_again_when_the_other_form_is_used_no_more(folder: FrameFolder, tmp_path: Path) -> None:
    first, second = opened_form(folder, 1), opened_form(folder, 2)
    folder.release(second)
    folder.release(first)
    again = opened_form(folder, 1)

    assert fill(again) == CELLS.frames
    assert not path_of(tmp_path, 2).exists()


def test_a_form_of_an_earlier_run_is_kept_while_there_is_room(tmp_path: Path, lines: list[str]) -> None:
    with_room = FrameFolder(tmp_path, 2 * FULL, lines.append)
    fill(opened_form(with_room, 1))
    with_room.close()
    later = FrameFolder(tmp_path, 2 * FULL, lines.append)
    opened_form(later, 2)
    found = opened_form(later, 1)
    later.close()

    assert lines == []
    assert taken(tmp_path) >= FULL
    assert found is not None


def test_two_streams_of_one_form_share_a_file(folder: FrameFolder) -> None:
    first, second = opened_form(folder, 1), opened_form(folder, 1)
    assert first is second
    folder.release(first)
    fill(second)

    assert second.is_unchanged()


@pytest.mark.parametrize("damage", [b"LSFRAMES\xff\xff", b"LSFRAMES"])
def test_a_damaged_header_is_made_anew_with_a_line(
    folder: FrameFolder, tmp_path: Path, lines: list[str], damage: bytes
) -> None:
    folder.release(opened_form(folder, 1))
    path_of(tmp_path, 1).write_bytes(damage.ljust(5000, b"\xff"))
    form = opened_form(folder, 1)

    assert fill(form) == CELLS.frames
    assert len(lines) == 1
    assert "was damaged, or of another version" in lines[0]


@pytest.mark.parametrize("size", [0, 5000, FULL])
def test_a_file_whose_maker_was_killed_before_its_header_stood_is_made_anew(
    folder: FrameFolder, tmp_path: Path, lines: list[str], size: int
) -> None:
    for number in (1, 2):
        path_of(tmp_path, number).touch(mode=0o600)
        os.truncate(path_of(tmp_path, number), size)

    assert fill(opened_form(folder, 1)) == CELLS.frames
    assert not path_of(tmp_path, 2).exists()
    assert len(lines) == (size > 0)


def test_a_file_that_no_cache_made_is_left_alone(folder: FrameFolder, tmp_path: Path, lines: list[str]) -> None:
    path_of(tmp_path, 1).write_text("the only copy of somebody's thesis")
    (tmp_path / folder_name() / "notes.txt").write_text("mine")

    assert folder.open_form(header(1)) is None
    assert path_of(tmp_path, 1).read_text() == "the only copy of somebody's thesis"
    assert (tmp_path / folder_name() / "notes.txt").read_text() == "mine"
    assert len(lines) == 1
    assert "remove or rename it" in lines[0]
    assert opened_form(folder, 2) is not None


def test_a_link_in_place_of_a_form_is_not_followed(folder: FrameFolder, tmp_path: Path, lines: list[str]) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"")
    path_of(tmp_path, 1).symlink_to(victim)

    assert folder.open_form(header(1)) is None
    assert victim.read_bytes() == b""
    assert "is a link" in lines[0]


def test_a_folder_without_our_marker_is_refused(tmp_path: Path) -> None:
    (tmp_path / folder_name()).mkdir(mode=0o700)
    (tmp_path / folder_name() / "data").write_text("mine")
    with pytest.raises(NotOurs, match=r"has no CACHEDIR\.TAG; empty or rename it"):
        open_frames(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / folder_name()).mkdir(mode=0o777)
    os.chown(tmp_path / folder_name(), 12345, 12345)
    with pytest.raises(NotOurs, match="belongs to user 12345"):
        open_frames(tmp_path)


def test_a_second_service_is_told_who_has_the_folder(tmp_path: Path) -> None:
    with open_frames(tmp_path) as first, open_frames(tmp_path) as second:
        with (
            claim(first, "the service at ipc:///a.sock (pid 7)"),
            pytest.raises(FolderTaken, match=r"a\.sock \(pid 7\)"),
            claim(second, "another"),
        ):
            pass
        with claim(second, "another"):
            pass


def test_people_see_how_much_is_kept(folder: FrameFolder, tmp_path: Path) -> None:
    fill(opened_form(folder, 1))
    opened_form(folder, 2)
    with open_frames(tmp_path) as opened:
        sizes = form_sizes(opened)
        together = taken_bytes(opened)

    assert sorted((each.title, each.frames, each.kept_frames) for each in sizes) == [
        ("form 1", 320, 144),
        ("form 2", 320, 144),
    ]
    assert 0 < sum(each.taken_bytes for each in sizes) == together <= FULL + 4 * 4096


def test_memory_is_told_from_disks(tmp_path: Path) -> None:
    with open_frames(tmp_path) as folder:
        device = folder.status().st_dev
        mounts = tmp_path / "mountinfo"
        for kind, is_memory in (("tmpfs", True), ("ext4", False), ("ramfs", True)):
            mounts.write_text(
                f"1 1 0:999 / / rw - proc p rw\n2 1 {os.major(device)}:{os.minor(device)} / /x rw - {kind} a rw\n"
            )
            assert is_in_memory(folder, mounts) is is_memory
        assert not is_in_memory(folder, tmp_path / "no such file")
