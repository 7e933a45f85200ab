"""Where the page in the browser is served, and what its process is told; opens no file and knows no HTTP."""

from __future__ import annotations

import importlib.util
import os
import re
import socket

from loader_service.errors import ConfigError
from loader_service.record_class import record
from loader_service.tcp import TcpAddress

#: Where the page is served unless an address says otherwise. If another program has that port, any free one is taken.
DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8321

#: Names a token that outlives the service, for links that are to stay good; by default each start makes its own.
TOKEN_VARIABLE = "LOADER_SERVICE_WEB_TOKEN"  # noqa: S105 - the name of a variable

#: Characters that a given token must have at least, and what it may consist of: it stands in a link and in a cookie.
_LEAST_TOKEN, _TOKEN = 16, re.compile(r"[A-Za-z0-9_-]+\Z")

#: ``HOST``, ``HOST:PORT``, ``[IPV6]:PORT``, ``:PORT`` or ``PORT``.
_ADDRESS = re.compile(
    r"(?:(?P<only>\d{1,5})|(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[A-Za-z0-9._-]*))(?::(?P<port>\d{1,5}))?)\Z"
)


#: Ends of names that are files and no hosts.
_FILES = (".h5", ".hdf5", ".hdf", ".he5")


@record(frozen=True)
class WebOptions:
    """What the process that serves the page is told at its start; the token comes through its standard input.

    Parameters
    ----------
    endpoint
        Of the service.
    host, port
        Where the socket listens.
    descriptor
        Of that socket.
    control
        Whether the page may change the number of workers.
    catalog
        Folder of the columns; "" without any, and then the page has no data and no pictures.
    transform
        The service's own; a process beside that of the page runs it. "" without one.
    worker_memory
        What a worker may have of its own before it is replaced, in bytes.
    """

    endpoint: str
    host: str
    port: int
    descriptor: int
    control: bool = False
    catalog: str = ""
    transform: str = ""
    worker_memory: int = 0


def parse_address(text: str) -> tuple[str, int | None]:
    """Return host and port of an address; the port is None where it is left to the service.

    Raises
    ------
    ConfigError
        When it is no ``HOST:PORT``.
    """
    found = _ADDRESS.match(text)
    if found is None or not text:
        raise ConfigError(f"web={text!r} is no address; give HOST:PORT, such as {DEFAULT_HOST}:{DEFAULT_PORT}")
    number = found["only"] or found["port"]
    if number is not None and not 0 <= int(number) <= 65_535:
        raise ConfigError(f"web={text!r}: there is no port {number}; give 1 to 65535, or 0 for a free one")
    return found["six"] or found["host"] or DEFAULT_HOST, None if number is None else int(number)


def looks_like_address(text: str) -> bool:
    """Tell whether a word after ``--web`` is its address, and no file: it has a port, and no such file exists.

    Raises
    ------
    ConfigError
        When it could be a host, and there is no such file.
    """
    found = _ADDRESS.match(text)
    if found is None or not text or text.startswith("-") or os.path.exists(text):
        return False
    if text.lower().endswith(_FILES):
        return False
    if found["only"] is None and found["port"] is None:
        raise ConfigError(
            f"{text!r} after --web is no file; if it is the address of the page, give its port too, as "
            f"--web {text}:{DEFAULT_PORT}; if it is to be a file, check the path"
        )
    return True


def check_installed() -> None:
    """Make sure that the packages of the page are there, without loading them; raises ConfigError."""
    for name in ("starlette", "uvicorn"):
        if importlib.util.find_spec(name) is None:
            raise ConfigError(f"the web page needs {name}, which is not installed; pip install 'loader-service[web]'")


def listening_socket(text: str) -> socket.socket:
    """Return a socket that listens at an address; the caller closes it.

    Raises
    ------
    ConfigError
        When it cannot, as where another program listens there.
    """
    host, port = parse_address(text)
    for candidate in (DEFAULT_PORT, 0) if port is None else (port,):
        try:
            return TcpAddress.of(host, candidate).listen()
        except OSError as error:
            reason = error
    raise ConfigError(f"web={text!r}: cannot listen there: {reason}; give another HOST:PORT, or port 0 for a free one")


def given_token() -> str:
    """Return the token that the environment gives; "" without any. Raises ConfigError when it could be guessed."""
    token = os.environ.get(TOKEN_VARIABLE, "")
    if token and (len(token) < _LEAST_TOKEN or not _TOKEN.match(token)):
        raise ConfigError(
            f"{TOKEN_VARIABLE} has {len(token)} characters; give {_LEAST_TOKEN} or more letters, digits, - and _, "
            "or leave it out"
        )
    return token


def link_of(host: str, port: int, token: str) -> str:
    """Return what to open in a browser; of an address that stands for all, the one that reaches it from here."""
    shown = {"0.0.0.0": DEFAULT_HOST, "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/?token={token}"
