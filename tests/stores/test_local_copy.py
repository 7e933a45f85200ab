"""What is kept of objects on a local disk is the bytes that were fetched, or is fetched again."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from loader_client import Clip, connect
from loader_service.config import ServiceConfig
from loader_service.errors import ConfigError
from loader_service.kept_places import parse_local_copy
from loader_service.private_folders import NotOurs
from loader_service.stores import copy_folder
from loader_service.stores.copy_folder import CopyFolder
from loader_service.stores.faults import StoreFault
from loader_service.stores.object_copy import BLOCK_BYTES, ObjectCopy
from loader_service.stores.object_version import ObjectVersion
from loader_service.watching.status_text import status_text
from tests.stores.test_serving import JPEGS, from_disk, take
from tests.support.services import command_line, running_service
from tests.support.users import STRANGER, give
from tests.support.videos import make_videos, write_videos
from tests.support.waiting import eventually

CONTENT = np.random.default_rng(0).bytes(5 * BLOCK_BYTES + 1000)
URL = "s3://bucket/a.h5"
ROOMY = 2**30


class Store:
    """Gives bytes, and counts how many; a store that is down gives none."""

    def __init__(self, content=CONTENT):
        self.content, self.sent, self.is_down = content, 0, False

    def fetch(self, offset, length):
        if self.is_down:
            raise StoreFault("down")
        self.sent += length
        return self.content[offset : offset + length]

    def open(self, folder, url=URL, tag="1"):
        return ObjectCopy(self.fetch, url, ObjectVersion(len(self.content), tag), folder)


@pytest.fixture
def folder(tmp_path):
    opened = CopyFolder(tmp_path / "copies", ROOMY)
    yield opened
    opened.close()


def files_of(place):
    return sorted(place.glob(f"copies/loader-service-copy-{os.geteuid()}/*.blocks"))


def read_all(copy):
    data = copy.read_at(0, len(CONTENT))
    copy.close()
    return data


def test_what_was_read_once_needs_no_store(tmp_path, folder):
    store = Store()
    copy = store.open(folder)
    for offset, length in ((10, 100), (BLOCK_BYTES - 5, 10), (4 * BLOCK_BYTES, 2 * BLOCK_BYTES), (len(CONTENT), 1)):
        assert copy.read_at(offset, length) == CONTENT[offset : offset + length]
    assert store.sent == 3 * BLOCK_BYTES + 1000
    assert read_all(copy) == CONTENT
    before, store.is_down = store.sent, True
    later = CopyFolder(tmp_path / "copies", ROOMY)
    assert read_all(store.open(later)) == CONTENT
    assert store.sent == before
    assert (later.counts.kept, later.counts.fetched) == (6, 0)
    assert str(later.counts) == "6 blocks of 64 KiB came from the local copy, 0 from the store"
    later.close()
    assert read_all(store.open(folder)) == CONTENT
    closed = store.open(folder)
    closed.close()
    with pytest.raises(StoreFault):
        closed.read_at(0, 1)


def test_another_object_or_version_has_blocks_of_its_own(tmp_path, folder):
    other = bytes(reversed(CONTENT))
    assert read_all(Store().open(folder)) == CONTENT
    assert read_all(Store(other).open(folder, tag="2")) == other
    assert read_all(Store(other).open(folder, url=URL + "5")) == other
    assert len(files_of(tmp_path)) == 3
    one, two, _ = files_of(tmp_path)
    two.write_bytes(one.read_bytes())  # digests are of their own object: none of these fits
    third = Store(other)
    for url, tag, content in ((URL, "1", CONTENT), (URL, "2", other), (URL + "5", "1", other)):
        third.content = content
        assert read_all(third.open(folder, url=url, tag=tag)) == content
    assert third.sent == len(CONTENT)


@pytest.mark.parametrize("place", [0, BLOCK_BYTES - 1, 5 * BLOCK_BYTES + 999, 6 * BLOCK_BYTES + 16])
def test_a_damaged_block_is_fetched_again(tmp_path, folder, place):
    store = Store()
    read_all(store.open(folder))
    with files_of(tmp_path)[0].open("r+b") as file:
        file.seek(place)
        damaged = bytes([file.read(1)[0] ^ 1])
        file.seek(place)
        file.write(damaged)
    before = store.sent
    assert read_all(store.open(folder)) == CONTENT
    assert 0 < store.sent - before <= BLOCK_BYTES
    assert folder.counts.damaged == 1
    after = store.sent
    assert read_all(store.open(folder)) == CONTENT
    assert store.sent == after


def test_a_file_that_was_cut_off_is_no_more_than_its_whole_blocks(tmp_path, folder):
    read_all(Store().open(folder))
    for size in (0, 1, BLOCK_BYTES + 5, 6 * BLOCK_BYTES + 8):
        os.truncate(files_of(tmp_path)[0], size)
        assert read_all(Store().open(folder)) == CONTENT


KILLED = """
import sys
from loader_service.stores.copy_folder import CopyFolder
from tests.stores.test_local_copy import ROOMY, Store
while True:
    copy = Store().open(CopyFolder(sys.argv[1], ROOMY), tag=sys.stdin.readline())
    print("begin", flush=True)
    for each in range(6):
        copy.read_at(each * 65536, 65536)
