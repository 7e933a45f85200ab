"""Opens the one port of a service with remote workers, on the one address that was named."""

from __future__ import annotations

import errno
import socket
from dataclasses import dataclass

from loader_service.errors import ConfigError
from loader_service.tcp import TcpAddress


@dataclass(frozen=True)
class ListenAddress:
    """Where remote workers connect: an address of this host, and a port, 0 for any."""

    host: str
    port: int = 0

    @classmethod
    def parse(cls, text: str) -> ListenAddress:
        """Return what ``HOST``, ``HOST:PORT`` or ``[V6]:PORT`` says.

        Raises
        ------
        ConfigError
            When it is none of these.
        """
        host, port = text, "0"
        if text.startswith("[") and "]" in text:
            host, _, rest = text[1:].partition("]")
            port = rest.removeprefix(":") or "0"
        elif text.count(":") == 1:
            host, _, port = text.partition(":")
        if not host or not port.isdecimal() or int(port) > 65535 or set(host) & set(" []\t\n"):
            raise ConfigError(f"listen={text!r}; give an address of this host, as 10.0.0.5 or 10.0.0.5:7000")
        return cls(host, int(port))


@dataclass(frozen=True)
class Listening:
    """A listening socket, and what remote workers are told to connect to."""

    socket: socket.socket
    address: str


def listen(at: ListenAddress) -> Listening:
    """Open the port.

    Raises
    ------
    ConfigError
        When the address is none of this host, names all interfaces, or the port is in use.
    """
    try:
        found = TcpAddress.of(at.host, at.port)
    except OSError as error:
        raise ConfigError(f"listen={at.host!r}: {error.strerror}; give an address of this host") from error
    if found.place[0] in ("0.0.0.0", "::"):  # noqa: S104 - refused, not used
        raise ConfigError(f"listen={at.host!r} would open all interfaces; name the address that the cluster reaches")
    try:
        opened = found.listen()
    except OSError as error:
        raise ConfigError(_why(at, error)) from error
    host, port = opened.getsockname()[:2]
    return Listening(opened, f"tcp://[{host}]:{port}" if found.family == socket.AF_INET6 else f"tcp://{host}:{port}")


def _why(at: ListenAddress, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"listen={at.host}:{at.port}: port {at.port} is in use; give another one, or none for any that is free"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"listen={at.host!r} is no address of this host; `ip address` lists them"
    return f"listen={at.host}:{at.port}: {error.strerror}; give another address or port"
