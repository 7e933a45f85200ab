"""What `--ray` and `--listen` may say: addresses, looked at before anything starts; knows no cluster, opens no port."""

from __future__ import annotations

from loader_service.errors import ConfigError
from loader_service.record_class import record

#: Stands for no cluster: workers are processes of this host, for tests and for trying the service's own ends. What
#: follows an @ is where they connect to, instead of the receiver: a proxy.
PROCESSES = "processes"

#: For the cluster that this host belongs to.
_AUTO = "auto"

#: Begins the address at which a cluster takes hosts that are none of its nodes.
CLIENT_SCHEME = "ray://"

_LAST_PORT = 65_535


def check_cluster(given: str) -> None:
    """Make sure that a text can be the address of a cluster.

    Raises
    ------
    ConfigError
        When it cannot.
    """
    host, _, port = given.removeprefix(CLIENT_SCHEME).rpartition(":")
    if given == _AUTO or given.partition("@")[0] == PROCESSES or (host and "/" not in host and _is_port(port)):
        return
    raise ConfigError(
        f"ray={given!r} is no address of a cluster; give HOST:PORT, such as 10.0.0.5:6379, auto for the one that this "
        "host belongs to, or ray://HOST:10001 where this host is none of its nodes"
    )


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 6 and 0 < int(text) <= _LAST_PORT


@record(frozen=True)
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
            port = "0" if not rest else rest[1:] if rest[0] == ":" else ""
        elif text.count(":") == 1:
            host, _, port = text.partition(":")
        if not host or not (_is_port(port) or port == "0") or set(host) & set(" []\t\n"):
            raise ConfigError(f"listen={text!r}; give an address of this host, as 10.0.0.5 or 10.0.0.5:7000")
        return cls(host, int(port))
