"""Reaches a service: connects to a running one, or starts a private one of files or a source; knows no TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from loader_client.connection import Connection, connect
from loader_client.patience import Patience
from loader_service.daemon.launcher import PrivateService
from loader_service.errors import ConfigError

#: An endpoint, None for the default one, a connection, or files.
Source = str | Sequence[str] | Connection | None

_SCHEME = "ipc://"


def reach(
    opened: ExitStack,
    source: Source,
    workers: int | None,
    service: Mapping[str, Any] | None,
    patience: Patience | None,
) -> Connection:
    """Return a connection to a running or private service; `opened` gets what ends them.

    Parameters
    ----------
    opened
        Ends connection and private service when it is closed.
    source
        ``ipc:///path`` of a running service, None for the default endpoint, or a connection, which stays open; else a
        pattern or list of files. None too where `service` names a Python source, which is served instead of files.
    workers, service
        Options of a private service.
    patience
        Of the connection.

    Raises
    ------
    ConfigError
        When options of a private service are given for a running one, or one of them is wrong.
    ServiceUnavailable
        When no service answers.
    """
    if source is None and service is not None and "source" in service:
        source = ()
    if source is None or isinstance(source, Connection) or (isinstance(source, str) and source.startswith(_SCHEME)):
        if workers is not None or service is not None:
            raise ConfigError(
                "workers and service configure a private service, but an endpoint was given; "
                "give files instead, or scale the running service with `loader-service scale`"
            )
        if isinstance(source, Connection):
            return source
        return opened.enter_context(connect(source, patience=patience))
    given = dict(service or {})
    timeout_s = float(given.pop("start_timeout_s", 600.0))
    options: dict[str, str | list[str]] = {key: _text(value) for key, value in given.items()}
    if workers is not None:
        options["workers"] = str(workers)
    private = PrivateService([source] if isinstance(source, str) else list(source), options, timeout_s)
    opened.callback(private.stop)
    return opened.enter_context(connect(private.endpoint, patience=patience))


def _text(value: Any) -> str | list[str]:
    """Return an option's value as the command line has it; a list or tuple gives the option several times."""
    return [str(each) for each in value] if isinstance(value, (list, tuple)) else str(value)
