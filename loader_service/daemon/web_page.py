"""Where the web page of a service is served, and what its process is told; starts nothing and knows no HTTP."""

from __future__ import annotations

import secrets

from loader_service.config import ServiceConfig
from loader_service.daemon.side_programs import SideProgram
from loader_service.web_options import WebOptions, check_installed, given_token, link_of, listening_socket


class WebPage:
    """The page's address and its token; a context manager that closes the socket.

    Parameters
    ----------
    address
        ``HOST:PORT``, as `web_options.parse_address` takes it; it is listened at from now on.

    Attributes
    ----------
    link
        What to open in a browser; it has the token, so it is for the eyes of this user.

    Raises
    ------
    ConfigError
        When packages are missing, or nothing can listen there.
    """

    def __init__(self, address: str) -> None:
        check_installed()
        self._token = given_token() or secrets.token_urlsafe(24)
        self._socket = listening_socket(address)
        self._host, self._port = self._socket.getsockname()[:2]
        self.link = link_of(self._host, self._port, self._token)

    def __enter__(self) -> WebPage:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def program(self, endpoint: str, catalog: str, config: ServiceConfig) -> SideProgram:
        """Return what serves the page; see `WebOptions`."""
        options = WebOptions(
            endpoint,
            self._host,
            self._port,
            self._socket.fileno(),
            config.web_control,
            catalog,
            config.transform or "",
            config.worker_memory,
        )
        return SideProgram("the web page", "loader_service.web.web_process", options, self._socket, self._token)
