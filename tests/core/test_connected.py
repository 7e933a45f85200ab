"""The list of connected clients: who is lost when, and why."""

from __future__ import annotations

import pytest

from loader_service.core.clients import MOST_CLIENTS, Clients
from loader_service.core.effects import UnwatchClient, WatchClient
from loader_service.core.ledger import Ledger
from loader_service.errors import ConfigError
from loader_service.protocol.messages import Hello

TRAIN = Hello("train", 7)


@pytest.fixture
def clients() -> Clients:
    return Clients(5.0, Ledger())


def test_a_client_that_is_silent_for_too_long_is_lost(clients: Clients) -> None:
    client, _ = clients.welcome(b"\x01", TRAIN, 100.0)
    assert clients.next_deadline() == 105.0
    assert list(clients.lost(104.9)) == []
    lost, why = next(clients.lost(105.0))
    assert lost is client
    assert why == "was not heard for 5 s; raise --client-timeout if it only was busy"


def test_a_client_that_is_heard_is_not_lost(clients: Clients) -> None:
    clients.welcome(b"\x01", TRAIN, 100.0)
    clients.welcome(b"\x02", TRAIN, 101.0)
    clients.heard(b"\x01", 104.0)
    assert clients.next_deadline() == 106.0
    clients.forget(b"\x02")
    assert clients.next_deadline() == 109.0


def test_a_client_that_cannot_be_reached_is_lost_in_a_moment(clients: Clients) -> None:
    client, _ = clients.welcome(b"\x01", TRAIN, 100.0)
    clients.miss(b"\x01", 101.0)
    clients.miss(b"\x01", 101.4)
    clients.miss(b"nobody", 101.0)
    assert clients.next_deadline() == 101.5
    assert list(clients.lost(101.4)) == []
    assert next(clients.lost(101.5)) == (client, "cannot be reached")


def test_a_client_that_says_hello_again_stays_the_same(clients: Clients) -> None:
    first, is_new = clients.welcome(b"\x01", TRAIN, 0.0)
    assert is_new
    assert clients.welcome(b"\x01", TRAIN, 3.0) == (first, False)
    assert clients.next_deadline() == 8.0
    assert [first] == list(clients)


def test_clients_are_found_by_address_until_they_are_forgotten(clients: Clients) -> None:
    client, _ = clients.welcome(b"\x01\xff", TRAIN, 0.0)
    assert clients.get(b"\x01\xff") is client
    clients.forget(b"\x01\xff")
    clients.forget(b"\x01\xff")
    assert clients.get(b"\x01\xff") is clients.next_deadline() is None


def test_a_clients_process_is_watched_as_long_as_it_is_connected() -> None:
    ledger = Ledger()
    clients = Clients(5.0, ledger)
    clients.welcome(b"\x01", TRAIN, 0.0)
    clients.welcome(b"\x01", TRAIN, 0.0)
    clients.forget(b"\x01")
    assert ledger.take() == [WatchClient(b"\x01", 7), UnwatchClient(b"\x01")]


def test_there_is_a_most_of_clients(clients: Clients) -> None:
    for number in range(MOST_CLIENTS):
        clients.welcome(b"%d" % number, TRAIN, 0.0)
    with pytest.raises(ConfigError, match="256 clients are connected"):
        clients.welcome(b"one more", TRAIN, 0.0)


def test_a_name_becomes_one_short_printable_line(clients: Clients) -> None:
    client, _ = clients.welcome(b"\x01", Hello("a\nb\x1b[2Jc" + "d" * 999, 0), 0.0)
    assert client.name == "a b [2Jc" + "d" * 192
