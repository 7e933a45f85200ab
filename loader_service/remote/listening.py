"""Opens the one port of a service with remote workers, on the one address that was named."""

from __future__ import annotations

import errno
import ipaddress
import socket

from loader_service.cluster_options import ListenAddress
from loader_service.errors import ConfigError
from loader_service.record_class import record
from loader_service.tcp import TcpAddress


@record(frozen=True)
class Listening:
    """A listening socket, and what remote workers are told to connect to."""

    socket: socket.socket
    address: str

    @property
    def is_for_this_host(self) -> bool:
        """Whether nobody on another host reaches it."""
        return is_for_this_host(self.socket.getsockname()[0])


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
    if _plain(found.place[0]).is_unspecified:
        raise ConfigError(f"listen={at.host!r} would open all interfaces; name the address that the cluster reaches")
    try:
        opened = found.listen()
    except OSError as error:
        raise ConfigError(_why(at, error)) from error
    host, port = opened.getsockname()[:2]
    return Listening(opened, f"tcp://[{host}]:{port}" if found.family == socket.AF_INET6 else f"tcp://{host}:{port}")


def is_for_this_host(address: str) -> bool:
    """Return whether an address in numbers is one that each host has for itself, such as 127.0.0.1."""
    return _plain(address).is_loopback


def _plain(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return an address as one of its own family, however it is written."""
    found = ipaddress.ip_address(address.partition("%")[0])
    return getattr(found, "ipv4_mapped", None) or found


def _why(at: ListenAddress, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"listen={at.host}:{at.port}: port {at.port} is in use; give another one, or none for any that is free"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"listen={at.host!r} is no address of this host; `ip address` lists them"
    return f"listen={at.host}:{at.port}: {error.strerror}; give another address or port"
