"""A private service: ready when its maker returns, gone when its owner is, and its errors are the owner's."""

from __future__ import annotations

import shutil
import subprocess
import sys

import h5py
import pytest

import loader_client
from loader_service.daemon.launcher import PrivateService
from loader_service.errors import CatalogError, ConfigError, ServiceUnavailable, WorkerDied
from tests.support import processes
from tests.support.waiting import eventually

OWNER = """
import sys
from loader_service.daemon.launcher import PrivateService
service = PrivateService([sys.argv[1]], {"workers": "1"}, 60.0)
print(service.pid, flush=True)
input()
"""


INTERRUPTED = """
import os, signal, sys
from loader_service.daemon.launcher import PrivateService
pidfd_open = os.pidfd_open
def interrupted(pid):
    os.kill(os.getpid(), signal.SIGINT)
    print(pid, flush=True)
    return pidfd_open(pid)
os.pidfd_open = interrupted
try:
    PrivateService([sys.argv[1]], {"workers": "1"}, 60.0)
except KeyboardInterrupt:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        print("no child is left")
"""


def test_it_serves_its_owner_until_it_is_stopped(small_videos):
    service = PrivateService([str(small_videos / "*.h5")], {"workers": "1"}, timeout_s=60.0)
    try:
        with loader_client.connect(service.endpoint) as connection:
            assert connection.status().pid == service.pid
            assert connection.catalog.files == 3
    finally:
        service.stop()
        service.stop()
    assert not processes.is_alive(service.pid)


def test_it_ends_with_its_owner_however_that_ends(small_videos):
    command = [sys.executable, "-c", OWNER, str(small_videos / "part0.h5")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        pid = int(owner.stdout.readline())
        assert processes.is_alive(pid)
        owner.kill()
    eventually(lambda: not processes.is_alive(pid), "the service ends")


def test_ctrl_c_amid_the_start_of_its_process_leaves_none(small_videos):
    command = [sys.executable, "-c", INTERRUPTED, str(small_videos / "part0.h5")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.splitlines()[1:] == ["no child is left"]
    assert not processes.is_alive(int(done.stdout.splitlines()[0]))


def test_a_flag_is_given_by_its_truth(small_videos, tmp_path):
    path = tmp_path / "linked.h5"
    shutil.copy(small_videos / "part0.h5", path)
    with h5py.File(path, "a") as file:
        file["elsewhere"] = h5py.ExternalLink("/etc/passwd", "/")
    for refused in ({}, {"allow_external": "False"}):
        with pytest.raises(CatalogError, match="'elsewhere' is an external link"):
            PrivateService([str(path)], {"workers": "1", **refused}, timeout_s=60.0)
    PrivateService([str(path)], {"workers": "1", "allow_external": "True"}, timeout_s=60.0).stop()
    with pytest.raises(ConfigError, match="'--allow-external' does not take a value"):
        PrivateService([str(path)], {"workers": "1", "allow_external": "perhaps"}, timeout_s=60.0)


@pytest.mark.parametrize(
    ("files", "options", "kind", "said"),
    [
        ("/nowhere/*.h5", {}, ConfigError, "'/nowhere/\\*.h5' matches no file"),
        ("/dev/null", {}, ConfigError, "is a device"),
        (__file__, {}, CatalogError, "expected an HDF5 file"),
        ("{videos}/part0.h5", {"task_timeout": "0"}, ConfigError, "task_timeout=0.0; give a number of seconds"),
        ("{videos}/part0.h5", {"workers": "0"}, ConfigError, "workers='0'; give 1 or more"),
        ("{videos}/part0.h5", {"wrokers": "1"}, ConfigError, "No such option '--wrokers'"),
    ],
)
def test_what_it_says_is_wrong_is_raised_under_its_class(small_videos, files, options, kind, said):
    with pytest.raises(kind, match=said):
        PrivateService([files.format(videos=small_videos)], {"workers": "1", **options}, timeout_s=60.0)


def test_workers_that_cannot_start_are_its_owners_error(small_videos, monkeypatch):
    monkeypatch.setenv("LOADER_SERVICE_FAILPOINTS", "worker.starting=exit")
    with pytest.raises(WorkerDied, match="exited with code 1"):
        PrivateService([str(small_videos / "part0.h5")], {"workers": "1"}, timeout_s=60.0)


def test_one_that_takes_too_long_is_ended_and_says_how_to_wait_longer(small_videos, monkeypatch):
    monkeypatch.setenv("LOADER_SERVICE_FAILPOINTS", "worker.starting=stop")
    with pytest.raises(ServiceUnavailable, match=r"was not ready within 1 s; raise start_timeout_s"):
        PrivateService([str(small_videos / "part0.h5")], {"workers": "1"}, timeout_s=1.0)
