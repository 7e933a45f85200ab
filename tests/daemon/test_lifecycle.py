"""The life of a real service: how it starts, what it survives, how it ends, and what is left of it."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np
import pytest

from loader_client import Clip, Spec, connect
from loader_client.patience import Patience
from loader_service.errors import ConfigError, ServiceUnavailable
from loader_service.protocol.segment_files import instance_directory, user_directory
from tests.support import processes
from tests.support.machine import at_most
from tests.support.services import new_endpoint, running_service, started_service
from tests.support.waiting import eventually


def epoch_of(connection, **options):
    """Return the sample numbers and pixels of an epoch."""
    batches = connection.batches(4, clip=Clip(frames=4), drop_remainder=False, **options)
    return [(batch["index"].tolist(), batch["frames"].tobytes()) for batch in batches]


@pytest.fixture
def part(small_videos):
    return small_videos / "part0.h5"


# ---- start


def test_a_second_service_at_an_endpoint_refuses_naming_the_first_ones_pid(part):
    with running_service(part) as first:
        with started_service(part, endpoint=first.endpoint) as second:
            assert second.wait() == 2
            assert f"a service with pid {first.pid} is already listening at {first.endpoint}" in second.log
            assert f"stop it with `loader-service stop {first.endpoint}`" in second.log
        with connect(first.endpoint) as connection:
            assert connection.status().pid == first.pid


def test_a_service_starts_over_what_a_killed_one_left_and_removes_only_that(part):
    with running_service(part) as bystander, started_service(part) as killed:
        killed.await_ready()
        with connect(killed.endpoint) as connection:
            stream = connection.open(Spec(2, Clip(2)))
            left = instance_directory(killed.instance)
            kept = instance_directory(bystander.instance)
            assert len(list(left.iterdir())) >= 2
            assert stream.steps_per_epoch  # it is open until here
            workers = killed.worker_pids
            killed.kill()
        soon_s = at_most(1.0)
        eventually(lambda: not any(map(processes.is_alive, workers)), "its workers end with it", within_s=soon_s)
        assert left.exists()
        socket, lock = (Path(killed.endpoint.removeprefix("ipc://") + suffix) for suffix in ("", ".lock"))
        assert socket.exists()
        assert lock.exists()
        with running_service(part, endpoint=killed.endpoint):
            assert not left.exists()
            assert kept.exists()


def test_a_connected_trainer_goes_on_when_the_service_is_killed_and_restarted(part):
    endpoint = new_endpoint()
    with running_service(part) as reference, connect(reference.endpoint) as connection:
        expected = epoch_of(connection, epochs=6)
    with started_service(part, endpoint=endpoint) as first:
        first.await_ready()
        with connect(endpoint) as connection:
            batches = connection.batches(4, clip=Clip(frames=4), drop_remainder=False, epochs=6, prefetch=1)
            seen = [next(batches)]
            first.kill()
            with running_service(part, endpoint=endpoint):
                seen += batches
                assert [(batch["index"].tolist(), batch["frames"].tobytes()) for batch in seen] == expected


def test_too_little_memory_is_an_error_with_needed_and_free_bytes(part):
    with running_service(part, memory="100K") as service, connect(service.endpoint) as connection:
        with pytest.raises(ConfigError) as caught:
            epoch_of(connection)
        need, left = re.search(r"need (\d+) bytes of shared memory, (\d+) are left", str(caught.value)).groups()
        assert int(left) == 100 * 1024
        assert int(need) > int(left)
        batches = connection.batches(1, clip=Clip(frames=1))
        assert next(batches)["frames"].shape == (1, 1, 48, 64, 3)
        batches.close()


def test_workers_that_cannot_start_end_the_service_with_their_reason(part):
    started = time.monotonic()
    with started_service(part, environment={"LOADER_SERVICE_FAILPOINTS": "worker.starting=exit"}) as service:
        assert service.wait() == 1
        assert time.monotonic() - started < at_most(20.0)
        assert "Traceback" not in service.log
        last = service.log.splitlines()[-1]
        assert last.startswith("loader-service: ")
        assert "exited with code 1" in last


def test_workers_that_cannot_start_say_their_last_words(part, tmp_path):
    """As with a library that is missing for them."""
    (tmp_path / "simplejpeg.py").write_text("raise ImportError('no libjpeg here')\n")
    environment = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    with started_service(part, environment=environment) as service:
        assert service.wait() == 1
        assert "ImportError: no libjpeg here" in service.log.splitlines()[-1]


def test_a_low_limit_of_open_files_is_raised_as_far_as_it_may_be(part):
    with limited_files(40, 4096), running_service(part, workers=4, afresh=True) as service:
        for pid in (service.pid, *service.worker_pids):
            assert resource.prlimit(pid, resource.RLIMIT_NOFILE) == (4096, 4096)


def test_more_workers_than_open_files_allow_are_refused(part):
    with limited_files(40, 100), started_service(part, workers=16, afresh=True) as service:
        assert service.wait() == 2
        assert "workers=16 needs 208 open files, the hard limit is 100; as root, say `ulimit -n 208`" in service.log


@contextmanager
def limited_files(soft, hard):
    """Have processes that are started meanwhile begin with other limits than this one has."""
    popen = subprocess.Popen

    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", lambda *args, **more: popen(*args, preexec_fn=limit, **more))
        yield


# ---- workers


def test_an_idle_worker_that_is_killed_is_replaced_within_a_second(part):
    with running_service(part, workers=2) as service, connect(service.endpoint) as connection:
        expected = epoch_of(connection)
        victim = service.worker_pids[0]
        os.kill(victim, signal.SIGKILL)
        killed = time.monotonic()

        def replaced():
            workers = connection.status().workers
            return [w.state for w in workers] == ["working"] * 2 and victim not in [w.pid for w in workers]

        eventually(replaced, "another worker is there")
        took_s = time.monotonic() - killed
        print(f"replaced after {took_s:.3f} s")
        assert took_s < at_most(1.0)
        assert epoch_of(connection) == expected
        assert any("was killed by SIGKILL" in line for line in connection.status().events)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGBUS, signal.SIGRTMIN + 3])
def test_the_signal_that_killed_a_worker_is_named(part, number):
    with running_service(part) as service, connect(service.endpoint) as connection:
        os.kill(service.worker_pids[0], number)
        (line,) = eventually(lambda: connection.status().events, "the fault is listed")
        assert re.search(rf"worker 1 was killed by ({signal_name(number)})$", line)


def signal_name(number):
    return number.name if isinstance(number, signal.Signals) else f"signal {number}"


def test_all_workers_killed_at_once_are_a_pause_and_no_more(part):
    with running_service(part, workers=2) as service, connect(service.endpoint) as connection:
        expected = epoch_of(connection, epochs=4)
        batches = connection.batches(4, clip=Clip(frames=4), drop_remainder=False, epochs=4, prefetch=1)
        seen = [next(batches)]
        for pid in service.worker_pids:
            os.kill(pid, signal.SIGKILL)
        seen += batches
        assert [(batch["index"].tolist(), batch["frames"].tobytes()) for batch in seen] == expected


def test_a_worker_that_stands_still_is_killed_at_its_deadline(part):
    def kills_in_an_epoch():
        assert epoch_of(connection) == expected
        return [line for line in connection.status().events if "did not finish task" in line]

    with (
        running_service(part, workers=2, task_timeout=at_most(0.5)) as service,
        connect(service.endpoint) as connection,
    ):
        expected = epoch_of(connection)
        busiest = max(connection.status().workers, key=lambda each: each.tasks_done)  # the other may never have a task
        os.kill(busiest.pid, signal.SIGSTOP)
        eventually(kills_in_an_epoch, "the kill is listed")


def test_scaling_in_mid_epoch_changes_nothing_for_the_trainer(part):
    with running_service(part) as service, connect(service.endpoint) as connection:
        expected = epoch_of(connection, epochs=6)
        batches = connection.batches(4, clip=Clip(frames=4), drop_remainder=False, epochs=6, prefetch=1)
        seen = [next(batches)]
        for workers in (4, 2):
            connection.scale(workers)
            eventually(lambda count=workers: len(service.worker_pids) == count, f"{workers} workers")
            seen.append(next(batches))
        seen += batches
        assert [(batch["index"].tolist(), batch["frames"].tobytes()) for batch in seen] == expected
        assert connection.status().events == ()


# ---- the end


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_has_the_service_drain_and_exit_with_0(part, number):
    with started_service(part) as service:
        service.await_ready()
        folder = instance_directory(service.instance)
        workers = service.worker_pids
        service.process.send_signal(number)
        assert service.wait() == 0
        assert f"stopping: {number.name}" in service.log
        assert not folder.exists()
        assert not any(map(processes.is_alive, workers))


def test_a_second_signal_ends_the_service_at_once(part):
    with started_service(part) as service:
        service.await_ready()
        (worker,) = service.worker_pids
        os.kill(worker, signal.SIGSTOP)  # it cannot drain
        service.process.send_signal(signal.SIGTERM)
        eventually(lambda: "stopping: SIGTERM" in service.log, "the first signal is taken")
        sent = time.monotonic()
        service.process.send_signal(signal.SIGTERM)
        assert service.wait() == -signal.SIGTERM
        took_s = time.monotonic() - sent
        assert took_s < at_most(1.0)
        eventually(lambda: not processes.is_alive(worker), "the worker ends with its daemon")
        endpoint = service.endpoint
    with running_service(part, endpoint=endpoint):  # over what it left, and removes it
        pass


def test_ctrl_c_before_the_service_is_ready_is_no_error(part):
    with started_service(part, environment={"LOADER_SERVICE_FAILPOINTS": "worker.starting=stop"}) as service:
        eventually(lambda: service.worker_pids, "a worker is being started")
        service.process.send_signal(signal.SIGINT)
        assert service.wait() == 0
        assert "Traceback" not in service.log


def test_a_client_hears_that_the_service_stops(part):
    with running_service(part) as service, connect(service.endpoint) as connection:
        assert connection.stop() == f"service {service.pid} is stopping"
        assert service.wait() == 0


def test_a_failpoint_that_is_none_is_named_in_one_line(part):
    with started_service(part, environment={"LOADER_SERVICE_FAILPOINTS": "worker.starting=explode"}) as service:
        assert service.wait() == 1
        said = "ConfigError: LOADER_SERVICE_FAILPOINTS='worker.starting=explode': 'worker.starting=explode' is not of"
        assert f"worker 1 says: {said}" in service.log
        assert "Traceback" not in service.log


def test_a_service_reads_other_files_where_it_is_told_that_it_may(part, tmp_path):
    copy = tmp_path / "virtual.h5"
    with h5py.File(part) as original, h5py.File(copy, "w") as file:
        for name, video in original.items():
            data = np.stack([np.pad(frame, (0, 9_000 - len(frame))) for frame in video["frames"]])
            data.tofile(tmp_path / f"{name}.raw")
            place = [(str(tmp_path / f"{name}.raw"), 0, data.nbytes)]
            file.create_dataset(f"{name}/images", data.shape, np.uint8, external=place)
    with started_service(copy) as refused:
        assert refused.wait() == 1
        assert "allow it with --allow-external" in refused.log
    pixels = []
    for path, options in ((part, {}), (copy, {"allow_external": True})):
        with running_service(path, **options) as service, connect(service.endpoint) as connection:
            pixels.append(epoch_of(connection))
    assert pixels[0] == pixels[1]


# ---- what runs in it


def test_no_process_of_a_service_loads_tensorflow(part):
    with running_service(part, workers=2) as service, connect(service.endpoint) as connection:
        epoch_of(connection)
        pids = [service.pid, *service.worker_pids]
        assert len(pids) == 3
        for pid in pids:
            mapped = processes.mapped_files(pid)
            assert any("libzmq" in name or "zmq" in name for name in mapped)
            assert not [name for name in mapped if "tensorflow" in name or "keras" in name or "libcuda" in name]


def test_a_supervised_service_is_started_again_and_ends_when_told(part):
    endpoint = new_endpoint()
    with started_service(part, endpoint=endpoint, supervise=True) as supervisor:
        supervisor.await_ready()
        (first,) = processes.children(supervisor.pid)
        with connect(endpoint) as connection:
            expected = epoch_of(connection)
            os.kill(first, signal.SIGKILL)
            eventually(
                lambda: [pid for pid in processes.children(supervisor.pid) if pid != first], "the service lives again"
            )
            assert epoch_of(connection) == expected
        assert supervisor.stop() == 0


def test_segments_of_all_services_lie_in_one_private_folder(monkeypatch):
    monkeypatch.delenv("LOADER_SERVICE_SHM")
    assert user_directory() == Path(f"/dev/shm/loader-service-{os.getuid()}")


def test_segments_lie_where_the_environment_says(part, monkeypatch):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        monkeypatch.setenv("LOADER_SERVICE_SHM", folder)
        with running_service(part) as service, connect(service.endpoint) as connection:
            stream = connection.open(Spec(4, Clip(frames=4)))
            stream.fetch(0, 0)
            assert any(path.startswith(f"{folder}/loader-service-") for path in processes.mapped_files(os.getpid()))


def test_a_shared_memory_that_is_not_there_is_named(part, tmp_path):
    missing = tmp_path / "missing"
    with started_service(part, environment={"LOADER_SERVICE_SHM": str(missing)}) as service:
        assert service.wait() == 2
        assert f"{missing} is no folder; LOADER_SERVICE_SHM is to name a tmpfs" in service.log


def test_a_trainer_that_looks_elsewhere_for_the_batches_is_told(part, monkeypatch):
    with running_service(part) as service:
        monkeypatch.delenv("LOADER_SERVICE_SHM")
        with (
            connect(service.endpoint, patience=Patience(ask_again_s=0.5)) as connection,
            pytest.raises(ServiceUnavailable, match="and have the same LOADER_SERVICE_SHM"),
        ):
            epoch_of(connection)
