"""The list of connected clients: who is lost when, and why."""

from __future__ import annotations

import os

import pytest

from loader_service.daemon.clients import Clients


def test_a_client_that_is_silent_for_too_long_is_lost(watched):
    with Clients(watched, timeout_s=5.0) as clients:
        client = clients.welcome(b"\x01", "train", os.getpid(), now=100.0)
        assert clients.next_deadline() == 105.0
        assert list(clients.lost(set(), now=105.0)) == []
        ((lost, why),) = clients.lost(set(), now=105.1)
        assert lost is client
        assert why == "was not heard for 5 s; raise --client-timeout if it only was busy"


def test_a_client_whose_process_ends_is_lost_at_once(watched, sleeper):
    with Clients(watched, timeout_s=60.0) as clients:
        client = clients.welcome(b"\x01", "train", sleeper.pid, now=0.0)
        assert watched.poll(0) == []
        sleeper.kill()
        ended = {descriptor for descriptor, _ in watched.poll(10)}
        assert list(clients.lost(ended, now=0.0)) == [(client, "has ended")]


def test_a_client_that_says_hello_again_stays_the_same(watched):
    with Clients(watched, timeout_s=5.0) as clients:
        first = clients.welcome(b"\x01", "train", os.getpid(), now=0.0)
        assert clients.welcome(b"\x01", "train", os.getpid(), now=3.0) is first
        assert clients.next_deadline() == 8.0
        assert [first] == list(clients)


def test_clients_are_found_by_peer_and_by_key_until_they_are_forgotten(watched):
    with Clients(watched, timeout_s=5.0) as clients:
        client = clients.welcome(b"\x01\xff", "train", os.getpid(), now=0.0)
        assert clients.by_peer(b"\x01\xff") is clients.by_key(client.key) is client
        clients.forget(client.key)
        clients.forget(client.key)
        assert clients.by_peer(b"\x01\xff") is clients.by_key(client.key) is clients.next_deadline() is None


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 1, 2**31, 2**63 - 1, -(2**63)])
def test_a_pid_that_cannot_be_watched_leaves_only_silence_to_tell(watched, pid):
    with Clients(watched, timeout_s=5.0) as clients:
        assert clients.welcome(b"\x01", "train", pid, now=0.0).pidfd is None


def test_the_process_of_another_user_is_not_watched(watched):
    if os.getuid() == 0:
        pytest.skip("root has processes of its own only to show")
    with Clients(watched, timeout_s=5.0) as clients:
        assert clients.welcome(b"\x01", "train", 1, now=0.0).pidfd is None


def test_a_name_becomes_one_short_printable_line(watched):
    with Clients(watched, timeout_s=5.0) as clients:
        assert clients.welcome(b"\x01", "a\nb\x1b[2Jc" + "d" * 999, 0, now=0.0).name == "a b [2Jc" + "d" * 192
