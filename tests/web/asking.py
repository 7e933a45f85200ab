"""Asks a page as a browser does, by HTTP; knows no tested code."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.waiting import eventually


class Page:
    """A page whose link was printed.

    Parameters
    ----------
    said
        Returns what the service has printed.
    """

    def __init__(self, said: Callable[[], str]) -> None:
        found: Any = eventually(lambda: re.search(r"^web page: (\S+)\n", said(), re.MULTILINE), "the link of the page")
        self.link: str = found.group(1)
        parts = urlsplit(self.link)
        assert parts.hostname is not None
        assert parts.port is not None
        self.host, self.port = parts.hostname, parts.port
        self.token = parse_qs(parts.query)["token"][0]

    def ask(
        self, path: str, *, method: str = "GET", body: str | None = None, cookie: bool = True, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body."""
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        if cookie:
            told["cookie"] = f"loader-service-{self.port}={self.token}"
        connection = http.client.HTTPConnection(self.host, self.port, timeout=300)
        try:
            connection.request(method, path, body, told)
            answer = connection.getresponse()
            return answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """Return what an address tells as JSON; fail unless it does."""
        status, _, body = self.ask(path)
        assert status == 200, (path, status, body[:500])
        return json.loads(body)


def page_of(said: Callable[[], str]) -> Page:
    """Return the page of a service once it knows of that; `said` is as for `Page`."""
    made = Page(said)
    eventually(lambda: "service" in made.get("/api/now"), "the first status")
    return made