"""


def test_a_kill_at_any_point_leaves_no_wrong_bytes(tmp_path, folder):
    command = [sys.executable, "-c", KILLED, tmp_path / "copies"]
    root = Path(__file__).parents[2]
    for number in range(3):
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root) as process:
            process.stdin.write(b"%d\n" % number)
            process.stdin.flush()
            process.stdout.readline()
            time.sleep(number * 0.0005)  # where it is killed: at the first block, or the next ones
            process.send_signal(signal.SIGKILL)
        assert read_all(Store().open(folder, tag=f"{number}\n")) == CONTENT
        store = Store()
        assert read_all(store.open(folder, tag=f"{number}\n")) == CONTENT
        assert store.sent == 0


def test_it_takes_no_more_than_it_may(tmp_path, caplog, monkeypatch):
    most = 3 * (BLOCK_BYTES + 4096)
    place = tmp_path / "copies"
    folder = CopyFolder(place, most)
    for tag in "ab":
        assert read_all(Store().open(folder, tag=tag)) == CONTENT
    assert sum(each.stat().st_blocks * 512 for each in files_of(tmp_path)) <= most
    assert caplog.text.count("is full") == 1
    foreign = folder.path / "notes.txt"
    foreign.write_text("mine")
    folder.close()
    # What went unused for long makes room; never what another name says is somebody else's.
    for each in (*files_of(tmp_path), foreign):
        os.utime(each, (0, 0))
    old = files_of(tmp_path)
    folder = CopyFolder(place, most)
    assert read_all(Store().open(folder, tag="c")) == CONTENT
    assert not any(each.exists() for each in old)
    assert foreign.read_text() == "mine"
    assert sum(each.stat().st_blocks * 512 for each in files_of(tmp_path)) <= most
    # What is in use stays, however old it looks.
    monkeypatch.setattr(copy_folder, "UNUSED_S", -1e6)
    used = Store().open(folder, tag="c")
    again = CopyFolder(place, most)
    assert read_all(Store().open(again, tag="d")) == CONTENT
    assert used.read_at(0, 10) == CONTENT[:10]
    used.close()
    again.close()
    folder.close()


def test_room_that_was_not_used_is_given_back(tmp_path):
    first, second = (CopyFolder(tmp_path / "copies", ROOMY) for _ in range(2))
    taken = first.path / "taken"
    assert first.take(1000)
    ahead = int.from_bytes(taken.read_bytes(), "little") - 1000
    assert 0 < ahead <= ROOMY / 1024
    assert second.take(ahead)  # never of what another one has
    second.close()
    assert int.from_bytes(taken.read_bytes(), "little") == 1000 + 2 * ahead
    assert first.take(ahead)
    first.close()
    assert int.from_bytes(taken.read_bytes(), "little") == 1000 + 2 * ahead
    CopyFolder(tmp_path / "copies", ROOMY).close()  # alone, it counts what is there
    assert int.from_bytes(taken.read_bytes(), "little") == 0


def test_a_disk_that_fails_costs_no_training(tmp_path, folder, caplog, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    store = Store()
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        for tag in "ab":
            assert read_all(store.open(folder, tag=tag)) == CONTENT
    assert caplog.text.count("No space left on device; what it lacks is fetched each time") == 1


def test_only_ones_own_folder_is_used(tmp_path):
    place = tmp_path / "copies" / f"loader-service-copy-{os.geteuid()}"
    place.mkdir(parents=True)
    (place / "notes.txt").write_text("mine")
    with pytest.raises(NotOurs, match=r"is not empty and has no CACHEDIR\.TAG; empty or rename it"):
        CopyFolder(tmp_path / "copies", ROOMY)
    (place / "notes.txt").unlink()
    CopyFolder(tmp_path / "copies", ROOMY).close()
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert (place / "CACHEDIR.TAG").read_bytes().startswith(b"Signature: 8a477f597d28d172789f06886806bc55\n")
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotOurs, match="is a link or no folder"):
        CopyFolder(tmp_path / "copies", ROOMY)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_the_folder_of_another_user_is_refused(tmp_path):
    CopyFolder(tmp_path / "copies", ROOMY).close()
    give(tmp_path / "copies" / "loader-service-copy-0", STRANGER)
    with pytest.raises(NotOurs, match="belongs to user"):
        CopyFolder(tmp_path / "copies", ROOMY)


def test_the_option_says_how_much_and_where(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert parse_local_copy("2G:a:b") == ("2G", str(tmp_path / "a:b"))
    for text, said in (
        ("2G", "give SIZE:FOLDER, such as 200G:/scratch/copy"),
        (":x", "give SIZE:FOLDER"),
        ("x:y", "local_copy='x:y': 'x' is no size"),
        ("1G:s3://b/c", "only local files are read"),
    ):
        with pytest.raises(ConfigError, match=said):
            ServiceConfig(("s3://b/a.h5",), local_copy=text)
    with pytest.raises(ConfigError, match="no file is a URL; leave it out"):
        ServiceConfig(("a.h5",), local_copy="2G:a")
    (tmp_path / "file").write_bytes(b"")
    told = subprocess.run(
        command_line("start", URL, "--local-copy", "1G:file"), capture_output=True, text=True, check=False
    )
    assert told.returncode == 2
    assert f"local_copy='1G:{tmp_path}/file': [Errno 20] Not a directory" in told.stderr
    assert len(told.stderr.splitlines()) == 1


def test_a_second_service_reads_no_bytes_from_the_store(server, tmp_path):
    path, cache = server.folder / "a.h5", tmp_path / "cache"
    write_videos(path, "padded", make_videos([12] * 20))
    whole = {**JPEGS, "clip": Clip(12)}  # all frames: what is read of the epochs to come is no more
    expected = from_disk(path, whole, cache)
    options = {"workers": 2, "cache_dir": cache, "local_copy": f"1G:{tmp_path / 'copies'}"}
    with running_service(server.url("a.h5"), **options) as service:
        assert take(service.endpoint, whole) == expected
        with connect(service.endpoint) as connection:  # else a worker may still read what nobody wants any more
            eventually(lambda: not any(each.doing for each in connection.status().workers), "all workers are idle")
        assert server.requests > 0
        before = server.requests
        os.kill(service.worker_pids[0], signal.SIGKILL)
        assert take(service.endpoint, whole) == expected
    with running_service(server.url("a.h5"), **options) as service:
        assert take(service.endpoint, whole) == expected
        assert server.requests == before
        with connect(service.endpoint) as connection:
            status = connection.status()
        counts = {each.name: each.count for each in status.counters}
        assert counts["copy_hits"] > 0
        assert counts["copy_misses"] == 0
        assert 0 < counts["copy_hit_bytes"] <= counts["copy_hits"] * 2**16
        assert f"local copy: {counts['copy_hits']:,} of {counts['copy_hits']:,} blocks came from it" in status_text(
            None, status
        )
        service.stop()
        assert "came from the local copy, 0 from the store" in service.log
