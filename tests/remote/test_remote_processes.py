"""Remote workers without a cluster: the same bytes with any mixture, and after any loss of one of their parts."""

from __future__ import annotations

import os
import signal
import socket
import time

import pytest
from click.testing import CliRunner

import loader_client
from loader_client.connecting import with_ray
from loader_service.cli import cli
from tests.remote.cut_network import cut_network
from tests.remote.scene import of_module, remote_service, remote_workers, steps
from tests.support import processes
from tests.support.machine import at_most
from tests.support.services import running_service, started_service
from tests.support.waiting import eventually

#: A training pauses for so long at most when something is lost, in seconds, on an idle machine.
PAUSE_S = 3.0


@pytest.fixture(scope="module")
def expected(small_videos):
    """The digests of three epochs, by one local worker."""
    with running_service(small_videos / "*.h5", workers=1) as service, loader_client.connect(service.endpoint) as it:
        return list(steps(it, epochs=3))


@pytest.mark.parametrize("options", [{}, {"no_encrypt": True}], ids=["curve", "plain"])
def test_bytes_and_order_are_those_of_local_workers(small_videos, expected, options):
    with remote_service(small_videos / "*.h5", remote=2, **options) as (_, connection):
        assert list(steps(connection, epochs=3)) == expected
        assert sum(each.tasks_done for each in remote_workers(connection)) > 0
        eventually(lambda: _counter(connection, "received_bytes") > 0, "a count of the bytes")
        eventually(
            lambda: list(steps(connection)) and _have_told_of_their_time(connection), "what their time went into"
        )
        counters = {each.name: each.count for each in connection.status().counters}
        assert counters["samples_bad"] == counters["messages_malformed"] == counters["workers_lost"] == 0


def test_a_private_service_has_them_by_one_word_on_the_cluster_of_this_host_or_another(small_videos, expected):
    assert with_ray(None, 3) == {"ray": "auto", "ray_workers": 3}
    assert with_ray({"web": "x"}, None) == {"web": "x"}
    files = str(small_videos / "*.h5")
    with loader_client.connect(files, workers=1, ray_workers="1..2", service={"ray": "processes"}) as connection:
        eventually(lambda: remote_workers(connection), "a remote worker")
        assert list(steps(connection, epochs=3)) == expected


def test_they_are_scaled_and_those_of_this_host_do_all_when_there_are_none(small_videos, expected):
    with remote_service(small_videos / "*.h5") as (service, connection):
        scaled = CliRunner().invoke(cli, ["scale", "--ray", "2", service.endpoint])
        assert (scaled.exit_code, scaled.output) == (0, "1 → 2 remote workers\n")
        eventually(lambda: len(remote_workers(connection)) == 2, "two remote workers")
        assert connection.scale_remote(0) == "2 → 0 remote workers"
        eventually(lambda: not of_module(service, "remote_worker"), "their processes to end")
        assert list(steps(connection, epochs=3)) == expected
        assert _counter(connection, "workers_lost") == 0


def test_lost_workers_and_receivers_are_replaced_and_no_step_is_lost_doubled_or_wrong(small_videos, expected):
    with remote_service(small_videos / "*.h5", remote=2) as (service, connection):
        for module in ("remote_worker", "receiver", "process_placement"):
            victims = of_module(service, module)[:1]
            got, longest, before = [], 0.0, time.monotonic()
            for number, step in enumerate(steps(connection, epochs=3)):
                got.append(step)
                longest, before = max(longest, time.monotonic() - before), time.monotonic()
                if number == 3:
                    os.kill(victims[0], signal.SIGKILL)
            assert got == expected
            assert longest < at_most(PAUSE_S * 5), f"a pause of {longest:.1f} s after {module} was killed"
            eventually(lambda: len(remote_workers(connection)) == 2, f"two remote workers after {module} was killed")
            eventually(lambda victim=victims[0]: not processes.is_alive(victim), f"the {module} has ended")


def test_a_worker_that_stands_still_is_let_go_and_comes_again_when_it_goes_on(small_videos, expected):
    with remote_service(small_videos / "*.h5") as (service, connection):
        (pid,) = of_module(service, "remote_worker")
        (before,) = remote_workers(connection)
        os.kill(pid, signal.SIGSTOP)
        try:
            assert list(steps(connection, epochs=3)) == expected
            eventually(lambda: not remote_workers(connection), "the silent worker to be let go")
        finally:
            os.kill(pid, signal.SIGCONT)
        (after,) = eventually(lambda: remote_workers(connection), "the worker to come again")
        assert (after.pid, after.worker > before.worker) == (pid, True)
        assert list(steps(connection, epochs=3)) == expected


def test_a_network_that_is_cut_costs_a_pause_and_its_worker_comes_again(small_videos, expected):
    with (
        cut_network() as (network, port),
        remote_service(
            small_videos / "*.h5", ray=f"processes@127.0.0.1:{network.port}", listen=f"127.0.0.1:{port}"
        ) as (_, connection),
    ):
        (before,) = remote_workers(connection)
        longest, got, last = 0.0, [], time.monotonic()
        for number, step in enumerate(steps(connection, epochs=3)):
            got.append(step)
            longest, last = max(longest, time.monotonic() - last), time.monotonic()
            network.is_cut = network.is_cut or number == 2
        assert got == expected
        assert longest < at_most(PAUSE_S * 2)
        eventually(lambda: not remote_workers(connection), "the worker behind the cut to be let go")
        network.is_cut = False
        (after,) = eventually(lambda: remote_workers(connection), "it to come again")
        assert (after.pid, after.worker > before.worker) == (before.pid, True)
        assert list(steps(connection, epochs=3)) == expected
        assert _counter(connection, "samples_bad") == 0


def test_nothing_of_it_is_left_when_the_daemon_is_killed(small_videos):
    with remote_service(small_videos / "*.h5", remote=2) as (service, connection):
        names = ("remote_worker", "receiver", "process_placement")
        pids = [each for name in names for each in of_module(service, name)]
        assert len(pids) == 4
        connection.close()
        service.kill()
        eventually(lambda: not any(map(processes.is_alive, pids)), "all of its processes to end")
    with running_service(small_videos / "*.h5", workers=1, endpoint=service.endpoint):
        pass  # removes the batches and sockets that were left


def test_a_port_in_use_and_a_foreign_address_are_errors_at_the_start(small_videos):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for listen, words in (
            (f"127.0.0.1:{port}", f"port {port} is in use"),
            ("192.0.2.1", "is no address of this host"),
            ("0.0.0.0", "would open all interfaces"),
        ):
            with started_service(small_videos / "*.h5", workers=1, ray="processes", listen=listen) as service:
                assert service.wait() == 2
                assert words in service.log


def _have_told_of_their_time(connection):
    busy = [each for each in remote_workers(connection) if each.tasks_done]
    return busy and all(each.totals.decoding_seconds_total > 0 for each in busy)


def _counter(connection, name):
    return next(each.count for each in connection.status().counters if each.name == name)
