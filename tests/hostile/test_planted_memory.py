"""Whatever lies in the place of a service's shared memory, nothing is deleted or mapped that no service has made."""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from loader_service.daemon.segments import SegmentStore
from loader_service.errors import ConfigError, ServiceUnavailable
from loader_service.private_folders import Folder
from loader_service.protocol import segment_files
from tests.support.services import command_line, new_endpoint, running_service
from tests.support.users import STRANGER, as_root, command_as, give

INSTANCE = "0123456789abcdef"


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A tmpfs that everybody can write to, as /dev/shm is."""
    folder = Path(tempfile.mkdtemp(prefix="ls-", dir="/dev/shm"))
    folder.chmod(0o1777)
    monkeypatch.setenv(segment_files.ENVIRONMENT_VARIABLE, str(folder))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """What the victim has: folders and files, some called as a service would."""
    for name in (".ssh", "thesis", INSTANCE):
        (tmp_path / "home" / name).mkdir(parents=True)
        (tmp_path / "home" / name / "slot-1").write_text("years of work")
    return tmp_path / "home"


def is_whole(home: Path) -> bool:
    return [(home / name / "slot-1").read_text() for name in (".ssh", "thesis", INSTANCE)] == ["years of work"] * 3


def place() -> Path:
    return segment_files.user_directory()


def made_place() -> Path:
    place().mkdir(mode=0o700)
    return place()


def dead_service() -> Path:
    """The folder that a killed service has left."""
    folder = place() / secrets.token_hex(8)
    folder.mkdir(mode=0o700)
    for slot in (1, 2, 13):
        (folder / f"slot-{slot}").write_bytes(bytes(4096))
    return folder


def test_a_link_as_the_users_folder_ends_the_start_and_nothing_is_deleted(
    memory: Path, home: Path, small_videos: Path
) -> None:
    place().symlink_to(home)
    start = command_line("start", f"--endpoint={new_endpoint()}", small_videos / "part0.h5")
    done = subprocess.run(start, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 2
    assert f"{str(place())!r} is a link or no folder" in done.stderr
    assert "Traceback" not in done.stderr
    assert is_whole(home)
    assert place().is_symlink()


@as_root
def test_a_link_that_another_user_has_planted_is_refused(memory: Path, home: Path) -> None:
    place().symlink_to(home)
    give(place(), STRANGER)
    with pytest.raises(ConfigError, match="is a link or no folder"):
        SegmentStore()
    assert is_whole(home)


@as_root
def test_a_link_on_the_way_that_another_user_has_planted_is_refused(
    memory: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (memory / "large").symlink_to(home)
    give(memory / "large", STRANGER)
    monkeypatch.setenv(segment_files.ENVIRONMENT_VARIABLE, str(memory / "large"))
    with pytest.raises(ConfigError, match=f"is a link that user {STRANGER} has planted"):
        SegmentStore()
    assert sorted(os.listdir(home)) == [INSTANCE, ".ssh", "thesis"] or is_whole(home)


@as_root
def test_roots_folder_is_not_another_users(memory: Path, small_videos: Path, tmp_path: Path) -> None:
    (memory / f"loader-service-{STRANGER}").mkdir(mode=0o777)
    (memory / f"loader-service-{STRANGER}").chmod(0o777)
    socket = Path(tempfile.mkdtemp(prefix="ls-", dir="/tmp"))
    try:
        give(socket, STRANGER)
        done = command_as(STRANGER, "start", f"--endpoint=ipc://{socket}/x.sock", small_videos / "part0.h5")
        assert done.returncode == 2
        assert "belongs to user 0, not to you" in done.stderr
        assert os.listdir(socket) == []
    finally:
        shutil.rmtree(socket)


@pytest.mark.parametrize("kind", ["file", "pipe"])
def test_what_is_no_folder_in_the_place_of_the_users_is_refused(memory: Path, kind: str) -> None:
    place().touch() if kind == "file" else os.mkfifo(place())
    with pytest.raises(ConfigError, match="is a link or no folder"):
        SegmentStore()
    assert os.path.lexists(place())


def test_a_folder_of_the_user_that_others_can_enter_is_closed_to_them_and_that_is_said(
    memory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made_place().chmod(0o777)
    with SegmentStore():
        assert stat.S_IMODE(place().stat().st_mode) == 0o700
    assert "others could enter" in caplog.text


def test_the_sweep_removes_dead_services_and_nothing_else(
    memory: Path, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    made_place()
    dead = dead_service()
    shutil.copytree(home / "thesis", place() / "thesis")
    shutil.copytree(home / "thesis", place() / INSTANCE[:15])
    shutil.copytree(home / "thesis", place() / INSTANCE.upper())
    (place() / "0000000000000001").symlink_to(home)
    (place() / "0000000000000002").symlink_to(dead)
    (place() / "0000000000000003").write_text("years of work")
    os.mkfifo(place() / "0000000000000004")
    left = set(os.listdir(place())) - {dead.name}
    with SegmentStore() as store:
        assert set(os.listdir(place())) == left | {store.instance}
    assert set(os.listdir(place())) == left
    assert (place() / "thesis" / "slot-1").read_text() == "years of work"
    assert is_whole(home)
    (line,) = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert line.startswith(f"left alone in {str(place())!r} what no service of yours has made: '0000000000000001', ")


@pytest.mark.parametrize(
    "name", ["notes.txt", "slot-", "slot-0", "slot-01", "slot-1.bak", "slot-9x", "Slot-9", "slot-٣"]
)
def test_a_folder_that_holds_anything_beside_segments_is_left_alone(memory: Path, name: str) -> None:
    made_place()
    folder = dead_service()
    (folder / name).write_text("years of work")
    with SegmentStore():
        pass
    assert len(os.listdir(folder)) == 4


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_a_folder_with_something_else_called_like_a_segment_is_left_alone(memory: Path, home: Path, kind: str) -> None:
    made_place()
    folder = dead_service()
    match kind:
        case "link":
            (folder / "slot-3").symlink_to(home / "thesis" / "slot-1")
        case "folder":
            shutil.copytree(home / "thesis", folder / "slot-3")
        case "pipe":
            os.mkfifo(folder / "slot-3")
    with SegmentStore():
        pass
    assert len(os.listdir(folder)) == 4
    assert is_whole(home)


@as_root
def test_a_folder_or_a_segment_of_another_user_is_left_alone(memory: Path) -> None:
    made_place()
    theirs, mixed = dead_service(), dead_service()
    give(theirs, STRANGER)
    give(mixed / "slot-2", STRANGER)
    with SegmentStore():
        pass
    assert len(os.listdir(theirs)) == len(os.listdir(mixed)) == 3


def test_a_second_name_of_a_segment_keeps_its_content(memory: Path, tmp_path: Path) -> None:
    made_place()
    folder = dead_service()
    (memory / "precious").write_text("years of work")
    os.link(memory / "precious", folder / "slot-3")
    with SegmentStore():
        pass
    assert (memory / "precious").read_text() == "years of work"


def test_a_folder_that_is_swapped_during_the_sweep_costs_the_victim_nothing(
    memory: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_place()
    folder = dead_service()
    look = Folder.entries

    def look_and_swap(self: Folder) -> list[object]:
        found = list(look(self))
        if self.path.name == folder.name and not folder.is_symlink():
            folder.rename(place() / "moved")
            folder.symlink_to(home / "thesis")
        return found

    monkeypatch.setattr(Folder, "entries", look_and_swap)
    with SegmentStore():
        pass
    assert is_whole(home)
    assert folder.is_symlink()


def test_a_folder_that_was_put_in_the_place_of_a_services_own_stays_when_it_ends(memory: Path, home: Path) -> None:
    with SegmentStore() as store:
        store.create(2, 4096)
        folder = segment_files.instance_directory(store.instance)
        folder.rename(place() / "moved")
        shutil.copytree(home / "thesis", folder)
    assert (folder / "slot-1").read_text() == "years of work"


def test_what_a_user_puts_into_the_folder_of_a_service_stays(memory: Path) -> None:
    with SegmentStore() as store:
        store.create(2, 4096)
        folder = segment_files.instance_directory(store.instance)
        (folder / "thesis").write_text("years of work")
    assert os.listdir(folder) == ["thesis"]


def test_a_start_does_not_wait_for_ever_for_another_that_sweeps(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loader_service.daemon.segments._SWEEP_S", 0.2)
    holder = os.open(made_place(), os.O_RDONLY)
    try:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(ConfigError, match=r"could not be locked within 0.2 s: another process has it locked"):
            SegmentStore()
    finally:
        os.close(holder)


# ---- who maps


def mapped_is_refused(said: str) -> None:
    with pytest.raises(ServiceUnavailable, match=said):
        segment_files.map_segment(INSTANCE, 1, 4096)


def test_no_link_is_followed_to_a_segment_at_any_level(memory: Path, tmp_path: Path) -> None:
    real = tmp_path / "real" / INSTANCE
    real.mkdir(parents=True)
    (real / "slot-1").write_bytes(bytes(4096))
    place().symlink_to(real.parent)
    mapped_is_refused("is a link or no folder")
    place().unlink()
    made_place()
    (place() / INSTANCE).symlink_to(real)
    mapped_is_refused("is a link or no folder")
    (place() / INSTANCE).unlink()
    (place() / INSTANCE).mkdir()
    (place() / INSTANCE / "slot-1").symlink_to(real / "slot-1")
    mapped_is_refused("is a link or no file")
    (place() / INSTANCE / "slot-1").unlink()
    os.link(real / "slot-1", tmp_path / "other")
    shutil.copy(real / "slot-1", place() / INSTANCE / "slot-1")
    segment_files.map_segment(INSTANCE, 1, 4096).close()


def test_a_pipe_in_the_place_of_a_segment_is_refused_at_once(memory: Path) -> None:
    (made_place() / INSTANCE).mkdir()
    os.mkfifo(place() / INSTANCE / "slot-1")
    mapped_is_refused("is no file")


@as_root
@pytest.mark.parametrize("level", [0, 1, 2])
def test_nothing_of_another_user_is_mapped(memory: Path, level: int) -> None:
    levels = [place(), place() / INSTANCE, place() / INSTANCE / "slot-1"]
    levels[1].mkdir(parents=True)
    levels[2].write_bytes(bytes(4096))
    give(levels[level], STRANGER)
    mapped_is_refused(f"belongs to user {STRANGER}, not to you")


def test_a_service_works_in_a_memory_that_everybody_can_write_to(memory: Path, small_videos: Path) -> None:
    with running_service(small_videos / "part0.h5") as service:
        assert (place() / service.instance).is_dir()
    assert os.listdir(place()) == []
