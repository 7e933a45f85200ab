"""What a conversion leaves behind at any end, and what the next one makes of it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from loader_service.conversion.piece_log import LOG_NAME
from loader_service.conversion.pieces import LeftOut, OutputEntry, Piece, PieceOutcome
from loader_service.conversion.work_folder import WORK_NAME, WorkFolder
from loader_service.conversion.write_remedies import OutputError, output_error
from loader_service.errors import ConfigError

OUTCOME = PieceOutcome((OutputEntry("b/one.bin", 3, 7),), (LeftOut("v2", "it is bad"),), {"frames": 2})


def write(work: WorkFolder, number: int, name: str = "b/one.bin", data: bytes = b"abc") -> Path:
    path = work.folder_of(number) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_a_finished_place_holds_what_was_written_and_nothing_of_ours(tmp_path: Path) -> None:
    place = tmp_path / "out"
    with WorkFolder(place, "plan") as work:
        write(work, 0)
        work.finish_piece(0, OUTCOME)
        work.finish("manifest.json", b"{}")
    assert sorted(str(each.relative_to(place)) for each in place.rglob("*")) == ["b", "b/one.bin", "manifest.json"]


def test_what_was_at_work_is_removed_and_what_was_noted_gets_its_name(tmp_path: Path) -> None:
    with WorkFolder(tmp_path, "plan") as work:
        write(work, 0)
        work._log.note(0, OUTCOME)  # killed before the rename
        write(work, 1, "b/two.bin")
    assert not (tmp_path / "b").exists()
    with WorkFolder(tmp_path, "plan") as work:
        assert work.outcomes == {0: OUTCOME}
        assert (tmp_path / "b" / "one.bin").read_bytes() == b"abc"
        assert sorted(os.listdir(work.path)) == [LOG_NAME]


def test_every_cut_of_the_log_is_a_state_to_go_on_from(tmp_path: Path) -> None:
    with WorkFolder(tmp_path, "plan") as work:
        for number in range(2):
            write(work, number, f"{number}.bin")
            work.finish_piece(number, PieceOutcome((OutputEntry(f"{number}.bin", 3),)))
    log = tmp_path / WORK_NAME / LOG_NAME
    whole = log.read_bytes()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == 10]
    for cut in range(len(whole) + 1):
        log.parent.mkdir(mode=0o700, exist_ok=True)  # nothing is left of one without a piece
        log.write_bytes(whole[:cut])
        with WorkFolder(tmp_path, "plan") as work:
            assert len(work.outcomes) == max(0, sum(end <= cut for end in ends) - 1)


def test_a_file_that_was_removed_meanwhile_is_written_again(tmp_path: Path) -> None:
    with WorkFolder(tmp_path, "plan") as work:
        write(work, 0)
        work.finish_piece(0, OUTCOME)
    (tmp_path / "b" / "one.bin").write_bytes(b"shorter or longer")
    with WorkFolder(tmp_path, "plan") as work:
        assert work.outcomes == {}


def test_other_work_in_the_place_is_refused_and_forced_anew(tmp_path: Path) -> None:
    with WorkFolder(tmp_path, "plan") as work:
        write(work, 0)
        work.finish_piece(0, OUTCOME)
    with pytest.raises(ConfigError, match="an unfinished conversion of other files"):
        WorkFolder(tmp_path, "another")
    with WorkFolder(tmp_path, "another", force=True) as work:
        assert work.outcomes == {}


def test_two_conversions_in_one_place_are_refused(tmp_path: Path) -> None:
    with WorkFolder(tmp_path, "plan"), pytest.raises(ConfigError, match="another conversion is at work"):
        WorkFolder(tmp_path, "plan")


def test_what_is_there_is_not_overwritten_unless_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"mine")
    piece = Piece(0, ("a.bin",), None, 3)
    outcome = PieceOutcome((OutputEntry("a.bin", 3),))
    with WorkFolder(tmp_path, "plan") as work:
        with pytest.raises(ConfigError, match=r"a\.bin' is there already"):
            work.check_targets([piece])
        write(work, 0, "a.bin")
        with pytest.raises(ConfigError, match="has come to be there meanwhile"):
            work.finish_piece(0, outcome)
    assert (tmp_path / "a.bin").read_bytes() == b"mine"
    with WorkFolder(tmp_path, "plan", force=True) as work:
        work.check_targets([piece])
        write(work, 0, "a.bin")
        work.finish_piece(0, outcome)
    assert (tmp_path / "a.bin").read_bytes() == b"abc"


def test_a_folder_that_holds_more_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "000002.jpg").write_bytes(b"mine")
    with WorkFolder(tmp_path, "plan", force=True) as work:
        write(work, 0, "v/000001.jpg")
        with pytest.raises(ConfigError, match=r"holds '000002\.jpg', which is not overwritten"):
            work.finish_piece(0, PieceOutcome((OutputEntry("v", 3),)))
    assert (tmp_path / "v" / "000002.jpg").read_bytes() == b"mine"


def test_a_link_in_the_place_of_the_work_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / WORK_NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="is a link or no folder"):
        WorkFolder(tmp_path / "out", "plan")
    assert os.listdir(tmp_path / "elsewhere") == []


def test_a_link_in_the_place_of_a_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "b").symlink_to(tmp_path / "elsewhere")
    with WorkFolder(tmp_path / "out", "plan", force=True) as work:
        write(work, 0)
        with pytest.raises(ConfigError, match="is a link, and links are not followed"):
            work.finish_piece(0, OUTCOME)
    assert os.listdir(tmp_path / "elsewhere") == []


def test_what_others_left_in_the_work_folder_is_left_alone(tmp_path: Path) -> None:
    with WorkFolder(tmp_path, "plan") as work:
        (work.path / "notes.txt").write_text("mine")
    with WorkFolder(tmp_path, "plan") as work:
        work.finish("manifest.json", b"{}")
    assert (tmp_path / WORK_NAME / "notes.txt").read_text() == "mine"


def test_a_full_disk_is_named_with_its_remedy() -> None:
    error = output_error(Path("/place"), OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    assert isinstance(error, OutputError)
    assert str(error).startswith("writing '/place': No space left on device; free some space, and run the same command")
