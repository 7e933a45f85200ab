"""Opens a TCP socket that listens at one address of this host; says nothing of who may connect."""

from __future__ import annotations

import socket
from typing import Any, NamedTuple

#: Connections that may wait to be accepted, also while who accepts them is started again.
_BACKLOG = 128


class TcpAddress(NamedTuple):
    """One address, as the system's resolver gives it."""

    family: socket.AddressFamily
    kind: socket.SocketKind
    protocol: int
    place: tuple[Any, ...]  # host and port, and what else the family has

    @classmethod
    def of(cls, host: str, port: int) -> TcpAddress:
        """Return the first address of a host; raises OSError when it has none."""
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return cls(family, kind, protocol, place)

    def listen(self) -> socket.socket:
        """Return a socket that listens there, for the caller to close; raises OSError when that cannot be."""
        made = socket.socket(self.family, self.kind, self.protocol)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(self.place)
            made.listen(_BACKLOG)
        except BaseException:
            made.close()
            raise
        return made
