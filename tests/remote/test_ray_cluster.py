"""Remote workers as actors of a real Ray cluster: two raylets on this host, whose nodes come and go."""

from __future__ import annotations

import os
import signal
import socket
import sys

import pytest

import loader_client
from tests.remote.kills import actors
from tests.remote.scene import of_module, remote_service, remote_workers, steps
from tests.support.services import running_service, started_service
from tests.support.waiting import eventually

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]  # Ray leaves files open

_NODE = {"num_cpus": 2, "object_store_memory": 80_000_000}


@pytest.fixture(scope="module")
def client_port() -> int:
    """Where the cluster takes those that are none of its nodes."""
    with socket.create_server(("127.0.0.1", 0)) as chosen:
        return chosen.getsockname()[1]


@pytest.fixture(scope="module")
def cluster(client_port):
    """A head without cores, which is this host, and a node with two."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - not where these tests are left out

    head = {**_NODE, "num_cpus": 0, "include_dashboard": False, "ray_client_server_port": client_port}
    made = Cluster(initialize_head=True, head_node_args=head)
    try:
        made.add_node(**_NODE)
        yield made
    finally:
        made.shutdown()


@pytest.fixture(scope="module")
def expected(small_videos):
    with running_service(small_videos / "*.h5", workers=1) as service, loader_client.connect(service.endpoint) as it:
        return list(steps(it, epochs=3))


def test_bytes_are_the_same_while_actors_and_nodes_are_lost_and_join(cluster, small_videos, expected):
    with remote_service(small_videos / "*.h5", remote=2, ray=cluster.address) as (service, connection):
        assert list(steps(connection, epochs=3)) == expected
        os.kill(actors()[0], signal.SIGKILL)
        assert list(steps(connection, epochs=3)) == expected
        eventually(lambda: len(remote_workers(connection)) == 2, "an actor in its place")
        connection.scale_remote(3)
        missing = "2 of 3 remote workers have a place, 1 wait: the cluster has 2 cores"
        eventually(lambda: missing in service.log, "words of what is missing")
        node = cluster.add_node(**_NODE)
        eventually(lambda: len(remote_workers(connection)) == 3, "a worker on the node that joined")
        cluster.remove_node(node)
        assert list(steps(connection, epochs=3)) == expected
        connection.scale_remote(2)
        eventually(lambda: len(remote_workers(connection)) == 2, "those of the node that is left")
        assert {each.node for each in remote_workers(connection)} == {os.uname().nodename}
    eventually(lambda: not actors(), "all actors to end with the service")


def test_no_actor_is_left_when_the_daemon_or_the_placement_is_killed(cluster, small_videos, expected):
    with remote_service(small_videos / "*.h5", ray=cluster.address) as (service, connection):
        (before,) = actors()
        os.kill(of_module(service, "ray_placement")[0], signal.SIGKILL)
        assert list(steps(connection, epochs=3)) == expected
        eventually(lambda: before not in actors(), "the actor to end with who placed it")
        eventually(lambda: remote_workers(connection), "another one, placed anew")
        assert service.log.count("is out of reach") == 1
        connection.close()
        service.kill()
        eventually(lambda: not actors(), "the actor to end with the daemon")
    with running_service(small_videos / "*.h5", workers=1, endpoint=service.endpoint):
        pass  # removes the batches and sockets that were left


def test_a_host_that_is_no_node_reaches_it_and_actors_import_nothing_from_the_folder_of_the_start(
    cluster, client_port, small_videos, expected, tmp_path, monkeypatch
):
    for name in ("zmq", "simplejpeg", "h5py"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('planted')")
    monkeypatch.chdir(tmp_path)
    with remote_service(small_videos / "*.h5", ray=cluster.address) as (_, connection):
        assert list(steps(connection, epochs=3)) == expected
    with remote_service(small_videos / "*.h5", ray=f"ray://127.0.0.1:{client_port}") as (_, connection):
        assert list(steps(connection, epochs=3)) == expected
    eventually(lambda: not actors(), "all actors to end with the service")


def test_what_ends_an_actor_is_said_in_one_line_that_is_the_same_each_time(monkeypatch):
    from loader_service.remote import actor_body, ray_placement  # noqa: PLC0415 - it imports ray

    actor, node = ray_placement._RemoteWorkerActor(), os.uname().nodename
    monkeypatch.setattr(actor_body, "serve_columns", lambda *_: [].remove("two\nlines"))
    assert actor.serve({}, {}) == {"node": node, "line": "ValueError: list.remove(x): x not in list"}
    monkeypatch.setitem(sys.modules, "loader_service.remote.actor_body", None)
    assert "there is no 'loader_service.remote.actor_body' there; install" in actor.serve({}, {})["line"]
    assert "install the same Python and the same Ray" in ray_placement._why_unreachable("Version mismatch: …")
    assert "ray://HEAD:10001" in ray_placement._why_unreachable("No node info found")


def test_no_cluster_at_the_address_is_an_error_at_the_start(small_videos):
    with started_service(small_videos / "*.h5", workers=1, ray="127.0.0.1:1") as service:
        assert service.wait() == 2
        assert "ray='127.0.0.1:1': no Ray cluster can be reached" in service.log
        assert "start one with `ray start --head`" in service.log


def test_training_goes_on_with_the_workers_of_this_host_when_the_cluster_is_gone(small_videos, expected):
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - as above

    head = {"num_cpus": 1, "object_store_memory": 80_000_000, "include_dashboard": False}
    mortal = Cluster(initialize_head=True, head_node_args=head)
    try:
        with remote_service(small_videos / "*.h5", ray=mortal.address) as (service, connection):
            mortal.shutdown()
            assert list(steps(connection, epochs=3)) == expected
            eventually(lambda: not remote_workers(connection), "the remote worker to be gone")
            eventually(lambda: "is out of reach" in service.log, "a line that says so")
            assert list(steps(connection, epochs=3)) == expected
    finally:
        mortal.shutdown()
