"""Runs that were killed, that met a full disk, or that come again: no half file is ever taken for a whole one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from loader_service.conversion.write_remedies import add_who_goes_on, interrupted
from loader_service.errors import ConfigError, PackError
from loader_service.failpoints import ENVIRONMENT_VARIABLE
from loader_service.pack.pack_command import pack_command
from loader_service.pack.pack_place import PackPlace
from tests.pack.runs import contents, run_pack
from tests.pack.test_pictures import write_frames

#: How long a run may take, in seconds; on a busy machine a process takes some to start.
_PATIENCE_S = 300.0


def run_command(*words: object, preexec: object = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does."""
    return subprocess.run(
        [sys.executable, "-m", "loader_service", "pack", *map(str, words)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=_PATIENCE_S,
        preexec_fn=preexec,  # type: ignore[arg-type]
    )


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of twelve videos, each large enough to be a unit of its own."""
    folder = tmp_path_factory.mktemp("source") / "in"
    write_frames(folder, lengths=(3, 4, 5, 6, 7, 8))
    return folder


@pytest.fixture(scope="module")
def unbroken(source: Path) -> bytes:
    """Return what a run writes that nothing disturbs."""
    output = source.parent / "unbroken.h5"
    run_pack(source, output=output)
    return output.read_bytes()


@pytest.mark.parametrize("place", ["packed", "sealed", "renamed"])
def test_a_run_that_was_killed_is_gone_on_with_into_the_same_bytes(
    tmp_path: Path, source: Path, unbroken: bytes, place: str
) -> None:
    output = tmp_path / "out.h5"
    died = run_command(source, "-o", output, **{ENVIRONMENT_VARIABLE: f"{place}=kill"})
    assert died.returncode == -signal.SIGKILL
    assert output.exists() == (place == "renamed")
    assert (tmp_path / "out.packing").exists()
    run_pack(source, output=output)
    assert output.read_bytes() == unbroken
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.h5", "out.manifest.jsonl"]


def test_what_a_killed_run_wrote_is_read_again_where_its_bytes_are_not_whole(
    tmp_path: Path, source: Path, unbroken: bytes
) -> None:
    output = tmp_path / "out.h5"
    run_command(source, "-o", output, **{ENVIRONMENT_VARIABLE: "sealed=kill"})
    shard = tmp_path / "out.packing" / "00000.bytes"
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(data)
    journal = tmp_path / "out.packing" / "journal.jsonl"
    journal.write_text(journal.read_text()[:-20])
    run_pack(source, output=output)
    assert output.read_bytes() == unbroken


def test_a_second_run_adds_what_is_new_and_reads_nothing_else(tmp_path: Path) -> None:
    written = write_frames(tmp_path / "in", classes=("cat",))
    first = run_pack(tmp_path / "in", output=tmp_path / "out.h5")
    before = (tmp_path / "out.h5").stat()
    again = run_pack(tmp_path / "in", output=tmp_path / "out.h5")
    assert (first.added, again.added) == (2, 0)
    assert (tmp_path / "out.h5").stat() == before
    written |= write_frames(tmp_path / "in", classes=("dog",))
    assert run_pack(tmp_path / "in", output=tmp_path / "out.h5").added == 2
    assert contents(tmp_path, tmp_path / "out.h5") == written


def test_a_source_that_has_changed_since_is_told_and_packed_only_by_force(tmp_path: Path) -> None:
    write_frames(tmp_path / "in")
    run_pack(tmp_path / "in", output=tmp_path / "out.h5")
    changed = tmp_path / "in" / "cat" / "v0" / "1.jpg"
    changed.write_bytes((tmp_path / "in" / "dog" / "v0" / "1.jpg").read_bytes())
    assert run_pack(tmp_path / "in", output=tmp_path / "out.h5").changed == ["cat/v0"]
    run_pack(tmp_path / "in", output=tmp_path / "out.h5", force=True)
    assert contents(tmp_path, tmp_path / "out.h5")["cat/v0"][0] == changed.read_bytes()
    oldest = min((tmp_path / "in" / "dog" / "v0").iterdir(), key=lambda each: each.stat().st_mtime_ns)
    oldest.unlink()
    assert run_pack(tmp_path / "in", output=tmp_path / "out.h5").changed == ["dog/v0"]


def test_what_pack_did_not_write_is_never_written_over_nor_removed(tmp_path: Path) -> None:
    write_frames(tmp_path / "in")
    (tmp_path / "out.h5").write_bytes(b"mine")
    with pytest.raises(ConfigError, match=r"out\.h5' is there already, and not of pack.*--force"):
        run_pack(tmp_path / "in", output=tmp_path / "out.h5")
    assert (tmp_path / "out.h5").read_bytes() == b"mine"
    (tmp_path / "new.packing").mkdir()
    (tmp_path / "new.packing" / "00000.bytes").write_bytes(b"mine")
    with pytest.raises(ConfigError, match=r"new\.packing' was not made by pack"):
        run_pack(tmp_path / "in", output=tmp_path / "new.h5", force=True)
    assert (tmp_path / "new.packing" / "00000.bytes").read_bytes() == b"mine"


def test_a_second_run_at_once_is_refused(tmp_path: Path, source: Path) -> None:
    place = PackPlace(str(tmp_path / "out.h5"), is_sharded=False)
    with (
        place.claimed({}, anew=False),
        pytest.raises(ConfigError, match=r"another conversion is at work in '.*out\.packing'"),
    ):
        run_pack(source, output=tmp_path / "out.h5")


def test_a_link_in_the_place_of_what_is_unfinished_is_not_followed(tmp_path: Path, source: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "out.packing").symlink_to(tmp_path / "mine")
    with pytest.raises(ConfigError, match=r"out\.packing' is a link or no folder: write to another place"):
        run_pack(source, output=tmp_path / "out.h5")
    assert not list((tmp_path / "mine").iterdir())


def test_other_options_than_before_are_refused(tmp_path: Path, source: Path) -> None:
    run_pack(source, output=tmp_path / "out.h5")
    with pytest.raises(ConfigError, match=r"packed without --quality, and now with --quality 50; give the same"):
        run_pack(source, output=tmp_path / "out.h5", quality=50)
    run_command(source, "-o", tmp_path / "b.h5", **{ENVIRONMENT_VARIABLE: "packed=kill"})
    with pytest.raises(ConfigError, match=r"begun with another --quality.*--force"):
        run_pack(source, output=tmp_path / "b.h5", quality=50)
    run_pack(source, output=tmp_path / "b.h5", quality=50, force=True)


def _only_small_files() -> None:
    import resource  # noqa: PLC0415 - in the child alone

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))


def test_a_disk_without_room_ends_in_one_line_and_the_next_run_goes_on(
    tmp_path: Path, source: Path, unbroken: bytes
) -> None:
    full = run_command(source, "-o", tmp_path / "out.h5", preexec=_only_small_files)
    assert full.returncode == 1
    (line,) = full.stderr.splitlines()
    assert line.startswith("loader-service: writing")
    assert "write smaller files (--shard-size), or raise the limit of their size (ulimit -f), and run the same" in line
    assert not (tmp_path / "out.h5").exists()
    run_pack(source, output=tmp_path / "out.h5")
    assert (tmp_path / "out.h5").read_bytes() == unbroken


def test_a_process_that_dies_over_a_video_is_named_and_the_rest_is_packed(tmp_path: Path, source: Path) -> None:
    told = run_command(
        *(source, "-o", tmp_path / "out.h5", "--on-error", "skip", "--workers", 2),
        **{ENVIRONMENT_VARIABLE: f"reading[cat/v1]=segv:{tmp_path / 'once'}"},
    )
    assert told.returncode == 1
    assert "left out: 'cat/v1'" in told.stderr
    assert "SIGSEGV" in told.stderr
    assert len(contents(tmp_path, tmp_path / "out.h5")) == 11


def test_a_run_that_fails_leaves_nothing_or_says_who_goes_on(tmp_path: Path) -> None:
    write_frames(tmp_path / "in", lengths=(3,))
    (tmp_path / "in" / "cat" / "v0" / "1.jpg").write_bytes(b"no picture")
    with pytest.raises(PackError, match="expected a JPEG"):
        run_pack(tmp_path / "in", output=tmp_path / "out.h5")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]
    shutil.move(tmp_path / "in" / "cat", tmp_path / "in" / "zebra")
    failed = run_command(tmp_path / "in", "-o", tmp_path / "out.h5", "--workers", 1)
    assert failed.returncode == 1
    assert (tmp_path / "out.packing").exists() == ("the same command goes on" in failed.stderr)
    error = PackError("it is bad")
    add_who_goes_on(error, tmp_path / "none")
    assert str(error) == "it is bad"
    add_who_goes_on(error, tmp_path)
    assert str(error).startswith(f"it is bad; what is finished stays, by '{tmp_path}': the same command goes on")


def test_ctrl_c_says_in_one_line_what_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def begin_and_be_interrupted(*_: object) -> None:
        (tmp_path / "out.packing").mkdir()
        raise KeyboardInterrupt

    write_frames(tmp_path / "in", lengths=(3,))
    monkeypatch.setattr("loader_service.pack.packing.pack", begin_and_be_interrupted)
    told = CliRunner().invoke(pack_command, [str(tmp_path / "in"), "-o", str(tmp_path / "out.h5")])
    (line,) = told.stderr.strip().splitlines()[:1]
    stays = f"what is finished stays, by '{tmp_path}/out.packing': the same command goes on, --force begins anew"
    assert line == f"interrupted; {stays}"
    assert interrupted(tmp_path / "none") == "interrupted; nothing of it is left"


def test_a_kill_while_the_header_is_written_leaves_a_place_to_begin_in(tmp_path: Path) -> None:
    write_frames(tmp_path / "in", lengths=(3,))
    (tmp_path / "out.packing").mkdir(mode=0o700)
    (tmp_path / "out.packing" / "pack.json.new").write_text('{"form')
    assert run_pack(tmp_path / "in", output=tmp_path / "out.h5").added == 2
