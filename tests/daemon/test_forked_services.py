"""Services of most tests, their workers and scans, are forked from what has their imports, and look as if started."""

from __future__ import annotations

import os
from pathlib import Path

from loader_client import connect
from loader_service.failpoints import ENVIRONMENT_VARIABLE
from tests.support import processes
from tests.support.services import new_endpoint, running_service


def _seen(pid: int) -> dict[str, object]:
    process = Path(f"/proc/{pid}")
    words = (process / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    return {
        "words": words[:-1],  # the last is a file
        "folder": os.readlink(process / "cwd"),
        "program": os.readlink(process / "exe"),
        "leads its session": os.getsid(pid) == os.getpgid(pid) == pid,
        "ignores": [
            line for line in (process / "status").read_text().splitlines() if line.startswith(("SigIgn", "SigBlk"))
        ],
    }


def test_a_forked_service_looks_to_other_processes_like_one_that_was_started(small_videos):
    endpoint, found = new_endpoint(), []
    for afresh in (False, True):
        with running_service(small_videos / "part0.h5", endpoint=endpoint, afresh=afresh) as service:
            found.append(_seen(service.pid))
    forked, started = found
    assert forked == started


def test_a_forked_worker_looks_to_other_processes_like_one_that_was_started(small_videos):
    endpoint, found = new_endpoint(), []
    for afresh in (False, True):
        with running_service(small_videos / "part0.h5", endpoint=endpoint, afresh=afresh) as service:
            (worker,) = service.worker_pids
            seen = _seen(worker)
            words = [word for word in seen.pop("words") if not word.isdigit()]  # those are the daemon's pid
            shared = set(processes.descriptors(worker).values()) & set(processes.descriptors(service.pid).values())
            found.append({**seen, "words": words, "shared": {each.partition(":")[0] for each in shared}})
    forked, started = found
    assert forked == started


def test_a_worker_in_which_something_is_to_fail_is_not_forked(small_videos):
    failing = {ENVIRONMENT_VARIABLE: "worker.starting=delay@1000"}
    maps = []
    for environment in ({}, failing):
        with running_service(small_videos / "part0.h5", environment=environment) as service:
            (worker,) = service.worker_pids
            maps.append(any("h5py" in path for path in processes.mapped_files(worker)))
    assert maps == [True, False], "HDF5 is among the imports of what is forked, and of no worker that has just started"


def test_a_forked_service_has_the_environment_of_its_test(small_videos, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with running_service(small_videos / "part0.h5") as service, connect(service.endpoint) as connection:
        assert sum(1 for _ in connection.batches(1, epochs=1))
    assert any(path.is_file() for path in tmp_path.rglob("*"))


def test_a_service_with_variables_that_python_reads_at_its_start_is_not_forked(small_videos):
    with running_service(small_videos / "part0.h5", environment={"PYTHONVERBOSE": "1"}) as service:
        assert "import 'zmq'" in service.log
