"""A connection says what a service has and does, survives its restart, and names what stands in its way."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loader_client
from loader_client import (
    CatalogChanged,
    Clip,
    ConfigError,
    Connection,
    LoaderError,
    Patience,
    ServiceUnavailable,
    Spec,
)
from loader_service.worker_limits import most_workers
from tests.support.machine import at_most
from tests.support.services import Service, new_endpoint, running_service, started_service
from tests.support.videos import make_videos, write_videos
from tests.support.waiting import eventually

_SPEC = Spec(4, Clip(frames=4))


def test_connecting_does_not_wait_for_the_next_greeting(service: Service) -> None:
    with loader_client.connect(service.endpoint):
        pass  # the first message to a new socket finds no connection: it has to go as soon as there is one
    took_s = []
    for _ in range(5):  # on a busy machine, one or the other is late
        begun = time.monotonic()
        with loader_client.connect(service.endpoint) as connection:
            connection.status()
        took_s.append(time.monotonic() - begun)
    assert min(took_s) < at_most(0.4)


def test_the_catalog_tells_what_the_files_hold(service: Service) -> None:
    with loader_client.connect(service.endpoint) as connection:
        catalog = connection.catalog
    assert (catalog.files, catalog.videos, catalog.frames) == (3, 12, 146)
    assert (catalog.frame_height, catalog.frame_width) == (48, 64)


def test_the_status_tells_streams_and_their_clients(service: Service) -> None:
    with loader_client.connect(service.endpoint) as connection:
        stream = connection.open(_SPEC)
        held = stream.fetch(0, 0)
        eventually(lambda: connection.status().streams[0].slots_leased >= 1, "the lease is counted")
        (only,) = connection.status().streams
        assert (only.client_pid, only.steps_per_epoch) == (os.getpid(), 3)
        assert stream.leases_out == 1
        assert len(held["index"]) == 4


def test_a_service_that_is_not_there_is_named_with_the_remedy() -> None:
    endpoint = new_endpoint()
    with pytest.raises(
        ServiceUnavailable, match=rf"no service answers at {endpoint} \(waited 0\.2 s\); start one with"
    ):
        loader_client.connect(endpoint, timeout_s=0.2)


def test_an_endpoint_of_another_kind_is_refused_before_anything_starts() -> None:
    before = threading.active_count()
    with pytest.raises(ConfigError, match="tcp://localhost:1"):
        loader_client.connect("tcp://localhost:1")
    assert threading.active_count() == before


def test_the_default_endpoint_is_the_environments(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADER_SERVICE_ENDPOINT", service.endpoint)
    with loader_client.connect() as connection:
        assert connection.endpoint == service.endpoint


def test_a_client_may_wait_for_a_service_that_is_just_starting(small_videos: Path) -> None:
    with started_service(small_videos / "*.h5") as service:
        with loader_client.connect(service.endpoint, timeout_s=30.0) as connection:
            assert connection.catalog.videos == 12
        assert service.stop() == 0


def test_a_service_is_scaled_and_stopped_by_its_clients(small_videos: Path) -> None:
    with running_service(small_videos / "*.h5") as service, loader_client.connect(service.endpoint) as connection:
        assert connection.scale(3) == "1 → 3 workers"
        eventually(lambda: len(service.worker_pids) == 3, "three workers run")
        with pytest.raises(ConfigError, match="workers=0; give 1 or more"):
            connection.scale(0)
        with pytest.raises(ConfigError, match=f"workers=100000; give 1 to {most_workers()}"):
            connection.scale(100_000)
        assert "stopping" in connection.stop()
        assert service.wait() == 0


@pytest.mark.parametrize("workers", ["three", 2.5, True, None, (4, 2)])
def test_a_number_of_workers_that_is_none_is_refused_before_it_is_sent(service: Service, workers: Any) -> None:
    with loader_client.connect(service.endpoint) as connection:
        with pytest.raises(ConfigError, match=r"workers=.*; give 1 or more, bounds such as 2\.\.16"):
            connection.scale(workers)
        assert connection.scale(np.int64(2)) == "2 → 2 workers"


def test_a_closed_connection_may_be_closed_again_and_answers_nothing(service: Service) -> None:
    connection = loader_client.connect(service.endpoint)
    stream = connection.open(_SPEC)
    batch = stream.fetch(0, 0)
    connection.close()
    connection.close()
    for use in (connection.status, lambda: connection.open(_SPEC), lambda: stream.fetch(0, 1)):
        with pytest.raises(ServiceUnavailable, match="closed"):
            use()
    assert batch["frames"].sum() > 0  # what was fetched stays valid


def test_what_a_client_held_is_free_when_it_closes(service: Service) -> None:
    with loader_client.connect(service.endpoint) as onlooker:
        with loader_client.connect(service.endpoint) as connection:
            stream = connection.open(_SPEC)
            held = stream.fetch(0, 0)
            assert len(onlooker.status().streams) == 1
        eventually(lambda: not onlooker.status().streams, "the stream is closed")
        assert held["frames"].sum() > 0


# ---- restarts


def _epochs(connection: Connection, count: int) -> list[bytes]:
    return [batch["frames"].tobytes() for batch in connection.batches(4, clip=Clip(frames=4), epochs=count)]


def test_a_service_killed_and_restarted_goes_on_at_the_same_step_with_the_same_bytes(small_videos: Path) -> None:
    files = small_videos / "*.h5"
    with running_service(files, workers=2) as service, loader_client.connect(service.endpoint) as connection:
        expected = _epochs(connection, 4)
    with started_service(files, workers=2) as first:
        first.await_ready()
        with loader_client.connect(first.endpoint) as connection:
            batches = connection.batches(4, clip=Clip(frames=4), epochs=4)
            seen = [next(batches)["frames"].tobytes() for _ in range(5)]
            held = next(batches)["frames"]
            first.kill()
            with running_service(files, workers=2, endpoint=first.endpoint) as second:
                seen += [held.tobytes(), *(batch["frames"].tobytes() for batch in batches)]
                assert seen == expected
                assert second.process.poll() is None


def test_a_service_that_comes_back_with_other_files_is_named_with_the_difference(
    small_videos: Path, tmp_path: Path
) -> None:
    write_videos(tmp_path / "more.h5", "group_vlen", make_videos([4] * 2), {"video0": 1, "video1": 2})
    with started_service(small_videos / "*.h5") as first:
        first.await_ready()
        with loader_client.connect(first.endpoint) as connection:
            stream = connection.open(_SPEC)
            stream.fetch(0, 0)
            first.kill()
            difference = r"files 3 → 4, videos 12 → 14, frames 146 → 154"
            with (
                running_service(small_videos / "*.h5", tmp_path / "more.h5", endpoint=first.endpoint),
                pytest.raises(CatalogChanged, match=difference),
            ):
                [stream.fetch(epoch, 0) for epoch in range(1, 200)]


def test_a_service_that_stays_away_is_given_up_after_the_reconnect_timeout(small_videos: Path) -> None:
    with started_service(small_videos / "*.h5") as service:
        service.await_ready()
        patience = Patience(reconnect_timeout_s=6.0)
        with loader_client.connect(service.endpoint, patience=patience) as connection:
            stream = connection.open(_SPEC)
            assert service.stop() == 0
            begun = time.monotonic()
            with pytest.raises(ServiceUnavailable, match=rf"no service has answered at {service.endpoint} for \d+ s"):
                [stream.fetch(epoch, 0) for epoch in range(200)]
            assert time.monotonic() - begun < 30.0  # on a busy machine; by default it would be 60


# ---- forks

_FORKING = """
import os, sys, warnings
warnings.simplefilter("ignore")
import loader_client
from loader_client import Clip, LoaderError, Spec

