"""Who may come in, and what every answer says to the browser: Host, token, cookie, headers. Knows no page."""

from __future__ import annotations

import hmac
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

_Scope = MutableMapping[str, Any]
_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]

#: Said with each answer. No origin but this one, no script and no style but those of files, and no HTML from texts.
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
}

#: ``NAME``, ``NAME:PORT``, ``[IPV6]:PORT``.
_HOST = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::\d{1,5})?\Z")

#: What a page of another origin cannot send without being asked first, which is never answered.
ACTION_HEADER = "x-loader-service"

_NO_ENTRY = (
    "This page needs its token.\n\n"
    "Open the link that `loader-service start --web` has printed; it looks like http://…/?token=…\n"
    "The token is another one after each start, unless LOADER_SERVICE_WEB_TOKEN gives it.\n"
)


class Gate:
    """An ASGI application around another one, which only those reach who have the token.

    Parameters
    ----------
    inner
        The other application.
    token
        What to know.
    host, port
        Where the socket listens: the cookie's name has the port, since browsers give cookies to all ports of a host.
    """

    def __init__(self, inner: Callable[[_Scope, _Receive, _Send], Awaitable[None]], token: str, place: tuple[str, int]):
        self._inner = inner
        self._token = token
        self._cookie = f"loader-service-{place[1]}"
        self._names = {"localhost", place[0].lower(), socket.gethostname().lower(), socket.getfqdn().lower()}

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            raise RuntimeError(f"{scope['type']!r} is not served here")  # uvicorn is told to offer nothing else
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or not self._knows(headers["host"]):
            await _answer(send, 403, "This is not the name of this service; use its address, or localhost.\n")
            return
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        if given is not None and scope["path"] == "/":
            await self._exchange(given[-1], send)
            return
        if not self._is_token(_cookie(headers.get("cookie", ""), self._cookie)):
            await _answer(send, 401, _NO_ENTRY)
            return
        if scope["method"] not in ("GET", "HEAD") and not self._is_own_action(headers):
            await _answer(send, 403, "Only this service's own page may act.\n")
            return
        await self._inner(scope, receive, _with_headers(send))

    async def _exchange(self, given: str, send: _Send) -> None:
        """Give a cookie for the token, and the address without it: what stands there is seen, copied and kept."""
        if not self._is_token(given):
            await _answer(send, 401, _NO_ENTRY)
            return
        cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Lax"
        await _answer(send, 303, "", {"location": "/", "set-cookie": cookie})

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), self._token.encode())

    def _knows(self, host: str) -> bool:
        """Tell whether a Host is ours: an attacker can make a name point here, and cannot make it an address."""
        found = _HOST.match(host)
        if found is None:
            return False
        name = (found["six"] or found["name"]).lower()
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self._names
        return True

    @staticmethod
    def _is_own_action(headers: dict[str, str]) -> bool:
        origin = headers.get("origin", "")
        return headers.get(ACTION_HEADER) == "1" and origin.partition("://")[2] == headers["host"]


def _cookie(header: str, name: str) -> str:
    """Return a cookie's value; other programs on this host may have set others, of any form."""
    pairs = (each.strip().partition("=") for each in header.split(";"))
    return next((value for key, _, value in pairs if key == name), "")


def _with_headers(send: _Send) -> _Send:
    async def sending(message: _Message) -> None:
        if message["type"] == "http.response.start":
            told = {name.lower() for name, _ in message["headers"]}
            more = {**_HEADERS, "cache-control": "no-store"}
            message["headers"] = [
                *message["headers"],
                *((name.encode(), value.encode()) for name, value in more.items() if name.encode() not in told),
            ]
        await send(message)

    return sending


async def _answer(send: _Send, status: int, text: str, headers: dict[str, str] | None = None) -> None:
    all_headers = {**_HEADERS, "cache-control": "no-store", "content-type": "text/plain; charset=utf-8"}
    pairs = [(name.encode(), value.encode()) for name, value in {**all_headers, **(headers or {})}.items()]
    body = text.encode()
    await send(
        {"type": "http.response.start", "status": status, "headers": [*pairs, (b"content-length", b"%d" % len(body))]}
    )
    await send({"type": "http.response.body", "body": body})
