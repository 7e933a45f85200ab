"""Segments: made with their memory, removed by whoever made them, swept when that one died."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import stat
import subprocess
import sys

import pytest

from loader_service.daemon.segments import SegmentStore
from loader_service.errors import ConfigError
from loader_service.private_folders import Folder
from loader_service.protocol.segment_files import (
    ENVIRONMENT_VARIABLE,
    instance_directory,
    segment_path,
    shared_memory,
    user_directory,
)

OWNER = """
from loader_service.daemon.segments import SegmentStore
with SegmentStore() as store:
    store.create(3, 4096)
    print(store.instance, flush=True)
    input()
"""


@pytest.fixture
def owner():
    """A process that has three segments; says its instance."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def test_segments_have_their_size_and_memory_and_are_private():
    with SegmentStore() as store:
        slots = store.create(3, 100_000)
        assert len(set(slots)) == 3
        assert store.total_bytes == 300_000
        for slot in slots:
            found = segment_path(store.instance, slot).stat()
            assert found.st_size == 100_000
            assert found.st_blocks * 512 >= 100_000  # allocated, not sparse
            assert stat.S_IMODE(found.st_mode) == 0o600
        assert stat.S_IMODE(instance_directory(store.instance).stat().st_mode) == 0o700
        assert stat.S_IMODE(user_directory().stat().st_mode) & 0o022 == 0
    assert not instance_directory(store.instance).exists()


def test_removed_segments_do_not_count_and_their_numbers_are_not_used_again():
    with SegmentStore() as store:
        first = store.create(2, 4096)
        store.remove(first)
        store.remove(first)
        assert store.total_bytes == 0
        assert not set(first) & set(store.create(2, 4096))


def test_too_much_is_refused_with_needed_and_free_bytes():
    with SegmentStore() as store:
        size = 2**50
        with pytest.raises(ConfigError) as caught:
            store.create(3, size)
        assert f"3 batches of {size} bytes need {3 * size} bytes of {shared_memory()}" in str(caught.value)
        assert re.search(r"\d+ are free; use a smaller batch_size", str(caught.value))


@pytest.mark.parametrize(
    ("code", "said"), [(errno.ENOSPC, "are free"), (errno.EMFILE, "cannot create a batch of 4096")]
)
def test_segments_are_made_all_or_none(monkeypatch, code, said):
    allocate = os.posix_fallocate
    calls = iter([False, False, True])

    def allocate_until_full(descriptor, offset, size):
        if next(calls):
            raise OSError(code, "as if full")
        allocate(descriptor, offset, size)

    with SegmentStore() as store:
        monkeypatch.setattr(os, "posix_fallocate", allocate_until_full)
        with pytest.raises(ConfigError, match=said):
            store.create(5, 4096)
        assert store.total_bytes == 0
        assert list(instance_directory(store.instance).iterdir()) == []


def test_a_folder_that_somebody_removed_is_said_with_what_helps():
    with SegmentStore() as store:
        shutil.rmtree(instance_directory(store.instance))
        with pytest.raises(ConfigError, match="its folder was removed: `loader-service restart` makes another"):
            store.create(1, 4096)


def test_segments_of_a_dead_service_are_swept(owner):
    instance = owner.stdout.readline().strip()
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    assert segment_path(instance, 1).exists()
    with SegmentStore():
        assert not instance_directory(instance).exists()


def test_segments_of_a_living_service_are_left_alone(owner):
    instance = owner.stdout.readline().strip()
    with SegmentStore():
        assert len(list(instance_directory(instance).iterdir())) == 3
    owner.communicate("\n")
    assert not instance_directory(instance).exists()


def test_a_folder_that_vanishes_while_it_is_swept_disturbs_nobody(monkeypatch):
    """As when another service ends at the same moment as this one starts."""
    before, after = (user_directory() / ("f" * 15 + digit) for digit in "01")
    user_directory().mkdir(mode=0o700, exist_ok=True)
    before.mkdir()
    after.mkdir()
    open_folder = Folder.folder

    def open_and_lose(self, name, **more):
        if name == before.name:
            before.rmdir()
        opened = open_folder(self, name, **more)
        if name == after.name:
            after.rmdir()
        return opened

    monkeypatch.setattr(Folder, "folder", open_and_lose)
    with SegmentStore() as store:
        assert not before.exists()
        assert not after.exists()
        assert instance_directory(store.instance).exists()


def test_a_folder_that_somebody_else_prepared_is_refused(monkeypatch, tmp_path):
    if os.getuid() != 0:
        pytest.skip("only root can give a folder away")
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path))
    user_directory().mkdir()
    os.chown(user_directory(), 12_345, 12_345)
    with pytest.raises(ConfigError, match="belongs to user 12345, not to you"):
        SegmentStore()
