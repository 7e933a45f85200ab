"""Who is connected: names, signs of life, and the end of each client; knows nothing of what they ask. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from loader_service.core.effects import UnwatchClient, WatchClient
from loader_service.core.ledger import Ledger
from loader_service.errors import ConfigError
from loader_service.protocol.messages import Hello

#: Letters of a client's name that are kept.
_LONGEST_NAME = 200

#: How long a client to whom nothing can be sent is kept, in seconds: who closes a connection says goodbye first, and
#: that may still lie unread when a message to it fails.
MISSED_S = 0.5

#: Clients at a time. Each takes a few descriptors and streams; nobody trains on one host with so many.
MOST_CLIENTS = 256


@dataclass
class Client:
    """One connected client."""

    address: bytes
    name: str
    pid: int
    last_heard: float

    def __str__(self) -> str:
        return f"client {self.name} (pid {self.pid})"


class Clients:
    """All connected clients.

    A client is lost when its process ends, when it is out of reach, or when it has not been heard for `timeout_s`.

    Parameters
    ----------
    timeout_s
        How long a client may be silent, in seconds.
    ledger
        Gets the deeds.
    """

    def __init__(self, timeout_s: float, ledger: Ledger) -> None:
        self._timeout_s = timeout_s
        self._ledger = ledger
        self._clients: dict[bytes, Client] = {}  # who was heard longest ago comes first
        self._missed: dict[bytes, float] = {}  # when a message could not be sent to them; the earliest first

    def __iter__(self) -> Iterator[Client]:
        return iter(list(self._clients.values()))

    def get(self, address: bytes) -> Client | None:
        """Return the client at an address."""
        return self._clients.get(address)

    def heard(self, address: bytes, now: float) -> Client | None:
        """Return the client at an address, which gave a sign of life."""
        client = self._clients.get(address)
        if client is not None:
            client.last_heard = now
            if len(self._clients) > 1:
                del self._clients[address]
                self._clients[address] = client
        return client

    def welcome(self, address: bytes, hello: Hello, now: float) -> tuple[Client, bool]:
        """Take in a client, or one that says hello again; return it, and whether it is new.

        Raises
        ------
        ConfigError
            When there are too many.
        """
        known = self.heard(address, now)
        if known is not None:
            return known, False
        if len(self._clients) >= MOST_CLIENTS:
            raise ConfigError(
                f"{len(self._clients)} clients are connected, the most that one service takes; close connections that "
                "are not needed, or start another service"
            )
        client = self._clients[address] = Client(address, _one_line(hello.name), hello.pid, now)
        self._ledger.add(WatchClient(address, hello.pid))
        return client, True

    def forget(self, address: bytes) -> None:
        """Let a client go."""
        if self._clients.pop(address, None) is not None:
            self._missed.pop(address, None)
            self._ledger.add(UnwatchClient(address))

    def miss(self, address: bytes, now: float) -> None:
        """Give a client up to whom nothing can be sent, unless its goodbye is found to have come before that."""
        if address in self._clients:
            self._missed.setdefault(address, now)

    def lost(self, now: float) -> Iterator[tuple[Client, str]]:
        """Yield the clients that are gone, and why."""
        for address, since in list(self._missed.items()):
            if now >= since + MISSED_S:
                yield self._clients[address], "cannot be reached"
        while (first := next(iter(self._clients.values()), None)) and now >= first.last_heard + self._timeout_s:
            yield first, f"was not heard for {self._timeout_s:g} s; raise --client-timeout if it only was busy"

    def next_deadline(self) -> float | None:
        """Return when the first client will have been silent or out of reach for too long, None without clients."""
        first = next(iter(self._clients.values()), None)
        if first is None:  # those that are missed are among them
            return None
        silent_at = first.last_heard + self._timeout_s
        return min(silent_at, next(iter(self._missed.values())) + MISSED_S) if self._missed else silent_at


def _one_line(name: str) -> str:
    """Return a name as it may stand in a log line or on a terminal, whatever its owner made of it."""
    return "".join(letter if letter.isprintable() else " " for letter in name[:_LONGEST_NAME])