connection = loader_client.connect(sys.argv[1])
stream = connection.open(Spec(4, Clip(frames=4)))
stream.fetch(0, 0)
with connection._thread._changed:  # as the session's thread may hold it in the moment of the fork
    child = os.fork()
if child == 0:
    for use in (lambda: stream.fetch(0, 1), connection.status, lambda: connection.open(stream.spec)):
        try:
            use()
        except LoaderError as error:
            assert f"belongs to process {os.getppid()}" in str(error), error
            assert f"its forked child {os.getpid()}; connect again in the child" in str(error), error
        else:
            os._exit(1)
    stream.close()
    connection.close()
    with loader_client.connect(sys.argv[1]) as own:
        own.open(stream.spec).fetch(0, 0)
    del connection, stream
    sys.exit(7)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 7, status
for step in (1, 2):
    stream.fetch(0, step)
connection.close()
"""


def test_a_forked_child_is_told_to_connect_again_and_its_parent_goes_on(service: Service) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FORKING, service.endpoint], capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")


# ---- other processes

_SPAWNED = """
import multiprocessing
import sys

import loader_client


def read(connection):
    return [batch["index"].tolist() for batch in connection.batches(12, fields=("index",))]


def count(connection, answers):
    with connection:
        answers.put((connection.catalog.videos, read(connection)))


if __name__ == "__main__":
    spawn = multiprocessing.get_context("spawn")
    answers = spawn.SimpleQueue()
    with loader_client.connect(sys.argv[1]) as connection:
        process = spawn.Process(target=count, args=(connection, answers))
        process.start()
        videos, batches = answers.get()
        process.join()
        assert videos == connection.catalog.videos == 12
        assert batches == read(connection)
        assert process.exitcode == 0
"""


def test_a_connection_that_a_spawned_process_gets_connects_anew(service: Service, tmp_path: Path) -> None:
    program = tmp_path / "spawning.py"
    program.write_text(_SPAWNED)
    done = subprocess.run(
        [sys.executable, str(program), service.endpoint], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_a_pickled_connection_keeps_its_endpoint_and_patience(service: Service) -> None:
    patience = Patience(step_timeout_s=5.0)
    with (
        loader_client.connect(service.endpoint, patience=patience) as connection,
        pickle.loads(pickle.dumps(connection)) as other,
    ):
        assert other is not connection
        assert (other.endpoint, other._patience) == (service.endpoint, patience)
        assert other.catalog == connection.catalog
    with pytest.raises(ServiceUnavailable, match="no service answers"):
        Connection.__reduce__(connection)[0](new_endpoint(), 0.2, patience)


def test_a_connection_to_a_private_service_is_not_pickled_and_says_what_to_do(small_videos: Path) -> None:
    with (
        loader_client.connect(small_videos / "*.h5", workers=1) as connection,
        pytest.raises(
            LoaderError, match=r"private service of process .* cannot be pickled.*`loader-service start FILES"
        ),
    ):
        pickle.dumps(connection)
