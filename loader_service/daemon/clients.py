"""Who is connected: names, signs of life, and the end of each client; knows nothing of what they ask."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from dataclasses import dataclass

from loader_service.errors import ConfigError

#: Letters of a client's name that are kept.
_LONGEST_NAME = 200

#: How long a client to whom nothing can be sent is kept, in seconds: who closes a connection says goodbye first, and
#: that may still lie unread when a message to it fails.
_MISSED_S = 0.5

#: Clients at a time. Each takes a few descriptors and streams; nobody trains on one host with so many.
MOST_CLIENTS = 256


@dataclass
class Client:
    """One connected client."""

    peer: bytes  # its address on the socket
    name: str
    pid: int
    last_heard: float
    pidfd: int | None  # None when its process cannot be watched, as from another PID namespace: then only silence tells
    missed_at: float | None = None  # when a message could not be sent to it

    @property
    def key(self) -> str:
        """How the scheduler names it."""
        return self.peer.hex()


class Clients:
    """All connected clients; a context manager that closes their pidfds.

    A client is lost when its process ends, when it is out of reach, or when it has not been heard for `timeout_s`.

    Parameters
    ----------
    watched
        Becomes ready when a client's process ends. Closed descriptors leave it by themselves.
    timeout_s
        How long a client may be silent, in seconds.
    """

    def __init__(self, watched: select.epoll, timeout_s: float) -> None:
        self._watched = watched
        self._timeout_s = timeout_s
        self._by_key: dict[str, Client] = {}

    def __enter__(self) -> Clients:
        return self

    def __exit__(self, *_: object) -> None:
        for key in list(self._by_key):
            self.forget(key)

    def __iter__(self) -> Iterator[Client]:
        return iter(list(self._by_key.values()))

    def by_peer(self, peer: bytes) -> Client | None:
        """Return the client at an address."""
        return self._by_key.get(peer.hex())

    def by_key(self, key: str) -> Client | None:
        """Return the client that the scheduler names so."""
        return self._by_key.get(key)

    def welcome(self, peer: bytes, name: str, pid: int, now: float) -> Client:
        """Take in a client, or a client that says hello again.

        Raises
        ------
        ConfigError
            When there are too many.
        """
        known = self.by_peer(peer)
        if known is not None:
            known.last_heard = now
            return known
        if len(self._by_key) >= MOST_CLIENTS:
            raise ConfigError(
                f"{len(self._by_key)} clients are connected, the most that one service takes; close connections that "
                "are not needed, or start another service"
            )
        client = Client(peer, _one_line(name), pid, now, _pidfd(pid))
        if client.pidfd is not None:
            self._watched.register(client.pidfd, select.EPOLLIN)
        self._by_key[client.key] = client
        return client

    def forget(self, key: str) -> None:
        """Let a client go."""
        client = self._by_key.pop(key, None)
        if client is not None and client.pidfd is not None:
            os.close(client.pidfd)

    def lost(self, ended: set[int], now: float) -> Iterator[tuple[Client, str]]:
        """Yield the clients that are gone, and why; `ended` are the descriptors that became readable."""
        for client in self:
            if client.pidfd in ended:
                yield client, "has ended"
            elif client.missed_at is not None and now - client.missed_at >= _MISSED_S:
                yield client, "cannot be reached"
            elif now - client.last_heard > self._timeout_s:
                yield client, f"was not heard for {self._timeout_s:g} s; raise --client-timeout if it only was busy"

    def next_deadline(self) -> float | None:
        """Return when the first client will have been silent or out of reach for too long, None without clients."""
        silent = [client.last_heard + self._timeout_s for client in self]
        missed = [client.missed_at + _MISSED_S for client in self if client.missed_at is not None]
        return min((*silent, *missed), default=None)


def _one_line(name: str) -> str:
    """Return a name as it may stand in a log line or on a terminal, whatever its owner made of it."""
    return "".join(letter if letter.isprintable() else " " for letter in name[:_LONGEST_NAME])


def _pidfd(pid: int) -> int | None:
    """Return a pidfd of a client's process, None when there is none that this user may watch."""
    try:
        if pid <= 0 or os.stat(f"/proc/{pid}").st_uid != os.getuid():
            return None
        return os.pidfd_open(pid)
    except OSError:
        return None
